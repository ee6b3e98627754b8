/** Traces as the service sends them, and what a span is about. Pure. */
import { count, short } from "../lib/format";

export interface TraceSummary {
  trace_id: string;
  name: string | null;
  group_id: string | null;
  status: "ok" | "error" | "running";
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  span_count: number;
  error_count: number;
  running_count: number;
  compaction_count: number;
  metadata: Record<string, unknown>;
}

export interface Span {
  span_id: string;
  parent_id: string | null;
  kind: string | null;
  name: string | null;
  status: string;
  started_at: string | null;
  duration_ms: number | null;
  offset_ms: number | null;
  depth: number;
  children: number;
  orphan: boolean;
  data?: Record<string, unknown>;
}

export interface Trace extends TraceSummary {
  spans: Span[];
  truncated: boolean;
  data_complete: boolean;
}

/** A session's trace has the session's id or an earlier title as its name: the one that is known here is newer. */
export function traceTitle(trace: Pick<TraceSummary, "name" | "group_id" | "trace_id" | "metadata">, sessions: { id: string; title: string }[]): string {
  const session = trace.group_id ? sessions.find((entry) => entry.id === trace.group_id) : undefined;
  if (session?.title && (!trace.name || trace.metadata?.session_id === session.id || trace.name.includes(session.id))) return session.title;
  return trace.name || trace.group_id || trace.trace_id;
}

export interface TracePage {
  traces: TraceSummary[];
  next_cursor: string | null;
  total: number | null;
}

export const KINDS = ["model", "tool", "summary", "prune", "archive", "decision", "other"] as const;
export type Kind = (typeof KINDS)[number];

/** Which of the viewer's colors a span has: by its name where it is ours, else by its kind. */
export function kindOf(span: Pick<Span, "name" | "kind">): Kind {
  const name = span.name ?? "";
  const kind = (span.kind ?? "").toLowerCase();
  if (/summary|summar|compact\.compaction|^compaction(?!-prune)/i.test(name)) return "summary";
  if (/prune\b|compaction-prune/i.test(name)) return "prune";
  if (/archiv/i.test(name)) return "archive";
  if (/^compact\.|estimate|decision|preflight/i.test(name)) return "decision";
  if (/generation|response|llm|chat|model|embedding/.test(kind) || /^(gpt|claude|gemini|o\d)/i.test(name)) return "model";
  if (/function|tool|mcp|execute/.test(kind)) return "tool";
  return "other";
}

function number(data: Record<string, unknown> | undefined, ...names: string[]): number | null {
  for (const name of names) {
    const value = data?.[name] ?? data?.[`compact.${name}`];
    if (typeof value === "number") return value;
  }
  return null;
}

export interface TokenCounts {
  before: number | null;
  after: number | null;
  summary: number | null;
  input: number | null;
  output: number | null;
}

export function tokenCounts(data: Record<string, unknown> | undefined): TokenCounts {
  const usage = (data?.usage ?? {}) as Record<string, unknown>;
  return {
    before: number(data, "tokens_before", "tokensBefore", "t_est"),
    after: number(data, "tokens_after", "tokensAfter"),
    summary: number(data, "summary_tokens"),
    input: number(data, "gen_ai.usage.input_tokens", "input_tokens") ?? number(usage, "input_tokens", "prompt_tokens"),
    output: number(data, "gen_ai.usage.output_tokens", "output_tokens") ?? number(usage, "output_tokens", "completion_tokens"),
  };
}

/** The number at the end of a span's name: what it counted, saved or wrote. */
export function badge(span: Span): string {
  const tokens = tokenCounts(span.data);
  if (tokens.summary !== null) return count(tokens.summary);
  if (tokens.before !== null && tokens.after !== null) return short(tokens.after - tokens.before);
  const saved = number(span.data, "tokensSaved", "tokens_saved");
  if (saved !== null) return short(-saved);
  const adapter = span.data?.storage_adapter;
  if (typeof adapter === "string") return adapter;
  if (tokens.input !== null) return short(tokens.input);
  if (tokens.before !== null) return count(tokens.before);
  const share = number(span.data, "usage_pct");
  return share === null ? "" : `${Math.round(share)}%`;
}

export interface Facts {
  summary: string | null;
  decision: Record<string, unknown> | null;
  tokens: TokenCounts;
  survival: unknown;
  model: string | null;
}

/** What the inspector says of a compaction: from the span itself and everything under the compaction it belongs to. */
export function factsOf(spans: Span[], selected: Span): Facts {
  const family = familyOf(spans, selected);
  const decision = family.find((span) => span.data && "triggered" in span.data)?.data ?? null;
  const withSummary = [selected, ...family].find((span) => typeof span.data?.summary === "string");
  const counted = family.map((span) => tokenCounts(span.data));
  const first = (pick: (counts: TokenCounts) => number | null) => counted.map(pick).find((value) => value !== null) ?? null;
  return {
    summary: (withSummary?.data?.summary as string | undefined) ?? null,
    decision,
    tokens: {
      before: first((counts) => counts.before),
      after: first((counts) => counts.after),
      summary: first((counts) => counts.summary),
      input: tokenCounts(selected.data).input,
      output: tokenCounts(selected.data).output,
    },
    survival: family.find((span) => span.data?.survival)?.data?.survival ?? null,
    model: (family.find((span) => typeof span.data?.model === "string" && kindOf(span) === "summary")?.data?.model as string | undefined) ?? null,
  };
}

function familyOf(spans: Span[], selected: Span): Span[] {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  let top = selected;
  for (let at: Span | undefined = selected; at; at = at.parent_id ? byId.get(at.parent_id) : undefined) {
    if (/compaction/i.test(at.name ?? "")) top = at;
  }
  if (top === selected && !/^compact/.test(selected.name ?? "")) return [selected];
  const start = spans.indexOf(top);
  let end = start + 1;
  while (end < spans.length && (spans[end] as Span).depth > top.depth) end += 1;
  const family = spans.slice(start, end);
  // A preflight below the trigger has no compaction around it: its neighbors tell the decision.
  const siblings = spans.filter((span) => span.parent_id === top.parent_id && /^compact\./.test(span.name ?? "") && Math.abs((span.offset_ms ?? 0) - (top.offset_ms ?? 0)) < 1000);
  return [selected, ...family.filter((span) => span !== selected), ...siblings.filter((span) => !family.includes(span))];
}
