/** Sessions, spaces and settings, as the server has them. */
import { create } from "zustand";
import { useUsage } from "../context/usage";
import { api, ApiError, errorText, sessionPath } from "../lib/api";
import type { Session, Settings, Space } from "../lib/types";
import { showToast } from "../ui/toasts";

interface SessionsStore {
  sessions: Session[];
  spaces: Space[];
  settings: Settings | null;
  loaded: boolean;
  /** True where only the trace viewer is served. */
  tracesOnly: boolean;
  problem: string;
  /** How many messages of a session were on a screen of this browser. More than that are unread. */
  seen: Record<string, number>;
  /** Sessions whose last compaction failed while this page watched. */
  failed: Record<string, boolean>;
}

const SEEN_KEY = "compact-seen";

function readSeen(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(SEEN_KEY) ?? "{}") as Record<string, number>;
  } catch {
    return {};
  }
}

export const useSessions = create<SessionsStore>(() => ({
  sessions: [],
  spaces: [],
  settings: null,
  loaded: false,
  tracesOnly: false,
  problem: "",
  seen: readSeen(),
  failed: {},
}));

const { setState, getState } = useSessions;

/** When a compaction of a session was last seen to end: an answer that was asked for before knows less. */
const ended = new Map<string, number>();
/** When this page last changed a session: an answer that was asked for before may be from before the change. */
const changed = new Map<string, number>();

/** Takes in what the server says of sessions; `askedAt` is when the page asked for it. */
export function rememberSessions(answers: Session[], askedAt: number) {
  const news = new Map<string, Session>();
  for (const answer of answers) {
    if (askedAt < (changed.get(answer.id) ?? 0)) continue;
    const late = answer.compacting && askedAt < (ended.get(answer.id) ?? 0);
    news.set(answer.id, late ? { ...answer, compacting: false } : answer);
    if (answer.usage) useUsage.getState().set(answer.id, answer.usage);
  }
  setState((state) => {
    const sessions = state.sessions.map((known) => {
      const now = news.get(known.id);
      news.delete(known.id);
      return now ? merged(known, now) : known;
    });
    return { sessions: [...news.values(), ...sessions] };
  });
}

export function rememberSession(answer: Session, askedAt = performance.now()) {
  rememberSessions([answer], askedAt);
}

/** A list says less of a session than the session itself: what it leaves out stays as it was. */
function merged(before: Session, now: Session): Session {
  return now.policy ? { ...before, ...now } : { ...before, ...now, policy: before.policy, policy_changes: before.policy_changes };
}

export function changeSession(id: string, change: Partial<Session>) {
  if (change.compacting === false) ended.set(id, performance.now());
  setState((state) => ({
    sessions: state.sessions.map((session) => (session.id === id ? { ...session, ...change } : session)),
  }));
}

export async function loadSettings() {
  try {
    const settings = await api.get<Settings | { traces_only: true }>("/api/settings");
    setState("traces_only" in settings ? { tracesOnly: true, loaded: true } : { settings });
  } catch (error) {
    setState({ problem: errorText(error), loaded: true });
  }
}

export async function loadSessions() {
  const askedAt = performance.now();
  try {
    const [page, spaces] = await Promise.all([
      api.get<{ sessions: Session[]; next_cursor: string | null }>("/api/sessions?limit=200"),
      api.get<{ spaces: Space[] }>("/api/spaces"),
    ]);
    // The session on the screen may be known already, and better than a list knows it.
    rememberSessions(page.sessions, askedAt);
    setState({ spaces: spaces.spaces, loaded: true, problem: "" });
    for (const session of page.sessions) if (!(session.id in getState().seen)) markSeen(session.id, session.message_count);
    if (page.next_cursor) void loadMore(page.next_cursor);
  } catch (error) {
    setState({ problem: errorText(error), loaded: true });
  }
}

async function loadMore(cursor: string) {
  for (let next: string | null = cursor; next; ) {
    const askedAt = performance.now();
    const page: { sessions: Session[]; next_cursor: string | null } = await api.get(
      `/api/sessions?limit=200&cursor=${encodeURIComponent(next)}`,
    );
    rememberSessions(page.sessions, askedAt);
    next = page.next_cursor;
  }
}

