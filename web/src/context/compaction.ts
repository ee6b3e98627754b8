/** From the events of a compaction to what the status row, the banner and Send show. Pure. */
import { reduction } from "../lib/format";
import type { CompactionEvent } from "../lib/types";

export type Phase = "idle" | "optimizing" | "summarizing" | "checking" | "done" | "failed";

export interface CompactionState {
  phase: Phase;
  step: number | null;
  startedAt: number;
  tokensBefore: number;
  /** What is known to be saved so far, in per cent; 0 until something is known. */
  saved: number;
  clearedTokens: number;
  messages: number;
  /** Of a summary made in pieces: how many are written, of how many; 0 of 0 until known. */
  done: number;
  total: number;
  tokensAfter: number;
  duration: number | null;
  error: string;
  canRetry: boolean;
  suggestNewSession: boolean;
}

export const idle: CompactionState = {
  phase: "idle",
  step: null,
  startedAt: 0,
  tokensBefore: 0,
  saved: 0,
  clearedTokens: 0,
  messages: 0,
  done: 0,
  total: 0,
  tokensAfter: 0,
  duration: null,
  error: "",
  canRetry: false,
  suggestNewSession: false,
};

export function isRunning(state: CompactionState): boolean {
  return state.phase === "optimizing" || state.phase === "summarizing" || state.phase === "checking";
}

/** Whether neither a retry nor a new session would help: what is to be sent is itself too large. */
export function isHopeless(state: CompactionState): boolean {
  return state.phase === "failed" && !state.canRetry && !state.suggestNewSession;
}

export function reduceCompaction(state: CompactionState, event: CompactionEvent): CompactionState {
  switch (event.event) {
    case "compaction-start":
      return {
        ...idle,
        phase: "optimizing",
        step: event.step ?? null,
        startedAt: event.at,
        tokensBefore: event.tokensBefore ?? 0,
      };
    case "compaction-prune": {
      // A prune at the end of a turn has no start: it is shown by the message itself, not by the row.
      if (!isRunning(state)) return state;
      const clearedTokens = state.clearedTokens + (event.tokensSaved ?? 0);
      return { ...state, clearedTokens, saved: reduction(state.tokensBefore, state.tokensBefore - clearedTokens) };
    }
    case "compaction-summarize": {
      const running = isRunning(state) ? state : { ...idle, startedAt: event.at, step: event.step ?? null };
      return { ...running, phase: "summarizing", messages: event.messagesCount ?? running.messages };
    }
    case "compaction-progress":
      return isRunning(state) ? { ...state, done: event.done ?? 0, total: event.total ?? 0 } : state;
    case "compaction-check":
      if (!isRunning(state)) return state;
      return { ...state, phase: "checking", saved: reduction(state.tokensBefore, event.tokensAfter) };
    case "compaction-complete": {
      const before = event.tokensBefore ?? state.tokensBefore;
      const after = event.tokensAfter ?? before;
      return {
        ...state,
        phase: "done",
        step: event.step ?? state.step,
        tokensBefore: before,
        tokensAfter: after,
        saved: reduction(before, after),
        messages: event.messagesCompacted ?? state.messages,
        duration: event.duration ?? (state.startedAt ? event.at - state.startedAt : null),
      };
    }
    case "compaction-error":
      if (event.brokenOff) return idle;
      return {
        ...state,
        phase: "failed",
        error: event.error ?? "The reason is unknown.",
        canRetry: event.canRetry ?? false,
        suggestNewSession: event.suggestNewSession ?? false,
      };
    default:
      // An overflow, a step down the ladder, or something newer than this page: it changes no phase.
      return state;
  }
}

/** The words of the row and of the live region. */
export function phaseText(state: CompactionState, rolling: boolean): string {
  if (rolling && isRunning(state)) return "Updating summary…";
  switch (state.phase) {
    case "optimizing":
      return "Optimizing conversation...";
    case "summarizing":
    case "checking":
      return "Summarizing context...";
    case "done":
      return `${state.saved}% reduced`;
    default:
      return "";
  }
}

/** What the row shows: of a compaction whose first event never came, at least that it runs. */
export function shownCompaction(state: CompactionState, compacting: boolean): CompactionState {
  return compacting && state.phase === "idle" ? { ...idle, phase: "optimizing" } : state;
}

/** Two deliveries of one event (chat stream, session events, stored list) count once. */
export function eventKey(event: CompactionEvent): string {
  return [event.event, event.step ?? "", event.at, event.done ?? ""].join("|");
}

/** The state a page should show when it opens on these stored events: only what still runs. */
export function replay(events: CompactionEvent[], compacting: boolean): CompactionState {
  const state = events.reduce(reduceCompaction, idle);
  if (compacting) return isRunning(state) ? state : { ...idle, phase: "optimizing", startedAt: Date.now() / 1000 };
  return idle;
}
