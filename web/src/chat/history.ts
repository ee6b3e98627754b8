/** Which positions of a session's history are known. Pure: the store fetches, this decides what and keeps it. */
import type { Message, MessagePage } from "../lib/types";

export interface History {
  first: number;
  /** Position of the newest stored message; first - 1 when there is none. */
  last: number;
  total: number;
  /** A message, or null where a position belongs to the message before it. */
  known: Map<number, Message | null>;
  /** Known, but read before a compaction changed their state: shown until they are read again. */
  stale: ReadonlySet<number>;
}

export const emptyHistory: History = { first: 0, last: -1, total: 0, known: new Map(), stale: new Set() };

export function asStale(history: History): History {
  return { ...history, stale: new Set(history.known.keys()) };
}

/** The history with this page in it. `from` is the position the page was asked to begin at. */
export function withPage(history: History, page: MessagePage, from: number | null): History {
  const first = page.first ?? 0;
  const last = page.last ?? first - 1;
  const known = new Map(history.known);
  const stale = new Set(history.stale);
  for (const position of known.keys()) if (position < first || position > last) known.delete(position);
  const messages = page.messages;
  const begin = from ?? messages[0]?.position ?? first;
  const end = messages.at(-1)?.position ?? last;
  for (let position = begin; position <= end; position += 1) {
    known.set(position, null);
    stale.delete(position);
  }
  for (const message of messages) known.set(message.position, message);
  return { first, last, total: page.total, known, stale };
}

/** The first position in the range that has to be fetched. */
export function firstUnknown(history: History, from: number, to: number): number | null {
  for (let position = Math.max(from, history.first); position <= Math.min(to, history.last); position += 1) {
    if (!history.known.has(position) || history.stale.has(position)) return position;
  }
  return null;
}

/** The message that holds a position: itself, or the nearest one before it. */
export function holder(history: History, position: number): number | null {
  for (let at = Math.min(position, history.last); at >= history.first; at -= 1) {
    const message = history.known.get(at);
    if (message) return at;
    if (message === undefined) return null;
  }
  return null;
}

export function withMessage(history: History, message: Message): History {
  const known = new Map(history.known);
  known.set(message.position, message);
  return { ...history, known };
}
