/** From a session's figures to what the plots draw. Pure. */
import { count, money, plural, short } from "../lib/format";
import type { CompactionEvent, CompactionRecord, Figures, FigureTurn } from "../lib/types";

export interface Mark {
  index: number;
  step: number;
  label: string;
  saved: number;
}

/** Where compactions fell: between the reply before and the one that carries the step. */
export function marks(turns: FigureTurn[], records: CompactionRecord[]): Mark[] {
  return turns.flatMap((turn, index) => {
    if (turn.compaction === null) return [];
    const record = records.find((entry) => entry.step === turn.compaction);
    const saved = record && record.tokens_before ? Math.round((1 - record.tokens_after / record.tokens_before) * 100) : 0;
    return [{ index, step: turn.compaction, label: recordLabel(records, turn.compaction), saved }];
  });
}

/** Compactions that ended without a result, with the size they began at. */
export interface Failure {
  at: number;
  step: number;
  tokens: number;
  error: string;
  /** Somebody stopped it. */
  canceled: boolean;
}

export function failures(events: CompactionEvent[]): Failure[] {
  return events.flatMap((event) => {
    if (event.event !== "compaction-error") return [];
    // Attempts share their step until one succeeds: the latest start is this attempt's own.
    const start = events.findLast((other) => other.event === "compaction-start" && other.step === event.step && other.at <= event.at);
    return [{ at: event.at, step: event.step ?? 0, tokens: start?.tokensBefore ?? 0, error: event.error ?? "", canceled: event.brokenOff ?? false }];
  });
}

/** The reply a record belongs to: the one that carries its step, else the last one before it was made. */
export function replyOf(turns: FigureTurn[], record: { step: number; created_at: number }): number | null {
  const marked = turns.findIndex((turn) => turn.compaction === record.step);
  if (marked >= 0) return marked + 1;
  const before = turns.filter((turn) => turn.at !== null && turn.at <= record.created_at).length;
  return before > 0 ? before : null;
}

const WINDOW_LABEL_WIDTH = 96;
const STOP_LABEL_WIDTH = 140;

/** Where "would have stopped here" stands: beside its point, and above the window's own label if it would cover that. */
export function stopLabel(x: number, left: number, right: number): { side: "left" | "right"; above: boolean } {
  const side = x > (left + right) / 2 ? "left" : "right";
  const begins = side === "left" ? x - STOP_LABEL_WIDTH : x;
  return { side, above: begins < left + WINDOW_LABEL_WIDTH };
}

/** The first reply that would not have fitted without compaction: where the dashed line crosses the window. */
export function wouldStop(turns: FigureTurn[], window: number): number | null {
  const index = turns.findIndex((turn) => turn.tokens_without > window);
  return index < 0 ? null : index;
}

/** Cost so far after each reply; replies without a known price add nothing. */
export function runningCost(turns: FigureTurn[]): number[] {
  let sum = 0;
  return turns.map((turn) => (sum += turn.cost ?? 0));
}

/** The same without compaction, in proportion to the longer prompts: an estimate, and labelled so. */
export function runningCostWithout(turns: FigureTurn[]): number[] {
  let sum = 0;
  return turns.map((turn) => (sum += (turn.cost ?? 0) * (turn.tokens > 0 ? turn.tokens_without / turn.tokens : 1)));
}

export function sizeSentence(figures: Figures, window: number): string {
  const stop = wouldStop(figures.turns, window);
  const { compactions, turns } = figures.totals;
  const elsewhere = figures.turns.filter((turn) => !turn.sent).length;
  const note = elsewhere > 0 ? ` ${plural(elsewhere, "reply was", "replies were")} imported, so nothing was sent for ${elsewhere === 1 ? "it" : "them"} here.` : "";
  if (compactions === 0) return `${plural(turns, "reply", "replies")} so far, no compaction yet.${note}`;
  const kept = `${plural(compactions, "compaction")} kept a session of ${plural(turns, "reply", "replies")} inside its window`;
  return (stop === null ? `${kept}.` : `${kept}, which it would have left at reply ${stop + 1}.`) + note;
}

export function cacheShare(figures: Figures): number | null {
  const { cached_tokens: cached, input_tokens: input } = figures.totals;
  return input > 0 ? cached / input : null;
}

/** At most about `most` places of a long row, evenly spread, always with the last one. */
export function spread(count: number, most: number): number[] {
  const every = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: count }, (_, index) => index).filter((index) => (count - 1 - index) % every === 0);
}

/** "v2" for a summary, else what kind of compaction it was. */
export function recordLabel(records: CompactionRecord[], step: number): string {
  const record = records.find((entry) => entry.step === step);
  if (!record) return `#${step}`;
  return record.kind === "summary" ? `v${record.version ?? step}` : record.kind;
}

/** Evenly spread round numbers from zero to the top of an axis. */
export function axis(top: number, steps = 4): number[] {
  if (top <= 0) return [0];
  const rough = top / steps;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((size) => size >= rough) ?? rough;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

export function csv(turns: FigureTurn[]): string {
  const head = "turn,position,tokens,tokens_without,cached_tokens,cost,compaction,sent";
  const rows = turns.map((turn) => [turn.turn, turn.position, turn.tokens, turn.tokens_without, turn.cached_tokens, turn.cost ?? "", turn.compaction ?? "", turn.sent].join(","));
  return [head, ...rows].join("\n");
}

export const tokenLabel = (value: number) => (value === 0 ? "0" : short(value));
export const tokenWords = (value: number) => `${count(value)} tokens`;
/** All marks of one axis with the same number of digits: cents, or as many as the smallest of them needs. */
export function costTicks(marks: number[]): (value: number) => string {
  const step = marks[1] ?? 1;
  const digits = [0, 2, 3, 4, 5].find((places) => Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) < 1e-6) ?? 6;
  return (value) => (value === 0 ? "$0" : `$${value.toFixed(digits)}`);
}

export const costLabel = (value: number) => (value === 0 ? "$0" : money(value));
