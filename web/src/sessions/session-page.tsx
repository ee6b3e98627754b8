import { Download, Menu, Pencil, Trash2 } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { ChatPage } from "../chat/chat-page";
import { CompactDialog } from "../context/compact-dialog";
import { api, errorText, sessionPath } from "../lib/api";
import type { Session } from "../lib/types";
import { exportSession } from "./export";
import { DeleteDialog, RenameDialog } from "./session-dialogs";
import { Button } from "../ui/button";
import { request, useRequest } from "../ui/requests";
import { SessionHeader, type View } from "./session-header";
import { rememberSession, useSessions } from "./store";

const WhatIfPage = lazy(() => import("../whatif/what-if-page"));
const FiguresPage = lazy(() => import("../figures/figures-page"));

interface Props {
  id: string;
  view: View;
  onDrawer: () => void;
}

const closeRequest = () => request(null);

/** A link to a session that is gone, or a server that did not answer: what happened, and a way on. */
function NotShown({ problem, onDrawer, onNewest }: { problem: string; onDrawer: () => void; onNewest: () => void }) {
  return (
    <div className="flex flex-1 flex-col">
      <div className="p-2 lg:hidden">
        <Button variant="ghost" icon aria-label="Sessions" onClick={onDrawer}><Menu size={16} aria-hidden /></Button>
      </div>
      <div className="flex flex-1 flex-col items-center justify-center gap-4 p-6 text-center">
        <h1 className="text-page font-semibold">This session cannot be shown</h1>
        <p role="alert" className="max-w-[420px] text-dense text-red">{problem}</p>
        <Button variant="primary" onClick={onNewest}>Open the newest session</Button>
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

  useEffect(() => {
    if (!missing) return;
    const askedAt = performance.now();
    api
      .get<Session>(sessionPath(id))
      .then((session) => rememberSession(session, askedAt))
      .catch((error: unknown) => setProblem(errorText(error)));
  }, [id, missing]);

  // A dialog that was asked for elsewhere is not for the next session.
  useEffect(() => closeRequest, [id]);

  useEffect(() => {
    document.title = session ? `${session.title || "New session"} · Compact` : "Compact";
  }, [session]);

  if (!session) {
    return problem ? <NotShown problem={problem} onDrawer={onDrawer} onNewest={() => go("/")} /> : null;
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
