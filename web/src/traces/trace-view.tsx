import { ArrowLeft, ChevronDown, ChevronUp, CircleAlert, Download, Link as LinkIcon, Maximize, Search, ZoomIn, ZoomOut } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { plural, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { Button } from "../ui/button";
import { useSessions } from "../sessions/store";
import { copyText, download } from "../ui/copy";
import { Select } from "../ui/select";
import { showToast } from "../ui/toasts";
import { Inspector } from "./inspector";
import { Overview } from "./overview";
import { KINDS, tokenCounts, traceTitle, type Span, type Trace } from "./spans";
import { SpanTree } from "./span-tree";
import { ancestors, isHit, ms, pan, rangeParams, readKinds, slowFrom, traceLength, visibleRows, zoom, type Range } from "./timeline";

interface Props {
  trace: Trace;
  params: URLSearchParams;
  onParams: (change: Record<string, string | null>) => void;
  onPause: () => void;
}

const closedText = (ids: Iterable<string>) => [...ids].map(encodeURIComponent).join(",");

/** Back to the list as it was. */
function listHref(params: URLSearchParams): string {
  const kept = new URLSearchParams({ q: params.get("list") ?? "", status: params.get("status") ?? "" });
  return `/traces?${kept.toString()}`;
}

function traceCounts(spans: Span[]) {
  const slowMs = slowFrom(spans);
  return {
    errorCount: spans.filter((span) => span.status === "error").length,
    tokens: spans.reduce((sum, span) => sum + (tokenCounts(span.data).input ?? 0), 0),
    slowMs,
    slowCount: spans.filter((span) => (span.duration_ms ?? 0) >= slowMs).length,
  };
}

export function TraceView({ trace, params, onParams, onPause }: Props) {
  // Everything that makes the view is in the address, so that a link reopens it.
  const closedKey = params.get("closed") ?? "";
  const collapsed = useMemo(() => new Set(closedKey ? closedKey.split(",").map(decodeURIComponent) : []), [closedKey]);
  const setCollapsed = (next: Set<string>) => onParams({ closed: next.size ? closedText(next) : null });
  const only = (params.get("only") ?? "").split(",");
  const errors = only.includes("errors");
  const slow = only.includes("slow");
  const setOnly = (name: string, on: boolean) => onParams({ only: [...only.filter((other) => other && other !== name), ...(on ? [name] : [])].join(",") });
  const sessions = useSessions((state) => state.sessions);
  const query = params.get("q") ?? "";
  const kinds = readKinds(params.get("kind"));
  const kindKey = params.get("kind") ?? "";
  const selected = params.get("span") ?? "";
  const total = useMemo(() => traceLength(trace.spans), [trace]);
  const range: Range = {
    t0: Math.max(0, Math.min(Number(params.get("t0") ?? 0), total)),
    t1: Math.min(total, Number(params.get("t1") ?? total) || total),
  };
  const rows = useMemo(
    () => visibleRows(trace.spans, collapsed, { errors, slow, kinds: readKinds(kindKey) }),
    [trace, collapsed, errors, slow, kindKey],
  );
  const hits = useMemo(() => (query ? trace.spans.filter((span) => isHit(span, query)).map((span) => span.span_id) : []), [trace, query]);
  const hitSet = useMemo(() => new Set(hits), [hits]);
  const hitAt = useMemo(() => hits.indexOf(selected), [hits, selected]);

  const setRange = (next: Range) => onParams(rangeParams(next, total));
  const select = (id: string) => {
    onPause();
    onParams({ span: id });
  };
  const toggle = (id: string) => {
    const next = new Set(collapsed);
    if (!next.delete(id)) next.add(id);
    setCollapsed(next);
  };
  const nextHit = (step: number) => {
    const id = hits[(hitAt + step + hits.length) % Math.max(1, hits.length)];
    if (!id) return;
    const above = ancestors(trace.spans, id);
    const closed = [...collapsed].filter((other) => !above.includes(other));
    onPause();
    onParams({ span: id, closed: closed.length ? closedText(closed) : null });
  };

  useKeys({
    w: () => setRange(zoom(range, 0.6, total)),
    s: () => setRange(zoom(range, 1 / 0.6, total)),
    a: () => setRange(pan(range, -0.25, total)),
    d: () => setRange(pan(range, 0.25, total)),
    f: () => setRange({ t0: 0, t1: total }),
    n: () => nextHit(1),
    "shift+n": () => nextHit(-1),
  });

  // A zoom renders all of this again, many times a second: what reads every span is kept as long as the trace is.
  const span = useMemo(() => (selected ? trace.spans.find((entry) => entry.span_id === selected) : undefined), [trace, selected]);
  const { errorCount, tokens, slowMs, slowCount } = useMemo(() => traceCounts(trace.spans), [trace]);
  const title = traceTitle(trace, sessions);
  const session = sessions.find((entry) => entry.id === trace.group_id);
  const chip = (on: boolean) => `h-[26px] rounded-[7px] border px-2.5 text-meta font-medium ${on ? "border-transparent bg-accent-soft text-accent" : "border-line bg-surface"}`;
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col lg:flex-row">
      <section aria-label="Trace" className="flex min-h-0 min-w-0 flex-1 flex-col">
        <header className="flex h-14 flex-none items-center gap-2.5 border-b border-line px-4">
          <Link href={listHref(params)} aria-label="All traces" className="xl:hidden"><ArrowLeft size={16} aria-hidden /></Link>
          <h2 className="min-w-0 truncate text-header font-semibold">{title}</h2>
          <span className="hidden truncate text-dense text-text-2 md:inline">
            {trace.duration_ms !== null && `${ms(trace.duration_ms)} · `}
            {plural(trace.span_count, "span")}
            {tokens > 0 && ` · ${short(tokens)} tokens in`}
            {trace.truncated && " · partly shown"}
          </span>
          {session && <Link href={`/s/${encodeURIComponent(session.id)}`} className="ml-auto hidden text-dense font-medium whitespace-nowrap text-accent hover:underline md:inline">Open chat</Link>}
          <Button variant="ghost" icon className={session ? "max-md:ml-auto" : "ml-auto"} aria-label="Download trace" onClick={() => download(`trace-${trace.trace_id}.json`, JSON.stringify(trace, null, 2))}>
            <Download size={14} aria-hidden />
          </Button>
          <Button aria-label="Copy link" onClick={() => { void copyText(window.location.href); showToast("info", "Link copied", "It opens this same view."); }}>
            <LinkIcon size={14} aria-hidden /> <span className="hidden md:inline">Copy link</span>
          </Button>
        </header>
        <div className="flex flex-none flex-wrap items-center gap-1.5 px-4 py-2">
          <label className="flex h-[30px] w-full items-center gap-2 rounded-[8px] border border-line-2/60 px-2.5 text-dense focus-within:border-line-2 md:w-52">
            <Search size={14} aria-hidden className="text-text-3" />
            <input
              id="trace-search"
              type="search"
              aria-label="Search in this trace"
              placeholder="Search spans"
              value={query}
              onChange={(event) => onParams({ q: event.target.value || null })}
              onKeyDown={(event) => {
                if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
              }}
              className="min-w-0 flex-1 bg-transparent outline-none"
            />
            {query && <span role="status" className="text-meta whitespace-nowrap text-text-3">{hits.length ? `${Math.max(0, hitAt) + (hitAt >= 0 ? 1 : 0)} of ${hits.length}` : "none"}</span>}
          </label>
          <Button variant="ghost" icon small aria-label="Previous hit" disabled={!hits.length} onClick={() => nextHit(-1)}><ChevronUp size={14} aria-hidden /></Button>
          <Button variant="ghost" icon small aria-label="Next hit" disabled={!hits.length} onClick={() => nextHit(1)}><ChevronDown size={14} aria-hidden /></Button>
          <button type="button" aria-pressed={errors} onClick={() => setOnly("errors", !errors)} className={chip(errors)}>
            {errorCount > 0 && <CircleAlert size={12} aria-hidden className="mr-1 inline text-red" />}Errors {errorCount}
          </button>
          <button type="button" aria-pressed={slow} onClick={() => setOnly("slow", !slow)} className={chip(slow)} title={`${ms(slowMs)} and longer`}>Slow {slowCount}</button>
          <Select label="Kind" value={kinds.size ? [...kinds][0] as string : ""} options={[{ value: "", label: "Kind" }, ...KINDS.map((kind) => ({ value: kind, label: kind }))]} onChange={(kind) => onParams({ kind: kind || null })} />
          <span className="ml-auto flex gap-1">
            <Button variant="ghost" icon small aria-label="Zoom out" onClick={() => setRange(zoom(range, 1 / 0.6, total))}><ZoomOut size={14} aria-hidden /></Button>
            <Button variant="ghost" icon small aria-label="Zoom in" onClick={() => setRange(zoom(range, 0.6, total))}><ZoomIn size={14} aria-hidden /></Button>
            <Button small onClick={() => setRange({ t0: 0, t1: total })}><Maximize size={13} aria-hidden /> Fit</Button>
          </span>
        </div>
        <Overview spans={trace.spans} total={total} range={range} onRange={setRange} />
        <SpanTree rows={rows} all={trace.spans.length} range={range} collapsed={collapsed} selected={selected} query={query} hits={hitSet} onSelect={select} onToggle={toggle} onZoom={(factor, center) => setRange(zoom(range, factor, total, center))} onPan={(share) => setRange(pan(range, share, total))} onScrolled={onPause} />
      </section>
      {span && (
        <aside aria-label="Inspector" className="h-[46dvh] flex-none border-t border-line lg:h-auto lg:w-[356px] lg:border-t-0 lg:border-l">
          <Inspector trace={trace} span={span} sessionId={session?.id ?? ""} onClose={() => onParams({ span: null })} />
        </aside>
      )}
    </div>
  );
}
