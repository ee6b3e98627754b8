import { describe, expect, it } from "vitest";
import type { CompactionEvent } from "../lib/types";
import { eventKey, idle, isHopeless, isRunning, phaseText, reduceCompaction, replay, shownCompaction } from "./compaction";

const start: CompactionEvent = { event: "compaction-start", step: 2, at: 100, tokensBefore: 100_000, reason: "overflow" };
const prune: CompactionEvent = { event: "compaction-prune", step: 2, at: 101, tokensSaved: 10_000, outputsPruned: 3 };
const summarize: CompactionEvent = { event: "compaction-summarize", step: 2, at: 102, messagesCount: 86 };
const progress: CompactionEvent = { event: "compaction-progress", step: 2, at: 103, done: 1, total: 3 };
const check: CompactionEvent = { event: "compaction-check", step: 2, at: 107, tokensAfter: 40_000 };
const complete: CompactionEvent = { event: "compaction-complete", step: 2, at: 109, tokensBefore: 100_000, tokensAfter: 38_000 };

describe("a compaction's phases", () => {
  it("goes from optimizing over summarizing to the reduction", () => {
    let state = reduceCompaction(idle, start);
    expect(phaseText(state, false)).toBe("Optimizing conversation...");
    state = reduceCompaction(state, prune);
    expect(state.saved).toBe(10);
    state = reduceCompaction(state, summarize);
    expect(phaseText(state, false)).toBe("Summarizing context...");
    state = reduceCompaction(state, progress);
    expect([state.done, state.total, state.messages]).toEqual([1, 3, 86]);
    state = reduceCompaction(state, check);
    expect([state.phase, state.saved]).toEqual(["checking", 60]);
    state = reduceCompaction(state, complete);
    expect(phaseText(state, false)).toBe("62% reduced");
    expect(state.duration).toBe(9);
  });
  it("shows that one runs though its first event never came", () => {
    expect(phaseText(shownCompaction(idle, true), false)).toBe("Optimizing conversation...");
    expect(shownCompaction(idle, false)).toBe(idle);
    const done = reduceCompaction(reduceCompaction(idle, start), complete);
    expect(shownCompaction(done, true)).toBe(done);
  });
  it("lights nothing for pieces or a check that no compaction belongs to", () => {
    expect(reduceCompaction(idle, progress)).toBe(idle);
    expect(reduceCompaction(idle, check)).toBe(idle);
  });
  it("says Updating summary for rolling while it runs", () => {
    expect(phaseText(reduceCompaction(idle, summarize), true)).toBe("Updating summary…");
  });
  it("does not light the row for a prune at the end of a turn", () => {
    expect(reduceCompaction(idle, prune)).toBe(idle);
  });
  it("keeps what a failure offers", () => {
    const failed = reduceCompaction(reduceCompaction(idle, start), {
      event: "compaction-error", at: 130, error: "No reply after 30 s", canRetry: true, suggestNewSession: false,
    });
    expect([failed.phase, failed.error, failed.canRetry, failed.suggestNewSession]).toEqual(["failed", "No reply after 30 s", true, false]);
    expect(isRunning(failed)).toBe(false);
    expect(isHopeless(failed)).toBe(false);
  });
  it.each([[false, false, true], [false, true, false], [true, false, false]])(
    "blames the message only where neither a retry nor a new session helps (%s, %s)",
    (canRetry, suggestNewSession, hopeless) => {
      const failed = reduceCompaction(idle, { event: "compaction-error", at: 130, error: "Too long", canRetry, suggestNewSession });
      expect(isHopeless(failed)).toBe(hopeless);
    },
  );
});

describe("opening a page", () => {
  it("shows a running compaction in its phase, and nothing for a finished one", () => {
    expect(replay([start, prune, summarize], true).phase).toBe("summarizing");
    expect(replay([start, prune, summarize, complete], false).phase).toBe("idle");
    expect(replay([], true).phase).toBe("optimizing");
  });
  it("tells events apart by name, step, time and piece", () => {
    expect(eventKey(progress)).not.toBe(eventKey({ ...progress, done: 2 }));
    expect(eventKey(start)).toBe(eventKey({ ...start }));
  });
});
