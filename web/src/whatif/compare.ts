/** What the rows of the comparison say, from the server's columns. Pure. */
import { plural } from "../lib/format";
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

export function lost(count: Count | null | undefined): number {
  return count ? count.total - count.kept : 0;
}

/** The kinds of evidence that occur in this session at all, with the names that the server gives them. */
export function kindRows(columns: Column[]): { kind: string; title: string }[] {
  const found = new Map<string, string>();
  for (const column of columns) for (const entry of column.survival_kinds) if (entry.total > 0) found.set(entry.kind, entry.title);
  const order = columns.find((column) => column.survival_kinds?.length)?.survival_kinds ?? [];
  return order.filter((entry) => found.has(entry.kind)).map(({ kind, title }) => ({ kind, title }));
}

export function kindOf(column: Column, kind: string): KindSurvival | undefined {
  return column.survival_kinds?.find((entry) => entry.kind === kind);
}

function wordsOf(column: Column): Count | null {
  return kindOf(column, "words") ?? column.survival?.words ?? null;
}

/** How many pieces of evidence beside the words would be gone; null where nobody measured. */
function goneBesideWords(column: Column): number | null {
  if (!column.survival_kinds?.length) return column.survival ? lost(column.survival.conclusions) + lost(column.survival.values) : null;
  return column.survival_kinds.filter((entry) => entry.kind !== "words").reduce((sum, entry) => sum + lost(entry), 0);
}

export interface Verdict {
  text: string;
  bad: boolean;
}

/** "In short": words lost come first and in red; then what the column is best at. */
export function verdict(column: Column, all: Column[], usage: Usage | undefined): Verdict {
  if (column.tokens_after >= column.tokens_before) {
    if (usage?.compacts_next) return { text: "Compacts on the next turn", bad: false };
    return { text: column.tokens_after > column.tokens_before ? "Larger than now" : "Nothing would change", bad: false };
  }
  const smallest = Math.min(...all.map((other) => other.tokens_after)) === column.tokens_after;
  const words = wordsOf(column);
  if (!words) {
    // What survives is not known: nothing may be promised.
    const dropped = tally(column.fates).dropped;
    if (dropped > 0) return { text: `${smallest ? "Cheapest, drops" : "Drops"} ${plural(dropped, "message")}`, bad: true };
    return { text: smallest ? "Most room" : "Less room, more kept", bad: false };
  }
  if (lost(words) > 0) return { text: `${smallest ? "Cheapest, loses" : "Loses"} ${lost(words)} of your words`, bad: true };
  const others = all.map(goneBesideWords).filter((value): value is number => value !== null);
  const fewest = Math.min(...others) === goneBesideWords(column);
  if (smallest) return { text: "Most room, all your words stay", bad: false };
  if (fewest) return { text: "Fewest losses, all your words stay", bad: false };
  return { text: "All your words stay", bad: false };
}

/** How many turns until the next compaction, at the pace of the session so far. */
export function turnsLeft(turns: number | null | undefined): string {
  if (turns == null) return "–";
  return turns <= 1 ? "1" : `about ${turns}`;
}

export function missingText(column: Column): string {
  return column.missing.length === 0 ? "–" : plural(column.missing.length, "item");
}

export function readPresets(text: string | null, known: string[], current: string): string[] {
  const wanted = (text ?? "").split(",").filter((name) => known.includes(name));
  if (wanted.length > 0) return [...new Set(wanted)].slice(0, 4);
  const others = ["agent", "window", "chat"].filter((name) => name !== current && known.includes(name));
  return [current, ...others].filter((name) => known.includes(name)).slice(0, 3);
}
