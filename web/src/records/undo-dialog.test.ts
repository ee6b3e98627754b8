import { expect, it, vi } from "vitest";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { back } = await import("./undo-dialog");

it("says what comes back, one or many", () => {
  const preview = { messages_back: 1, outputs_back: 2, summary_after: 0, tokens_now: 1, tokens_after: 2, compacts_again: false, preset_after: "budget", steps_undone: [1] };
  expect(back(preview)).toBe("1 message comes back word for word. 2 tool outputs come back in full.");
  expect(back({ ...preview, messages_back: 0, outputs_back: 0 })).toBe("The prompt goes back to what it was.");
  expect(back({ ...preview, outputs_back: 0 }, "budget")).toBe("1 message comes back word for word.");
  expect(back({ ...preview, outputs_back: 0 }, "window")).toContain("The preset goes back to budget.");
});
