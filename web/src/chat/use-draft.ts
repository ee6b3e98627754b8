import { useCallback, useEffect, useRef, useState } from "react";
import { api, sessionPath } from "../lib/api";
import type { Usage } from "../lib/types";
import { draftText, emptyDraft, readDraft, saveDraft, type Draft } from "./drafts";

const WAIT_MS = 350;

/** The draft of a session, saved as it is typed, and the size the server says it would give. */
export function useDraft(id: string) {
  const [draft, keep] = useState<Draft>(() => readDraft(id));
  const [draftUsage, setDraftUsage] = useState<Usage | null>(null);
  /** A message that comes back, because it could not be sent, need not be measured again to be called too long. */
  const measured = useRef<{ text: string; usage: Usage | null }>({ text: "", usage: null });
  const text = draftText(draft);

  const setDraft = useCallback(
    (next: Draft) => {
      keep(next);
      saveDraft(id, next);
    },
    [id],
  );

  /** Text that could not be sent stands before what was typed since. */
  const takeBack = useCallback(
    (unsent: string) => {
      if (measured.current.text === unsent) setDraftUsage(measured.current.usage);
      keep((now) => {
        if (now.text.includes(unsent)) return now;
        const next = { ...now, text: [unsent, now.text].filter(Boolean).join("\n\n") };
        saveDraft(id, next);
        return next;
      });
    },
    [id],
  );

  /** A message that went out after all is no longer to be sent; what was typed since stays. */
  const letGo = useCallback(
    (answered: string) =>
      keep((now) => {
        if (draftText(now) !== answered) return now;
        saveDraft(id, emptyDraft);
        return emptyDraft;
      }),
    [id],
  );

  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      if (!text) return setDraftUsage(null);
      api
        .post<Usage>(sessionPath(id, "/usage"), { draft: text }, stop.signal)
        .then((usage) => {
          measured.current = { text, usage };
          setDraftUsage(usage);
        })
        .catch(() => undefined);
    }, text ? WAIT_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, text]);

  return { draft, setDraft, takeBack, letGo, draftUsage: text ? draftUsage : null };
}
