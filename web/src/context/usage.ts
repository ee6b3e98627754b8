/** The one number: every view of a session's size reads this store, and only the server's figures enter it. */
import { create } from "zustand";
import { announce } from "../ui/announcer";
import type { Usage } from "../lib/types";

interface UsageStore {
  bySession: Record<string, Usage>;
  set: (session: string, usage: Usage | null) => void;
}

export type Level = "normal" | "high" | "full" | "over";

export function level(usage: Usage): Level {
  if (usage.tokens > usage.window) return "over";
  const share = usage.tokens / usage.window;
  return share > 0.95 ? "full" : share > 0.8 ? "high" : "normal";
}

const spoken: Record<Level, string> = { normal: "", high: "over 80%", full: "almost full", over: "over the window" };

export const useUsage = create<UsageStore>((set) => ({
  bySession: {},
  set: (session, usage) =>
    set((state) => {
      if (!usage) return state;
      const before = state.bySession[session];
      const now = level(usage);
      if (before && level(before) !== now && spoken[now]) announce(`Context ${spoken[now]}`);
      return { bySession: { ...state.bySession, [session]: usage } };
    }),
}));

/** How much a single message may take; more than that and no compaction makes room for it. */
export function roomForOne({ budget, parts }: Usage): number {
  return budget - parts.system - parts.tools;
}

export function isTooLong(draftUsage: Usage | null): boolean {
  return draftUsage !== null && draftUsage.draft > roomForOne(draftUsage);
}

/** "55% used", with "about" where the count is an estimate. */
export function usedText(usage: Usage): string {
  const share = Math.round((usage.tokens / usage.window) * 100);
  return `${usage.exact ? "" : "about "}${share}% used`;
}

export function triggerShare(usage: Usage): number {
  return Math.min(1, usage.trigger / usage.window);
}
