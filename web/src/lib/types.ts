/** What the server sends. One file, so that a change of the API shows up as type errors. */
import type { UIMessage } from "ai";

export interface UsageParts {
  system: number;
  tools: number;
  summary: number;
  messages: number;
}

export interface Usage {
  tokens: number;
  window: number;
  window_source?: string;
  trigger: number;
  budget?: number;
  reserve: number;
  percent: number;
  exact: boolean;
  margin?: number | null;
  over_by?: number;
  parts: UsageParts;
  compacts_next: boolean;
}

export interface Session {
  id: string;
  title: string;
  space: string | null;
  preset: string;
  model: string;
  created_at: number;
  updated_at: number;
  message_count: number;
  compaction_count: number;
  last_compaction_at: number | null;
  compacting: boolean;
  streaming: boolean;
  usage: Usage | null;
  /** A message that was sent and is not answered yet. */
  draft?: string;
  policy?: Record<string, unknown> | null;
}

export interface Space {
  name: string;
  title: string;
  custom_instructions: string;
  preset?: string | null;
}

export interface Preset {
  name: string;
  title: string;
  description: string;
  trigger_pct: number;
  policy: Record<string, unknown>;
}

export interface ModelChoice {
  id: string;
  label: string;
  note: string;
  default: boolean;
  window: number;
}

export interface Settings {
  version: string;
  presets: Preset[];
  models: ModelChoice[];
  demo: boolean;
  token_required: boolean;
}

export type MessageState = "sent" | "summarized" | "cleared" | "dropped";

/** On a tool part whose output the prompt no longer holds in full. */
export interface OutputChange {
  state: "cleared" | "shortened";
  at?: number | null;
  original_tokens?: number | null;
  tokens?: number | null;
  handle?: string | null;
  placeholder?: string | null;
}

export type MessagePart = UIMessage["parts"][number] & { compact?: OutputChange; tokens?: number; duration?: number };

export interface Message {
  id: string;
  position: number;
  last_position?: number;
  turn?: number;
  role: "user" | "assistant" | "system";
  created_at: number;
  tokens: number | null;
  state: MessageState;
  pinned: boolean;
  finish_reason?: string | null;
  error?: string | null;
  model?: string | null;
  cost?: number | null;
  duration?: number | null;
  parts: MessagePart[];
}

export interface MessagePage {
  messages: Message[];
  total: number;
  first: number | null;
  last: number | null;
}

export type CompactionEventName =
  | "compaction-start"
  | "compaction-prune"
  | "compaction-summarize"
  | "compaction-complete"
  | "compaction-error"
  | "context-overflow"
  | "compact.error";

export interface CompactionEvent {
  event: CompactionEventName;
  step?: number | null;
  at: number;
  duration?: number | null;
  phase?: string | null;
  preset?: string | null;
  tokensBefore?: number;
  tokensAfter?: number;
  modelLimit?: number;
  reason?: string;
  outputsPruned?: number;
  tokensSaved?: number;
  prunedTools?: string[];
  messagesCount?: number;
  messagesCompacted?: number;
  piece?: number | null;
  pieces?: number | null;
  wasPruned?: boolean;
  wasSummarized?: boolean;
  summary?: string | null;
  error?: string;
  canRetry?: boolean;
  suggestNewSession?: boolean;
  currentTokens?: number;
  limit?: number;
  percentUsed?: number;
  /** Of compact.error: what failed, and what was done instead. */
  error_type?: string;
  message?: string;
  fallback?: string;
}

export interface Notice {
  level: "info" | "warning" | "alert" | "error";
  text: string;
  code?: string | null;
}

export interface Count {
  kept: number;
  total: number;
}

export interface Survival {
  words?: Count | null;
  conclusions?: Count | null;
  values?: Count | null;
}

export interface SummaryItem {
  text: string;
  positions: number[];
  label?: string | null;
}

export interface SummarySection {
  title: string;
  kind: "words" | "conclusions" | "done" | "values" | "other";
  items: SummaryItem[];
}

export interface CompactionRecord {
  step: number;
  version: number | null;
  kind: "summary" | "prune" | "trim" | "clear" | "restore";
  reason?: string | null;
  created_at: number;
  duration?: number | null;
  tokens_before: number;
  tokens_after: number;
  messages_replaced: number;
  outputs_cleared: number;
  first_position: number | null;
  last_position: number | null;
  summary: string | null;
  sections: SummarySection[];
  survival?: Survival | null;
  summarizer?: string | null;
  fallback?: string | null;
  cost?: number | null;
  in_force: boolean;
  folded_into?: number | null;
  undone: boolean;
  warnings?: string[];
}

export interface RestorePreview {
  messages_back: number;
  outputs_back: number;
  tokens_now: number;
  tokens_after: number;
  compacts_again: boolean;
}

export interface PlanStep {
  position: number | null;
  action: string;
  tokens?: number;
  saves?: number;
  role?: string;
  tool?: string | null;
}

export interface Plan {
  triggered: boolean;
  reason: string;
  mode: string;
  before: number;
  after: number;
  steps: PlanStep[];
}

export interface Fate {
  position: number;
  action: string;
  tokens_before: number;
  tokens_after: number;
}

export interface MissingItem {
  kind: string;
  text: string;
  position: number | null;
}

export interface Column {
  label: string;
  preset: string | null;
  mode?: string | null;
  tokens_before: number;
  tokens_after: number;
  percent_after: number;
  cost_next?: number | null;
  cached_tokens?: number | null;
  duration?: number | null;
  survival: Survival | null;
  missing: MissingItem[];
  fates: Fate[];
  problem?: string | null;
  reason?: string;
  summary?: string | null;
}

export interface WhatIf {
  at_message: number;
  now: Column;
  columns: Column[];
}

export interface FigureTurn {
  turn: number;
  position: number;
  at: number;
  tokens: number;
  tokens_without: number;
  cost: number | null;
  cached_tokens: number;
  /** Step of the compaction that ran before this reply. */
  compaction: number | null;
}

export interface Figures {
  turns: FigureTurn[];
  totals: {
    turns: number;
    compactions: number;
    input_tokens: number;
    output_tokens: number;
    cached_tokens: number;
    cost: number | null;
    tokens_saved: number;
    cost_saved: number | null;
  };
  survival: ({ step: number } & Survival)[];
  prices_known: boolean;
}

export interface CompactResult {
  outcome: string;
  record: CompactionRecord | null;
  usage: Usage | null;
  reason?: string | null;
}
