import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { count } from "../lib/format";
import { usePreferences } from "../lib/preferences";
import type { Column } from "../lib/types";
import { resolveColor } from "../traces/kind-style";
import { MessageDetail } from "./message-detail";
import { fateOf, type FateKind } from "./compare";

const HEIGHT = 22;
const words: Record<FateKind, string> = { pinned: "Pinned", kept: "Kept", summarized: "In the summary", cleared: "Cleared", dropped: "Dropped" };
const looks: Record<FateKind, string> = { pinned: "bg-text", kept: "bg-button", summarized: "hatch-amber", cleared: "border border-dashed border-line-2", dropped: "!h-1 bg-line-2" };

/** Where each message begins and ends on the strip, in parts of its width: width is tokens, at least a sliver. */
export function layout(column: Column): { start: number; width: number }[] {
  const least = column.fates.reduce((sum, fate) => sum + fate.tokens_before, 0) / Math.max(1, column.fates.length) / 8;
  const sizes = column.fates.map((fate) => Math.max(fate.tokens_before, least, 1));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let start = 0;
  return sizes.map((size) => {
    const box = { start: start / total, width: size / total };
    start += size;
    return box;
  });
}

/** Drawn on a canvas: thousands of messages cost one element. */
function Strip({ column, boxes, at, onPick }: { column: Column; boxes: { start: number; width: number }[]; at: number; onPick: (index: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = usePreferences((state) => state.theme);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    const draw = element?.getContext("2d");
    if (!element || !draw || !width) return;
    const scale = window.devicePixelRatio || 1;
    element.width = width * scale;
    element.height = HEIGHT * scale;
    draw.scale(scale, scale);
    const color = (token: string) => resolveColor(element, token);
    const fills: Record<FateKind, string> = { pinned: color("--color-text"), kept: color("--color-button"), summarized: color("--color-amber-fill"), cleared: "", dropped: color("--color-line-2") };
    const hatch = color("--color-hatch");
    column.fates.forEach((fate, index) => {
      const box = boxes[index];
      if (!box) return;
      const kind = fateOf(fate.action);
      const x = box.start * width;
      const wide = Math.max(0.75, box.width * width - (box.width * width > 3 ? 1 : 0));
      if (kind === "cleared") {
        draw.strokeStyle = fills.dropped;
        draw.setLineDash([2, 2]);
        draw.strokeRect(x + 0.5, 1.5, Math.max(1, wide - 1), HEIGHT - 3);
        draw.setLineDash([]);
      } else if (kind === "dropped") {
        draw.fillStyle = fills.dropped;
        draw.fillRect(x, HEIGHT / 2 - 2, wide, 4);
      } else {
        draw.fillStyle = fills[kind];
        draw.fillRect(x, 0, wide, HEIGHT);
        if (kind === "summarized") {
          draw.strokeStyle = hatch;
          draw.beginPath();
          for (let line = Math.ceil(x / 5) * 5; line < x + wide; line += 5) {
            draw.moveTo(line, HEIGHT);
            draw.lineTo(line + 6, 0);
          }
          draw.stroke();
        }
      }
    });
  }, [boxes, column, theme, width]);
  const box = boxes[at];
  return (
    <div
      className="relative h-[22px] cursor-pointer"
      onClick={(event) => {
        const area = event.currentTarget.getBoundingClientRect();
        const share = (event.clientX - area.left) / area.width;
        onPick(Math.max(0, boxes.findIndex((other) => share < other.start + other.width)));
      }}
    >
      <canvas ref={canvas} aria-hidden className="h-full w-full" />
      {box && <i aria-hidden className="absolute -inset-y-0.5 min-w-2 rounded-[3px] border-2 border-text" style={{ left: `${box.start * 100}%`, width: `${box.width * 100}%` }} />}
    </div>
  );
}

/** One block a message, all rows at once; arrows move through the conversation. */
export function MessageMap({ columns, sessionId }: { columns: Column[]; sessionId: string }) {
  const first = columns[0];
  const [at, setAt] = useState(0);
  const boxes = useMemo(() => (first ? layout(first) : []), [first]);
  if (!first || first.fates.length === 0) return null;
  const most = first.fates.length - 1;
  const fate = first.fates[Math.min(at, most)];
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: most, PageDown: at + 20, PageUp: at - 20 };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(most, next)));
  };
  const describe = (column: Column) => {
    const own = column.fates[at];
    if (!own) return "–";
    const kind = fateOf(own.action);
    const saved = own.tokens_before - own.tokens_after;
    return `${words[kind]}${kind === "cleared" || kind === "dropped" ? `, ${count(saved)} tokens saved` : ""}`;
  };
  return (
    <section aria-labelledby="map-title" className="mt-8">
      <h3 id="map-title" className="text-ui font-semibold">Message by message</h3>
      <div className="mt-1.5 flex flex-wrap items-center gap-x-4 gap-y-1 text-meta text-text-2">
        {(Object.keys(words) as FateKind[]).map((kind) => (
          <span key={kind} className="inline-flex items-center gap-1.5"><i aria-hidden className={`inline-block size-2.5 rounded-[3px] ${looks[kind]}`} />{words[kind]}</span>
        ))}
        <span>Width is tokens. Arrow keys move the selection.</span>
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label="Message"
        aria-valuemin={0}
        aria-valuemax={most}
        aria-valuenow={at}
        aria-valuetext={`m${fate?.position ?? 0}: ${columns.map((column) => `${column.label} ${describe(column)}`).join("; ")}`}
        onKeyDown={press}
        className="mt-3 grid gap-2"
      >
        {columns.map((column) => (
          <div key={column.label} className="grid grid-cols-[72px_minmax(0,1fr)] items-center gap-3 text-dense">
            <span className="truncate">{column.label}</span>
            <Strip column={column} boxes={boxes} at={at} onPick={setAt} />
          </div>
        ))}
      </div>
      <div aria-hidden className="mt-1 ml-[84px] flex justify-between font-mono text-axis text-text-3">
        {[0, 0.25, 0.5, 0.75, 1].map((share) => <span key={share}>m{first.fates[Math.round(most * share)]?.position ?? 0}</span>)}
      </div>
      {fate && (
        <div className="mt-3 grid gap-3 rounded-[12px] border border-line bg-bg p-4 text-dense md:grid-cols-2">
          <MessageDetail fate={fate} sessionId={sessionId} />
          <dl className="grid grid-cols-[80px_minmax(0,1fr)] gap-x-3 gap-y-1">
            {columns.map((column) => (
              <div key={column.label} className="contents"><dt className="font-medium">{column.label}</dt><dd className="text-text-2">{describe(column)}</dd></div>
            ))}
          </dl>
        </div>
      )}
    </section>
  );
}
