import { ChartNoAxesGantt, Menu, Moon, Search, Settings } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { decoded } from "../lib/decoded";
import { useKeys } from "../lib/keys";
import { nextTheme, setPreference, usePreferences } from "../lib/preferences";
import { useSessions } from "../sessions/store";
import { Logo } from "../ui/logo";
import { useLive, useTrace, useTraceList } from "./trace-data";
import { TraceList } from "./trace-list";
import { traceTitle } from "./spans";
import { TraceView } from "./trace-view";

function Rail({ onPalette }: { onPalette: () => void }) {
  const tracesOnly = useSessions((state) => state.tracesOnly);
  const theme = usePreferences((state) => state.theme);
  const item = "flex size-10 items-center justify-center rounded-[8px] text-text-2 hover:bg-text/6";
  return (
    <nav aria-label="Studio" className="hidden w-14 flex-none flex-col items-center gap-1 border-r border-line bg-side pt-4 pb-2.5 md:flex">
      <span className="mb-3"><Logo size={24} /></span>
      <button type="button" aria-label="Search or run a command" className={item} onClick={onPalette}><Search size={16} aria-hidden /></button>
      {!tracesOnly && <Link href="/" aria-label="Sessions" className={item}><Menu size={16} aria-hidden /></Link>}
      <Link href="/traces" aria-label="Traces" aria-current="page" className={`${item} bg-text/9 text-text`}><ChartNoAxesGantt size={16} aria-hidden /></Link>
      <span className="flex-1" />
      {!tracesOnly && <Link href="/settings" aria-label="Settings" className={item}><Settings size={16} aria-hidden /></Link>}
      <button type="button" aria-label={`Theme: ${theme}`} className={item} onClick={() => setPreference({ theme: nextTheme(theme) })}><Moon size={16} aria-hidden /></button>
    </nav>
  );
}

export default function TracesPage({ onPalette }: { onPalette: () => void }) {
  const [path, go] = useLocation();
  const { sessions, tracesOnly } = useSessions();
  const params = new URLSearchParams(useSearch());
  const id = /^\/traces\/(.+)$/.exec(path)?.[1];
  const traceId = id ? decoded(id) : "";
  // Inside a trace `q` searches its spans; the words of the list are `list` then.
  const listQuery = params.get(traceId ? "list" : "q") ?? "";
  const status = params.get("status") ?? "";
  const [ready, setReady] = useState(false);
  const list = useTraceList({ q: listQuery, status }, ready);
  const { trace, problem, load } = useTrace(traceId, ready);
  // A trace of thousands of spans is fetched again only when it has something new itself.
  const live = useLive((changed) => {
    void list.load();
    if (!changed || changed.has(traceId)) void load();
  }, () => setReady(true));

  const setParams = useCallback(
    (change: Record<string, string | null>) => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(change)) {
        if (value === null || value === "") next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      go(`${window.location.pathname}${text ? `?${text}` : ""}`, { replace: true });
    },
    [go],
  );

  useEffect(() => {
    document.title = trace ? `${traceTitle(trace, sessions)} · Compact` : "Traces · Compact";
  }, [trace, sessions]);
  useKeys({ " ": () => live.pause(!live.paused) });

  return (
    <div className="flex h-full min-h-0">
      <Rail onPalette={onPalette} />
      <div className={`min-h-0 flex-col border-r border-line ${traceId ? "hidden w-[272px] flex-none xl:flex" : "flex min-w-0 flex-1 xl:w-[272px] xl:flex-none"}`}>
        <TraceList
          {...list}
          menu={!tracesOnly && <Link href="/" aria-label="Sessions" className="-ml-2 flex size-8 items-center justify-center md:hidden"><Menu size={16} aria-hidden /></Link>}
          current={traceId}
          query={listQuery}
          status={status}
          onQuery={(words) => setParams(traceId ? { list: words } : { q: words })}
          onStatus={(next) => setParams({ status: next })}
          onMore={list.more ? () => void list.more?.() : null}
          live={live}
        />
      </div>
      {traceId ? (
        trace ? (
          <TraceView trace={trace} params={params} onParams={setParams} onPause={() => !live.paused && live.pause(true)} />
        ) : (
          <p role={problem ? "alert" : undefined} className={`p-6 text-dense ${problem ? "text-red" : "text-text-3"}`}>{problem || "Loading…"}</p>
        )
      ) : (
        <div className="hidden flex-1 items-center justify-center text-dense text-text-3 xl:flex">
          <p>Choose a trace to see its spans.</p>
        </div>
      )}
    </div>
  );
}
