/** Rows, search and the time axis of one trace. Pure, so that 5,000 spans can be tested without a page. */
import { KINDS, kindOf, type Kind, type Span } from "./spans";

export interface Filters {
  errors: boolean;
  slow: boolean;
  kinds: Set<Kind>;
}

export interface Range {
  t0: number;
  t1: number;
}

export function traceLength(spans: Span[]): number {
  let end = 1;
  for (const span of spans) end = Math.max(end, (span.offset_ms ?? 0) + (span.duration_ms ?? 0));
  return end;
}

/** The slowest twentieth of the spans, but never under 100 ms. */
export function slowFrom(spans: Span[]): number {
  const durations = spans.map((span) => span.duration_ms ?? 0).sort((a, b) => a - b);
  return Math.max(100, durations[Math.floor(durations.length * 0.95)] ?? 100);
}

function wanted(span: Span, filters: Filters, slow: number): boolean {
  if (filters.errors && span.status !== "error") return false;
  if (filters.slow && (span.duration_ms ?? 0) < slow) return false;
  return filters.kinds.size === 0 || filters.kinds.has(kindOf(span));
}

/** What is shown, in the tree's order: filtered spans with their ancestors, nothing under a collapsed one. */
export function visibleRows(spans: Span[], collapsed: Set<string>, filters: Filters): Span[] {
  const active = filters.errors || filters.slow || filters.kinds.size > 0;
  let keep: Set<string> | null = null;
  if (active) {
    keep = new Set();
    const slow = slowFrom(spans);
    const byId = new Map(spans.map((span) => [span.span_id, span]));
    for (const span of spans) {
      if (!wanted(span, filters, slow)) continue;
      for (let at: Span | undefined = span; at && !keep.has(at.span_id); at = at.parent_id ? byId.get(at.parent_id) : undefined) {
        keep.add(at.span_id);
      }
    }
  }
  const rows: Span[] = [];
  let hiddenBelow = Infinity;
  for (const span of spans) {
    if (span.depth > hiddenBelow) continue;
    hiddenBelow = Infinity;
    if (keep && !keep.has(span.span_id)) continue;
    rows.push(span);
    if (collapsed.has(span.span_id)) hiddenBelow = span.depth;
  }
  return rows;
}

export function isHit(span: Span, query: string): boolean {
  const needle = query.trim().toLowerCase();
  if (!needle) return false;
  if (`${span.name ?? ""} ${span.kind ?? ""}`.toLowerCase().includes(needle)) return true;
  return span.data !== undefined && JSON.stringify(span.data).toLowerCase().includes(needle);
}

/** The ids of all spans above one, so that a hit inside a collapsed branch can be opened. */
export function ancestors(spans: Span[], id: string): string[] {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const found: string[] = [];
  for (let at = byId.get(id)?.parent_id; at && byId.has(at) && !found.includes(at); at = byId.get(at)?.parent_id) found.push(at);
  return found;
}

const SMALLEST_MS = 0.5;

export function zoom(range: Range, factor: number, total: number, center = (range.t0 + range.t1) / 2): Range {
  const width = Math.min(total, Math.max(SMALLEST_MS, (range.t1 - range.t0) * factor));
  const share = (center - range.t0) / (range.t1 - range.t0);
  return clamp({ t0: center - width * share, t1: center + width * (1 - share) }, total);
}

export function pan(range: Range, share: number, total: number): Range {
  const by = (range.t1 - range.t0) * share;
  return clamp({ t0: range.t0 + by, t1: range.t1 + by }, total);
}

export function clamp(range: Range, total: number): Range {
  const width = Math.min(range.t1 - range.t0, total);
  const t0 = Math.max(0, Math.min(range.t0, total - width));
  return { t0, t1: t0 + width };
}

/** How the address has a range. What is less than a pixel short of the whole is the whole: rounding leaves such rests. */
export function rangeParams(range: Range, total: number): { t0: string | null; t1: string | null } {
  const near = Math.max(total / 1000, 0.002);
  return { t0: range.t0 <= near ? null : range.t0.toFixed(3), t1: range.t1 >= total - near ? null : range.t1.toFixed(3) };
}

/** Round times for the axis: steps of 1, 2 or 5 times a power of ten. */
export function ticks(range: Range, most = 6): number[] {
  const rough = (range.t1 - range.t0) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= rough) ?? rough;
  const first = Math.ceil(range.t0 / step);
  const last = Math.floor(range.t1 / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
}

/** Milliseconds as an axis and a bar say them. */
export function ms(value: number): string {
  if (value < 10) return `${Number(value.toPrecision(2)) || 0} ms`;
  if (value < 950) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(1)} s`;
  return `${Math.floor(value / 60_000)} m ${Math.round((value % 60_000) / 1000)} s`;
}

/** The marks of one axis, all in the unit and precision that its step needs. */
export function tickLabels(marks: number[]): string[] {
  const step = marks.length > 1 ? (marks[1] as number) - (marks[0] as number) : (marks[0] ?? 1);
  const last = marks.at(-1) ?? 0;
  const [unit, size] = last >= 1000 ? ["s", 1000] : ["ms", 1];
  const digits = Math.max(0, Math.min(4, -Math.floor(Math.log10(step / size) + 1e-9)));
  return marks.map((mark) => `${(mark / size).toFixed(digits)} ${unit}`);
}

export function readKinds(text: string | null): Set<Kind> {
  return new Set((text ?? "").split(",").filter((kind): kind is Kind => (KINDS as readonly string[]).includes(kind)));
}
