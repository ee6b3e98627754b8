/** When a policy compacts. `rolling` counts turns; the size of the window only limits it. */
import { percent } from "../lib/format";

type Policy = Record<string, unknown> | null | undefined;

/** The turns after which older ones are folded into the summary; null where size decides. */
export function foldTurns(policy: Policy): number | null {
  const turns = policy?.keep_recent_turns;
  return policy?.fold_on_turns && typeof turns === "number" ? turns : null;
}

export function triggerText(policy: Policy): string {
  const turns = foldTurns(policy);
  return turns === null ? percent(Number(policy?.trigger_pct)) : `${turns} turns`;
}
