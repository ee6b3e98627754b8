import { describe, expect, it } from "vitest";
import type { Message } from "../lib/types";
import { asStale, emptyHistory, firstUnknown, holder, withMessage, withPage } from "./history";

function message(position: number): Message {
  const unknown = { error: null, cost: null, duration: null, finish_reason: null, model: null, usage: null };
  return { id: `m${position}`, position, last_position: position, turn: 0, role: "user", created_at: 0, tokens: 1, state: "sent", pinned: false, parts: [], ...unknown };
}

describe("pages of history", () => {
  const tail = withPage(emptyHistory, { messages: [message(95), message(97), message(99)], total: 60, first: 0, last: 99 }, null);

  it("knows the tail and treats gaps as part of the message before", () => {
    expect(tail.last).toBe(99);
    expect(tail.known.get(96)).toBeNull();
    expect(holder(tail, 98)).toBe(97);
    expect(firstUnknown(tail, 90, 99)).toBe(90);
    expect(firstUnknown(tail, 95, 99)).toBeNull();
  });
  it("shows what a compaction changed until it is read again", () => {
    const stale = asStale(tail);
    expect(stale.known.get(97)?.id).toBe("m97");
    expect(firstUnknown(stale, 95, 99)).toBe(95);
    const again = withPage(stale, { messages: [message(97), message(99)], total: 60, first: 0, last: 99 }, null);
    expect(firstUnknown(again, 97, 99)).toBeNull();
    expect(firstUnknown(again, 95, 99)).toBe(95);
  });
  it("fills a window in the middle from where it was asked", () => {
    const more = withPage(tail, { messages: [message(41), message(44)], total: 60, first: 0, last: 99 }, 40);
    expect(more.known.get(40)).toBeNull();
    expect(more.known.get(44)?.id).toBe("m44");
    expect(firstUnknown(more, 40, 60)).toBe(45);
    expect(holder(more, 40)).toBeNull();
  });
  it("marks positions after the newest message as known when nothing comes back", () => {
    const more = withPage(tail, { messages: [], total: 60, first: 0, last: 101 }, 100);
    expect(firstUnknown(more, 95, 101)).toBeNull();
    expect(holder(more, 101)).toBe(99);
  });
  it("forgets what an edit cut off", () => {
    const cut = withPage(tail, { messages: [message(95)], total: 50, first: 0, last: 95 }, 95);
    expect(cut.known.has(99)).toBe(false);
  });
  it("replaces one message", () => {
    const pinned = withMessage(tail, { ...message(97), pinned: true });
    expect(pinned.known.get(97)?.pinned).toBe(true);
    expect(tail.known.get(97)?.pinned).toBe(false);
  });
});
