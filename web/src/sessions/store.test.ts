import { describe, expect, it, vi } from "vitest";
import type { Session } from "../lib/types";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { changeSession, isUnread, rememberSession, sessionById } = await import("./store");

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
});

it("counts a session as unread from the first message that no screen showed", () => {
  expect(isUnread(session({ message_count: 3 }), {})).toBe(false);
  expect(isUnread(session({ message_count: 3 }), { a: 3 })).toBe(false);
  expect(isUnread(session({ message_count: 4 }), { a: 3 })).toBe(true);
});
