import { beforeEach, describe, expect, it } from "vitest";
import type { Usage } from "../lib/types";
import { isTooLong, level, useUsage, usedText } from "./usage";

const usage: Usage = {
  tokens: 70_656, window: 128_000, trigger: 108_800, reserve: 1_500, percent: 0.552, exact: true, compacts_next: false, budget: 126_500, draft: 0, margin: 1, over_by: 0, window_source: "registry",
  parts: { system: 1_840, tools: 7_216, summary: 3_902, messages: 57_698 },
};

describe("the usage store", () => {
  beforeEach(() => useUsage.setState({ bySession: {} }));
  it("keeps one entry a session and ignores an unknown size", () => {
    useUsage.getState().set("a", usage);
    useUsage.getState().set("b", { ...usage, tokens: 1 });
    useUsage.getState().set("a", null);
    expect(useUsage.getState().bySession.a?.tokens).toBe(70_656);
    expect(useUsage.getState().bySession.b?.tokens).toBe(1);
  });
});

describe("a message that is too long by itself", () => {
  it("is more than the budget leaves beside system prompt and tools, however full the window is", () => {
    const room = 126_500 - 1_840 - 7_216;
    expect(isTooLong(null)).toBe(false);
    expect(isTooLong({ ...usage, draft: room, tokens: 190_000 })).toBe(false);
    expect(isTooLong({ ...usage, draft: room + 1 })).toBe(true);
  });
});

describe("levels", () => {
  it.each([
    [102_400, "normal"],
    [102_401, "high"],
    [121_600, "high"],
    [121_601, "full"],
    [128_001, "over"],
  ])("%i tokens of 128,000 are %s", (tokens, expected) => {
    expect(level({ ...usage, tokens })).toBe(expected);
  });
  it("says about for an estimate", () => {
    expect(usedText(usage)).toBe("55% used");
    expect(usedText({ ...usage, exact: false })).toBe("about 55% used");
  });
});
