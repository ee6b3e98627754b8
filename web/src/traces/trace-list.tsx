import { useVirtualizer } from "@tanstack/react-virtual";
import { CircleAlert, FoldVertical, Search } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import { ago, count, plural } from "../lib/format";
import { useSessions } from "../sessions/store";
import { Button, Tag } from "../ui/button";
import { traceTitle, type TraceSummary } from "./spans";
import { SLOW_TRACE_MS } from "./trace-data";
import { ms } from "./timeline";

interface Props {
  /** The way back to the sessions on a narrow screen. */
  menu: ReactNode;
  traces: TraceSummary[];
  total: number | null;
  errors: number | null;
  loaded: boolean;
  problem: string;
  current: string;
  query: string;
  status: string;
  onQuery: (query: string) => void;
  onStatus: (status: string) => void;
  onMore: (() => void) | null;
  live: { open: boolean; paused: boolean; waiting: number; pause: (on: boolean) => void };
}

const filters: [string, string, string?][] = [["", "All"], ["error", "Errors"], ["slow", "Slow", `${SLOW_TRACE_MS / 1000} s and longer`], ["compacted", "Compacted", "With at least one compaction"]];

function Row({ trace, current, filter }: { trace: TraceSummary; current: boolean; filter: string }) {
  const sessions = useSessions((state) => state.sessions);
  const compacted = trace.compaction_count;
  return (
    <Link
      href={`/traces/${encodeURIComponent(trace.trace_id)}${filter}`}
      aria-current={current ? "page" : undefined}
      className={`block rounded-[8px] px-2.5 py-2 ${current ? "bg-surface ring-1 ring-line shadow-soft" : "hover:bg-text/5"}`}
    >
      <span className="block truncate text-dense font-medium">{traceTitle(trace, sessions)}</span>
      <span className="mt-px flex items-center gap-2 text-meta text-text-3">
        {trace.started_at && <span>{ago(Date.parse(trace.started_at) / 1000)}</span>}
        {trace.duration_ms !== null && <span>{ms(trace.duration_ms)}</span>}
        <span>{plural(trace.span_count, "span")}</span>
        <span className="ml-auto flex gap-1">
          {compacted > 0 && <Tag tone="amber" title={plural(compacted, "compaction")}><FoldVertical size={12} aria-hidden /> {compacted}<span className="sr-only"> {compacted === 1 ? "compaction" : "compactions"}</span></Tag>}
          {trace.status === "error" && <Tag tone="red"><CircleAlert size={12} aria-hidden /> {plural(trace.error_count || 1, "error")}</Tag>}
          {trace.status === "running" && <Tag tone="accent">running</Tag>}
        </span>
      </span>
    </Link>
  );
}

export function TraceList(props: Props) {
  const { traces, total, errors, loaded, problem, current, query, status, live, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: traces.length, getScrollElement: () => scroller.current, estimateSize: () => 56, overscan: 10 });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onMore && last >= traces.length - 10 && traces.length > 0) onMore();
  }, [last, onMore, traces.length]);

  // The list stays filtered beside the trace that is opened from it.
  const kept = new URLSearchParams({ ...(status ? { status } : {}), ...(query ? { list: query } : {}) }).toString();
  const filter = kept && `?${kept}`;
  return (
    <div className="flex min-h-0 flex-1 flex-col bg-bg">
      <div className="flex h-14 flex-none items-center gap-2 border-b border-line px-4">
        {props.menu}
        <h1 className="text-header font-semibold">Traces</h1>
        {total !== null && <span className="text-dense text-text-3">{count(total)}</span>}
      </div>
      <div className="grid flex-none gap-2 border-b border-line px-3 py-2.5">
        <label className="flex h-[30px] items-center gap-2 rounded-[8px] border border-line-2/60 bg-surface px-2.5 text-dense focus-within:border-line-2">
          <Search size={14} aria-hidden className="text-text-3" />
          <input
            type="search"
            aria-label="Search traces by name, text or session"
            placeholder="Name, text, or session"
            value={query}
            onChange={(event) => props.onQuery(event.target.value)}
            className="min-w-0 flex-1 bg-transparent outline-none"
          />
        </label>
        <div role="group" aria-label="Status" className="flex flex-wrap gap-1">
          {filters.map(([value, label, hint]) => (
            <button
              key={value}
              type="button"
              title={hint}
              aria-pressed={status === value}
              onClick={() => props.onStatus(value)}
              className={`h-6 rounded-[7px] border px-2 text-meta font-medium ${status === value ? "border-transparent bg-accent-soft text-accent" : "border-line bg-surface text-text-2"}`}
            >
              {label}{value === "error" && errors ? ` ${count(errors)}` : ""}
            </button>
          ))}
        </div>
      </div>
      <div ref={scroller} role="region" aria-label="Trace list" tabIndex={0} className="min-h-0 flex-1 overflow-auto p-1.5 -outline-offset-2" onScroll={(event) => event.currentTarget.scrollTop > 0 && !live.paused && live.pause(true)}>
        {problem && <p role="alert" className="p-3 text-dense text-red">{problem}</p>}
        {loaded && !problem && traces.length === 0 && (query || status ? <p className="p-3 text-dense text-text-2">Nothing found.</p> : <NoTraces />)}
        <ul className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const trace = traces[item.index];
            return (
              trace && (
                <li key={trace.trace_id} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)`, height: item.size }}>
                  <Row trace={trace} current={trace.trace_id === current} filter={filter} />
                </li>
              )
            );
          })}
        </ul>
      </div>
      <div className="flex min-h-12 flex-none items-center gap-2 border-t border-line px-3 text-[12.5px]" role="status">
        <i aria-hidden className={`size-2 rounded-full ${live.paused || !live.open ? "border-2 border-line-2" : "bg-green-fill ring-3 ring-green-fill/22"}`} />
        {live.paused ? (
          <>
            <b className="font-semibold">Paused</b>
            <span className="text-text-2">{plural(live.waiting, "new event")}</span>
          </>
        ) : (
          <b className="font-semibold">{live.open ? "Live" : problem ? "Not connected" : "Connecting…"}</b>
        )}
        <Button small className="ml-auto" onClick={() => live.pause(!live.paused)}>{live.paused ? "Resume" : "Pause"}</Button>
      </div>
    </div>
  );
}

function NoTraces() {
  const command = `curl -X POST ${window.location.origin}/ingest -H 'Content-Type: application/json' \\\n  -d '{"type":"span","trace_id":"t1","span_id":"s1","name":"hello"}'`;
  return (
    <div className="p-3 text-dense text-text-2">
      <p>No traces yet. Send one:</p>
      <pre tabIndex={0} role="region" aria-label="Command" className="mt-2 overflow-auto rounded-[8px] border border-line bg-surface p-2 text-axis">{command}</pre>
    </div>
  );
}
