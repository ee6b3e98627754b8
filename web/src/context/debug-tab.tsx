import { Link } from "wouter";
import { useOpenSession } from "../chat/open-session";
import { count, plural, preciseClock, reduction, seconds } from "../lib/format";
import type { CompactionEvent, CompactionEventName } from "../lib/types";
import { Tag } from "../ui/button";

const labels: Record<CompactionEventName, { label: string; tone: "yellow" | "green" | "red" }> = {
  "compaction-start": { label: "Compacting", tone: "yellow" },
  "compaction-prune": { label: "Pruning", tone: "yellow" },
  "compaction-summarize": { label: "Summarizing", tone: "yellow" },
  "compaction-progress": { label: "Summarizing", tone: "yellow" },
  "compaction-check": { label: "Checking", tone: "yellow" },
  "compaction-complete": { label: "Compacted", tone: "green" },
  "compaction-error": { label: "Compact Fail", tone: "red" },
  "context-overflow": { label: "Overflow", tone: "red" },
  "compact.error": { label: "Fallback", tone: "yellow" },
};

/** The lines under an event's label. */
export function eventLines(event: CompactionEvent): string[] {
  switch (event.event) {
    case "compaction-start":
      return [
        `Before: ${count(event.tokensBefore ?? 0)} tokens`,
        `${count(event.tokensBefore ?? 0)} of ${count(event.modelLimit ?? 0)} tokens · reason: ${event.reason ?? "unknown"}`,
      ];
    case "compaction-prune":
      return [
        `Pruned ${count(event.outputsPruned ?? 0)} tool outputs (${count(event.tokensSaved ?? 0)} tokens)`,
        ...(event.prunedTools?.length ? [event.prunedTools.join(", ")] : []),
      ];
    case "compaction-summarize":
      return [plural(event.messagesCount ?? 0, "message")];
    case "compaction-progress":
      return [`${count(event.done ?? 0)} of ${plural(event.total ?? 0, "piece")} written`];
    case "compaction-check":
      return [`${count(event.tokensAfter ?? 0)} tokens would be left`];
    case "compaction-complete":
      return [
        `Before: ${count(event.tokensBefore ?? 0)} tokens`,
        `After: ${count(event.tokensAfter ?? 0)} tokens`,
        `Saved: ${reduction(event.tokensBefore, event.tokensAfter)}%`,
        ...(event.duration != null ? [`Took ${seconds(event.duration)}`] : []),
      ];
    case "compaction-error":
      return [event.error ?? "The reason is unknown."];
    case "compact.error":
      return [event.message ?? event.error_type ?? "", ...(event.fallback ? [`Instead: ${event.fallback}`] : [])];
    case "context-overflow":
      return [`${count(event.currentTokens ?? 0)} of ${count(event.limit ?? 0)} tokens (${Math.round(event.percentUsed ?? 0)}%)`];
  }
}

export function DebugTab({ sessionId }: { sessionId: string }) {
  const all = useOpenSession((state) => state.events);
  // Of the pieces of one summary only the newest count is worth a line.
  const events = all.filter(
    (event, index) =>
      event.event in labels &&
      !(event.event === "compaction-progress" && all.slice(index + 1).some((later) => later.event === "compaction-progress" && later.step === event.step)),
  );
  return (
    <section aria-labelledby="debug-title" className="py-4">
      <h2 id="debug-title" className="flex items-center justify-between text-dense font-semibold">
        Context Management
        <Link href={`/traces?q=${encodeURIComponent(sessionId)}`} className="text-meta font-medium text-accent hover:underline">
          Open trace
        </Link>
      </h2>
      {events.length === 0 && <p className="mt-2 text-dense text-text-2">No compaction has run in this session.</p>}
      <ol className="mt-1">
        {[...events].reverse().map((event) => {
          const { label, tone } = event.brokenOff ? { label: "Canceled", tone: "yellow" as const } : labels[event.event];
          const lines = eventLines(event);
          const pairs = event.event === "compaction-complete";
          return (
            <li key={`${event.event}-${event.step ?? ""}-${event.at}-${event.done ?? ""}`} className="border-b border-line py-2.5 last:border-b-0">
              <div className="flex items-center justify-between">
                <Tag tone={tone}>{label}</Tag>
                <time className="font-mono text-axis text-text-3">{preciseClock(event.at)}</time>
              </div>
              <div className={`mt-1.5 text-meta break-words text-text-2 ${pairs ? "grid grid-cols-2 gap-x-3" : ""}`}>
                {lines.map((line) => (
                  <p key={line}>{line}</p>
                ))}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
