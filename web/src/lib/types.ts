/** What the server sends: made from docs/openapi.json (`npm run api`), narrowed where the document says only "text" or "object". */
import type { UIMessage } from "ai";
import type { components } from "./openapi";

type Schemas = components["schemas"];

export type Usage = Schemas["Usage"];
export type Session = Schemas["Session"];
export type Space = Schemas["Space"];
export type Preset = Schemas["PresetInfo"];
export type ModelChoice = Schemas["ModelInfo"];
export type Settings = Schemas["Settings"];

export type MessageState = Schemas["Message"]["state"];

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
export type Message = Omit<Schemas["Message"], "parts"> & { parts: MessagePart[] };
export type MessagePage = Omit<Schemas["MessageList"], "messages"> & { messages: Message[] };

export type CompactionEventName =
  | "compaction-start"
  | "compaction-prune"
  | "compaction-summarize"
  | "compaction-progress"
  | "compaction-check"
  | "compaction-complete"
  | "compaction-error"
  | "context-overflow"
  | "compact.error";

export interface CompactionEvent {
  event: CompactionEventName;
  step?: number | null;
  at: number;
  duration?: number | null;
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
  /** Of a summary made in pieces: how many are written, of how many. */
  done?: number;
  total?: number;
  wasPruned?: boolean;
  wasSummarized?: boolean;
  summary?: string | null;
  error?: string;
  canRetry?: boolean;
  suggestNewSession?: boolean;
  /** Canceled, here or in another tab: nothing failed. */
  brokenOff?: boolean;
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

export type Count = Schemas["Counted"];
export type Survival = Schemas["Survived"];
export type SummaryItem = Schemas["SectionItem"];
export type SummarySection = Omit<Schemas["Section"], "kind"> & { kind: "words" | "conclusions" | "done" | "values" | "other" };
export type CompactionRecord = Omit<Schemas["Record"], "sections"> & { sections: SummarySection[] };
export type RestorePreview = Schemas["RestorePreview"];
export type Plan = Schemas["Plan"];
export type Fate = Schemas["Fate"];
/** What is left of one kind of evidence: words, conclusions, done, paths, ids, commands, numbers, errors. */
export type KindSurvival = Schemas["KindSurvival"];
export type Column = Schemas["Column"];
export type WhatIf = Schemas["WhatIf"];
export type FigureTurn = Schemas["Figure"];
export type Figures = Schemas["Figures"];
export type CompactResult = Omit<Schemas["CompactResult"], "record"> & { record: CompactionRecord | null };
