import type { CompactionRecord } from "../lib/types";
import { Boundary, TrimLine } from "../records/boundary";
import { SummaryCard } from "../records/summary-card";
import { holder, type History } from "./history";

interface Props {
  records: CompactionRecord[];
  history: History;
  position: number;
  openCards: Set<number>;
  onToggle: (step: number) => void;
  onUndo: (record: CompactionRecord) => void;
  onCompactAgain: () => void;
}

/** How many messages stand below a boundary; unknown positions count as one each. */
export function keptBelow(history: History, position: number): number {
  let kept = 0;
  for (let at = position + 1; at <= history.last; at += 1) if (history.known.get(at) !== null) kept += 1;
  return kept;
}

function isShown(record: CompactionRecord, records: CompactionRecord[]): boolean {
  if (record.kind !== "summary" && record.kind !== "trim") return false;
  // What it replaced was edited or removed: nothing of it is in this thread.
  if (!record.undone && !record.undoable) return false;
  // Compacted again since it was undone: its messages are not back in the prompt any more.
  return !record.undone || !records.some((other) => other.undoable && other.step > record.step && (other.last_position ?? -1) >= (record.last_position ?? 0));
}

/** The cards and lines that belong after this message: where a compaction drew its line. */
export function RecordsAfter({ records, history, position, openCards, onToggle, onUndo, onCompactAgain }: Props) {
  const here = records.filter(
    (record) =>
      isShown(record, records) &&
      record.last_position !== null &&
      (record.last_position === position || holder(history, record.last_position) === position),
  );
  return here.map((record) => {
    if (record.kind === "trim") {
      if (record.undone) return null;
      const text = record.summary || "Context trimmed. Kept first 2 and last 10 turns.";
      return <TrimLine key={record.step} text={text} onUndo={() => onUndo(record)} />;
    }
    return (
      <div key={record.step} data-record={record.step}>
        <div className="md:pl-[60px]">
          <SummaryCard
            record={record}
            open={openCards.has(record.step)}
            onToggle={() => onToggle(record.step)}
            onUndo={() => onUndo(record)}
            onCompactAgain={onCompactAgain}
          />
        </div>
        {record.in_force && !record.undone ? <Boundary record={record} kept={keptBelow(history, position)} /> : <div className="h-4" />}
      </div>
    );
  });
}
