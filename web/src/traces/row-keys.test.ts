import { describe, expect, it } from "vitest";
import { rowKeys } from "./row-keys";

const ROWS = 33;

/** How many rows the page has to build while the window goes through a list in 60 steps. */
function built(length: number): number {
  const keysFor = rowKeys();
  let before = new Set<number>();
  let count = 0;
  for (let step = 0; step <= 60; step += 1) {
    const first = Math.round(((length - ROWS) * step) / 60);
    const shift = keysFor(first, first + ROWS - 1);
    const keys = Array.from({ length: ROWS }, (_, row) => first + row + shift);
    expect(new Set(keys).size).toBe(ROWS);
    if (step > 0) count += keys.filter((key) => !before.has(key)).length;
    before = new Set(keys);
  }
  return count;
}

describe("row keys", () => {
  it("stay with the rows that stay", () => {
    const keysFor = rowKeys();
    expect(keysFor(0, 32)).toBe(0);
    expect(keysFor(5, 37)).toBe(0);
    expect(keysFor(2, 34)).toBe(0);
  });
  it("pass to the new rows in order after a jump, and are the same when asked again", () => {
    const keysFor = rowKeys();
    const top = keysFor(10, 42) + 10;
    expect(keysFor(4_000, 4_032) + 4_000).toBe(top);
    expect(keysFor(4_000, 4_032) + 4_000).toBe(top);
    expect(keysFor(4_003, 4_035) + 4_003).toBe(top + 3);
  });
  it("build no more rows in a list of 5,000 than in one of 300", () => {
    expect(built(300)).toBeLessThanOrEqual(300);
    expect(built(5_000)).toBeLessThanOrEqual(built(300));
  });
});
