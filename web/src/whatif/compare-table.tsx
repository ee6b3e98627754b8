import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Strip } from "../context/usage-bar";
import { count, money, percent, plural, reduction, seconds } from "../lib/format";
import type { Column, Count, Preset, Usage } from "../lib/types";
import { Button, LinkButton, Tag } from "../ui/button";
import { kindOf, kindRows, lost, missingCount, tally, turnsLeft, verdict, whyNot } from "./compare";

interface Props {
  now: Column;
  columns: Column[];
  presets: Preset[];
  inUse: string;
  usage: Usage | undefined;
  model: string;
  onApply: (column: Column) => void;
  onMissing: (column: Column) => void;
  onRemove: (preset: string) => void;
}

function Kept({ value }: { value: Count | null | undefined }) {
  if (!value || value.total === 0) return <>–</>;
  const share = value.total ? value.kept / value.total : 1;
  const gone = lost(value);
  const bad = share < 0.75;
  return (
    <span className="flex flex-wrap items-center gap-2">
      <span aria-hidden className="hidden h-1 w-[52px] lg:block overflow-hidden rounded-[2px] bg-track"><i className={`block h-full ${bad ? "bg-red-fill" : "bg-part-system"}`} style={{ width: `${share * 100}%` }} /></span>
      {count(value.kept)} of {count(value.total)}
      {bad && <Tag tone="red">{count(gone)} lost</Tag>}
    </span>
  );
}

/** What it takes to get there: the summarizer's price and the time. */
function ToDoIt({ column }: { column: Column }) {
  const { cost_to_do: cost, seconds_to_do: time, summarizer } = column;
  if (cost == null && time == null) return <>{summarizer ? "No price known" : "–"}</>;
  return (
    <span title={summarizer ? `Written by ${summarizer}` : "No summary is written"}>
      {cost == null ? "No price known" : money(cost)}
      {time != null && <span className="text-text-2"> · {seconds(time)}</span>}
    </span>
  );
}

const number = (value: number | undefined) => (value ? plural(value, "message") : "–");

