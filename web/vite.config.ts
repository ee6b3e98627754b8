import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.COMPACT_API ?? "http://127.0.0.1:5199";

/** Pages and the trace API share addresses: a browser that wants HTML gets the page. */
function pageInstead(request: { headers: { accept?: string } }) {
  return request.headers.accept?.includes("text/html") ? "/index.html" : undefined;
}

export default defineConfig({
  plugins: [react(), tailwindcss()],
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
