import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import { count, percent } from "../lib/format";
import type { Usage } from "../lib/types";
import { Tag } from "../ui/button";
import { isTooLong, level, triggerShare, usedText, type Level } from "./usage";

const fill: Record<Level, { exact: string; estimate: string }> = {
  normal: { exact: "bg-green-fill", estimate: "broken-green" },
  high: { exact: "bg-yellow-fill", estimate: "broken-yellow" },
  full: { exact: "bg-red-fill", estimate: "broken-red" },
  over: { exact: "bg-red-fill", estimate: "broken-red" },
};

/** The color of the messages' share, the same wherever it is drawn. */
export function messagesLook(usage: Usage): string {
  return fill[level(usage)][usage.exact ? "exact" : "estimate"];
}

interface BarProps {
  usage: Usage;
  /** Tokens of the message being typed, as the server counted them. */
  draft?: number;
  label?: string;
}

/** The strip alone: parts, draft, free, reserve and the mark where compaction comes. A picture, no control. */
export function Strip({ usage, draft = 0, label = "Context used" }: BarProps) {
  const { parts, window, reserve } = usage;
  const at = level(usage);
  // Past the window the parts are drawn in proportion inside a full bar with a capped end.
  const scale = 100 / Math.max(window, usage.tokens + draft);
  const messages = Math.max(0, usage.tokens - parts.system - parts.tools - parts.summary);
  const segments = [
    { key: "system", tokens: parts.system, look: "bg-part-system" },
    { key: "tools", tokens: parts.tools, look: "bg-part-tools" },
    { key: "summary", tokens: parts.summary, look: "hatch-amber" },
    { key: "messages", tokens: messages, look: messagesLook(usage) },
    { key: "draft", tokens: draft, look: "hatch-draft" },
  ].filter((segment) => segment.tokens > 0);
  const words = `${usedText(usage)}, ${count(usage.tokens)} of ${count(window)} tokens, compacts at ${count(usage.trigger)}`;
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={window}
      aria-valuenow={Math.min(usage.tokens, window)}
      aria-valuetext={words}
      data-level={at}
      data-exact={usage.exact}
      className="relative flex h-2 gap-[2px] rounded-[4px] bg-track"
    >
      {segments.map((segment, index) => (
        <i
          key={segment.key}
          data-part={segment.key}
          style={{ width: `${segment.tokens * scale}%` }}
          className={`block h-full flex-none transition-[width] duration-[240ms] ${index === 0 ? "rounded-l-[4px]" : ""} ${segment.look}`}
        />
      ))}
      {at !== "over" && (
        <span style={{ width: `${reserve * scale}%` }} className="hatch-reserve absolute inset-y-0 right-0 rounded-r-[4px]" />
      )}
      {at === "over" && <span className="hatch-red absolute -inset-y-[3px] -right-[3px] w-[9px] rounded-[3px]" />}
      <span
        style={{ left: `${usage.trigger * scale}%` }}
        className="absolute -top-[3px] -bottom-1 -ml-px w-[2px] rounded-[1px] bg-text ring-[1.5px] ring-surface"
      >
        <span className="absolute -top-[3px] -left-[3px] border-4 border-b-0 border-transparent border-t-text" />
      </span>
    </div>
  );
}

/** The words beside the number: one sentence about what comes next, never two. */
export function usageNote(usage: Usage, draftUsage: Usage | null, compacting: boolean) {
  const at = level(usage);
  if (compacting) return { icon: TriangleAlert, tone: "text-yellow", text: "Compacting" };
  if (isTooLong(draftUsage)) return { icon: CircleAlert, tone: "text-red", text: "Too long to send" };
  if (at === "over") return { icon: CircleAlert, tone: "text-red", text: `Over by ${count(usage.tokens - usage.window)}` };
  if (at === "full") return { icon: CircleAlert, tone: "text-red", text: "Almost full" };
  if (usage.compacts_next) return { icon: TriangleAlert, tone: "text-yellow", text: "Compacts before the next reply" };
  if (draftUsage?.compacts_next) return { icon: Info, tone: "text-yellow", text: "Sending this compacts first" };
  return null;
}

interface Props {
  usage: Usage | undefined;
  draftUsage?: Usage | null;
  compacting?: boolean;
  /** Where turns decide, not size: after how many. */
  turns?: number | null;
}

export function UsageBar({ usage, draftUsage = null, compacting = false, turns = null }: Props) {
  if (!usage) {
    return (
      <div className="h-[43px]">
        <p className="mb-[9px] text-dense text-text-3">Context size is known after the first message.</p>
        <div className="h-2 rounded-[4px] bg-track" />
      </div>
    );
  }
  const note = usageNote(usage, draftUsage, compacting);
  const draft = draftUsage?.draft ?? 0;
  const toGo = usage.trigger - usage.tokens;
  return (
    <div className="min-h-[35px]">
      <div className="mb-[9px] flex flex-wrap items-baseline gap-x-2 text-dense text-text-2">
        <span className="whitespace-nowrap">
          <b className="font-semibold text-text">{usedText(usage)}</b> ·{" "}
          {draft > 0 && draftUsage && (note?.text === "Sending this compacts first" || isTooLong(draftUsage) || toGo < draft * 4) ? (
            <>{percent(draftUsage.tokens / draftUsage.window)} with this message</>
          ) : (
            <>
              {count(usage.tokens)} of {count(usage.window)}
              <span className="hidden md:inline"> tokens</span>
            </>
          )}
        </span>
        {!usage.exact && (
          <span><Tag title="Counted without the model's own tokenizer">
            Estimate{usage.margin && usage.margin > 1 ? ` ±${Math.round((usage.margin - 1) * 100)}%` : ""}
          </Tag></span>
        )}
        {note && (
          <span className={`inline-flex items-center gap-1.5 self-center font-medium whitespace-nowrap ${note.tone}`}>
            <note.icon size={14} aria-hidden />
            {note.text}
          </span>
        )}
        <span className={`ml-auto text-meta whitespace-nowrap text-text-3 ${note || !usage.exact ? "hidden md:inline" : ""}`}>
          {turns === null ? `Compacts at ${percent(triggerShare(usage))}` : `Compacts after ${turns} turns`}
          {!note && turns === null && toGo > 0 && <span className="hidden md:inline"> · {count(toGo)} tokens to go</span>}
        </span>
      </div>
      <Strip usage={usage} draft={draft} />
    </div>
  );
}

/** For list rows and dialogs: the same number, small. */
export function MiniBar({ usage }: { usage: Usage }) {
  const at = level(usage);
  return (
    <span aria-hidden className="h-1 w-[34px] flex-none overflow-hidden rounded-[2px] bg-text/13">
      <i style={{ width: `${Math.min(100, (usage.tokens / usage.window) * 100)}%` }} className={`block h-full ${fill[at].exact}`} />
    </span>
  );
}
