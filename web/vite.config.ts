import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const server = process.env.COMPACT_API ?? "http://127.0.0.1:5199";

/** Packed copies beside the files, so that the server need not pack. */
function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    writeBundle({ dir }) {
      for (const name of readdirSync(`${dir}/assets`)) {
        if (!/\.(js|css)$/.test(name)) continue;
        const file = `${dir}/assets/${name}`;
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
      }
    },
  };
}

/** Pages and the trace API share addresses: a browser that wants HTML gets the page. */
function pageInstead(request: { headers: { accept?: string } }) {
  return request.headers.accept?.includes("text/html") ? "/index.html" : undefined;
}

export default defineConfig({
  plugins: [react(), tailwindcss(), packed()],
  build: {
    // Served by `compact studio`, shipped inside the wheel, ignored by git.
    outDir: "../src/compact/server/static",
    emptyOutDir: true,
    // light-dark() stays as written; these browsers know it.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // A data: URL would need a wider policy than 'self'.
    assetsInlineLimit: 0,
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/events", "/spans", "/stats", "/ingest", "/traces"].map((path) => [path, { target: server, bypass: pageInstead }]),
    ),
  },
});
