import { describe, expect, it } from "vitest";
import type { SummarySection } from "../lib/types";
import { survivalText } from "./summary-card";

const section = (kind: SummarySection["kind"], items: number): SummarySection => ({
  title: "",
  kind,
  items: Array.from({ length: items }, (_, index) => ({ text: `item ${index}`, positions: [], label: null })),
});

describe("the summary card", () => {
  it("says what its figures count", () => {
    expect(survivalText(section("words", 3), { kept: 27, total: 30 })).toBe("27 of 30, verbatim");
    expect(survivalText(section("values", 120), { kept: 13, total: 13 })).toBe("13 of 13 that you or the assistant named");
    expect(survivalText(section("conclusions", 4), { kept: 4, total: 9 })).toBe("4");
    expect(survivalText(section("values", 120), null)).toBe("120");
  });
});
