import { describe, expect, it } from "vitest";
import { splitBlocks } from "./markdown-blocks";

describe("splitting streamed markdown", () => {
  it("cuts at blank lines", () => expect(splitBlocks("a\nb\n\nc")).toEqual(["a\nb", "c"]));
  it("keeps a fence whole, also an open one", () => {
    expect(splitBlocks("```py\na\n\nb\n```\n\nc")).toEqual(["```py\na\n\nb\n```", "c"]);
    expect(splitBlocks("x\n\n````\na\n\n```\nb")).toEqual(["x", "````\na\n\n```\nb"]);
  });
  it("has no block for nothing", () => expect(splitBlocks("\n\n")).toEqual([]));
  it("never changes a finished block when text is added", () => {
    const text = "# T\n\none\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\nend";
    for (let length = 1; length < text.length; length += 1) {
      const now = splitBlocks(text.slice(0, length)).slice(0, -1);
      expect(splitBlocks(text).slice(0, now.length)).toEqual(now);
    }
  });
});
