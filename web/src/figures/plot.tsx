import { useEffect, useRef, useState, type ReactNode } from "react";
import { spread } from "./series";

export interface Frame {
  width: number;
  height: number;
  x: (index: number) => number;
  y: (value: number) => number;
}

interface Props {
  title: string;
  sentence: string;
  legend?: ReactNode;
  height: number;
  count: number;
  top: number;
  ticks: number[];
  tickLabel: (value: number) => string;
  /** The same figures as a table, for screen readers. */
  table: { head: string[]; rows: string[][] };
  right?: number;
  children: (frame: Frame) => ReactNode;
}

const LEFT = 46;
const BOTTOM = 24;
const TOP = 10;
/** Of a session of thousands of replies the table has every tenth or so: nobody listens to more. */
const MOST_ROWS = 400;

export function Card({ title, sentence, children }: { title: string; sentence?: string; children: ReactNode }) {
  return (
    <section className="min-w-0 rounded-[12px] border border-line bg-surface p-4 md:p-5">
      <h2 className="text-ui font-semibold">{title}</h2>
      {sentence && <p className="mt-0.5 text-dense text-text-2">{sentence}</p>}
      {children}
    </section>
  );
}

/** Axes, grid and a hidden table around one drawing of ours. */
export function Plot({ title, sentence, legend, height, count, top, ticks, tickLabel, table, right = 14, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watcher = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const x = (index: number) => LEFT + ((width - LEFT - right) * index) / Math.max(1, count - 1);
  const y = (value: number) => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  const every = Math.max(1, Math.ceil(count / 7));
  return (
    <Card title={title} sentence={sentence}>
      {legend && <div className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-meta text-text-2">{legend}</div>}
      <div ref={box} className="mt-2">
        <svg width={width} height={height} aria-hidden className="block">
          {ticks.map((tick) => (
            <g key={tick}>
              <line x1={LEFT} x2={width - right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
              <text x={LEFT - 8} y={y(tick) + 4} textAnchor="end" className="fill-text-3 text-[11px]">{tickLabel(tick)}</text>
            </g>
          ))}
          {Array.from({ length: count }, (_, index) => index).filter((index) => index % every === 0).map((index) => (
            <text key={index} x={x(index)} y={height - 6} textAnchor="middle" className="fill-text-3 text-[11px]">{index + 1}</text>
          ))}
          {children({ width, height, x, y })}
        </svg>
      </div>
      {/* Not the table itself: a table grows with its content, whatever width it is given. */}
      <div className="sr-only">
        <table>
          <caption>{title}</caption>
          <thead><tr>{table.head.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>{spread(table.rows.length, MOST_ROWS).map((index) => <tr key={index}>{table.rows[index]?.map((cell, at) => <td key={at}>{cell}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </Card>
  );
}

export function path(points: [number, number][]): string {
  return points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

const shapes = { line: "h-[3px] w-3", square: "size-2.5", dashes: "h-0 w-3.5 border-t-[1.5px] border-dashed" };

export function Legend({ look, shape = "line", children }: { look: string; shape?: keyof typeof shapes; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <i aria-hidden className={`inline-block rounded-[2px] ${shapes[shape]} ${look}`} />
      {children}
    </span>
  );
}
