import { CircleAlert, Eraser, FoldVertical, Scissors } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { errorWords } from "../context/error-banner";
import { clock, count, reduction, seconds } from "../lib/format";
import type { CompactionRecord, Figures, KindSurvival, Session } from "../lib/types";
import { recordName } from "../records/undo-dialog";
import { LinkButton, Tag } from "../ui/button";
import { Card } from "./plot";
import { recordLabel, replyOf, type Failure } from "./series";

function Cell({ value }: { value: KindSurvival | undefined }) {
  if (!value || value.total === 0) return <td className="px-0.5"><span className="block rounded-[6px] bg-sunk px-2 py-1 text-center text-text-3">–</span></td>;
  const share = value.kept / value.total;
  return (
    <td className="px-0.5">
      <span title={`${count(value.kept)} of ${count(value.total)}`} className="block rounded-[6px] px-2 py-1 text-center font-medium" style={{ background: `color-mix(in srgb, var(--color-green-fill) ${Math.round(share * 45)}%, var(--color-sunk))` }}>
        {Math.floor(share * 100)}%
      </span>
    </td>
  );
}

/** "src/legacy/cart.py and 2 more": what the conversation has and the prompt does not. */
function Missing({ value, sessionId }: { value: KindSurvival | undefined; sessionId: string }) {
  const first = value?.missing[0];
  if (!value || value.missing_count === 0) return <>–</>;
  if (!first) return <>{count(value.missing_count)}</>;
  const more = value.missing_count - 1;
  const text = first.text.length > 60 ? `${first.text.slice(0, 60)}…` : first.text;
  return (
    <span title={value.missing.map((item) => item.text).join("\n")} className="flex gap-1">
      {first.position === null ? <span className="truncate">{text}</span> : <Link href={`/s/${encodeURIComponent(sessionId)}?m=${first.position}`} className="truncate hover:underline">{text}</Link>}
      {more > 0 && <span className="flex-none text-text-3">and {count(more)} more</span>}
    </span>
  );
}

/** What of each kind is still in the prompt after each summary, and what is not in it now. */
export function SurvivalTable({ figures, records, sessionId }: { figures: Figures; records: CompactionRecord[]; sessionId: string }) {
  const shown = figures.survival.slice(-5);
  const now = figures.now;
  const rows = now.filter((entry) => entry.total > 0);
  return (
    <Card title="What survived" sentence="Share of each kind still in the prompt after each compaction.">
      {rows.length === 0 ? (
        <p className="mt-3 text-dense text-text-2">Nothing to measure yet.</p>
      ) : (
        <div className="mt-3 overflow-x-auto" tabIndex={0} role="region" aria-label="What survived">
          <table className="w-full border-separate border-spacing-y-1 text-dense">
            <thead className="text-meta text-text-2">
              <tr>
                <td />
                {shown.map((entry) => <th key={entry.step} scope="col" className="w-14 font-medium">{recordLabel(records, entry.step)}</th>)}
                <th scope="col" className="pl-4 text-left font-medium">Not in the prompt now</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.kind}>
                  <th scope="row" className="pr-3 text-left font-normal whitespace-nowrap">{row.title}</th>
                  {shown.map((entry) => <Cell key={entry.step} value={entry.kinds.find((other) => other.kind === row.kind)} />)}
                  <td className="max-w-[240px] pl-4 text-text-2"><Missing value={row} sessionId={sessionId} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

const icons: Record<string, ReactNode> = {
  summary: <FoldVertical size={12} aria-hidden />,
  prune: <Eraser size={12} aria-hidden />,
  clear: <Eraser size={12} aria-hidden />,
  trim: <Scissors size={12} aria-hidden />,
};

interface TableProps {
  session: Session;
  figures: Figures;
  records: CompactionRecord[];
  failures: Failure[];
  onUndo: (record: CompactionRecord) => void;
}

export function CompactionTable({ session, figures, records, failures, onUndo }: TableProps) {
  const shown = records.filter((record) => record.kind !== "restore");
  const when = (record: { step: number; created_at: number }) => {
    const reply = replyOf(figures.turns, record);
    return reply === null ? clock(record.created_at) : `reply ${reply}`;
  };
  const path = `/s/${encodeURIComponent(session.id)}`;
  return (
    <Card title="Compactions" sentence="Those in force, or part of one in force, can be undone.">
      {shown.length + failures.length === 0 ? (
        <p className="mt-3 text-dense text-text-2">None yet.</p>
      ) : (
        <div className="mt-2 max-h-80 overflow-auto" tabIndex={0} role="region" aria-label="Compactions">
          <table className="w-full text-right text-dense">
            <thead className="text-meta text-text-2">
              <tr>{["Record", "When", "Before", "After", "Saved", "Messages", "Took", ""].map((name) => <th key={name} scope="col" className="px-2 py-1.5 font-medium nth-[2]:text-left first:pl-0 first:text-left">{name || <span className="sr-only">Action</span>}</th>)}</tr>
            </thead>
            <tbody>
              {shown.map((record) => (
                <tr key={record.step} className="border-t border-line">
                  <td className="py-1.5 text-left">
                    <Link href={`${path}?m=${record.last_position ?? 0}`} aria-label={`${recordName(record)}, open in chat`}>
                      <Tag tone={record.kind === "summary" ? "amber" : "plain"}>{icons[record.kind]} {recordLabel(records, record.step)}</Tag>
                    </Link>
                  </td>
                  <td className="px-2 text-left whitespace-nowrap text-text-2">{when(record)}</td>
                  <td className="px-2">{count(record.tokens_before)}</td>
                  <td className="px-2">{count(record.tokens_after)}</td>
                  <td className="px-2 font-semibold">{reduction(record.tokens_before, record.tokens_after)}%</td>
                  <td className="px-2">{count(record.messages_replaced)}</td>
                  <td className="px-2 whitespace-nowrap">{record.duration == null ? "–" : seconds(record.duration)}</td>
                  <td className="pl-2">{!record.undoable ? <span className="text-text-3">{record.undone ? "undone" : "edited away"}</span> : <LinkButton aria-label={`Undo ${recordName(record)}`} onClick={() => onUndo(record)}>Undo</LinkButton>}</td>
                </tr>
              ))}
              {failures.map((failure) => (
                <tr key={`${failure.step}-${failure.at}`} className="border-t border-line">
                  <td className="py-1.5 text-left">{failure.canceled ? <Tag>canceled</Tag> : <Tag tone="red"><CircleAlert size={12} aria-hidden /> failed</Tag>}</td>
                  <td className="px-2 text-left whitespace-nowrap text-text-2">{when({ step: -1, created_at: failure.at })}</td>
                  <td className="px-2">{failure.tokens ? count(failure.tokens) : "–"}</td>
                  <td colSpan={4} className="px-2 text-left text-text-2">{errorWords(failure.error)} Nothing changed.</td>
                  <td className="pl-2"><Link href={`/traces?q=${encodeURIComponent(session.id)}`} className="text-meta font-medium text-accent hover:underline">Trace</Link></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
