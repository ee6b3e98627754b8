import { FoldVertical, Scissors, Undo2 } from "lucide-react";
import { plural } from "../lib/format";
import type { CompactionRecord } from "../lib/types";
import { Button } from "../ui/button";

/** Between what was compacted and what the model still reads word for word. */
export function Boundary({ record, kept }: { record: CompactionRecord; kept: number }) {
  const above = `${plural(record.messages_replaced, "message")} compacted`;
  const below = `${plural(kept, "message")} kept below`;
  return (
    <div role="separator" aria-label={`${above} above, ${below}`} className="flex items-center gap-3 pt-4 pb-[18px] text-center text-[12.5px] font-medium text-amber">
      <span className="dashed-rule" />
      <div className="min-w-0">
        <FoldVertical size={14} aria-hidden className="mr-[7px] inline-block align-[-2px]" />
        {above} <span className="font-normal text-text-2">· {kept} kept word for word below</span>
      </div>
      <span className="dashed-rule" />
    </div>
  );
}

/** A trim writes no summary, so it is gray. */
export function TrimLine({ text, onUndo }: { text: string; onUndo: () => void }) {
  return (
    <div role="separator" aria-label={text} className="flex items-center gap-3 pt-2 pb-4 text-[12.5px] text-text-2">
      <span className="dashed-rule" data-quiet />
      <Scissors size={14} aria-hidden />
      <span>{text}</span>
      <Button small onClick={onUndo}>
        <Undo2 size={13} aria-hidden /> Undo
      </Button>
      <span className="dashed-rule" data-quiet />
    </div>
  );
}
