import { expect, it, vi } from "vitest";
import type { Plan } from "../lib/types";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { planText } = await import("./next-compaction");

it("counts the messages of the conversation, as the record will, and not an earlier summary", () => {
  const step = (position: number | null, action: string) => ({ position, action, tokens: 9, saves: 9, role: "user", tool: null, detail: "" });
  const steps = [step(null, "summarized"), step(null, "summarized"), step(4, "summarized"), step(5, "cleared"), step(6, "kept"), step(null, "injected")];
  expect(planText({ steps } as unknown as Plan)).toBe("1 message would join the summary, 1 output would be cleared.");
  expect(planText({ steps: steps.slice(4) } as unknown as Plan)).toBe("Nothing would change.");
});
