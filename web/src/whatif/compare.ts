/** What the rows of the comparison say, from the server's columns. Pure. */
import { count, plural } from "../lib/format";
import type { Column, Count, Fate, KindSurvival, Usage } from "../lib/types";

export type FateKind = "pinned" | "kept" | "summarized" | "cleared" | "dropped";

/** The plan's own words for what happens to a message, as the five fates of the map. */
export function fateOf(action: string): FateKind {
  const word = action.toLowerCase();
  if (/pin|protect/.test(word)) return "pinned";
  if (/summar/.test(word)) return "summarized";
  if (/clear|shorten|prune/.test(word)) return "cleared";
  if (/drop|discard|remove/.test(word)) return "dropped";
  return "kept";
}

export function tally(fates: Fate[]): Record<FateKind, number> {
  const counts: Record<FateKind, number> = { pinned: 0, kept: 0, summarized: 0, cleared: 0, dropped: 0 };
  for (const fate of fates) counts[fateOf(fate.action)] += 1;
  return counts;
}

export function lost(value: Count): number {
  return value.total - value.kept;
}

/** The kinds of evidence that occur in this session at all, with the names that the server gives them. */
export function kindRows(columns: Column[]): { kind: string; title: string }[] {
  const found = new Map<string, string>();
  for (const column of columns) for (const entry of column.survival_kinds) if (entry.total > 0) found.set(entry.kind, entry.title);
  const order = columns.find((column) => column.survival_kinds.length)?.survival_kinds ?? [];
  return order.filter((entry) => found.has(entry.kind)).map(({ kind, title }) => ({ kind, title }));
}

export function kindOf(column: Column, kind: string): KindSurvival | undefined {
  return column.survival_kinds.find((entry) => entry.kind === kind);
}

/** What the prompt would not hold of all that was said: the sum of the rows of "What survives". */
export function missingCount(column: Column): number {
  return column.survival_kinds.reduce((sum, entry) => sum + lost(entry), 0);
}

export interface Verdict {
  text: string;
  bad: boolean;
}

/** "In short": what the column is best at, then your words; in red if any would be lost. Counts as in the rows. */
export function verdict(column: Column, all: Column[], usage: Usage | undefined): Verdict {
  if (column.tokens_after >= column.tokens_before) {
    if (usage?.compacts_next) return { text: "Compacts on the next turn", bad: false };
    return { text: column.tokens_after > column.tokens_before ? "Larger than now" : "Nothing would change", bad: false };
  }
  const possible = all.filter((other) => !other.problem);
  const smallest = possible.every((other) => column.tokens_after <= other.tokens_after);
  const fewest = possible.every((other) => missingCount(column) <= missingCount(other));
  const loss = lossOf(column);
  const best = smallest ? "Most room" : fewest && !loss ? "Fewest losses" : "";
  const stays = kindOf(column, "words")?.total ? "all your words stay" : "";
  const text = [best, loss || stays].filter(Boolean).join(", ") || "smaller than now";
  return { text: text.charAt(0).toUpperCase() + text.slice(1), bad: loss !== "" };
}

/** The user's words that would be lost; where they said none that counts, the messages that would be dropped. */
function lossOf(column: Column): string {
  const words = kindOf(column, "words");
  if (words?.total) return lost(words) ? `loses ${count(lost(words))} of your words` : "";
  const { dropped } = tally(column.fates);
  return dropped ? `drops ${plural(dropped, "message")}` : "";
}

/** What Apply asks: the size, what the prompt would no longer hold, the preset. */
export function applyText(column: Column, inUse: string): string {
  const loss = lossOf(column);
  const other = column.preset && column.preset !== inUse;
  return [
    `The prompt goes from ${count(column.tokens_before)} to about ${count(column.tokens_after)} tokens${loss && ` and ${loss}, which stay stored`}.`,
    other ? `This session's preset becomes ${column.preset}. You can undo both at any time.` : "You can undo this at any time.",
  ].join(" ");
}

/** Why a column cannot be applied; empty where it can. */
export function whyNot(column: Column): string {
  if (column.tokens_after < column.tokens_before) return "";
  return column.tokens_after > column.tokens_before ? "It would make the prompt larger." : "It would change nothing now.";
}

/** How many turns until the next compaction, at the pace of the session so far. */
export function turnsLeft(turns: number | null | undefined): string {
  if (turns == null) return "–";
  return turns <= 1 ? "1" : `about ${turns}`;
}

export function readPresets(text: string | null, known: string[], current: string): string[] {
  const wanted = (text ?? "").split(",").filter((name) => known.includes(name));
  if (wanted.length > 0) return [...new Set(wanted)].slice(0, 4);
  const others = ["agent", "window", "chat"].filter((name) => name !== current && known.includes(name));
  return [current, ...others].filter((name) => known.includes(name)).slice(0, 3);
}
