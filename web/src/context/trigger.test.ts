import { expect, it } from "vitest";
import { foldTurns, triggerText } from "./trigger";

it("names the turns of a policy that folds by turns, and the share of others", () => {
  const rolling = { fold_on_turns: true, keep_recent_turns: 6, trigger_pct: 1 };
  expect([foldTurns(rolling), triggerText(rolling)]).toEqual([6, "6 turns"]);
  const budget = { fold_on_turns: false, keep_recent_turns: 6, trigger_pct: 0.85 };
  expect([foldTurns(budget), triggerText(budget)]).toEqual([null, "85%"]);
  expect(foldTurns(null)).toBeNull();
});