export function CompareTable({ now, columns, presets, inUse, usage, model, onApply, onMissing, onRemove }: Props) {
  const all = [now, ...columns];
  const used = (column: Column) => column.preset === inUse && column !== now;
  const cell = (column: Column) =>
    `px-3 py-2.5 align-top text-dense ${used(column) ? "border-x border-accent/40 bg-accent-soft/50" : ""}`;
  const row = (label: string, note: string, show: (column: Column) => ReactNode) => (
    <tr key={label} className="border-b border-line">
      <th scope="row" className="sticky left-0 z-[1] bg-surface py-2.5 pr-3 text-left align-top text-dense font-normal text-text-2">
        {label}
        {note && <span className="block text-meta text-text-3">{note}</span>}
      </th>
      {all.map((column, index) => <td key={index} className={cell(column)}>{column.problem && column !== now ? "–" : show(column)}</td>)}
    </tr>
  );
  const group = (title: string) => (
    <tr key={title} className="border-b border-line">
      <th scope="colgroup" colSpan={1} className="sticky left-0 bg-surface pt-5 pb-2 text-left text-dense font-semibold">{title}</th>
      {all.map((column, index) => <td key={index} className={cell(column)} />)}
    </tr>
  );
  const size = (column: Column): Usage | null => {
    if (!usage) return null;
    return { ...usage, tokens: column.tokens_after, parts: column.parts, over_by: 0, compacts_next: false };
  };
  const priced = all.some((column) => column.cost_next != null);
  const prices = priced ? `estimate, ${model} prices` : "no price known for this model";
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Comparison">
      <table style={{ minWidth: `calc(var(--spacing) * ${27 + 37 * all.length})` }} className="w-full table-fixed border-separate border-spacing-0 [&_td]:border-b [&_td]:border-line [&_th]:border-b [&_th]:border-line">
        <thead>
          <tr>
            <td className="sticky left-0 w-[108px] bg-surface md:w-[160px]" />
            {all.map((column, index) => (
              <th key={index} scope="col" className={`w-[148px] px-3 md:w-auto md:min-w-[150px] pt-3 pb-2 text-left align-top font-normal ${used(column) ? "rounded-t-[12px] border-x border-t border-accent/40 bg-accent-soft/50" : ""}`}>
                <span className="flex flex-wrap items-center gap-x-2 text-ui font-semibold">
                  {column === now ? "Now" : column.label}
                  {used(column) && <Tag tone="accent">In use</Tag>}
                  {column !== now && columns.length > 1 && column.preset && (
                    <Button variant="ghost" icon small className="-my-1 ml-auto" aria-label={`Remove ${column.label}`} onClick={() => onRemove(column.preset as string)}><X size={13} aria-hidden /></Button>
                  )}
                </span>
                <span className="mt-1 block text-meta text-text-2">
                  {column === now ? "No compaction" : (presets.find((preset) => preset.name === column.preset)?.description ?? column.label)}
                </span>
                {column.problem && <span className="mt-1 block text-meta text-red">{column.problem}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {row("Next prompt", usage ? `tokens, share of ${count(usage.window)}` : "tokens", (column) => {
            const shown = size(column);
            return (
              <>
                <b className="font-semibold">{count(column.tokens_after)}</b> <span className="text-text-2">{usage ? percent(column.tokens_after / usage.window) : ""}</span>
                {shown && <span className="mt-2 block"><Strip usage={shown} label={`Context with ${column.label}`} /></span>}
              </>
            );
          })}
          {row("In short", "", (column) => {
            const { text, bad } = verdict(column, columns, usage);
            return <span className={bad ? "font-medium text-red" : ""}>{text}</span>;
          })}
          {row("Saved", "", (column) => {
            const saved = reduction(column.tokens_before, column.tokens_after);
            return column === now || saved === 0 ? "–" : `${saved}%`;
          })}
          {row("Turns until the next one", "at this pace", (column) => turnsLeft(column.turns_until_next))}
          {group("Cost")}
          {row("To do it", "summarizer, time", (column) => (column === now ? "–" : <ToDoIt column={column} />))}
          {row("Next prompt", prices, (column) => (column.cost_next == null ? "–" : money(column.cost_next)))}
          {priced && row("Next 10 turns", prices, (column) => (column.cost_ten_turns == null ? "–" : money(column.cost_ten_turns)))}
          {row("Cached prefix kept", "tokens", (column) => (column.cached_tokens == null ? "–" : count(column.cached_tokens)))}
          {group("What survives")}
          {kindRows(all).map(({ kind, title }) => row(title, "", (column) => <Kept value={kindOf(column, kind)} />))}
          {group("What happens")}
          {row("Kept word for word", "", (column) => number(tally(column.fates).kept + tally(column.fates).pinned))}
          {row("Joins the summary", "", (column) => (column === now ? "–" : number(tally(column.fates).summarized)))}
          {row("Outputs cleared", "", (column) => (column === now ? "–" : tally(column.fates).cleared || "–"))}
          {row("Dropped", "", (column) => {
            const dropped = column === now ? 0 : tally(column.fates).dropped;
            return dropped ? <>{number(dropped)} <span className="text-text-2">· recallable</span></> : "–";
          })}
          {row("Would be missing", "", (column) => (missingCount(column) ? <LinkButton onClick={() => onMissing(column)}>{plural(missingCount(column), "item")}</LinkButton> : "–"))}
          <tr>
            <td className="sticky left-0 !border-b-0 bg-surface" />
            {all.map((column, index) => (
              <td key={index} className={`!border-b-0 px-3 py-3 align-top ${used(column) ? "rounded-b-[12px] border-x border-b border-accent/40 !border-b bg-accent-soft/50" : ""}`}>
                {column !== now && !column.problem && (
                  <>
                    <Button variant={used(column) ? "primary" : "plain"} disabled={whyNot(column) !== ""} aria-describedby={`why-not-${index}`} onClick={() => onApply(column)}>Apply {column.label}</Button>
                    <span id={`why-not-${index}`} className="mt-1 block text-meta text-text-2 empty:hidden">{whyNot(column)}</span>
                  </>
                )}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}
