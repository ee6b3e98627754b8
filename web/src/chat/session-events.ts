/** The session's own event stream: what other tabs, the terminal and background work do to it. */
import { useEffect } from "react";
import type { CompactionEvent, Notice, Session, Usage } from "../lib/types";
import { rememberSession } from "../sessions/store";
import { applyCompactionEvent, applyNotice, applyUsage } from "./open-session";

export interface SessionEvent {
  type: string;
  data?: unknown;
}

interface Handlers {
  onMessage: () => void;
  onSession: (session: Session) => void;
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
      rememberSession(event.data as Session);
      return handlers.onSession(event.data as Session);
    case "message":
      return handlers.onMessage();
  }
}

export function useSessionEvents(id: string, handlers: Handlers) {
  const { onMessage, onSession } = handlers;
  useEffect(() => {
    if (!id) return;
    const source = new EventSource(`/api/sessions/${encodeURIComponent(id)}/events`);
    source.onmessage = (message: MessageEvent<string>) => {
      dispatchEvent(id, JSON.parse(message.data) as SessionEvent, { onMessage, onSession });
    };
    return () => source.close();
  }, [id, onMessage, onSession]);
}
