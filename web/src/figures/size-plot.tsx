import type { CompactionRecord, Figures, Usage } from "../lib/types";
import { Legend, path, Plot } from "./plot";
import { axis, marks, sizeSentence, stopLabel, tokenLabel, tokenWords, wouldStop } from "./series";

const LABEL_WIDTH = 64;
/** Words on lines: a rim in the color of the card keeps them apart. */
const RIM = "[paint-order:stroke] stroke-surface [stroke-width:3px] [stroke-linejoin:round]";

/** Size over replies: what was sent, what it would have been, the trigger, the window, the compactions. */
export function SizePlot({ figures, records, usage }: { figures: Figures; records: CompactionRecord[]; usage: Usage | undefined }) {
  const { turns } = figures;
  const most = Math.max(...turns.map((turn) => turn.tokens), 1);
  const window = usage?.window ?? most;
  const trigger = usage?.trigger ?? 0;
  const without = Math.max(...turns.map((turn) => turn.tokens_without));
  const top = Math.max(most, Math.min(window * 1.35, Math.max(without, most) * 1.05), most > window * 0.4 ? window * 1.12 : 0);
  const stop = wouldStop(turns, window);
  const found = marks(turns, records);
  return (
    <Plot
      title="Context size over turns"
      sentence={sizeSentence(figures, window)}
      height={300}
      count={turns.length}
      top={top}
      ticks={axis(top, 5)}
      tickLabel={tokenLabel}
      legend={
        <>
          <Legend look="bg-accent">Sent</Legend>
          <Legend look="border-line-2" shape="dashes">Without Compact</Legend>
          <span className="inline-flex items-center gap-1.5"><i aria-hidden className="inline-block size-2.5 rounded-full border-2 border-amber-fill" />Compaction</span>
        </>
      }
      table={{ head: ["Reply", "Sent", "Without Compact", "Compaction"], rows: turns.map((turn, index) => [String(index + 1), turn.sent ? tokenWords(turn.tokens) : "imported", tokenWords(turn.tokens_without), turn.compaction === null ? "" : `step ${turn.compaction}`]) }}
    >
      {({ width, height, x, y }) => {
        const line = turns.flatMap((turn, index): [number, number][] => {
          const record = turn.compaction === null ? undefined : records.find((entry) => entry.step === turn.compaction);
          if (!turn.sent) return [];
          const point: [number, number] = [x(index), y(turn.tokens)];
          return record && index > 0 ? [[x(index), y(Math.min(top, record.tokens_before))], point] : [point];
        });
        const floor = y(0);
        const clipped = turns.map((turn, index): [number, number] => [x(index), y(Math.min(top, turn.tokens_without))]);
        const left = x(0);
        const begins = line[0]?.[0] ?? left;
        const words = stop === null ? null : stopLabel(x(stop), left, width - 14);
        return (
          <>
            {top > window && (
              <>
                <rect x={left} y={y(top)} width={width - left - 14} height={Math.max(0, y(window) - y(top))} className="fill-red-soft" />
                <line x1={left} x2={width - 14} y1={y(window)} y2={y(window)} className="stroke-red-fill" strokeWidth={1.5} />
              </>
            )}
            {trigger > 0 && trigger < top && (
              <line x1={left} x2={width - 14} y1={y(trigger)} y2={y(trigger)} className="stroke-text-2" strokeDasharray="2 3" />
            )}
            {line.length > 0 && <path d={`${path(line)}L${line.at(-1)?.[0] ?? 0} ${floor}L${begins} ${floor}Z`} className="fill-accent/13" />}
            <path d={path(clipped)} fill="none" className="stroke-line-2" strokeWidth={1.5} strokeDasharray="4 4" />
            <path d={path(line)} fill="none" className="stroke-accent" strokeWidth={2} strokeLinejoin="round" />
            {line.length === 1 && <circle cx={line[0]?.[0]} cy={line[0]?.[1]} r={3} className="fill-accent" />}
            {top > window && <text x={left + 4} y={y(window) - 5} className={`fill-red text-[11px] ${RIM}`}>Window {tokenWords(window).replace(" tokens", "")}</text>}
            {trigger > 0 && trigger < top && (
              <text x={left + 4} y={y(trigger) + 13} className={`fill-text-2 text-[11px] ${RIM}`}>Compacts at {tokenWords(trigger).replace(" tokens", "")}</text>
            )}
            {found.map((mark, number) => {
              const turn = turns[mark.index];
              // Labels that would stand on each other give way to the last one.
              const next = found[number + 1];
              const labelled = !next || x(next.index) - x(mark.index) > LABEL_WIDTH;
              const record = records.find((entry) => entry.step === mark.step);
              if (!turn) return null;
              const near = x(mark.index) + LABEL_WIDTH > width - 14;
              const labelX = near ? Math.min(x(mark.index), width - 14 - LABEL_WIDTH / 2) : x(mark.index) + 9;
              return (
                <g key={mark.step}>
                  {record && <line x1={x(mark.index)} x2={x(mark.index)} y1={y(Math.min(top, record.tokens_before))} y2={y(turn.tokens)} className="stroke-amber-fill" strokeWidth={3} />}
                  <circle cx={x(mark.index)} cy={y(turn.tokens)} r={5} className="fill-surface stroke-amber-fill" strokeWidth={2} />
                  {labelled && <text x={labelX} y={Math.min(height - 30, y(turn.tokens) + (near ? 20 : 15))} textAnchor={near ? "middle" : "start"} className={`fill-text text-[11px] font-semibold ${RIM}`}>
                    {mark.label}
                    {mark.saved > 0 && <tspan className="fill-text-2 font-normal"> −{mark.saved}%</tspan>}
                  </text>}
                </g>
              );
            })}
            {stop !== null && words && top > window && (
              <>
                <circle cx={x(stop)} cy={y(window)} r={4} className="fill-red-fill" />
                <text x={x(stop) + (words.side === "left" ? -8 : words.above ? 0 : 8)} y={y(window) - (words.above ? 20 : 6)} textAnchor={words.side === "left" ? "end" : "start"} className={`fill-red text-[11px] ${RIM}`}>
                  would have stopped here
                </text>
              </>
            )}
          </>
        );
      }}
    </Plot>
  );
}
