import { Download, Pencil, Trash2 } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { ChatPage } from "../chat/chat-page";
import { CompactDialog } from "../context/compact-dialog";
import { api, errorText, sessionPath } from "../lib/api";
import type { Session } from "../lib/types";
import { exportSession } from "./export";
import { DeleteDialog, RenameDialog } from "./session-dialogs";
import { SessionHeader, type View } from "./session-header";
import { rememberSession, useSessions } from "./store";

const WhatIfPage = lazy(() => import("../whatif/what-if-page"));
const FiguresPage = lazy(() => import("../figures/figures-page"));

interface Props {
  id: string;
  view: View;
  compactOpen: boolean;
  onCompactOpen: (open: boolean) => void;
  onDrawer: () => void;
}

export function SessionPage({ id, view, compactOpen, onCompactOpen, onDrawer }: Props) {
  const session = useSessions((state) => state.sessions.find((entry) => entry.id === id));
  const [problem, setProblem] = useState("");
  const [renaming, setRenaming] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [, go] = useLocation();
  const missing = !session;

  useEffect(() => {
    if (!missing) return;
    api
      .get<Session>(sessionPath(id))
      .then(rememberSession)
      .catch((error: unknown) => setProblem(errorText(error)));
  }, [id, missing]);

  useEffect(() => {
    document.title = session ? `${session.title || "New session"} · Compact` : "Compact";
  }, [session]);

  if (!session) {
    return problem ? <p role="alert" className="m-6 text-red">{problem}</p> : null;
  }
  const header = (
    <SessionHeader
      session={session}
      view={view}
      onCompact={() => onCompactOpen(true)}
      onDrawer={onDrawer}
      more={[
        { label: "Rename", icon: <Pencil size={14} aria-hidden />, onSelect: () => setRenaming(true) },
        { label: "Export", icon: <Download size={14} aria-hidden />, onSelect: () => void exportSession(id, session.title) },
        { label: "Delete", icon: <Trash2 size={14} aria-hidden />, danger: true, onSelect: () => setDeleting(true) },
      ]}
    />
  );
  return (
    <>
      {view === "chat" ? (
        <ChatPage key={id} session={session} header={header} compactOpen={compactOpen} onCompactOpen={onCompactOpen} />
      ) : (
        <>
        {header}
        <div className="min-h-0 flex-1 overflow-auto border-t border-line" tabIndex={0} role="region" aria-label={view === "what-if" ? "What if" : "Figures"}>
          <Suspense fallback={<p className="p-6 text-text-3">Loading…</p>}>
            {view === "what-if" ? <WhatIfPage key={id} session={session} /> : <FiguresPage key={id} session={session} />}
          </Suspense>
          {compactOpen && <CompactDialog sessionId={id} onClose={() => onCompactOpen(false)} />}
        </div>
        </>
      )}
      {renaming && <RenameDialog session={session} onClose={() => setRenaming(false)} />}
      {deleting && <DeleteDialog session={session} onClose={() => setDeleting(false)} onDeleted={() => go("/")} />}
    </>
  );
}
