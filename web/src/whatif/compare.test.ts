import { describe, expect, it } from "vitest";
import type { Column, KindSurvival } from "../lib/types";
import { applyText, fateOf, kindRows, missingCount, readPresets, tally, turnsLeft, verdict, whyNot } from "./compare";

const kind = (kind: string, title: string, kept: number, total: number): KindSurvival => ({ kind, title, kept, total, missing: [], missing_count: total - kept });

const column = (after: number, words: number, values: number): Column => ({
  label: "x", preset: "x", tokens_before: 100, tokens_after: after, parts: { system: 0, tools: 0, summary: 0, messages: 0 }, percent_after: after, fates: [],
  cached_tokens: 0, cost_next: null, mode: "summary", policy: {}, problem: null, reason: "", summary: "",
  cost_ten_turns: null, cost_to_do: 0, seconds_to_do: null, summarizer: null, turns_until_next: null,
  survival_kinds: [kind("words", "Your words", words, 10), kind("ids", "Ids and names", values, 20), kind("errors", "Errors", 0, 0)],
});

describe("in short", () => {
  const budget = column(30, 10, 15);
  const agent = column(50, 10, 19);
  const window = column(20, 4, 5);
  const all = [budget, agent, window];
  it("says how many words are lost, in red, as their row does", () => {
    expect(verdict(window, all, undefined)).toEqual({ text: "Most room, loses 6 of your words", bad: true });
    expect(verdict(window, [column(10, 10, 20), window], undefined)).toEqual({ text: "Loses 6 of your words", bad: true });
  });
  it("says nothing of words where none were said", () => {
    const silent = { ...column(20, 0, 9), survival_kinds: [kind("words", "Your words", 0, 0), kind("ids", "Ids and names", 9, 20)] };
    const fates = [{ position: 1, action: "dropped", tokens_before: 9, tokens_after: 0 }];
    expect(verdict({ ...silent, fates }, [silent], undefined)).toEqual({ text: "Most room, drops 1 message", bad: true });
    expect(verdict(silent, [silent], undefined).text).toBe("Most room");
    expect(verdict(silent, [silent, column(10, 10, 20)], undefined).text).toBe("Smaller than now");
  });
  it("names what a column is best at, of those that are possible", () => {
    expect(verdict(agent, all, undefined).text).toBe("Fewest losses, all your words stay");
    expect(verdict(budget, all, undefined).text).toBe("All your words stay");
    expect(verdict(budget, [budget, agent], undefined).text).toBe("Most room, all your words stay");
    const impossible = { ...column(10, 0, 0), survival_kinds: [], problem: "trigger_pct must be 0.0-1.0" };
    expect(verdict(agent, [...all, impossible], undefined).text).toBe("Fewest losses, all your words stay");
    expect(verdict(column(100, 10, 20), all, undefined).text).toBe("Nothing would change");
    expect(verdict(column(120, 10, 20), all, undefined).text).toBe("Larger than now");
  });
  it("calls the column with the smallest number of missing items the one with the fewest losses", () => {
    // No words are lost by either; only the sum over all rows decides.
    const others = [column(10, 10, 2), column(60, 10, 19), column(70, 10, 12)];
    expect(others.map(missingCount)).toEqual([18, 1, 8]);
    expect(others.map((one) => verdict(one, others, undefined).text.split(",")[0])).toEqual(["Most room", "Fewest losses", "All your words stay"]);
    // One that keeps more values but fewer words loses more.
    const worse = column(60, 8, 20);
    expect(verdict(column(70, 10, 19), [column(10, 0, 0), column(70, 10, 19), worse], undefined).text).toMatch(/^Fewest losses/);
  });
  it("says before it is applied what is lost, and that the preset changes", () => {
    expect(applyText(window, "x")).toBe("The prompt goes from 100 to about 20 tokens and loses 6 of your words, which stay stored. You can undo this at any time.");
    expect(applyText(budget, "chat")).toBe("The prompt goes from 100 to about 30 tokens. This session's preset becomes x. You can undo both at any time.");
  });
  it("says why a column cannot be applied", () => {
    expect([20, 100, 120].map((after) => whyNot(column(after, 10, 20)))).toEqual(["", "It would change nothing now.", "It would make the prompt larger."]);
  });
  it("counts the rows that the table shows", () => {
    expect(kindRows([window])).toEqual([{ kind: "words", title: "Your words" }, { kind: "ids", title: "Ids and names" }]);
    expect(missingCount(window)).toBe(6 + 15);
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
