import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, CircleAlert } from "lucide-react";
import { memo, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { spanLook } from "./kind-style";
import { rowKeys } from "./row-keys";
import { badge, kindOf, type Span } from "./spans";
import { ms, tickLabels, ticks, type Range } from "./timeline";

const ROW = 28;
/** Rows beyond each edge: what a turn of the wheel brings in. More would only make a jump dearer. */
const OVERSCAN = 4;

interface Props {
  rows: Span[];
  all: number;
  range: Range;
  collapsed: Set<string>;
  selected: string;
  query: string;
  hits: Set<string>;
  onSelect: (id: string) => void;
  onToggle: (id: string) => void;
  onZoom: (factor: number, center: number) => void;
  onPan: (share: number) => void;
  onScrolled: () => void;
}

const columns = "grid grid-cols-[176px_minmax(0,1fr)] md:grid-cols-[296px_minmax(0,1fr)]";

function Bar({ span, range }: { span: Span; range: Range }) {
  const width = range.t1 - range.t0;
  const start = span.offset_ms ?? 0;
  // What still runs reaches to the end of what is known.
  const duration = span.duration_ms ?? Math.max(0, range.t1 - start);
  const left = (start - range.t0) / width;
  const right = (start + duration - range.t0) / width;
  if (left > 1) return <span className="absolute top-1.5 right-2.5 hidden font-mono text-axis leading-4 text-text-3 md:block">{ms(start)} · {ms(duration)} →</span>;
  if (right < 0) return <span className="absolute top-1.5 left-2.5 hidden font-mono text-axis leading-4 text-text-3 md:block">← {ms(start)} · {ms(duration)}</span>;
  const from = Math.max(0, left);
  const to = Math.min(1, right);
  const cut = right > 1;
  return (
    <>
      <i
        aria-hidden
        style={{ left: `min(${from * 100}%, 100% - 4px)`, width: `${(to - from) * 100}%` }}
        className={`absolute top-[7px] h-3.5 min-w-[3px] rounded-[3px] ${spanLook(kindOf(span), span.status)}`}
      />
      {duration !== 0 && <span
        style={cut ? { right: 10 } : to > 0.86 && from > 0.2 ? { right: `calc(${(1 - from) * 100}% + 4px)` } : to > 0.86 ? { right: 10 } : { left: `calc(${to * 100}% + 4px)` }}
        className={`absolute top-1.5 px-1 font-mono text-axis leading-4 whitespace-nowrap text-text-2 ${cut || (to > 0.86 && from <= 0.2) ? "rounded-[3px] bg-surface" : ""}`}
      >
        {span.duration_ms === null ? "running" : ms(duration)}
        {cut ? " →" : ""}
      </span>}
    </>
  );
}

/** The name with the searched words marked; a hit inside the data marks the whole name. */
function Name({ text, query, hit }: { text: string; query: string; hit: boolean }) {
  const mark = "rounded-[3px] bg-yellow-soft text-text ring-1 ring-yellow-line";
  const start = hit ? text.toLowerCase().indexOf(query.trim().toLowerCase()) : -1;
  if (start < 0) return <span className={`truncate ${hit ? mark : ""}`}>{text}</span>;
  const end = start + query.trim().length;
  return <span className="truncate py-px">{text.slice(0, start)}<mark className={mark}>{text.slice(start, end)}</mark>{text.slice(end)}</span>;
}

const Row = memo(function Row({ span, range, open, selected, hit, query, onSelect, onToggle, top }: { span: Span; range: Range; open: boolean; selected: boolean; hit: boolean; query: string; onSelect: (id: string) => void; onToggle: (id: string) => void; top: number }) {
  const Chevron = open ? ChevronDown : ChevronRight;
  const tokens = badge(span);
  return (
    <div
      id={`span-${span.span_id}`}
      role="row"
      aria-level={span.depth + 1}
      aria-expanded={span.children > 0 ? open : undefined}
      aria-selected={selected}
      onClick={() => onSelect(span.span_id)}
      style={{ transform: `translateY(${top}px)` }}
      className={`absolute inset-x-0 top-0 h-7 cursor-default ${columns} ${selected ? "bg-accent-soft shadow-[inset_3px_0_0_var(--color-accent)]" : "hover:bg-text/4"}`}
    >
      <div role="gridcell" className="flex min-w-0 items-center gap-1.5 border-r border-line pr-2 text-dense" style={{ paddingLeft: 10 + Math.min(span.depth, 12) * 14 }}>
        {span.children > 0 ? (
          <button type="button" tabIndex={-1} aria-label={open ? "Collapse" : "Expand"} onClick={(event) => { event.stopPropagation(); onToggle(span.span_id); }} className="flex-none text-text-3">
            <Chevron size={14} aria-hidden />
          </button>
        ) : (
          <i className="w-3.5 flex-none" />
        )}
        <i aria-hidden className={`size-2 flex-none rounded-[2px] ${spanLook(kindOf(span), span.status)}`} />
        <Name text={span.name || span.kind || span.span_id} query={query} hit={hit} />
        {span.status === "error" && <CircleAlert size={13} aria-label="error" className="flex-none text-red" />}
        {tokens && <span className="ml-auto hidden flex-none pl-1 font-mono text-axis text-text-3 md:inline">{tokens}</span>}
      </div>
      <div role="gridcell" aria-label={`starts at ${ms(span.offset_ms ?? 0)}, ${span.duration_ms === null ? "running" : `took ${ms(span.duration_ms)}`}`} className="relative overflow-hidden">
        <Bar span={span} range={range} />
      </div>
    </div>
  );
});

export function SpanTree({ rows, all, range, collapsed, selected, query, hits, onSelect, onToggle, onZoom, onPan, onScrolled }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: OVERSCAN, scrollMargin: 0 });
  const [keysFor] = useState(rowKeys);
  const items = virtual.getVirtualItems();
  const shift = keysFor(items[0]?.index ?? 0, items.at(-1)?.index ?? -1);
  const at = useMemo(() => (selected ? rows.findIndex((row) => row.span_id === selected) : -1), [rows, selected]);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
    // Only a new selection scrolls; new rows of a live trace do not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [selected]);

  const press = (event: KeyboardEvent) => {
    const row = rows[at];
    const go = (index: number) => {
      const next = rows[Math.max(0, Math.min(rows.length - 1, index))];
      if (next) onSelect(next.span_id);
    };
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      PageDown: () => go(at + 20),
      PageUp: () => go(at - 20),
      ArrowRight: () => row && (collapsed.has(row.span_id) ? onToggle(row.span_id) : row.children > 0 && go(at + 1)),
      ArrowLeft: () => {
        if (!row) return;
        if (row.children > 0 && !collapsed.has(row.span_id)) onToggle(row.span_id);
        else if (row.parent_id) onSelect(row.parent_id);
      },
    };
    const move = moves[event.key];
    if (!move || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    move();
  };

  // Ctrl and the wheel zoom, Shift or sideways pan. Not passive: else the browser would zoom the page as well.
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  useEffect(() => {
    wheel.current = (event) => {
      const box = scroller.current?.getBoundingClientRect();
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (!box || (!event.ctrlKey && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY))) return;
      event.preventDefault();
      if (!event.ctrlKey) return onPan(sideways / box.width);
      const tree = window.innerWidth >= 768 ? 296 : 176;
      const share = Math.max(0, (event.clientX - box.left - tree) / (box.width - tree));
      onZoom(event.deltaY > 0 ? 1.25 : 0.8, range.t0 + share * (range.t1 - range.t0));
    };
  });
  useEffect(() => {
    const element = scroller.current;
    const turned = (event: WheelEvent) => wheel.current(event);
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  }, []);

  const marks = ticks(range);
  const labels = tickLabels(marks);
  const share = (tick: number) => (tick - range.t0) / (range.t1 - range.t0);
  return (
    <div className="mt-2.5 flex min-h-0 flex-1 flex-col border-t border-line">
      <div aria-hidden className={`h-[26px] flex-none border-b border-line font-mono text-axis leading-[26px] text-text-3 ${columns}`}>
        <span className="border-r border-line pl-4">{rows.length === all ? `${all} spans` : `${rows.length} of ${all} spans`}</span>
        <span className="relative overflow-hidden">
          {marks.map((tick, index) => (
            <span key={tick} className={`absolute pl-1 ${share(tick) > 0.94 ? "hidden" : ""}`} style={{ left: `${share(tick) * 100}%` }}>{labels[index]}</span>
          ))}
        </span>
      </div>
      <div
        ref={scroller}
        role="treegrid"
        aria-label="Spans"
        aria-rowcount={rows.length}
        aria-activedescendant={at >= 0 ? `span-${selected}` : undefined}
        tabIndex={0}
        onKeyDown={press}
        onScroll={(event) => event.currentTarget.scrollTop > 0 && onScrolled()}
        className="relative min-h-0 flex-1 overflow-auto -outline-offset-2"
      >
        <div aria-hidden className={`pointer-events-none absolute inset-x-0 top-0 min-h-full ${columns}`} style={{ height: virtual.getTotalSize() }}>
          <span />
          <span className="relative">
            {marks.map((tick) => <i key={tick} className="absolute inset-y-0 border-l border-line" style={{ left: `${share(tick) * 100}%` }} />)}
          </span>
        </div>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const span = rows[item.index];
            return (
              span && (
                <Row
                  key={item.index + shift}
                  span={span}
                  range={range}
                  top={item.start}
                  open={!collapsed.has(span.span_id)}
                  selected={span.span_id === selected}
                  hit={hits.has(span.span_id)}
                  query={query}
                  onSelect={onSelect}
                  onToggle={onToggle}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}
