import { useEffect, useRef, useState, type PointerEvent } from "react";
import { usePreferences } from "../lib/preferences";
import { kindToken, resolveColor } from "./kind-style";
import { kindOf, type Span } from "./spans";
import type { Range } from "./timeline";

const LANES = 7;
const HEIGHT = 52;

/** The whole trace in one strip; drag over it to look at a part. The keys W, S, A, D do the same. */
export function Overview({ spans, total, range, onRange }: { spans: Span[]; total: number; range: Range; onRange: (range: Range) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = usePreferences((state) => state.theme);
  const [width, setWidth] = useState(0);
  const drag = useRef<number | null>(null);

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
    const colors = new Map(Object.entries(kindToken).map(([kind, token]) => [kind, resolveColor(element, token)]));
    for (const span of spans) {
      draw.fillStyle = colors.get(span.status === "error" ? "error" : kindOf(span)) ?? "gray";
      const x = ((span.offset_ms ?? 0) / total) * width;
      draw.fillRect(x, 5 + (span.depth % LANES) * 6.3, Math.max(1, ((span.duration_ms ?? 0) / total) * width), 5);
    }
  }, [spans, total, width, theme]);

  const at = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * total;
  };
  const share = (value: number) => `${(value / total) * 100}%`;
  return (
    <div
      role="img"
      aria-label="Overview of the whole trace"
      className="relative mx-4 h-[52px] flex-none cursor-crosshair touch-none overflow-hidden rounded-[8px] border border-line bg-bg"
      onPointerDown={(event) => {
        drag.current = at(event);
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (drag.current === null) return;
        const now = at(event);
        if (Math.abs(now - drag.current) > total / 200) onRange({ t0: Math.min(now, drag.current), t1: Math.max(now, drag.current) });
      }}
      onPointerUp={() => {
        drag.current = null;
      }}
    >
      <canvas ref={canvas} aria-hidden className="h-full w-full" />
      <i aria-hidden className="absolute inset-y-0 left-0 bg-bg/65" style={{ width: share(range.t0) }} />
      <i aria-hidden className="absolute inset-y-0 right-0 bg-bg/65" style={{ width: share(total - range.t1) }} />
      <i aria-hidden className="absolute inset-y-0 border-x-2 border-accent" style={{ left: share(range.t0), right: share(total - range.t1) }} />
    </div>
  );
}
