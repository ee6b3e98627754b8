import { afterEach, expect, it, vi } from "vitest";
import { storedCompactions } from "./stored-events";

afterEach(() => vi.unstubAllGlobals());

it("reads the newest page of a session with more events than a page holds", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path);
    const after = Number(new URL(path, "http://x").searchParams.get("after"));
    const events = after === 0 ? [{ type: "message", data: {} }] : [{ type: "data-compaction", data: { event: "compaction-start", at: 5 } }];
    return Promise.resolve(new Response(JSON.stringify({ events, last: 2500 })));
  });
  expect(await storedCompactions("a b")).toEqual([{ event: "compaction-start", at: 5 }]);
  expect(asked).toEqual(["/api/sessions/a%20b/events?after=0&format=json&limit=1000", "/api/sessions/a%20b/events?after=1500&format=json&limit=1000"]);
});
