/** What was typed and not sent, by session; it survives a reload and a failed send. */
export interface Draft {
  text: string;
  pasted: string[];
}

export const emptyDraft: Draft = { text: "", pasted: [] };

const key = (session: string) => `compact-draft-${session}`;

export function readDraft(session: string): Draft {
  try {
    const stored = JSON.parse(localStorage.getItem(key(session)) ?? "null") as Draft | null;
    return stored && typeof stored.text === "string" ? { text: stored.text, pasted: stored.pasted ?? [] } : emptyDraft;
  } catch {
    return emptyDraft;
  }
}

export function saveDraft(session: string, draft: Draft) {
  try {
    if (draft.text === "" && draft.pasted.length === 0) localStorage.removeItem(key(session));
    else localStorage.setItem(key(session), JSON.stringify(draft));
  } catch {
    // Storage is full or off: the text stays in the field.
  }
}

/** What is sent: pasted blocks first, then the words about them. */
export function draftText(draft: Draft): string {
  return [...draft.pasted, draft.text.trim()].filter(Boolean).join("\n\n");
}

/** A name for a session that has none: the first words of its first message. */
export function titleOf(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length <= 60 ? line : `${line.slice(0, 60).replace(/\s+\S*$/, "")}…`;
}

export function isLongPaste(text: string): boolean {
  return text.length > 4000 || text.split("\n").length > 40;
}
