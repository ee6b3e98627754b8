import { useVirtualizer } from "@tanstack/react-virtual";
import { CircleAlert, FoldVertical, Search } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { ago, plural } from "../lib/format";
import { Button, Tag } from "../ui/button";
import type { TraceSummary } from "./spans";
import { ms } from "./timeline";

interface Props {
  traces: TraceSummary[];
  total: number | null;
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

const filters: [string, string][] = [["", "All"], ["error", "Errors"], ["running", "Running"], ["ok", "Finished"]];

function Row({ trace, current }: { trace: TraceSummary; current: boolean }) {
  const compacted = Number(trace.metadata.compactions ?? 0);
  return (
    <Link
      href={`/traces/${encodeURIComponent(trace.trace_id)}`}
      aria-current={current ? "page" : undefined}
      className={`block rounded-[8px] px-2.5 py-2 ${current ? "bg-surface ring-1 ring-line shadow-soft" : "hover:bg-text/5"}`}
    >
      <span className="block truncate text-dense font-medium">{trace.name || trace.group_id || trace.trace_id}</span>
      <span className="mt-px flex items-center gap-2 text-meta text-text-3">
        {trace.started_at && <span>{ago(Date.parse(trace.started_at) / 1000)}</span>}
        {trace.duration_ms !== null && <span>{ms(trace.duration_ms)}</span>}
        <span>{plural(trace.span_count, "span")}</span>
        <span className="ml-auto flex gap-1">
          {compacted > 0 && <Tag tone="amber"><FoldVertical size={12} aria-hidden /> {compacted}</Tag>}
          {trace.status === "error" && <Tag tone="red"><CircleAlert size={12} aria-hidden /> {plural(trace.error_count || 1, "error")}</Tag>}
          {trace.status === "running" && <Tag tone="accent">running</Tag>}
        </span>
      </span>
    </Link>
  );
}

export function TraceList(props: Props) {
  const { traces, total, loaded, problem, current, query, status, live, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: traces.length, getScrollElement: () => scroller.current, estimateSize: () => 56, overscan: 10 });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onMore && last >= traces.length - 10 && traces.length > 0) onMore();
  }, [last, onMore, traces.length]);

  return (
    <div className="flex h-full min-h-0 flex-col bg-bg">
      <div className="flex h-14 flex-none items-center gap-2 border-b border-line px-4">
        <h1 className="text-header font-semibold">Traces</h1>
        {total !== null && <span className="text-dense text-text-3">{total.toLocaleString("en-US")}</span>}
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
          {filters.map(([value, label]) => (
            <button
              key={value}
              type="button"
              aria-pressed={status === value}
              onClick={() => props.onStatus(value)}
              className={`h-6 rounded-[7px] border px-2 text-meta font-medium ${status === value ? "border-transparent bg-accent-soft text-accent" : "border-line bg-surface text-text-2"}`}
            >
              {label}
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
                  <Row trace={trace} current={trace.trace_id === current} />
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
          <b className="font-semibold">{live.open ? "Live" : "Connecting…"}</b>
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
