import type { Figures } from "../lib/types";
import { Legend, path, Plot } from "./plot";
import { axis, costLabel, costTicks, runningCost, runningCostWithout, spread, tokenLabel, tokenWords } from "./series";

export function CostPlot({ figures, model }: { figures: Figures; model: string }) {
  const paid = runningCost(figures.turns);
  const without = runningCostWithout(figures.turns);
  const top = Math.max(...without, ...paid, 1e-6) * 1.08;
  return (
    <Plot
      title="Cost, running total"
      sentence={`${model} prices. “Without” is an estimate.`}
      height={200}
      count={paid.length}
      top={top}
      right={96}
      ticks={axis(top, 3)}
      tickLabel={costTicks(axis(top, 3))}
      table={{ head: ["Reply", "Paid", "Without Compact"], rows: paid.map((value, index) => [String(index + 1), costLabel(value), costLabel(without[index] ?? 0)]) }}
    >
      {({ width, x, y }) => {
        const low = paid.map((value, index): [number, number] => [x(index), y(value)]);
        const high = without.map((value, index): [number, number] => [x(index), y(value)]);
        const endLow = paid.at(-1) ?? 0;
        const endHigh = without.at(-1) ?? 0;
        const apart = y(endLow) - y(endHigh) > 26;
        return (
          <>
            <path d={`${path(high)}${path([...low].reverse()).replace("M", "L")}Z`} className="fill-green-fill/16" />
            <path d={path(high)} fill="none" className="stroke-line-2" strokeWidth={1.5} strokeDasharray="4 4" />
            <path d={path(low)} fill="none" className="stroke-accent" strokeWidth={2} />
            {apart && <text x={width - 90} y={y(endHigh) + 4} className="fill-text-2 text-[11px]">{costLabel(endHigh)} without</text>}
            <text x={width - 90} y={y(endLow) + 4} className="fill-text text-[11px] font-semibold">{costLabel(endLow)} paid</text>
          </>
        );
      }}
    </Plot>
  );
}

export function CachePlot({ figures }: { figures: Figures }) {
  const { turns } = figures;
  const top = Math.max(...turns.map((turn) => turn.tokens), 1) * 1.06;
  return (
    <Plot
      title="Prompt tokens, cached and not"
      sentence={figures.totals.cached_tokens > 0 ? "Only a compaction breaks the cache, once." : "This model reported no cached tokens."}
      height={200}
      count={turns.length}
      top={top}
      ticks={axis(top, 3)}
      tickLabel={tokenLabel}
      legend={<><Legend look="bg-teal-fill" shape="square">From cache</Legend><Legend look="bg-slate-fill" shape="square">New</Legend></>}
      table={{ head: ["Reply", "From cache", "New"], rows: turns.map((turn, index) => [String(index + 1), tokenWords(turn.cached_tokens), tokenWords(turn.tokens - turn.cached_tokens)]) }}
    >
      {({ width, x, y }) => {
        const shown = spread(turns.length, (width - 60) / 2);
        const bar = Math.max(1, (width - 60) / Math.max(1, shown.length) - 1);
        return shown.map((index) => [index, turns[index]] as const).map(([index, turn]) => turn && (
          <g key={index}>
            <rect x={x(index) - bar / 2} width={bar} y={y(turn.tokens)} height={Math.max(0, y(turn.cached_tokens) - y(turn.tokens))} className="fill-slate-fill" />
            <rect x={x(index) - bar / 2} width={bar} y={y(turn.cached_tokens)} height={Math.max(0, y(0) - y(turn.cached_tokens))} className="fill-teal-fill" />
          </g>
        ));
      }}
    </Plot>
  );
}
