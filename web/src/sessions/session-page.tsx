import { Download, Menu, Pencil, Trash2 } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { ChatPage } from "../chat/chat-page";
import { draftText, emptyDraft, readDraft, saveDraft } from "../chat/drafts";
import { CompactDialog } from "../context/compact-dialog";
import { api, ApiError, errorText, sessionPath } from "../lib/api";
import type { Session } from "../lib/types";
import { exportSession } from "./export";
import { DeleteDialog, RenameDialog } from "./session-dialogs";
import { Button } from "../ui/button";
import { request, useRequest } from "../ui/requests";
import { SessionHeader, type View } from "./session-header";
import { createSession, rememberSession, useSessions } from "./store";

const WhatIfPage = lazy(() => import("../whatif/what-if-page"));
const FiguresPage = lazy(() => import("../figures/figures-page"));

interface Props {
  id: string;
  view: View;
  onDrawer: () => void;
}

const closeRequest = () => request(null);

const DELETED = "It was deleted, in another tab or in the terminal. Other sessions are unchanged.";

interface NotShownProps {
  id: string;
  problem: string;
  onDrawer: () => void;
  onOpen: (id: string) => void;
}

/** A link to a session that is gone, or a server that did not answer: what happened, and a way on. */
function NotShown({ id, problem, onDrawer, onOpen }: NotShownProps) {
  const draft = readDraft(id);
  const takeAlong = async () => {
    const fresh = await createSession();
    if (!fresh) return;
    saveDraft(fresh.id, draft);
    saveDraft(id, emptyDraft);
    onOpen(fresh.id);
  };
  return (
    <div className="flex flex-1 flex-col">
      <div className="p-2 lg:hidden">
        <Button variant="ghost" icon aria-label="Sessions" onClick={onDrawer}><Menu size={16} aria-hidden /></Button>
      </div>
      <div className="flex flex-1 flex-col items-center justify-center gap-4 p-6 text-center">
        <h1 className="text-page font-semibold">This session cannot be shown</h1>
        <p role="alert" className="max-w-[420px] text-dense text-red">{problem}</p>
        <div className="flex flex-wrap justify-center gap-2">
          {draftText(draft) && <Button variant="primary" onClick={() => void takeAlong()}>Start a new session with your text</Button>}
          <Button variant={draftText(draft) ? "plain" : "primary"} onClick={() => onOpen("")}>Open the newest session</Button>
        </div>
      </div>
    </div>
  );
}

export function SessionPage({ id, view, onDrawer }: Props) {
  const session = useSessions((state) => state.sessions.find((entry) => entry.id === id));
  const [problem, setProblem] = useState("");
  const open = useRequest((state) => state.open);
  const [, go] = useLocation();
  const missing = !session;
  const [shown, setShown] = useState("");

  useEffect(() => {
    if (!missing) return;
    const askedAt = performance.now();
    api
      .get<Session>(sessionPath(id))
      .then((session) => rememberSession(session, askedAt))
      .catch((error: unknown) => setProblem(error instanceof ApiError && error.status === 404 && shown === id ? DELETED : errorText(error)));
  }, [id, missing, shown]);

  // A dialog that was asked for elsewhere is not for the next session.
  useEffect(() => closeRequest, [id]);

  useEffect(() => {
    if (session) setShown(session.id);
    document.title = session ? `${session.title || "New session"} · Compact` : "Compact";
  }, [session]);

  if (!session) {
    return problem ? <NotShown id={id} problem={problem} onDrawer={onDrawer} onOpen={(next) => go(next ? `/s/${encodeURIComponent(next)}` : "/")} /> : null;
  }
  const header = (
    <SessionHeader
      session={session}
      view={view}
      onCompact={() => request("compact")}
      onDrawer={onDrawer}
      more={[
        { label: "Rename", icon: <Pencil size={14} aria-hidden />, onSelect: () => request("rename") },
        { label: "Export", icon: <Download size={14} aria-hidden />, onSelect: () => void exportSession(id, session.title) },
        { label: "Delete", icon: <Trash2 size={14} aria-hidden />, danger: true, onSelect: () => request("delete") },
      ]}
    />
  );
  return (
    <>
      {view === "chat" ? (
        <ChatPage key={id} session={session} header={header} />
      ) : (
        <>
        {header}
        <div className="relative min-h-0 flex-1 overflow-auto border-t border-line" tabIndex={0} role="region" aria-label={view === "what-if" ? "What if" : "Figures"}>
          <Suspense fallback={<p className="p-6 text-text-3">Loading…</p>}>
            {view === "what-if" ? <WhatIfPage key={id} session={session} /> : <FiguresPage key={id} session={session} />}
          </Suspense>
        </div>
        </>
      )}
      {open === "compact" && <CompactDialog sessionId={id} onClose={closeRequest} />}
      {open === "rename" && <RenameDialog session={session} onClose={closeRequest} />}
      {open === "delete" && <DeleteDialog session={session} onClose={closeRequest} onDeleted={() => go("/")} />}
    </>
  );
}
