import { Check, Pin } from "lucide-react";
import { messageText } from "../chat/message-view";
import { useOpenSession } from "../chat/open-session";
import { count, percent, plural } from "../lib/format";
import type { CompactionRecord, Message, Session, Usage } from "../lib/types";
import { Citation } from "../records/citation";
import { RecordList } from "../records/record-list";
import { LinkButton, Tag } from "../ui/button";
import { NextCompaction } from "./next-compaction";
import { useUsage } from "./usage";
import { messagesLook } from "./usage-bar";

interface Props {
  session: Session;
  onUndo: (record: CompactionRecord) => void;
  onShow: (record: CompactionRecord) => void;
  onAllRecords: () => void;
  onJump: (position: number) => void;
}

function Parts({ usage }: { usage: Usage }) {
  const free = Math.max(0, usage.window - usage.tokens);
  const rows: [string, number, string][] = [
    ["System", usage.parts.system, "bg-part-system"],
    ["Tools", usage.parts.tools, "bg-part-tools"],
    ["Summary", usage.parts.summary, "hatch-amber"],
    ["Messages", usage.parts.messages, messagesLook({ ...usage, exact: true })],
    ["Free", free, "bg-track"],
  ];
  return (
    <table className="w-full text-dense leading-6">
      <caption className="sr-only">Tokens in the next prompt</caption>
      <tbody>
        {rows.map(([name, tokens, look]) => (
          <tr key={name}>
            <th scope="row" className="text-left font-normal">
              <i aria-hidden className={`mr-2.5 inline-block size-2.5 rounded-[3px] ${look}`} />
              {name}
            </th>
            <td className="text-right">{count(tokens)}</td>
            <td className="w-12 text-right text-text-3">{percent(tokens / usage.window)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Block({ title, aside, children }: { title: string; aside?: React.ReactNode; children: React.ReactNode }) {
  return (
    <section className="border-b border-line py-4 last:border-b-0">
      <h2 className="mb-2.5 flex items-center justify-between gap-2 text-dense font-semibold">
        {title}
        {aside}
      </h2>
      {children}
    </section>
  );
}

function pinned(known: Map<number, Message | null>): Message[] {
  return [...known.values()].filter((message): message is Message => !!message?.pinned).sort((a, b) => a.position - b.position);
}

export function ContextTab({ session, onUndo, onShow, onAllRecords, onJump }: Props) {
  const usage = useUsage((state) => state.bySession[session.id]);
  const records = useOpenSession((state) => state.records);
  const known = useOpenSession((state) => state.history.known);
  const pins = pinned(known);
  const newest = [...records].reverse();
  return (
    <>
      {usage && (
        <Block
          title="In the next prompt"
          aside={usage.exact ? <Tag tone="green"><Check size={12} aria-hidden /> Exact count</Tag> : <Tag>Estimate</Tag>}
        >
          <Parts usage={usage} />
        </Block>
      )}
      <Block title="Next compaction">
        <NextCompaction key={session.id} session={session} usage={usage} />
      </Block>
      <Block title="Records" aside={records.length > 3 && <LinkButton onClick={onAllRecords}>All {records.length}</LinkButton>}>
        {records.length === 0 && <p className="text-dense text-text-2">Nothing has been compacted yet.</p>}
        <RecordList records={newest.slice(0, 3)} onUndo={onUndo} onShow={onShow} />
      </Block>
      <Block title="Pinned" aside={pins.length > 0 && <span className="text-meta font-normal text-text-3">{plural(pins.length, "message")} · {count(pins.reduce((sum, pin) => sum + (pin.tokens ?? 0), 0))} tokens</span>}>
        {pins.length === 0 && <p className="text-dense text-text-2">Pinned messages are never summarized.</p>}
        <ul className="grid grid-cols-[minmax(0,1fr)] gap-1.5 text-dense">
          {pins.map((pin) => (
            <li key={pin.id} className="flex items-center gap-2">
              <Pin size={12} aria-hidden className="flex-none" />
              <span className="min-w-0 truncate">{messageText(pin.parts)}</span>
              <Citation position={pin.position} onJump={onJump} />
            </li>
          ))}
        </ul>
      </Block>
    </>
  );
}
