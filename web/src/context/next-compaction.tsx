import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useOpenSession } from "../chat/open-session";
import { api, errorText, sessionPath } from "../lib/api";
import { count, percent, plural } from "../lib/format";
import type { Plan, Session, Usage } from "../lib/types";
import { patchSession, useSessions } from "../sessions/store";
import { Button, LinkButton } from "../ui/button";
import { Select } from "../ui/select";
import { showToast } from "../ui/toasts";
import { foldTurns } from "./trigger";

/** The numbers of a policy that people change, by the names the policy has. */
const KEEP_FIELDS = ["keep_first_turns", "keep_recent_turns", "keep_recent_messages", "keep_tool_io_pairs"];

function numbers(policy: Record<string, unknown>): { name: string; value: number }[] {
  return KEEP_FIELDS.filter((name) => typeof policy[name] === "number" && (policy[name] as number) > 0).map((name) => ({ name, value: policy[name] as number }));
}

const fieldLabel = (name: string) => name.replace(/_/g, " ").replace("io pairs", "steps").replace(/^./, (letter) => letter.toUpperCase());

export function planText(plan: Plan): string {
  // As the record counts them: an earlier summary and the lines around it are no messages of the conversation.
  const own = plan.steps.filter((step) => step.position !== null);
  const joins = own.filter((step) => /summar/i.test(step.action)).length;
  const cleared = own.filter((step) => /clear|shorten/i.test(step.action)).length;
  const dropped = own.filter((step) => /drop/i.test(step.action)).length;
  const parts = [
    joins > 0 && `${plural(joins, "message")} would join the summary`,
    cleared > 0 && `${plural(cleared, "output")} would be cleared`,
    dropped > 0 && `${plural(dropped, "message")} would be dropped`,
  ].filter(Boolean);
  return parts.length ? `${parts.join(", ")}.` : "Nothing would change.";
}

/** `basis`: what the plan is made from; another one asks anew. */
function usePlan(id: string, body: Record<string, unknown>, basis: string) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [problem, setProblem] = useState("");
  const key = JSON.stringify(body);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api
        .post<Plan>(sessionPath(id, "/plan"), JSON.parse(key), stop.signal)
        .then((answer) => {
          setPlan(answer);
          setProblem("");
        })
        .catch((error: unknown) => {
          if (!stop.signal.aborted) setProblem(errorText(error));
        });
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, key, basis]);
  return { plan, problem };
}

/** Preset, trigger and keep-counts; each change shows its plan before Apply does anything. */
export function NextCompaction({ session, usage }: { session: Session; usage: Usage | undefined }) {
  const presets = useSessions((state) => state.settings)?.presets ?? [];
  /** What is being edited; null follows the session. Whoever edits keeps what they typed, whatever happens meanwhile. */
  const [edited, setEdited] = useState<string | null>(null);
  const preset = edited ?? session.preset;
  const chosen = presets.find((entry) => entry.name === preset);
  // A list of sessions leaves their policies out: no field shows the preset's number where the session has its own.
  const policy: Record<string, unknown> | null | undefined = preset === session.preset ? session.policy : chosen?.policy;
  const [changes, setChanges] = useState<Record<string, number>>({});
  const [showSteps, setShowSteps] = useState(false);
  const changed = preset !== session.preset || Object.keys(changes).length > 0;
  // The server takes a policy as a whole: what was changed before goes along.
  const wanted = { ...(preset === session.preset ? session.policy_changes : {}), ...changes };
  const settings = { preset, ...(Object.keys(wanted).length ? { policy: wanted } : {}) };
  const body = { now: true, ...(changed ? settings : {}) };
  // Also when the session was read again, as after a lost connection, and with a pin, which changes no size.
  const readAt = useOpenSession((state) => state.readAt);
  const pins = useOpenSession((state) => [...state.history.known.values()].filter((message) => message?.pinned).length);
  const { plan, problem } = usePlan(session.id, body, [usage?.tokens, usage?.window, readAt, pins].join());

  const turns = foldTurns(policy);
  const trigger = changes.trigger_pct ?? (policy?.trigger_pct as number | undefined);
  const change = (name: string, value: number) => {
    setEdited(preset);
    setChanges((before) => ({ ...before, [name]: value }));
  };
  const reset = () => {
    setEdited(null);
    setChanges({});
  };
  const apply = async () => {
    const sent = changes;
    if (!(await patchSession(session.id, settings))) return;
    setEdited(null);
    setChanges((now) => (now === sent ? {} : now));
    showToast("info", "Saved", "In force now. Nothing is compacted before the next message.");
  };
  const input = "h-7 w-16 rounded-[7px] border border-line-2/60 bg-surface px-2 text-right text-dense font-medium";
  return (
    <div>
      {usage && (
        <p className="mb-2 text-dense text-text-2">
          {turns === null ? "At" : `After ${turns} turns, or at`} {count(usage.trigger)} tokens, {percent(usage.trigger / usage.window)} of the window.
        </p>
      )}
      <div className="grid gap-1 text-dense">
        <div className="flex items-center justify-between gap-2">
          <span>Preset</span>
          <Select label="Compaction preset" value={preset} options={presets.map((entry) => ({ value: entry.name, label: entry.name }))} onChange={(name) => { setEdited(name); setChanges({}); }} />
        </div>
        {trigger !== undefined && turns === null && (
          <label className="flex items-center justify-between gap-2">
            <span>Trigger, % of the window</span>
            <input type="number" min={1} max={100} value={Math.round(trigger * 100)} className={input} onChange={(event) => change("trigger_pct", Number(event.target.value) / 100)} />
          </label>
        )}
        {numbers(policy ?? {}).map((field) => (
          <label key={field.name} className="flex items-center justify-between gap-2">
            <span>{fieldLabel(field.name)}</span>
            <input type="number" min={0} max={1000} value={changes[field.name] ?? field.value} className={input} onChange={(event) => change(field.name, Number(event.target.value))} />
          </label>
        ))}
      </div>
      <div aria-live="polite" className="mt-2.5 rounded-[8px] border border-line bg-surface px-[11px] py-2 text-meta text-text-2">
        {problem ? (
          <span className="text-red">{problem}</span>
        ) : plan ? (
          <>
            If compacted now: {plan.after < plan.before && <><b className="font-semibold text-text">{count(plan.before)} → at most {count(plan.after)} tokens</b>. </>}{planText(plan)}
          </>
        ) : (
          "Loading the plan…"
        )}
        <div className="flex items-center gap-3">
          {plan && plan.steps.length > 0 && (
            <LinkButton aria-expanded={showSteps} onClick={() => setShowSteps(!showSteps)}>{showSteps ? "Hide plan" : "Show plan"}</LinkButton>
          )}
          <Link href={`/s/${encodeURIComponent(session.id)}/what-if`} className="font-medium text-accent hover:underline">What if</Link>
        </div>
        {showSteps && plan && (
          <ol className="max-h-52 overflow-auto font-mono text-axis" tabIndex={0} aria-label="Plan">
            {plan.steps.slice(0, 300).map((step, index) => (
              <li key={index}>{step.position === null ? "" : `m${step.position} `}{step.action}{step.tool ? ` ${step.tool}` : ""}{step.saves ? ` −${count(step.saves)}` : ""}</li>
            ))}
          </ol>
        )}
      </div>
      {changed && (
        <div className="mt-2 flex gap-2">
          <Button small variant="primary" onClick={() => void apply()}>Apply</Button>
          <Button small onClick={reset}>Reset</Button>
        </div>
      )}
    </div>
  );
}
