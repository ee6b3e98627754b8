/** The session's own event stream: what other tabs, the terminal and background work do to it. */
import { useEffect, useRef } from "react";
import { follow } from "../lib/sse";
import type { CompactionEvent, Notice, Session, Usage } from "../lib/types";
import { refreshSession } from "../sessions/store";
import { applyCompactionEvent, applyNotice, applyUsage } from "./open-session";

export interface SessionEvent {
  type: string;
  data?: unknown;
}

interface Handlers {
  onMessage: () => void;
  onSession: (session: Session) => void;
  /** Called with true when the stream is open, with false when it could not be opened or broke. */
  onStream?: (open: boolean) => void;
}

/** Gives one event to the part of the page that it concerns. Unknown types are skipped: servers may be newer. */
export function dispatchEvent(id: string, event: SessionEvent, handlers: Handlers) {
  switch (event.type) {
    case "data-compaction":
      return applyCompactionEvent(id, event.data as CompactionEvent);
    case "data-context-usage":
      return applyUsage(id, event.data as Usage);
    case "data-notice":
      return applyNotice(event.data as Notice);
    case "session":
      void refreshSession(id).then((session) => session && handlers.onSession(session));
      return;
    case "message":
      return handlers.onMessage();
  }
}

/**
 * The stream begins with what happens once it is open: what is read before that may lack what came in between.
 * It stays open while the session is on the screen, whatever handles its events just now.
 */
export function useSessionEvents(id: string, handlers: Handlers) {
  const current = useRef(handlers);
  useEffect(() => {
    current.current = handlers;
  });
  useEffect(() => {
    if (!id) return;
    return follow({
      path: `/api/sessions/${encodeURIComponent(id)}/events`,
      onState: (open) => current.current.onStream?.(open),
      onEvent: (event) => dispatchEvent(id, JSON.parse(event.data) as SessionEvent, current.current),
    });
  }, [id]);
}
