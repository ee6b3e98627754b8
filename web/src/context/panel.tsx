import { X } from "lucide-react";
import { useOpenSession } from "../chat/open-session";
import type { CompactionRecord, Session } from "../lib/types";
import { RecordList } from "../records/record-list";
import { Button } from "../ui/button";
import { ContextTab } from "./context-tab";
import { DebugTab } from "./debug-tab";

export type PanelTab = "context" | "records" | "debug";
const tabs: { tab: PanelTab; label: string }[] = [
  { tab: "context", label: "Context" },
  { tab: "records", label: "Records" },
  { tab: "debug", label: "Debug" },
];

interface Props {
  session: Session;
  tab: PanelTab;
  onTab: (tab: PanelTab) => void;
  onClose: () => void;
  onUndo: (record: CompactionRecord) => void;
  onShow: (record: CompactionRecord) => void;
  onJump: (position: number) => void;
}

export function Panel({ session, tab, onTab, onClose, onUndo, onShow, onJump }: Props) {
  const records = useOpenSession((state) => state.records);
  const move = (step: number) => {
    const at = tabs.findIndex((entry) => entry.tab === tab);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next) {
      onTab(next.tab);
      document.getElementById(`panel-${next.tab}`)?.focus();
    }
  };
  return (
    <div className="flex h-full min-h-0 flex-col bg-bg">
      <div className="flex h-14 flex-none items-center justify-between border-b border-line pr-2.5 pl-3.5">
        <div role="tablist" aria-label="Panel" className="flex gap-0.5">
          {tabs.map((entry) => (
            <button
              key={entry.tab}
              id={`panel-${entry.tab}`}
              type="button"
              role="tab"
              aria-selected={entry.tab === tab}
              aria-controls="panel-content"
              tabIndex={entry.tab === tab ? 0 : -1}
              onClick={() => onTab(entry.tab)}
              onKeyDown={(event) => {
                if (event.key === "ArrowRight") move(1);
                if (event.key === "ArrowLeft") move(-1);
              }}
              className={`h-7 rounded-[7px] px-2.5 text-dense font-medium ${entry.tab === tab ? "bg-text/8" : "text-text-2 hover:bg-text/5"}`}
            >
              {entry.label}
            </button>
          ))}
        </div>
        <Button variant="ghost" icon aria-label="Close panel" onClick={onClose}>
          <X size={16} aria-hidden />
        </Button>
      </div>
      <div id="panel-content" role="tabpanel" aria-labelledby={`panel-${tab}`} tabIndex={0} className="min-h-0 flex-1 overflow-auto px-4 pb-5 -outline-offset-2">
        {tab === "context" && <ContextTab session={session} onUndo={onUndo} onShow={onShow} onAllRecords={() => onTab("records")} onJump={onJump} />}
        {tab === "records" && (
          <section aria-label="Records" className="py-4">
            {records.length === 0 && <p className="text-dense text-text-2">Nothing has been compacted yet.</p>}
            <RecordList records={[...records].reverse()} onUndo={onUndo} onShow={onShow} />
          </section>
        )}
        {tab === "debug" && <DebugTab sessionId={session.id} />}
      </div>
    </div>
  );
}
