import { CircleAlert, Download, RotateCw, X } from "lucide-react";
import type { ReactNode } from "react";
import { count } from "../lib/format";
import type { Usage } from "../lib/types";
import { Button } from "../ui/button";
import type { CompactionState } from "./compaction";
import { roomForOne } from "./usage";

interface Props {
  state: CompactionState;
  /** Whether a message that did not go out waits in the composer. */
  draftKept: boolean;
  /** The size of that message, where it is too long by itself: no new session would take it either. */
  tooLong: Usage | null;
  onDismiss: () => void;
  onRetry: () => void;
  onPrune: () => void;
  onShorten: () => void;
  onNewSession: () => void;
  onReviewPins: () => void;
  onExport: () => void;
}

/** The engine names the kind of error first; people read the sentence after it. */
export function errorWords(error: string): string {
  const words = error.replace(/^[A-Z][A-Za-z]*(Budget|Error|Busy): /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What happened, that nothing is lost and why, and what can be done. The first action is the primary one. */
export function ErrorBanner({ state, draftKept, tooLong, onDismiss, onRetry, onPrune, onShorten, onNewSession, onReviewPins, onExport }: Props) {
  const actions: { label: string; run: () => void; icon?: ReactNode }[] = [];
  if (state.canRetry) {
    actions.push({ label: "Retry", run: onRetry, icon: <RotateCw size={13} aria-hidden /> });
    actions.push({ label: "Prune only", run: onPrune });
  }
  if (tooLong) actions.push({ label: "Shorten it", run: onShorten });
  if (state.suggestNewSession) actions.push({ label: "Start New Session", run: onNewSession });
  if (!tooLong && !state.canRetry) actions.push({ label: "Review pins", run: onReviewPins });
  actions.push({ label: "Export", run: onExport, icon: <Download size={13} aria-hidden /> });
  const title = tooLong ? "This message is too long" : state.suggestNewSession ? "This conversation no longer fits" : "Compaction failed";
  const why = tooLong
    ? `It has about ${count(tooLong.draft)} tokens, and one message may have ${count(roomForOne(tooLong))}. Shorten it, or choose a model with a larger window.`
    : errorWords(state.error);
  return (
    <div role="alert" className="grid grid-cols-[18px_minmax(0,1fr)_auto] gap-x-2.5 gap-y-0.5 rounded-[12px] border border-red-line bg-red-soft px-3 py-3">
      <CircleAlert size={16} aria-hidden className="mt-0.5 text-red" />
      <h2 className="text-ui font-semibold text-red">{title}</h2>
      <Button variant="ghost" icon small aria-label="Dismiss" onClick={onDismiss}>
        <X size={14} aria-hidden />
      </Button>
      <p className="col-start-2 text-dense break-words text-text-2">
        {why} <b className="font-medium text-text">Nothing is lost:</b> the conversation is as it was
        {draftKept ? ", and what you typed is saved as a draft." : "."}
      </p>
      <div className="col-start-2 mt-2 flex flex-wrap gap-2">
        {actions.map((action, index) => (
          <Button key={action.label} small variant={index === 0 ? "primary" : "plain"} onClick={action.run}>
            {action.icon}
            {action.label}
          </Button>
        ))}
      </div>
    </div>
  );
}
