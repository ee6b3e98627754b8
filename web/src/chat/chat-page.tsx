import { useEffect, useState, type ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import { isHopeless, isRunning, shownCompaction } from "../context/compaction";
import { ErrorBanner, errorWords } from "../context/error-banner";
import { Panel, type PanelTab } from "../context/panel";
import { StatusRow } from "../context/status-row";
import { foldTurns } from "../context/trigger";
import { UsageBar } from "../context/usage-bar";
import { isTooLong, useUsage } from "../context/usage";
import { BUSY_TEXT } from "../lib/api";
import { setPreference, usePreferences } from "../lib/preferences";
import { useIsWide } from "../lib/screen";
import type { CompactionRecord, Message, Session } from "../lib/types";
import { UndoDialog } from "../records/undo-dialog";
import { exportSession } from "../sessions/export";
import { createSession, markSeen, patchSession, refreshSession, sessionById, useSessions } from "../sessions/store";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { ErrorBoundary } from "../ui/error-boundary";
import { request, useRequest } from "../ui/requests";
import { showToast } from "../ui/toasts";
import { Composer } from "./composer";
import { draftText, emptyDraft, titleOf } from "./drafts";
import { EmptyThread } from "./empty-thread";
import { messageText } from "./message-view";
import { cancelCompaction, compactNow, isRolling, jumpTo, openSession, pinMessage, refreshAll, refreshHistory, startSession, useOpenSession } from "./open-session";
import { useSessionEvents } from "./session-events";
import { Thread } from "./thread";
import { useCompactionEnd } from "./use-compaction-end";
import { useChatKeys } from "./use-chat-keys";
import { useChatSession } from "./use-chat-session";
import { useDraft } from "./use-draft";

/** In another tab the turn that failed may still be ending: what the banner offers waits for that. */
const RETRIES = 5;

interface Props {
  session: Session;
  header: ReactNode;
}

function panelTab(search: URLSearchParams): PanelTab | null {
  const value = search.get("panel");
  return value === "context" || value === "records" || value === "debug" ? value : null;
}

/** One session: the bar, the thread, the status or the banner, the composer, the panel. */
export function ChatPage({ session, header }: Props) {
  const { id } = session;
  const open = useOpenSession();
  const usage = useUsage((state) => state.bySession[id]);
  const settings = useSessions((state) => state.settings);
  const panelOpen = usePreferences((state) => state.panelOpen);
  const wide = useIsWide();
  const { draft, setDraft, takeBack, letGo, draftUsage } = useDraft(id);
  const chat = useChatSession(id, takeBack, letGo);
  const [undoing, setUndoing] = useState<CompactionRecord | null>(null);
  const [openCards, setOpenCards] = useState<Set<number>>(new Set());
  const [, go] = useLocation();
  const query = useSearch();
  const search = new URLSearchParams(query);
  const tab = panelTab(search);

  useEffect(() => markSeen(id, session.message_count), [id, session.message_count]);

  useEffect(() => startSession(id), [id]);
  // The session is read when its stream is open, or cannot be opened; and again when the stream comes back.
  const followRunning = () => sessionById(id)?.streaming && chat.follow();
  const onStream = (connected: boolean) => {
    const { loaded, problem } = useOpenSession.getState();
    if (connected) chat.reconnected();
    // It may have ended because the session was deleted.
    if (loaded && !connected) return void refreshSession(id);
    if (loaded && !problem) return void refreshAll(id).then(followRunning);
    void openSession(id).then(() => {
      followRunning();
      const wanted = new URLSearchParams(window.location.search).get("m");
      if (wanted !== null && /^\d+$/.test(wanted)) jumpTo(Number(wanted), { focus: `[data-position="${Number(wanted)}"]` });
    });
  };
  useSessionEvents(id, {
    onMessage: () => void refreshHistory().catch(() => undefined),
    onSession: (changed) => changed.streaming && chat.follow(),
    onStream,
  });

  const setTab = (next: PanelTab | null) => {
    const params = new URLSearchParams(window.location.search);
    if (next) params.set("panel", next);
    else params.delete("panel");
    const text = params.toString();
    go(`/s/${encodeURIComponent(id)}${text ? `?${text}` : ""}`, { replace: true });
  };
  const closePanel = () => {
    setTab(null);
    setPreference({ panelOpen: false });
  };
  const togglePanel = () => {
    if (wide ? panelOpen : tab) return closePanel();
    setPreference({ panelOpen: true });
    if (!tab) setTab("context");
  };

  const rolling = isRolling(id);
  const running = isRunning(open.compaction) || session.compacting;
  const sendOff = running && !rolling;

  useCompactionEnd(id, running);

  const send = () => {
    const text = draftText(draft);
    if (!session.title) void patchSession(id, { title: titleOf(text) });
    setDraft(emptyDraft);
    chat.send(text);
  };

  const lastMessage = (role: Message["role"]) =>
    [...open.history.known.values()].filter((message): message is Message => message?.role === role).sort((a, b) => b.position - a.position)[0];
  const retryReply = () => {
    const last = lastMessage("user");
    if (last) chat.retry(last.position, messageText(last.parts));
  };
  const editLast = () => {
    const last = lastMessage("user");
    const row = last && document.querySelector<HTMLElement>(`[data-position="${last.position}"] [aria-label="Edit message"]`);
    row?.click();
  };
  const startNew = async () => {
    const fresh = await createSession({ space: session.space || undefined, preset: session.preset, model: session.model });
    if (fresh) go(`/s/${encodeURIComponent(fresh.id)}`);
  };
  const toggleCard = (step: number) =>
    setOpenCards((before) => {
      const next = new Set(before);
      if (!next.delete(step)) next.add(step);
      return next;
    });
  const showRecord = (record: CompactionRecord) => {
    if (record.last_position === null) return;
    setOpenCards((before) => new Set(before).add(record.step));
    jumpTo(record.last_position, { focus: `[data-record="${record.step}"] button[aria-expanded]` });
    if (!wide) setTab(null);
  };
  const newestSummary = [...open.records].reverse().find((record) => record.kind === "summary" && record.undoable);
  const requested = useRequest((state) => state.open);
  const lastUndoable = [...open.records].reverse().find((record) => record.undoable);
  const undoShown = undoing ?? (requested === "undo-last" ? (lastUndoable ?? null) : null);
  const closeUndo = () => {
    setUndoing(null);
    if (requested === "undo-last") request(null);
  };
  useEffect(() => {
    if (requested !== "undo-last" || !open.recordsLoaded || lastUndoable) return;
    request(null);
    showToast("info", "Nothing to undo", "No compaction of this session is in force.");
  }, [requested, open.recordsLoaded, lastUndoable]);
  const undoStep = (step: number) => {
    const record = open.records.find((entry) => entry.step === step);
    if (record) setUndoing(record);
  };
  const retryCompaction = () => {
    useOpenSession.setState({ bannerClosed: true });
    // A message that could not go out waits as a draft: sending it compacts first.
    if (draftText(draft)) send();
    else void compactNow({}, RETRIES);
  };

  useChatKeys({
    togglePanel,
    compact: () => request("compact"),
    pin: (position) => {
      const message = open.history.known.get(position);
      if (message) void pinMessage(position, !message.pinned);
    },
    openSummary: () => newestSummary && showRecord(newestSummary),
    boundaries: open.records.filter((record) => record.in_force && record.last_position !== null).map((record) => record.last_position as number),
  });

  const panel = (
    <ErrorBoundary><Panel session={session} tab={tab ?? "context"} onTab={setTab} onClose={closePanel} onUndo={setUndoing} onShow={showRecord} onJump={(position) => { jumpTo(position); if (!wide) setTab(null); }} /></ErrorBoundary>
  );
  // What the banner offers is refused until the exchange is over, and a message that did not go out is not back before.
  const failed = open.compaction.phase === "failed" && !open.bannerClosed && !chat.streaming && !chat.unsettled;
  const inBanner = open.compaction.phase === "failed" && open.compaction.error === chat.problem;
  const empty = open.loaded && open.history.total === 0 && chat.messages.length === 0;
  return (
    <div className="flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">
        {header}
        <section aria-label="Context" className="flex-none border-b border-line px-3.5 pb-3 md:px-5">
          <UsageBar usage={usage} draftUsage={draftUsage} compacting={running && !rolling} turns={foldTurns(session.policy)} />
          {!wide && (
            <button type="button" className="sr-only focus:not-sr-only" onClick={() => setTab("context")}>Open the context panel</button>
          )}
        </section>
        {!wide && <TapBar onTap={() => setTab("context")} />}
        {open.problem ? (
          <div role="alert" className="m-5 flex-1 text-dense">
            <p className="text-red">{open.problem}</p>
            <Button small className="mt-2" onClick={() => void openSession(id)}>Try again</Button>
          </div>
        ) : empty ? (
          <EmptyThread preset={settings?.presets.find((preset) => preset.name === session.preset)} onStart={(text) => setDraft({ text, pasted: [] })} />
        ) : (
          <Thread
            key={id}
            sessionId={id}
            chat={chat}
            openCards={openCards}
            onToggleCard={toggleCard}
            onPin={(position, pinned) => void pinMessage(position, pinned)}
            onEdit={chat.edit}
            onRetry={retryReply}
            onUndo={setUndoing}
            onCompactAgain={() => request("compact")}
          />
        )}
        <div className="flex-none px-2.5 pb-2.5 md:px-5 md:pb-4">
          <div className="mx-auto grid w-full max-w-[780px] gap-2">
            {failed ? (
              <ErrorBanner
                state={open.compaction}
                draftKept={draftText(draft) !== ""}
                tooLong={isHopeless(open.compaction) && isTooLong(draftUsage) ? draftUsage : null}
                onDismiss={() => useOpenSession.setState({ bannerClosed: true })}
                onRetry={retryCompaction}
                onPrune={() => { useOpenSession.setState({ bannerClosed: true }); void compactNow({ mode: "prune" }, RETRIES); }}
                onShorten={() => document.getElementById("composer")?.focus()}
                onNewSession={() => void startNew()}
                onReviewPins={() => { setPreference({ panelOpen: true }); setTab("context"); }}
                onExport={() => void exportSession(id, session.title)}
              />
            ) : (
              <StatusRow
                state={shownCompaction(open.compaction, session.compacting)}
                rolling={rolling}
                onCancel={() => void cancelCompaction()}
                onViewSummary={() => newestSummary && showRecord(newestSummary)}
                onUndo={undoStep}
              />
            )}
            <Composer
              session={session}
              presets={settings?.presets ?? []}
              models={settings?.models ?? []}
              draft={draft}
              onDraft={setDraft}
              draftUsage={draftUsage}
              draftTokens={draftUsage?.draft ?? 0}
              compacting={sendOff}
              streaming={chat.streaming && !sendOff}
              problem={(chat.problem === BUSY_TEXT && !running) || inBanner ? "" : errorWords(chat.problem)}
              onSend={send}
              onStop={() => void chat.stopReply()}
              onEditLast={editLast}
            />
            <p className="hidden justify-center gap-3.5 text-meta text-text-3 md:flex">
              <span>Enter to send</span>
              <span>Shift Enter for a new line</span>
              <span>Esc to stop</span>
            </p>
          </div>
        </div>
      </div>
      {wide && panelOpen && <aside aria-label="Panel" className="w-[348px] flex-none border-l border-line">{panel}</aside>}
      {!wide && tab && !undoShown && (
        <Dialog title="Panel" hideTitle sheet onClose={() => setTab(null)}>
          <div className="h-[70dvh]">{panel}</div>
        </Dialog>
      )}
      {undoShown && <UndoDialog sessionId={id} record={undoShown} onClose={closeUndo} onShow={jumpTo} />}
    </div>
  );
}

/** On narrow screens a tap on the bar opens the panel. The bar itself stays a picture. */
function TapBar({ onTap }: { onTap: () => void }) {
  return (
    <div className="relative h-0">
      <button type="button" aria-label="Open the context panel" onClick={onTap} className="absolute inset-x-0 -top-12 h-12 bg-transparent" />
    </div>
  );
}
