import { describe, expect, it } from "vitest";
import type { Column } from "../lib/types";
import { fateOf, kindRows, readPresets, tally, turnsLeft, verdict } from "./compare";

const column = (after: number, words: number, values: number): Column => ({
  label: "x", preset: "x", tokens_before: 100, tokens_after: after, parts: { system: 0, tools: 0, summary: 0, messages: 0 }, percent_after: after, missing: [], fates: [],
  cached_tokens: 0, cost_next: null, mode: "summary", policy: {}, problem: null, reason: "", summary: "",
  cost_ten_turns: null, cost_to_do: 0, seconds_to_do: null, summarizer: null, survival_kinds: [], turns_until_next: null,
  survival: { words: { kept: words, total: 10 }, conclusions: { kept: 5, total: 5 }, values: { kept: values, total: 20 } },
});

describe("in short", () => {
  const budget = column(30, 10, 15);
  const agent = column(50, 10, 19);
  const window = column(20, 4, 5);
  const all = [budget, agent, window];
  it("says lost words first, in red", () => {
    expect(verdict(window, all, undefined)).toEqual({ text: "Cheapest, loses 6 of your words", bad: true });
  });
  it("promises nothing where survival is not known", () => {
    const unknown = { ...column(20, 0, 0), survival: null, fates: [{ position: 1, action: "dropped", tokens_before: 9, tokens_after: 0 }] };
    expect(verdict(unknown, [unknown], undefined)).toEqual({ text: "Cheapest, drops 1 message", bad: true });
    expect(verdict({ ...unknown, fates: [] }, [unknown], undefined).text).toBe("Most room");
  });
  it("reads the eight kinds where the server measured them", () => {
    const kinds = [
      { kind: "words", title: "Your words", kept: 7, total: 10, missing: [], missing_count: 3 },
      { kind: "paths", title: "Paths and URLs", kept: 0, total: 0, missing: [], missing_count: 0 },
    ];
    const measured = { ...column(20, 10, 20), survival_kinds: kinds };
    expect(verdict(measured, [measured], undefined).text).toBe("Cheapest, loses 3 of your words");
    expect(kindRows([measured])).toEqual([{ kind: "words", title: "Your words" }]);
  });
  it("names what a column is best at", () => {
    expect(verdict(agent, all, undefined).text).toBe("Fewest losses, all your words stay");
    expect(verdict(budget, [budget, agent], undefined).text).toBe("Most room, all your words stay");
    expect(verdict(column(100, 10, 20), all, undefined).text).toBe("Nothing would change");
    expect(verdict(column(120, 10, 20), all, undefined).text).toBe("Larger than now");
  });
});

describe("fates", () => {
  it.each([["Keep", "kept"], ["ClearOutput", "cleared"], ["Summarize", "summarized"], ["Drop", "dropped"], ["pinned", "pinned"]])("%s is %s", (action, fate) => expect(fateOf(action)).toBe(fate));
  it("are counted", () => expect(tally([{ position: 0, action: "keep", tokens_before: 1, tokens_after: 1 }]).kept).toBe(1));
});

describe("addresses and pace", () => {
  it("reads presets from the address, or chooses", () => {
    const known = ["budget", "agent", "window", "chat"];
    expect(readPresets("agent,nonsense,agent", known, "budget")).toEqual(["agent"]);
    expect(readPresets(null, known, "budget")).toEqual(["budget", "agent", "window"]);
  });
  it("estimates turns", () => {
    expect(turnsLeft(5)).toBe("about 5");
    expect(turnsLeft(0)).toBe("1");
    expect(turnsLeft(null)).toBe("–");
  });
});
