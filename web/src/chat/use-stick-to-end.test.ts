import { describe, expect, it } from "vitest";
import { staysAtEnd, type Place } from "./use-stick-to-end";

const at = (top: number, height = 2000, room = 600): Place => ({ top, height, room });

describe("the end of the thread", () => {
  it("is left by whoever scrolls up", () => {
    expect(staysAtEnd(true, at(1400), at(1200), true)).toBe(false);
    expect(staysAtEnd(true, at(1400), at(1200), false)).toBe(false);
  });

  it("is kept within 48 pixels, and found again there", () => {
    expect(staysAtEnd(true, at(1400), at(1360), true)).toBe(true);
    expect(staysAtEnd(false, at(1200), at(1353), false)).toBe(true);
    expect(staysAtEnd(false, at(1200), at(1352), false)).toBe(false);
  });

  it("is kept while rows grow below, or shrink and grow again", () => {
    expect(staysAtEnd(true, at(1400), at(1400, 2300), false)).toBe(true);
    expect(staysAtEnd(true, at(1400), at(1250, 1950), false)).toBe(true);
  });

  it("can be left by hand while a reply streams in", () => {
    expect(staysAtEnd(true, at(1400), at(1250, 2300), true)).toBe(false);
  });

  it("stays left while rows grow", () => {
    expect(staysAtEnd(false, at(400), at(900, 2500), false)).toBe(false);
  });
});
