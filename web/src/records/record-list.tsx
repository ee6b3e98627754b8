import { clock, count, plural } from "../lib/format";
import type { CompactionRecord } from "../lib/types";
import { LinkButton } from "../ui/button";
import { recordName } from "./undo-dialog";

/** Filled = in force, ring = folded into a later one, square = clear, dotted = undone. */
function Mark({ record }: { record: CompactionRecord }) {
  const amber = record.kind === "summary";
  const shape = record.kind === "prune" || record.kind === "trim" || record.kind === "clear" ? "rounded-[2px]" : "rounded-full";
  const color = amber ? "border-amber-fill" : "border-line-2";
  const fill = record.in_force && !record.undone ? (amber ? "bg-amber-fill" : "bg-line-2") : "";
  return <i aria-hidden className={`absolute top-1.5 left-[3px] size-[9px] border-2 ${shape} ${color} ${fill} ${record.undone ? "border-dotted" : ""}`} />;
}

export function recordDetail(record: CompactionRecord): string {
  const state = record.undone ? "undone" : record.in_force ? "" : record.folded_into != null ? `now part of v${record.folded_into}` : record.undoable ? "no longer in force" : "its messages were edited or removed";
  const size = `${count(record.tokens_before)} → ${count(record.tokens_after)} tokens`;
  const what = record.kind === "prune"
    ? `${count(record.tokens_before - record.tokens_after)} tokens saved`
    : record.kind === "summary" ? plural(record.messages_replaced, "message") : "";
  return [what, state || (record.kind === "prune" ? "" : size)].filter(Boolean).join(" · ");
}

export function RecordList({ records, onUndo, onShow }: { records: CompactionRecord[]; onUndo: (record: CompactionRecord) => void; onShow?: (record: CompactionRecord) => void }) {
  return (
    <ol>
      {records.map((record, index) => (
        <li key={record.step} className="relative pb-3.5 pl-5 last:pb-0">
          <Mark record={record} />
          {index < records.length - 1 && <i aria-hidden className="absolute top-[17px] -bottom-1 left-[7px] border-l border-line" />}
          <div className="flex items-center gap-2 text-dense font-medium">
            {onShow && record.kind === "summary" ? (
              <button type="button" className="truncate hover:underline" onClick={() => onShow(record)}>{recordName(record)}</button>
            ) : (
              <span className="truncate">{recordName(record)}</span>
            )}
            <span className="text-meta font-normal text-text-3">{clock(record.created_at)}</span>
            {record.undoable && (
              <LinkButton className="ml-auto" aria-label={`Undo ${recordName(record)}`} onClick={() => onUndo(record)}>
                Undo
              </LinkButton>
            )}
          </div>
          <p className="text-meta text-text-2">{recordDetail(record)}</p>
        </li>
      ))}
    </ol>
  );
}
