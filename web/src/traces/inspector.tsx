import { Copy, X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { count, plural } from "../lib/format";
import { Button, LinkButton } from "../ui/button";
import { copyText } from "../ui/copy";
import { spanLook } from "./kind-style";
import { factsOf, kindOf, type Facts, type Span, type Trace } from "./spans";
import { ms } from "./timeline";

type Tab = "summary" | "decision" | "tokens" | "raw";
const tabs: [Tab, string][] = [["summary", "Summary"], ["decision", "Decision"], ["tokens", "Tokens"], ["raw", "Raw"]];
const FOLDED = 1200;

function Part({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="border-b border-line py-4 last:border-b-0">
      <h3 className="mb-2.5 flex items-center justify-between text-dense font-semibold">{title}{aside}</h3>
      {children}
    </section>
  );
}

function words(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(Math.round(value * 1000) / 1000);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  return Object.entries(value as Record<string, unknown>).map(([name, part]) => `${name.replace(/_/g, " ")} ${words(part)}`).join(", ");
}

function Pairs({ data }: { data: Record<string, unknown> }) {
  return (
    <dl className="grid grid-cols-[120px_minmax(0,1fr)] gap-x-2.5 gap-y-1 text-dense">
      {Object.entries(data).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-text-2">{name.replace(/_/g, " ").replace(/^./, (letter) => letter.toUpperCase())}</dt>
          <dd className="max-h-40 overflow-auto break-words">{words(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function SummaryText({ text, tokens }: { text: string; tokens: number | null }) {
  const [all, setAll] = useState(false);
  const long = text.length > FOLDED;
  return (
    <>
      <pre tabIndex={0} role="region" aria-label="Summary" className="max-h-[320px] overflow-auto rounded-[8px] border border-line bg-surface p-3 text-meta leading-[19px] whitespace-pre-wrap text-text-2">
        {all || !long ? text : `${text.slice(0, FOLDED)}…`}
      </pre>
      {long && <LinkButton className="mt-1" onClick={() => setAll(!all)}>{all ? "Show less" : tokens ? `Show all ${count(tokens)} tokens` : "Show all"}</LinkButton>}
    </>
  );
}

function Tokens({ facts }: { facts: Facts }) {
  const { before, after, summary, input, output } = facts.tokens;
  const rows = ([["Before", before, "bg-slate-fill"], ["After", after, "bg-green-fill"], ["Summary", summary, "hatch-amber"], ["Input", input, "bg-accent"], ["Output", output, "bg-teal-fill"]] as const).filter((row) => row[1] !== null);
  if (rows.length === 0) return <p className="text-dense text-text-2">No token counts on this span.</p>;
  const most = Math.max(...rows.map((row) => row[1] as number), 1);
  return (
    <dl className="grid gap-2 text-dense">
      {rows.map(([name, value, look]) => (
        <div key={name} className="grid grid-cols-[64px_minmax(0,1fr)_72px] items-center gap-2">
          <dt className="text-text-2">{name}</dt>
          <dd className="order-last text-right">{count(value as number)}</dd>
          <dd aria-hidden className="h-2 min-w-[2px] rounded-[2px]"><i className={`block h-full min-w-[3px] rounded-[2px] ${look}`} style={{ width: `${((value as number) / most) * 100}%` }} /></dd>
        </div>
      ))}
    </dl>
  );
}

/** Fields that say nothing to a reader of the decision. */
const NOISE = new Set(["sequence", "schema_version", "session_id", "step"]);

function keptText(kept: unknown): string {
  const { pinned, recent_turns: turns, tool_pairs: steps } = kept as Record<string, unknown>;
  if (typeof turns !== "number") return words(kept);
  return [`${words(pinned ?? 0)} pinned`, plural(turns, "turn"), ...(typeof steps === "number" ? [plural(steps, "tool step")] : [])].join(", ");
}

function survivalText(survival: unknown): string {
  const all = (survival as Record<string, unknown> | null)?.all;
  return typeof all === "number" ? `${Math.floor(all * 100)}% of evidence` : words(survival);
}

function decisionPairs(facts: Facts): Record<string, unknown> {
  const { triggered, reason, policy, kept, ...rest } = facts.decision ?? {};
  const { trigger_pct: trigger, ...limits } = (policy && typeof policy === "object" ? policy : {}) as Record<string, unknown>;
  return {
    triggered: triggered === undefined ? "–" : `${triggered ? "yes" : "no"}${reason ? `, ${String(reason)}` : ""}`,
    ...(facts.tokens.before !== null ? { estimate: `${count(facts.tokens.before)} tokens` } : {}),
    ...(typeof trigger === "number" ? { trigger: `${Math.round(trigger * 100)}% of the window` } : {}),
    ...limits,
    ...(kept ? { kept: keptText(kept) } : {}),
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !NOISE.has(name))),
    ...(facts.survival ? { survival: survivalText(facts.survival) } : {}),
    ...(facts.model ? { model: facts.model } : {}),
  };
}

interface Props {
  trace: Trace;
  span: Span;
  /** The session in this studio that the trace belongs to; empty where there is none. */
  sessionId: string;
  onClose: () => void;
}

export function Inspector({ trace, span, sessionId, onClose }: Props) {
  const [tab, setTab] = useState<Tab>("summary");
  const facts = useMemo(() => factsOf(trace.spans, span), [trace, span]);
  const { summary, ...plain } = span.data ?? {};
  const raw = JSON.stringify(span, null, 2);
  const showAll = tab === "summary";
  return (
    <div className="flex h-full min-h-0 flex-col bg-bg">
      <div className="flex-none border-b border-line px-4 pt-3.5">
        <h2 className="flex items-center gap-2 font-mono text-ui font-medium">
          <i aria-hidden className={`size-2.5 flex-none rounded-[2px] ${spanLook(kindOf(span), span.status)}`} />
          <span className="min-w-0 truncate">{span.name || span.span_id}</span>
          <span className="ml-auto flex">
            <Button variant="ghost" icon small aria-label="Copy span" onClick={() => void copyText(raw)}><Copy size={14} aria-hidden /></Button>
            <Button variant="ghost" icon small aria-label="Close inspector" onClick={onClose}><X size={14} aria-hidden /></Button>
          </span>
        </h2>
        <p className="mt-1 text-meta text-text-2">
          {span.duration_ms === null ? "running" : ms(span.duration_ms)} · starts at {ms(span.offset_ms ?? 0)} · {span.status}
        </p>
        <div role="tablist" aria-label="Inspector" className="-mx-1.5 mt-2.5 mb-2 flex gap-0.5">
          {tabs.map(([name, label]) => (
            <button key={name} type="button" role="tab" id={`inspector-${name}`} aria-selected={tab === name} aria-controls="inspector-content" tabIndex={tab === name ? 0 : -1}
              onClick={() => setTab(name)}
              onKeyDown={(event) => {
                const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
                if (!step) return;
                const index = tabs.findIndex((entry) => entry[0] === tab);
                const next = tabs[(index + step + tabs.length) % tabs.length];
                if (next) { setTab(next[0]); document.getElementById(`inspector-${next[0]}`)?.focus(); }
              }}
              className={`h-7 rounded-[7px] px-2.5 text-dense font-medium ${tab === name ? "bg-text/8" : "text-text-2 hover:bg-text/5"}`}>
              {label}
            </button>
          ))}
        </div>
      </div>
      <div id="inspector-content" role="tabpanel" aria-labelledby={`inspector-${tab}`} tabIndex={0} className="min-h-0 flex-1 overflow-auto px-4 pb-6 -outline-offset-2">
        {showAll && facts.summary && <Part title="Summary" aside={sessionId && <Link href={`/s/${encodeURIComponent(sessionId)}?panel=records`} className="text-meta font-medium text-accent hover:underline">Open in chat</Link>}><SummaryText text={facts.summary} tokens={facts.tokens.summary} /></Part>}
        {showAll && typeof summary !== "string" && Object.keys(plain).length > 0 && <Part title="Data"><Pairs data={plain} /></Part>}
        {(tab === "decision" || (showAll && facts.decision)) && (
          <Part title="Policy decision">{facts.decision ? <Pairs data={decisionPairs(facts)} /> : <p className="text-dense text-text-2">No policy decision on this span.</p>}</Part>
        )}
        {(tab === "tokens" || showAll) && <Part title="Token counts"><Tokens facts={facts} /></Part>}
        {tab === "raw" && (
          <Part title="Raw">
            <pre tabIndex={0} role="region" aria-label="Raw span" className="overflow-auto rounded-[8px] border border-line bg-surface p-3 text-axis leading-4">{raw}</pre>
            <Button small className="mt-2" onClick={() => void copyText(raw)}><Copy size={13} aria-hidden /> Copy</Button>
          </Part>
        )}
      </div>
    </div>
  );
}
