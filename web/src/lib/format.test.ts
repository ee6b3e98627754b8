import { describe, expect, it } from "vitest";
import { ago, compactions, count, money, outputText, plural, reduction, seconds, short, toolArguments } from "./format";

describe("numbers", () => {
  it("groups thousands and shortens for badges", () => {
    expect(count(109_412)).toBe("109,412");
    expect(short(999)).toBe("999");
    expect(short(41_205)).toBe("41.2k");
    expect(short(3_000)).toBe("3k");
    expect(short(6_020_000)).toBe("6 M");
    expect(short(-68_207)).toBe("-68.2k");
  });
  it("says one compaction, four compactions", () => {
    expect(compactions(1)).toBe("1 compaction");
    expect(compactions(4)).toBe("4 compactions");
    expect(plural(0, "message")).toBe("0 messages");
  });
  it("never reports a negative reduction or divides by zero", () => {
    expect(reduction(109_412, 41_205)).toBe(62);
    expect(reduction(100, 120)).toBe(0);
    expect(reduction(0, 10)).toBe(0);
    expect(reduction(undefined, 10)).toBe(0);
  });
  it("keeps small costs readable", () => {
    expect(money(0)).toBe("$0");
    expect(money(0.0114)).toBe("$0.011");
    expect(money(9.437)).toBe("$9.44");
    expect(money(0.0001)).toBe("under $0.001");
  });
});

describe("times", () => {
  it("uses the unit people use", () => {
    expect(seconds(0.038)).toBe("38 ms");
    expect(seconds(6.41)).toBe("6.4 s");
    expect(seconds(72)).toBe("1 m 12 s");
    expect(seconds(119.9)).toBe("2 m 0 s");
  });
  it("shows age in list rows", () => {
    const now = 1_762_000_000;
    expect(ago(now - 5, now)).toBe("now");
    expect(ago(now - 300, now)).toBe("5m");
    expect(ago(now - 7_300, now)).toBe("2h");
    expect(ago(now - 40 * 86_400, now)).toMatch(/^[A-Z][a-z]{2} \d+$/);
  });
});

describe("tools", () => {
  it("shows arguments on one line and outputs as text", () => {
    expect(toolArguments({ path: "a.py", count: 2 })).toBe("a.py 2");
    expect(toolArguments(undefined)).toBe("");
    expect(outputText({ ok: true })).toBe('{\n  "ok": true\n}');
    expect(outputText("plain")).toBe("plain");
  });
});
