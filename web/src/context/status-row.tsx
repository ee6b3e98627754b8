import { Check, Undo2 } from "lucide-react";
import { useEffect, useState } from "react";
import { count, plural, seconds } from "../lib/format";
import { Button } from "../ui/button";
import { isRunning, phaseText, type CompactionState } from "./compaction";

interface Props {
  state: CompactionState;
  rolling: boolean;
  onCancel: () => void;
  onViewSummary: () => void;
  onUndo: (step: number) => void;
}

function useElapsed(since: number): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 500);
    return () => clearInterval(timer);
  }, []);
  return since ? Math.max(0, Math.floor(now - since)) : 0;
}

const order = ["optimizing", "summarizing", "checking"];

function Steps({ state }: { state: CompactionState }) {
  const at = order.indexOf(state.phase);
  const share = at === 1 && state.total ? Math.min(1, (state.done + 0.5) / state.total) : 0.5;
  const steps = [
    { name: "Clearing outputs", detail: state.clearedTokens ? `${count(state.clearedTokens)} tokens` : "" },
    { name: "Summarizing", detail: state.messages ? plural(state.messages, "message") : "" },
    { name: "Checking", detail: at === 2 ? "the result" : "" },
  ];
  return (
    <ol className="mt-2.5 grid grid-cols-3 gap-1.5">
      {steps.map((step, index) => {
        const done = index < at;
        const now = index === at;
        return (
          <li key={step.name} aria-current={now ? "step" : undefined} className="text-meta text-text-2">
            <span className="mb-1.5 block h-1 overflow-hidden rounded-[2px] bg-yellow-fill/26">
              <i style={{ width: done ? "100%" : now ? `${share * 100}%` : "0%" }} className="block h-full bg-yellow-fill" />
            </span>
            <span className={`inline-flex items-center gap-1 ${done || now ? "font-semibold text-text" : ""}`}>
              {done && <Check size={12} aria-label="done" className="text-yellow" />}
              {step.name}
            </span>
            {step.detail && <span className="hidden md:inline"> · {step.detail}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** While compacting, and for six seconds after: phase, elapsed time, per cent saved, Cancel. */
export function StatusRow({ state, rolling, onCancel, onViewSummary, onUndo }: Props) {
  const elapsed = useElapsed(state.startedAt);
  if (state.phase === "done") {
    return (
      <div className="flex min-h-12 items-center gap-2.5 rounded-[12px] border border-line bg-surface px-3.5 py-2 text-dense">
        <Check size={16} aria-hidden className="text-green" />
        <b className="font-semibold">{phaseText(state, rolling)}</b>
        <span className="hidden text-text-2 md:inline">
          {count(state.tokensBefore)} → {count(state.tokensAfter)} tokens
          {state.duration != null && ` in ${seconds(state.duration)}`}
        </span>
        <span className="ml-auto flex gap-2">
          <Button small variant="ghost" onClick={onViewSummary}>View summary</Button>
          {state.step !== null && (
            <Button small onClick={() => onUndo(state.step as number)}>
              <Undo2 size={13} aria-hidden /> Undo
            </Button>
          )}
        </span>
      </div>
    );
  }
  if (!isRunning(state)) return null;
  return (
    <div role="group" aria-label="Compaction" className="rounded-[12px] border border-yellow-line bg-yellow-soft px-3.5 pt-2.5 pb-3">
      <div className="flex min-w-0 items-center gap-2 text-ui">
        <span className="spinner" aria-hidden />
        <b className="font-semibold whitespace-nowrap text-yellow">{phaseText(state, rolling)}</b>
        <span className="truncate text-dense text-text-2">
          {state.phase === "summarizing" && state.total > 0 && `piece ${Math.min(state.done + 1, state.total)} of ${state.total} · `}
          {elapsed} s
        </span>
        <span className="ml-auto flex items-center gap-2.5">
          {state.saved > 0 && <span className="text-meta font-medium whitespace-nowrap text-yellow">{state.saved}% reduced</span>}
          {!rolling && <Button small onClick={onCancel}>Cancel</Button>}
        </span>
      </div>
      {!rolling && <Steps state={state} />}
    </div>
  );
}
