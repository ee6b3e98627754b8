import { Check, ChevronDown, ChevronUp, FoldVertical, Undo2 } from "lucide-react";
import { useEffect, useId, useState, type ReactNode } from "react";
import { loadRecord } from "../chat/open-session";
import { clock, count, money, plural, reduction, seconds } from "../lib/format";
import type { CompactionRecord, Count, SummaryItem, SummarySection } from "../lib/types";
import { Button, LinkButton, Tag } from "../ui/button";
import { Citation } from "./citation";

const SHOWN = { words: 2, conclusions: 6, done: 6, values: 8, other: 4 };
const order: SummarySection["kind"][] = ["words", "conclusions", "done", "values", "other"];
const titles: Record<SummarySection["kind"], string> = {
  words: "Your words",
  conclusions: "Conclusions",
  done: "Done",
  values: "Values",
  other: "Also",
};

function Citations({ item }: { item: SummaryItem }) {
  return item.positions.map((position) => <Citation key={position} position={position} />);
}

/** Names between backticks stand as code; everything else is plain text. */
function InlineCode({ text }: { text: string }) {
  return text.split(/(`[^`\n]+`)/).map((piece, index) =>
    index % 2 ? <code key={index} className="text-[0.89em]">{piece.slice(1, -1)}</code> : piece,
  );
}

/** First and newest of the user's words; the first ones of everything else. */
export function pick(items: SummaryItem[], kind: SummarySection["kind"], all: boolean): SummaryItem[] {
  const most = SHOWN[kind];
  if (all || items.length <= most) return items;
  if (kind !== "words") return items.slice(0, most);
  return [...items.slice(0, 1), ...items.slice(-(most - 1))];
}

/** Values that only a tool named are listed, not counted: a listing of a thousand files would outweigh everything else. */
export function survivalText(section: SummarySection, total: Count | null | undefined): string {
  if (!total || (section.kind !== "words" && section.kind !== "values")) return String(section.items.length);
  const share = `${count(total.kept)} of ${count(total.total)}`;
  return section.kind === "words" ? `${share}, verbatim` : `${share} that you or the assistant named`;
}

function Items({ section, items }: { section: SummarySection; items: SummaryItem[] }) {
  if (section.kind === "values") {
    return (
      <div className="flex flex-wrap gap-[5px]">
        {items.map((item, index) => (
          <span key={index} className="inline-flex min-h-[23px] max-w-full items-center gap-1 rounded-[6px] border border-amber-line/80 bg-surface pr-[3px] pl-[7px] font-mono text-meta break-all">
            {item.text}
            <Citations item={item} />
          </span>
        ))}
      </div>
    );
  }
  return (
    <ul className="grid gap-1">
      {items.map((item, index) => (
        <li key={index} className="relative pl-[18px] text-[13.5px] leading-5 break-words whitespace-pre-wrap">
          {section.kind === "words" && <i aria-hidden className="absolute inset-y-[3px] left-1 w-[3px] rounded-[2px] bg-amber-fill" />}
          {section.kind === "done" && <Check size={14} aria-hidden className="absolute top-[3px] left-0 text-green" />}
          {(section.kind === "conclusions" || section.kind === "other") && (
            <i aria-hidden className="absolute top-2 left-1.5 size-1 rounded-full bg-amber-fill" />
          )}
          {item.label && <b className="font-semibold">{item.label}: </b>}
          <InlineCode text={item.text} />
          <Citations item={item} />
        </li>
      ))}
    </ul>
  );
}

function Section({ section, total }: { section: SummarySection; total: Count | null | undefined }) {
  const [all, setAll] = useState(false);
  const items = pick(section.items, section.kind, all);
  const hidden = section.items.length - items.length;
  return (
    <div className="grid gap-x-3 gap-y-1 border-b border-amber-line/60 py-2.5 last:border-b-0 md:grid-cols-[112px_minmax(0,1fr)]">
      <h3 className="text-meta leading-5 font-semibold text-amber">
        {section.kind === "other" ? section.title : titles[section.kind]}
        <span className="ml-1.5 font-normal text-text-2 md:ml-0 md:block">{survivalText(section, total)}</span>
      </h3>
      <div className="min-w-0">
        <Items section={section} items={items} />
        {(hidden > 0 || all) && (
          <LinkButton className="mt-1" onClick={() => setAll(!all)}>
            {all ? "Show less" : section.kind === "values" ? `${hidden} more` : `Show ${hidden} more`}
          </LinkButton>
        )}
      </div>
    </div>
  );
}

/** One section a kind, in the card's order; what fits no kind keeps its own title. */
export function byKind(sections: SummarySection[]): SummarySection[] {
  return order.flatMap((kind) => {
    const own = sections.filter((section) => section.kind === kind && section.items.length > 0);
    if (kind === "other" || own.length === 0) return own;
    return [{ title: titles[kind], kind, items: own.flatMap((section) => section.items) }];
  });
}

function survivalOf(record: CompactionRecord, kind: SummarySection["kind"]): Count | null | undefined {
  return kind === "words" || kind === "conclusions" || kind === "values" ? record.survival?.[kind] : null;
}

interface Props {
  record: CompactionRecord;
  open: boolean;
  onToggle: () => void;
  onUndo: () => void;
  onCompactAgain: () => void;
}

function Line({ icon, text, children }: { icon: ReactNode; text: string; children?: ReactNode }) {
  return (
    <div className="flex min-h-11 items-center gap-2.5 rounded-[12px] border border-dashed border-line-2 px-3.5 text-dense text-text-2">
      {icon}
      <b className="font-semibold">{text}</b>
      <span className="ml-auto flex items-center gap-3">{children}</span>
    </div>
  );
}

/** The amber card: what the model now reads in place of the messages above it. */
export function SummaryCard({ record, open, onToggle, onUndo, onCompactAgain }: Props) {
  const [exact, setExact] = useState(false);
  const heading = useId();
  const version = record.version ?? record.step;
  const unread = open && !record.summary;
  useEffect(() => {
    if (unread) void loadRecord(record.step);
  }, [record.step, unread]);
  if (record.undone) {
    return (
      <Line icon={<Undo2 size={16} aria-hidden />} text={`Summary v${version} undone`}>
        <span className="hidden md:inline">{plural(record.messages_replaced, "message")} are back in the prompt</span>
        <Button small onClick={onCompactAgain}>Compact again</Button>
      </Line>
    );
  }
  if (record.folded_into != null && !record.in_force) {
    return <p className="py-1 text-meta text-text-3">Summary v{version} · part of v{record.folded_into}</p>;
  }
  const sections = byKind(record.sections);
  const Chevron = open ? ChevronUp : ChevronDown;
  const structured = sections.some((section) => section.items.length > 0);
  const facts = [
    plural(record.messages_replaced, "message"),
    clock(record.created_at),
    record.duration != null && seconds(record.duration),
    record.summarizer,
    record.fallback && `fallback: ${record.fallback}`,
    record.cost != null && money(record.cost),
  ].filter(Boolean);
  return (
    <section aria-labelledby={heading} className="overflow-hidden rounded-[12px] border border-amber-line bg-amber-soft">
      <div className="relative flex flex-wrap items-center gap-x-2.5 gap-y-0.5 px-3.5 py-[9px] text-amber">
        <FoldVertical size={16} aria-hidden />
        <h2 id={heading} className="text-ui font-semibold whitespace-nowrap">Conversation Summarized</h2>
        <Tag tone="amber">v{version}</Tag>
        <span className="order-last basis-4/5 pl-6 text-dense text-text-2 md:order-none md:ml-auto md:basis-auto md:pl-0">
          <b className="font-semibold text-text">{reduction(record.tokens_before, record.tokens_after)}% saved</b> ·{" "}
          {count(record.tokens_before)} → {count(record.tokens_after)} tokens
        </span>
        <Button variant="ghost" icon small aria-expanded={open} aria-label={open ? "Collapse summary" : "Open summary"} onClick={onToggle} className="ml-auto after:absolute after:inset-0 md:ml-0">
          <Chevron size={16} aria-hidden />
        </Button>
      </div>
      {open && (
        <>
          <div className="border-t border-amber-line px-3.5 py-1">
            {unread ? <p role="status" className="py-2.5 text-dense text-text-2">Loading…</p> : structured && !exact
              ? sections.map((section, index) => <Section key={index} section={section} total={survivalOf(record, section.kind)} />)
              : <pre tabIndex={0} role="region" aria-label="Exact summary text" className="max-h-[480px] overflow-auto py-2.5 text-[12.5px] leading-[19px] whitespace-pre-wrap">{record.summary}</pre>}
          </div>
          {record.warnings?.map((warning) => (
            <p key={warning} className="border-t border-amber-line px-3.5 py-2 text-meta text-text-2">{warning}</p>
          ))}
          <div className="flex flex-wrap items-center gap-x-3.5 gap-y-1.5 border-t border-amber-line py-2 pr-2.5 pl-3.5 text-meta text-text-2">
            <span className="min-w-0 break-words">{facts.join(" · ")}</span>
            <span className="ml-auto flex gap-2">
              {structured && (
                <Button small variant="ghost" onClick={() => setExact(!exact)}>{exact ? "Show sections" : "Show exact text"}</Button>
              )}
              <Button small onClick={onUndo}>
                <Undo2 size={13} aria-hidden /> Undo
              </Button>
            </span>
          </div>
        </>
      )}
    </section>
  );
}
