import { describe, expect, it, vi } from "vitest";
import type { Session } from "../lib/types";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { changeSession, deleteSession, isUnread, loadSessions, patchSession, refreshSessions, rememberSession, sessionById } = await import("./store");

/** Answers by method and path; those to GET come when `held` is let go. */
function serve(answers: Record<string, unknown>, held: Promise<void> = Promise.resolve()) {
  vi.stubGlobal("fetch", async (path: string, { method }: RequestInit) => {
    const body = answers[`${method} ${path.split("?")[0]}`];
    if (method === "GET") await held;
    return new Response(body === undefined ? null : JSON.stringify(body), { status: body === undefined ? 204 : 200 });
  });
}

const session = (more: Partial<Session>): Session =>
  ({ id: "a", title: "A", message_count: 2, compacting: false, usage: null, policy: null, policy_changes: {}, ...more }) as Session;

describe("answers that come late", () => {
  it("do not bring back a compaction that has ended since they were asked for", () => {
    const askedAt = performance.now();
    rememberSession(session({ compacting: true }), askedAt);
    expect(sessionById("a")?.compacting).toBe(true);
    changeSession("a", { compacting: false });
    rememberSession(session({ compacting: true }), askedAt);
    expect(sessionById("a")?.compacting).toBe(false);
    rememberSession(session({ compacting: true }), performance.now() + 1);
    expect(sessionById("a")?.compacting).toBe(true);
  });
  it("leave the thresholds that a list does not know", () => {
    rememberSession(session({ policy: { keep_recent_turns: 2 }, policy_changes: { keep_recent_turns: 2 } }));
    rememberSession(session({ title: "B" }));
    expect(sessionById("a")?.title).toBe("B");
    expect(sessionById("a")?.policy).toEqual({ keep_recent_turns: 2 });
  });
  it("of the list leave what the session on the screen said of itself", async () => {
    rememberSession(session({ policy: { keep_recent_turns: 3 } }));
    serve({ "GET /api/sessions": { sessions: [session({}), session({ id: "b" })], next_cursor: null }, "GET /api/spaces": { spaces: [] } });
    await loadSessions();
    expect(sessionById("b")).toBeDefined();
    expect(sessionById("a")?.policy).toEqual({ keep_recent_turns: 3 });
  });
  it("do not take back what was changed since they were asked for", async () => {
    serve({ "PATCH /api/sessions/a": session({ title: "New", policy: { keep_recent_turns: 4 } }) });
    const askedAt = performance.now();
    expect(await patchSession("a", { title: "New" })).toBe(true);
    rememberSession(session({ title: "Old", policy: { keep_recent_turns: 6 } }), askedAt);
    expect(sessionById("a")).toMatchObject({ title: "New", policy: { keep_recent_turns: 4 } });
    rememberSession(session({ title: "Newer" }), performance.now() + 1);
    expect(sessionById("a")?.title).toBe("Newer");
  });
  it("neither bring back a deleted session nor remove a new one", async () => {
    rememberSession(session({ id: "gone" }));
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    serve({ "GET /api/sessions": { sessions: [session({ id: "gone" })], next_cursor: null } }, held);
    const looking = refreshSessions();
    await deleteSession("gone");
    rememberSession(session({ id: "fresh" }));
    letGo();
    await looking;
    expect(sessionById("gone")).toBeUndefined();
    expect(sessionById("fresh")).toBeDefined();
  });
  it("show a session that somebody created again after this page deleted it", async () => {
    rememberSession(session({ id: "again" }));
    serve({});
    expect(await deleteSession("again")).toBe(true);
    serve({ "GET /api/sessions": { sessions: [session({ id: "again", title: "New" })], next_cursor: null } });
    await refreshSessions();
    expect(sessionById("again")?.title).toBe("New");
  });
});

it("counts a session as unread from the first message that no screen showed", () => {
  expect(isUnread(session({ message_count: 3 }), {})).toBe(false);
  expect(isUnread(session({ message_count: 3 }), { a: 3 })).toBe(false);
  expect(isUnread(session({ message_count: 4 }), { a: 3 })).toBe(true);
});
