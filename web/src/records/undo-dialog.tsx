import { TriangleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { restoreRecord } from "../chat/open-session";
import { Strip } from "../context/usage-bar";
import { useUsage } from "../context/usage";
import { api, errorText, sessionPath } from "../lib/api";
import { percent, plural } from "../lib/format";
import type { CompactionRecord, RestorePreview, Usage } from "../lib/types";
import { useSessions } from "../sessions/store";
import { Button } from "../ui/button";
import { Dialog, DialogActions } from "../ui/dialog";
import { showToast } from "../ui/toasts";

export function recordName(record: CompactionRecord): string {
  if (record.kind === "summary") return `Summary v${record.version ?? record.step}`;
  if (record.kind === "prune") return `Cleared ${plural(record.outputs_cleared, "output")}`;
  if (record.kind === "trim") return "Context trimmed";
  if (record.kind === "clear") return "Conversation cleared";
  return `Restored ${record.reason ?? ""}`.trim();
}

function Row({ label, usage, tokens, summary }: { label: string; usage: Usage; tokens: number; summary: number }) {
  const parts = { ...usage.parts, messages: Math.max(0, tokens - usage.parts.system - usage.parts.tools - summary), summary };
  return (
    <div className="grid grid-cols-[44px_minmax(0,1fr)_44px] items-center gap-2 text-dense">
      <span className="text-text-2">{label}</span>
      <Strip usage={{ ...usage, tokens, parts, over_by: Math.max(0, tokens - usage.window) }} label={`Context ${label.toLowerCase()}`} />
      <b className="text-right font-semibold">{percent(tokens / usage.window)}</b>
    </div>
  );
}

/** What comes back, the size now and after, and whether the next message would compact again. */
export function UndoDialog({ sessionId, record, onClose, onShow }: { sessionId: string; record: CompactionRecord; onClose: () => void; onShow: (position: number) => void }) {
  const [preview, setPreview] = useState<RestorePreview | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const usage = useUsage((state) => state.bySession[sessionId]);
  const preset = useSessions((state) => state.sessions.find((session) => session.id === sessionId)?.preset);
  const comesBack = back(preview, preset);
  useEffect(() => {
    api
      .get<RestorePreview>(sessionPath(sessionId, `/records/${record.step}/restore`))
      .then(setPreview)
      .catch((error: unknown) => setProblem(errorText(error)));
  }, [record.step, sessionId]);

  const undo = async () => {
    setBusy(true);
    try {
      await restoreRecord(sessionId, record.step);
      showToast("undo", `${recordName(record)} undone`, comesBack);
      onClose();
    } catch (error) {
      setProblem(errorText(error));
      setBusy(false);
    }
  };

  const name = recordName(record);
  return (
    <Dialog title={`Undo ${name[0]?.toLowerCase()}${name.slice(1)}?`} onClose={onClose} description={preview ? `${comesBack} The turns since then stay.` : "Loading what comes back…"}>
      {usage && preview && (
        <div className="mt-4 grid gap-2.5">
          <Row label="Now" usage={usage} tokens={preview.tokens_now} summary={usage.parts.summary} />
          <Row label="After" usage={usage} tokens={preview.tokens_after} summary={preview.summary_after} />
        </div>
      )}
      {preview?.compacts_again && usage && (
        <p className="mt-3 flex gap-1.5 text-dense text-yellow">
          <TriangleAlert size={14} aria-hidden className="mt-0.5 flex-none" />
          Over the trigger: your next message compacts again.
        </p>
      )}
      {problem && <p role="alert" className="mt-3 text-dense text-red">{problem}</p>}
      <DialogActions>
        {record.first_position !== null && (
          <Button
            variant="ghost"
            className="mr-auto"
            onClick={() => {
              onClose();
              onShow(record.first_position as number);
            }}
          >
            Show the messages
          </Button>
        )}
        <Button onClick={onClose}>Keep</Button>
        <Button variant="primary" disabled={busy || !preview} onClick={() => void undo()}>Undo</Button>
      </DialogActions>
    </Dialog>
  );
}

/** `preset`: the one in use now. */
export function back(preview: RestorePreview | null, preset?: string): string {
  if (!preview) return "";
  const parts = [
    preview.messages_back > 0 && `${plural(preview.messages_back, "message comes", "messages come")} back word for word.`,
    preview.outputs_back > 0 && `${plural(preview.outputs_back, "tool output comes", "tool outputs come")} back in full.`,
    preset && preview.preset_after !== preset && `The preset goes back to ${preview.preset_after}.`,
  ].filter(Boolean);
  return parts.join(" ") || "The prompt goes back to what it was.";
}
