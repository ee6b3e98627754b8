import { Download } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { useUsage } from "../context/usage";
import { api, errorText, sessionPath } from "../lib/api";
import { clock, money, percent, plural, short } from "../lib/format";
import { storedCompactions } from "../lib/stored-events";
import type { CompactionEvent, CompactionRecord, Figures, Session } from "../lib/types";
import { UndoDialog } from "../records/undo-dialog";
import { refreshSession } from "../sessions/store";
import { Button } from "../ui/button";
import { download } from "../ui/copy";
import { CachePlot, CostPlot } from "./cost-plots";
import { cacheShare, csv, failures } from "./series";
import { SizePlot } from "./size-plot";
import { CompactionTable, SurvivalTable } from "./survival-table";

function Number({ label, value, note }: { label: string; value: string; note: string }) {
  return (
    <div className="border-line p-4 even:border-l nth-[n+3]:border-t md:px-5 md:not-first:border-l md:nth-[n+3]:border-t-0">
      <p className="text-dense text-text-2">{label}</p>
      <p className="text-figure font-semibold tracking-tight">{value}</p>
      <p className="text-meta text-text-2">{note}</p>
    </div>
  );
}

function Numbers({ figures }: { figures: Figures }) {
  const { totals } = figures;
  const cache = cacheShare(figures);
  const words = figures.survival.at(-1)?.words;
  const whole = (totals.cost ?? 0) + (totals.cost_saved ?? 0);
  return (
    <div className="grid grid-cols-2 rounded-[12px] border border-line bg-surface md:grid-cols-4">
      {totals.cost_saved !== null ? (
        <Number label="Saved so far" value={money(totals.cost_saved)} note={totals.cost === null ? "an estimate from the tokens not sent" : whole > 0 ? `about ${percent(totals.cost_saved / whole)} of what it would have cost` : "nothing paid yet"} />
      ) : (
        <Number label="Saved so far" value="–" note="No price known for this model" />
      )}
      <Number label="Tokens not sent" value={short(totals.tokens_saved)} note={`in ${plural(figures.turns.filter((turn) => turn.sent).length, "reply", "replies")}`} />
      <Number label="Cache hits" value={cache === null ? "–" : percent(cache)} note={cache === null ? "This model reports none" : "of all prompt tokens"} />
      <Number label="Your words kept" value={words ? percent(words.kept / Math.max(1, words.total)) : "–"} note={words ? `${words.kept} of ${words.total}, verbatim` : "No compaction yet"} />
    </div>
  );
}

export default function FiguresPage({ session }: { session: Session }) {
  const [figures, setFigures] = useState<Figures | null>(null);
  const [records, setRecords] = useState<CompactionRecord[]>([]);
  const [events, setEvents] = useState<CompactionEvent[]>([]);
  const [problem, setProblem] = useState("");
  const [undoing, setUndoing] = useState<CompactionRecord | null>(null);
  const usage = useUsage((state) => state.bySession[session.id]);
  const [, go] = useLocation();

  const load = useCallback(async () => {
    try {
      const [found, list, stored] = await Promise.all([
        api.get<Figures>(sessionPath(session.id, "/figures")),
        api.get<{ records: CompactionRecord[] }>(sessionPath(session.id, "/records?texts=false")),
        storedCompactions(session.id),
      ]);
      setFigures(found);
      setRecords(list.records);
      setEvents(stored);
      setProblem("");
    } catch (error) {
      setProblem(errorText(error));
    }
  }, [session.id]);
  useEffect(() => {
    void load();
  }, [load, session.updated_at, session.compaction_count]);

  if (!figures && problem) {
    return (
      <div className="grid justify-items-start gap-3 p-6">
        <p role="alert" className="text-red">{problem}</p>
        <Button onClick={() => void load()}>Try again</Button>
      </div>
    );
  }
  if (!figures) return <p className="p-6 text-text-3">Loading…</p>;
  return (
    <div className="min-h-full bg-bg">
      <div className="mx-auto grid max-w-[1180px] gap-4 p-4 md:p-6">
        <div className="flex items-end gap-3">
          <div>
            <h2 className="text-page font-semibold">Figures</h2>
            {figures.turns.length > 0 && <p className="text-dense text-text-2">Up to the latest reply, {clock(figures.turns.at(-1)?.at ?? session.updated_at)}.</p>}
          </div>
          <Button className="ml-auto" disabled={figures.turns.length === 0} onClick={() => download("figures.csv", csv(figures.turns), "text/csv")}>
            <Download size={14} aria-hidden /> Export CSV
          </Button>
        </div>
        {figures.turns.length === 0 ? (
          <p className="rounded-[12px] border border-line bg-surface p-6 text-text-2">Figures appear after the first reply.</p>
        ) : (
          <>
            <Numbers figures={figures} />
            <SizePlot figures={figures} records={records} usage={usage} />
            <div className={`grid gap-4 ${figures.totals.cost === null ? "" : "lg:grid-cols-2"}`}>
              {figures.totals.cost !== null ? <CostPlot figures={figures} model={session.model} /> : <NoCost model={session.model} priced={figures.prices_known} />}
              <CachePlot figures={figures} />
            </div>
            <div className="grid grid-cols-[minmax(0,1fr)] gap-4 min-[1440px]:grid-cols-2">
              <SurvivalTable figures={figures} records={records} sessionId={session.id} />
              <CompactionTable session={session} figures={figures} records={records} failures={failures(events)} onUndo={setUndoing} />
            </div>
          </>
        )}
      </div>
      {undoing && (
        <UndoDialog
          sessionId={session.id}
          record={undoing}
          onClose={() => {
            setUndoing(null);
            void refreshSession(session.id);
            void load();
          }}
          onShow={(position) => go(`/s/${encodeURIComponent(session.id)}?m=${position}`)}
        />
      )}
    </div>
  );
}

function NoCost({ model, priced }: { model: string; priced: boolean }) {
  return (
    <section className="rounded-[12px] border border-line bg-surface p-5">
      <h2 className="text-ui font-semibold">Cost, running total</h2>
      <p className="mt-1 text-dense text-text-2">{priced ? `${model} reported no usage, so what it cost is not known.` : `No price known for this model (${model}).`}</p>
    </section>
  );
}
