import { useEffect } from "react";
import { idle, isRunning } from "../context/compaction";
import { refreshSession } from "../sessions/store";
import { useOpenSession } from "./open-session";

const EVERY_MS = 1500;

/** One that was canceled elsewhere, or whose process died, sends no last event: the session is asked until it ends. */
export function useCompactionEnd(id: string, running: boolean) {
  useEffect(() => {
    if (!running) return;
    let quiet = 0;
    const timer = setInterval(() => {
      void refreshSession(id).then((session) => {
        quiet = session && !session.compacting ? quiet + 1 : 0;
        // Twice: an answer may have been on its way when the compaction began.
        if (quiet >= 2 && isRunning(useOpenSession.getState().compaction)) useOpenSession.setState({ compaction: idle });
      });
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [id, running]);
}