export async function refreshSession(id: string): Promise<Session | null> {
  const askedAt = performance.now();
  try {
    const session = await api.get<Session>(sessionPath(id));
    rememberSession(session, askedAt);
    return session;
  } catch (error) {
    // Deleted elsewhere. Otherwise the list keeps what it knew; the open session shows its own error.
    if (error instanceof ApiError && error.status === 404) forget(id);
    return null;
  }
}

/** No answer that is still on its way brings it back. A later one may: somebody created it again. */
function forget(id: string) {
  changed.set(id, performance.now());
  setState((state) => ({ sessions: state.sessions.filter((session) => session.id !== id) }));
}

let newest = "";

/** Whoever creates a session means to write in it. */
export function isJustCreated(id: string): boolean {
  return id === newest;
}

export async function createSession(body: Record<string, unknown> = {}): Promise<Session | null> {
  try {
    const session = await api.post<Session>("/api/sessions", body);
    newest = session.id;
    rememberSession(session);
    return session;
  } catch (error) {
    showToast("error", "Session not created", errorText(error));
    return null;
  }
}

/** Says whether it was changed: what was typed for it may go only then. */
export async function patchSession(id: string, change: Partial<Session>): Promise<boolean> {
  try {
    const session = await api.patch<Session>(sessionPath(id), change);
    changed.set(id, performance.now());
    rememberSession(session);
    return true;
  } catch (error) {
    showToast("error", "Not changed", errorText(error));
    return false;
  }
}

/** Says whether it is gone: a page that shows it goes elsewhere only then. */
export async function deleteSession(id: string): Promise<boolean> {
  try {
    await api.delete(sessionPath(id));
    forget(id);
    return true;
  } catch (error) {
    showToast("error", "Not deleted", errorText(error));
    return false;
  }
}

export function sessionById(id: string): Session | undefined {
  return getState().sessions.find((session) => session.id === id);
}

export function markFailed(id: string, failed: boolean) {
  setState((state) => ({ failed: { ...state.failed, [id]: failed } }));
}

export function markSeen(id: string, messages: number) {
  if (getState().seen[id] === messages) return;
  const seen = { ...getState().seen, [id]: messages };
  setState({ seen });
  try {
    localStorage.setItem(SEEN_KEY, JSON.stringify(seen));
  } catch {
    // Without storage the dots last as long as the page.
  }
}

export function isUnread(session: Session, seen: Record<string, number>): boolean {
  const known = seen[session.id];
  return known !== undefined && session.message_count > known;
}

/** What other tabs, the terminal and background work did to the sessions: the newest ones again. */
export async function refreshSessions() {
  const askedAt = performance.now();
  const before = new Set(getState().sessions.map((session) => session.id));
  try {
    const page = await api.get<{ sessions: Session[]; next_cursor: string | null }>("/api/sessions?limit=50");
    rememberSessions(page.sessions, askedAt);
    if (page.next_cursor) return;
    const still = new Set(page.sessions.map((session) => session.id));
    // One that was made meanwhile is not gone.
    setState((state) => ({ sessions: state.sessions.filter(({ id }) => still.has(id) || !before.has(id)) }));
  } catch {
    // The list keeps what it knew; the next look may succeed.
  }
}

/** Sessions by space, newest first, in the order of the spaces; unknown spaces after them. */
export function bySpace(sessions: Session[], spaces: Space[]): { name: string; title: string; sessions: Session[] }[] {
  const groups = new Map(spaces.map((space) => [space.name, { name: space.name, title: space.title, sessions: [] as Session[] }]));
  for (const session of sessions) {
    const name = session.space ?? "default";
    if (!groups.has(name)) groups.set(name, { name, title: name === "default" ? "Sessions" : name, sessions: [] });
    groups.get(name)?.sessions.push(session);
  }
  for (const group of groups.values()) group.sessions.sort((a, b) => b.updated_at - a.updated_at);
  return [...groups.values()].filter((group) => group.sessions.length > 0);
}
