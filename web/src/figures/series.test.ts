import { describe, expect, it } from "vitest";
import type { CompactionEvent, Figures, FigureTurn } from "../lib/types";
import { axis, csv, failures, marks, runningCost, runningCostWithout, sizeSentence, spread, stopLabel, wouldStop } from "./series";

const turn = (index: number, tokens: number, without: number, more: Partial<FigureTurn> = {}): FigureTurn => ({
  turn: index, position: index * 2, at: index, tokens, tokens_without: without, cost: 0.1, cached_tokens: 0, compaction: null, sent: true, ...more,
});
const turns = [turn(0, 50, 50), turn(1, 90, 90), turn(2, 40, 130, { compaction: 1 })];
const figures = { turns, totals: { turns: 3, compactions: 1 } } as unknown as Figures;

describe("figures", () => {
  it("finds where the session would have ended", () => {
    expect(wouldStop(turns, 100)).toBe(2);
    expect(wouldStop(turns, 1000)).toBeNull();
    expect(sizeSentence(figures, 100)).toBe("1 compaction kept a session of 3 replies inside its window, which it would have left at reply 3.");
  });
  it("says what was not sent from here", () => {
    const came = turn(0, 0, 500, { sent: false });
    // The dashed line shows imported replies too: the point is where it crosses the window.
    expect(wouldStop([came, ...turns], 100)).toBe(0);
    const both = { ...figures, turns: [came, ...turns] } as Figures;
    expect(sizeSentence(both, 1000)).toMatch(/inside its window\. 1 reply was imported, so nothing was sent for it here\.$/);
    expect(csv([came]).split("\n")[1]).toMatch(/,false$/);
  });
  it("puts words at that point where they cover no others", () => {
    expect(stopLabel(1150, 342, 1330)).toEqual({ side: "left", above: false });
    expect(stopLabel(295, 79, 343)).toEqual({ side: "left", above: true });
    expect(stopLabel(700, 342, 1330)).toEqual({ side: "right", above: false });
    expect(stopLabel(360, 342, 1330)).toEqual({ side: "right", above: true });
  });
  it("adds costs up, with and without", () => {
    expect(runningCost(turns).at(-1)).toBeCloseTo(0.3);
    expect(runningCostWithout(turns).at(-1)).toBeCloseTo(0.2 + 0.325);
  });
  it("marks compactions also where the record is gone", () => {
    expect(marks(turns, [])).toEqual([{ index: 2, step: 1, label: "#1", saved: 0 }]);
  });
  it("gives every failed attempt the size that it began at", () => {
    const attempt = (at: number, tokensBefore: number, end: Partial<CompactionEvent> = {}): CompactionEvent[] => [
      { event: "compaction-start", step: 1, at, tokensBefore },
      { event: "compaction-error", step: 1, at: at + 1, error: "No.", ...end },
    ];
    const found = failures([...attempt(10, 3_984), ...attempt(20, 5_704, { brokenOff: true }), ...attempt(30, 7_424)]);
    expect(found.map(({ tokens, canceled }) => [tokens, canceled])).toEqual([[3_984, false], [5_704, true], [7_424, false]]);
  });
  it("thins a long row and keeps its end", () => {
    expect(spread(3, 400)).toEqual([0, 1, 2]);
    const long = spread(5_000, 400);
    expect(long.length).toBeLessThanOrEqual(401);
    expect(long.at(-1)).toBe(4_999);
  });
  it("has a round axis from zero", () => {
    expect(axis(128_000)).toEqual([0, 50_000, 100_000]);
    expect(axis(0)).toEqual([0]);
  });
  it("exports a row for each reply", () => expect(csv(turns).split("\n")).toHaveLength(4));
});
