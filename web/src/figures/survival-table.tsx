import { Link } from "wouter";
import { count, reduction, seconds } from "../lib/format";
import type { CompactionRecord, Count, Figures, Session } from "../lib/types";
import { recordName } from "../records/undo-dialog";
import { LinkButton, Tag } from "../ui/button";
import { Card } from "./plot";

const kinds = [["words", "Your words"], ["conclusions", "Conclusions"], ["values", "Values"]] as const;

function Cell({ value }: { value: Count | null | undefined }) {
  if (!value || value.total === 0) return <td className="px-0.5"><span className="block rounded-[6px] bg-sunk px-2 py-1 text-center text-text-3">–</span></td>;
  const share = value.kept / value.total;
  return (
    <td className="px-0.5">
      <span title={`${count(value.kept)} of ${count(value.total)}`} className="block rounded-[6px] px-2 py-1 text-center font-medium" style={{ background: `color-mix(in srgb, var(--color-green-fill) ${Math.round(share * 45)}%, var(--color-sunk))` }}>
        {Math.round(share * 100)}%
      </span>
    </td>
  );
}

/** What of each kind is still in the prompt after each summary. */
export function SurvivalTable({ figures, records }: { figures: Figures; records: CompactionRecord[] }) {
  const shown = figures.survival.slice(-8);
  return (
    <Card title="What survived" sentence="Share of each kind still in the prompt after each compaction.">
      {shown.length === 0 ? (
        <p className="mt-3 text-dense text-text-2">No compaction has run yet.</p>
      ) : (
        <div className="mt-3 overflow-x-auto" tabIndex={0} role="region" aria-label="What survived">
          <table className="w-full border-separate border-spacing-y-1 text-dense">
            <thead className="text-meta text-text-2">
              <tr>
                <td />
                {shown.map((entry) => {
                  const record = records.find((other) => other.step === entry.step);
                  return <th key={entry.step} scope="col" className="font-medium">{record?.kind === "summary" ? `v${record.version ?? record.step}` : `#${entry.step}`}</th>;
                })}
              </tr>
            </thead>
            <tbody>
              {kinds.map(([kind, label]) => (
                <tr key={kind}>
                  <th scope="row" className="pr-3 text-left font-normal whitespace-nowrap">{label}</th>
                  {shown.map((entry) => <Cell key={entry.step} value={entry[kind]} />)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

export function CompactionTable({ session, records, onUndo }: { session: Session; records: CompactionRecord[]; onUndo: (record: CompactionRecord) => void }) {
  const shown = records.filter((record) => record.kind !== "restore");
  return (
    <Card title="Compactions" sentence="Any of them can be undone.">
      {shown.length === 0 ? (
        <p className="mt-3 text-dense text-text-2">None yet.</p>
      ) : (
        <div className="mt-2 max-h-80 overflow-auto" tabIndex={0} role="region" aria-label="Compactions">
          <table className="w-full text-right text-dense">
            <thead className="text-meta text-text-2">
              <tr>{["Record", "Before", "After", "Saved", "Messages", "Took", ""].map((name) => <th key={name} scope="col" className="px-2 py-1.5 font-medium first:pl-0 first:text-left">{name || <span className="sr-only">Action</span>}</th>)}</tr>
            </thead>
            <tbody>
              {shown.map((record) => (
                <tr key={record.step} className="border-t border-line">
                  <td className="py-1.5 text-left">
                    <Link href={`/s/${encodeURIComponent(session.id)}?m=${record.last_position ?? 0}`} aria-label={`${recordName(record)}, open in chat`}>
                      <Tag tone={record.kind === "summary" ? "amber" : "plain"}>{record.kind === "summary" ? `v${record.version ?? record.step}` : record.kind}</Tag>
                    </Link>
                  </td>
                  <td className="px-2">{count(record.tokens_before)}</td>
                  <td className="px-2">{count(record.tokens_after)}</td>
                  <td className="px-2 font-semibold">{reduction(record.tokens_before, record.tokens_after)}%</td>
                  <td className="px-2">{count(record.messages_replaced)}</td>
                  <td className="px-2 whitespace-nowrap">{record.duration == null ? "–" : seconds(record.duration)}</td>
                  <td className="pl-2">{record.undone ? <span className="text-text-3">undone</span> : <LinkButton aria-label={`Undo ${recordName(record)}`} onClick={() => onUndo(record)}>Undo</LinkButton>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
