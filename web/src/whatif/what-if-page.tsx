import { Fragment, useEffect, useReducer, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { applyUsage } from "../chat/open-session";
import { useSessionEvents } from "../chat/session-events";
import { useUsage } from "../context/usage";
import { api, errorText, sessionPath } from "../lib/api";
import { count, plural, seconds } from "../lib/format";
import type { Column, CompactionRecord, CompactResult, Session, WhatIf } from "../lib/types";
import { Citation } from "../records/citation";
import { UndoDialog } from "../records/undo-dialog";
import { refreshSession, useSessions } from "../sessions/store";
import { Button, Tag } from "../ui/button";
import { Dialog, DialogActions } from "../ui/dialog";
import { Select } from "../ui/select";
import { CompareTable } from "./compare-table";
import { applyText, readPresets } from "./compare";
import { MessageMap } from "./message-map";

/** What Apply did, in the sizes that the page compared: a record counts what its own policy would have sent. */
interface Applied {
  label: string;
  before: number;
  after: number;
  /** None where an earlier compaction of that preset is used again. */
  record: CompactionRecord | null;
}

export default function WhatIfPage({ session }: { session: Session }) {
  const { id } = session;
  const presets = useSessions((state) => state.settings)?.presets ?? [];
  const usage = useUsage((state) => state.bySession[id]);
  const [, go] = useLocation();
  const params = new URLSearchParams(useSearch());
  const chosen = readPresets(params.get("p"), presets.map((preset) => preset.name), session.preset);
  const key = chosen.join(",");
  const [result, setResult] = useState<{ answer: WhatIf; took: number; messages: number } | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [applying, setApplying] = useState<Column | null>(null);
  const [missing, setMissing] = useState<Column | null>(null);
  const [done, setDone] = useState<Applied | null>(null);
  const [undoing, setUndoing] = useState(false);

  const [round, compute] = useReducer((before: number) => before + 1, 0);
  const outcome = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!key) return;
    // An undo changes the preset, and with it what is compared: an answer about other columns comes too late.
    let late = false;
    const ask = async () => {
      setBusy(true);
      const start = performance.now();
      try {
        const answer = await api.post<WhatIf>(sessionPath(id, "/what-if"), { columns: key.split(",").map((preset) => ({ preset, label: preset })) });
        const fresh = await refreshSession(id);
        if (late) return;
        setResult({ answer, took: (performance.now() - start) / 1000, messages: fresh?.message_count ?? 0 });
        setProblem("");
      } catch (error) {
        if (late) return;
        setProblem(errorText(error));
      }
      setBusy(false);
    };
    void ask();
    return () => {
      late = true;
    };
  }, [id, key, round]);
  const onChange = () => void refreshSession(id);
  // What failed because the server was away is tried again when it is back.
  useSessionEvents(id, { onMessage: onChange, onSession: onChange, onStream: (open) => (open && problem ? compute() : onChange()) });

  const setPresets = (names: string[]) => go(`/s/${encodeURIComponent(id)}/what-if?p=${names.join(",")}`, { replace: true });
  const apply = async (column: Column) => {
    setApplying(null);
    setBusy(true);
    try {
      const answer = await api.post<CompactResult>(sessionPath(id, "/what-if/apply"), { preset: column.preset, at_message: result?.answer.at_message });
      applyUsage(id, answer.usage);
      setDone({ label: column.label, before: column.tokens_before, after: answer.usage.tokens, record: answer.record });
      // The button that was pressed is at the end of a long page, and off from now on.
      outcome.current?.focus();
      compute();
    } catch (error) {
      setProblem(errorText(error));
      outcome.current?.focus();
      setBusy(false);
    }
  };

  const grown = result ? session.message_count - result.messages : 0;
  const unused = presets.filter((preset) => !chosen.includes(preset.name));
  const short = session.message_count < 3;
  return (
    <div className="mx-auto max-w-[1180px] p-4 md:p-7">
      <div className="mb-4 flex flex-wrap items-start gap-3">
        <div>
          <h2 className="text-page font-semibold">What if</h2>
          <p className="text-dense text-text-2">Each preset tried on this session as it stands, with the built-in summarizer. Nothing changes until you apply one.</p>
        </div>
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {result && grown <= 0 && !short && <Tag>At m{Math.max(0, result.answer.at_message - 1)} · computed in {seconds(result.took)}</Tag>}
          {grown > 0 && <Button small onClick={compute}>{plural(grown, "new message")}. Recompute</Button>}
          {unused.length > 0 && chosen.length < 4 && (
            <Select label="Add preset" value="" options={[{ value: "", label: "Add preset" }, ...unused.map((preset) => ({ value: preset.name, label: preset.name }))]} onChange={(name) => name && setPresets([...chosen, name])} />
          )}
        </span>
      </div>
      <div ref={outcome} tabIndex={-1} className="scroll-mt-7 outline-none">
      {problem && <p role="alert" className="mb-4 rounded-[12px] border border-red-line bg-red-soft p-3 text-dense text-red">{problem}</p>}
      {done && (
        <p role="status" className="mb-4 flex items-center gap-3 rounded-[12px] border border-line bg-raised p-3 text-dense">
          Applied {done.label}: {count(done.before)} → {count(done.after)} tokens.
          {done.record && <Button small onClick={() => setUndoing(true)}>Undo</Button>}
        </p>
      )}
      </div>
      {short ? (
        <p className="rounded-[12px] border border-line p-6 text-text-2">Nothing to compact yet.</p>
      ) : result ? (
        <div aria-busy={busy}>
          <CompareTable
            now={result.answer.now}
            columns={result.answer.columns}
            presets={presets}
            inUse={session.preset}
            usage={usage}
            model={session.model}
            onApply={setApplying}
            onMissing={setMissing}
            onRemove={(name) => setPresets(chosen.filter((other) => other !== name))}
          />
          <MessageMap columns={result.answer.columns.filter((column) => !column.problem)} sessionId={id} />
        </div>
      ) : (
        !problem && <p className="text-dense text-text-3">Computing…</p>
      )}
      {applying && (
        <Dialog title={`Apply ${applying.label}?`} description={applyText(applying, session.preset)} onClose={() => setApplying(null)}>
          <DialogActions>
            <Button onClick={() => setApplying(null)}>Cancel</Button>
            <Button variant="primary" onClick={() => void apply(applying)}>Apply {applying.label}</Button>
          </DialogActions>
        </Dialog>
      )}
      {missing && (
        <Dialog title={`Missing after ${missing.label}`} wide onClose={() => setMissing(null)} description="Still stored and found by recall, but no longer in the prompt.">
          <ul className="mt-3 grid gap-1.5 text-dense">
            {missing.survival_kinds.map(({ kind, title, missing: some, missing_count: all }) => (
              <Fragment key={kind}>
                {some.map((item, index) => (
                  <li key={index} className="break-words">
                    <span className="text-text-3">{title}</span> {item.text}
                    {item.position !== null && <Citation position={item.position} onJump={(position) => go(`/s/${encodeURIComponent(id)}?m=${position}`)} />}
                  </li>
                ))}
                {all > some.length && <li className="text-text-3">{title}: and {count(all - some.length)} more</li>}
              </Fragment>
            ))}
          </ul>
          <DialogActions><Button onClick={() => setMissing(null)}>Close</Button></DialogActions>
        </Dialog>
      )}
      {undoing && done?.record && (
        <UndoDialog
          sessionId={id}
          record={done.record}
          onClose={() => {
            setUndoing(false);
            setDone(null);
            compute();
          }}
          onShow={(position) => go(`/s/${encodeURIComponent(id)}?m=${position}`)}
        />
      )}
    </div>
  );
}
