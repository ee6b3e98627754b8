/** The session on the screen: history, records, events, the running compaction. The server is the truth. */
import { create } from "zustand";
import { eventKey, idle, isRunning, phaseText, reduceCompaction, replay, type CompactionState } from "../context/compaction";
import { useUsage } from "../context/usage";
import { api, ApiError, errorText, sessionPath } from "../lib/api";
import { storedCompactions } from "../lib/stored-events";
import type { CompactionEvent, CompactionRecord, CompactResult, Message, MessagePage, Notice, Session, Usage } from "../lib/types";
import { changeSession, markFailed, refreshSession, rememberSession, sessionById } from "../sessions/store";
import { announce } from "../ui/announcer";
import { showToast } from "../ui/toasts";
import { asStale, emptyHistory, firstUnknown, withMessage, withPage, type History } from "./history";

interface OpenSession {
  id: string;
  loaded: boolean;
  problem: string;
  history: History;
  /** When the newest page of the history on the screen was asked for: an answer to an earlier question is older. */
  readAt: number;
  records: CompactionRecord[];
  recordsLoaded: boolean;
  /** When those records were asked for. */
  recordsAt: number;
  events: CompactionEvent[];
  compaction: CompactionState;
  bannerClosed: boolean;
  /** Where a citation or a link asks the thread to go; the number makes each jump a new one. */
  jump: { position: number; request: number; back: boolean; focus: string } | null;
}

const blank: Omit<OpenSession, "id"> = {
  loaded: false,
  problem: "",
  history: emptyHistory,
  readAt: 0,
  records: [],
  recordsLoaded: false,
  recordsAt: 0,
  events: [],
  compaction: idle,
  bannerClosed: false,
  jump: null,
};

export const useOpenSession = create<OpenSession>(() => ({ id: "", ...blank }));
const { setState, getState } = useOpenSession;

const PAGE = 60;
const DONE_MS = 6000;
const BUSY_MS = 1000;
const fetching = new Set<number>();

function isOpen(id: string): boolean {
  return getState().id === id;
}

/** Another session comes to the screen; nothing is known of it yet. */
export function startSession(id: string) {
  fetching.clear();
  setState({ id, ...blank });
}

/** Reads the session on the screen. What the streams brought meanwhile is newer and stays. */
export async function openSession(id: string) {
  const askedAt = performance.now();
  try {
    const [session, page, events] = await Promise.all([
      api.get<Session>(sessionPath(id)),
      api.get<MessagePage>(sessionPath(id, `/messages?limit=${PAGE}`)),
      storedCompactions(id),
    ]);
    if (!isOpen(id)) return;
    rememberSession(session, askedAt);
    setState((state) => ({
      loaded: true,
      problem: "",
      ...(askedAt < state.readAt ? {} : { history: withPage(emptyHistory, page, null), readAt: askedAt }),
      events: merged(events, state.events),
      compaction: state.compaction === idle ? replay(events, session.compacting) : state.compaction,
    }));
  } catch (error) {
    if (!isOpen(id)) return;
    setState({ loaded: true, problem: errorText(error) });
    // Nothing else would try again where the stream itself did not break.
    if (error instanceof ApiError && error.code === "offline") {
      setTimeout(() => isOpen(id) && getState().problem && void openSession(id), BUSY_MS);
    }
    return;
  }
  await loadRecords(id).catch((error: unknown) => showToast("warning", "Records not loaded", errorText(error)));
}

function merged(known: CompactionEvent[], added: CompactionEvent[]): CompactionEvent[] {
  const byKey = new Map(known.map((event) => [eventKey(event), event]));
  for (const event of added) byKey.set(eventKey(event), event);
  return [...byKey.values()].sort((a, b) => a.at - b.at);
}

/** Of the summaries only the one in force comes with its text: any other card reads its own when it is opened. */
export async function loadRecords(id: string) {
  const recordsAt = performance.now();
  const { records } = await api.get<{ records: CompactionRecord[] }>(sessionPath(id, "/records?texts=false"));
  if (!isOpen(id) || recordsAt < getState().recordsAt) return;
  const known = new Map(getState().records.map((record) => [record.step, record]));
  const withText = (record: CompactionRecord) => {
    const before = known.get(record.step);
    return before?.created_at === record.created_at ? { ...record, summary: before.summary, sections: before.sections } : record;
  };
  setState({ records: records.map((record) => (record.summary ? record : withText(record))), recordsLoaded: true, recordsAt });
}

export async function loadRecord(step: number) {
  const { id } = getState();
  try {
    const whole = await api.get<CompactionRecord>(sessionPath(id, `/records/${step}`));
    if (isOpen(id)) setState((state) => ({ records: state.records.map((record) => (record.step === step ? { ...record, summary: whole.summary, sections: whole.sections } : record)) }));
  } catch (error) {
    showToast("warning", "Summary not loaded", errorText(error));
  }
}

/** Fetches what is not known between two positions, one page at a time. */
export async function loadRange(from: number, to: number) {
  const { id, history } = getState();
  const start = firstUnknown(history, from, to);
  if (start === null || fetching.has(start)) return;
  fetching.add(start);
  const askedAt = performance.now();
  try {
    const where = start > history.first ? `after=${start - 1}` : `before=${start + PAGE}`;
    const page = await api.get<MessagePage>(sessionPath(id, `/messages?${where}&limit=${PAGE}`));
    if (isOpen(id) && askedAt >= getState().readAt) setState((state) => ({ history: withPage(state.history, page, start) }));
  } catch (error) {
    if (isOpen(id)) showToast("warning", "Messages not loaded", errorText(error));
    return;
  } finally {
    fetching.delete(start);
  }
  // The history grew or was cut meanwhile: the range is asked for again.
  if (isOpen(id) && askedAt < getState().readAt) await loadRange(from, to);
}

/** Reads the newest page again; `all`: a compaction changed the state of older ones too, read when they are looked at. */
export async function refreshHistory(all = false) {
  const { id } = getState();
  const askedAt = performance.now();
  const page = await api.get<MessagePage>(sessionPath(id, `/messages?limit=${PAGE}`));
  if (!isOpen(id)) return;
  setState((state) => {
    const history = all ? asStale(state.history) : state.history;
    return askedAt < state.readAt ? { history } : { history: withPage(history, page, null), readAt: askedAt };
  });
}

export function replaceMessage(message: Message) {
  setState((state) => ({ history: withMessage(state.history, message) }));
}

export function applyUsage(id: string, usage: Usage) {
  useUsage.getState().set(id, usage);
}

/** The bar shows how full it is and the row what was saved: no toast says it again. */
const SHOWN_ELSEWHERE = new Set(["capacity", "compacted", "stopped"]);

export function applyNotice(notice: Notice) {
  if (SHOWN_ELSEWHERE.has(notice.code ?? "")) return;
  const [title, ...rest] = notice.text.split(/(?<=\.)\s+/);
  showToast(notice.level === "alert" ? "warning" : notice.level, (title ?? notice.text).replace(/\.$/, ""), rest.join(" ") || undefined);
}

export function applyCompactionEvent(id: string, event: CompactionEvent) {
  if (event.event === "compaction-start") changeSession(id, { compacting: true });
  if (event.event === "compaction-complete" || event.event === "compaction-error") changeSession(id, { compacting: false });
  const state = getState();
  if (state.id !== id) return;
  if (state.events.some((known) => eventKey(known) === eventKey(event))) return;
  if (event.event === "compact.error" && /embedded|extractive|built/.test(event.fallback ?? "")) {
    showToast("info", "Written by the built-in summarizer", event.message);
  }
  // A rolling summary that fails costs nothing: the earlier one stays. What cannot be tried again was refused.
  if (event.event === "compaction-error" && isRolling(id) && event.canRetry && !event.brokenOff) {
    setState({ events: merged(state.events, [event]), compaction: idle });
    return showToast("warning", "Summary not updated", "The earlier one stays, and it will be tried again.");
  }
  const compaction = reduceCompaction(state.compaction, event);
  if (compaction.phase === "failed" || compaction.phase === "done") markFailed(id, compaction.phase === "failed");
  // Later events of the same failure do not bring back a banner that was closed.
  const bannerClosed = state.bannerClosed && compaction === state.compaction;
  setState({ events: merged(state.events, [event]), compaction, bannerClosed });
  if (compaction.phase !== state.compaction.phase) announce(phaseText(compaction, isRolling(id)));
  if (event.event !== "compaction-complete") return;
  afterCompaction(id, compaction);
}

export function isRolling(id: string): boolean {
  return sessionById(id)?.preset === "rolling";
}

function afterCompaction(id: string, done: CompactionState) {
  void refreshAll(id);
  setTimeout(() => {
    if (isOpen(id) && getState().compaction === done) setState({ compaction: idle });
  }, DONE_MS);
}

export async function refreshAll(id: string) {
  try {
    await Promise.all([loadRecords(id), refreshHistory(true), refreshSession(id)]);
  } catch (error) {
    showToast("warning", "Could not refresh", errorText(error));
  }
}

/** `back`: offer a way back to the summary that the jump came from. `focus`: what takes the focus there. */
export function jumpTo(position: number, { back = false, focus = "" } = {}) {
  setState((state) => ({ jump: { position, back, focus, request: (state.jump?.request ?? 0) + 1 } }));
}

/** `retries`: how often a session that is busy is asked again. */
export async function compactNow(body: { focus?: string; mode?: "auto" | "prune" } = {}, retries = 0) {
  const { id } = getState();
  try {
    const result = await api.post<CompactResult>(sessionPath(id, "/compact"), body);
    reportResult(id, result);
  } catch (error) {
    if (!isBusy(error) || retries === 0) return reportFailure(id, error);
    await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
    if (isOpen(id)) await compactNow(body, retries - 1);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.code !== "cancelled";
}

/** What Compact now and Prune only end with: the usage, and a word if nothing changed. */
function reportResult(id: string, result: CompactResult) {
  if (result.usage) applyUsage(id, result.usage);
  if (!result.record) {
    showToast("info", "Nothing was changed", result.reason ?? "There is nothing to compact.");
    if (isOpen(id) && isRunning(getState().compaction)) setState({ compaction: idle });
    changeSession(id, { compacting: false });
  } else if (isOpen(id)) void refreshAll(id);
}

function reportFailure(id: string, error: unknown) {
  if (!isOpen(id)) return;
  if (error instanceof ApiError && error.code === "cancelled") return;
  if (isBusy(error)) return showToast("info", errorText(error));
  // The stream reports a failed compaction with more detail; this is for when it could not even begin.
  if (getState().compaction.phase !== "failed") {
    setState((state) => ({
      compaction: { ...state.compaction, phase: "failed", error: errorText(error), canRetry: true, suggestNewSession: false },
      bannerClosed: false,
    }));
  }
}

export async function cancelCompaction() {
  const { id } = getState();
  try {
    const { cancelled } = await api.post<{ cancelled: boolean }>(sessionPath(id, "/compact/cancel"));
    if (!cancelled) return showToast("info", "Nothing to cancel", "The compaction had just ended.");
    if (isOpen(id)) setState({ compaction: idle });
    changeSession(id, { compacting: false });
    showToast("info", "Compaction canceled", "The conversation is as it was.");
  } catch (error) {
    showToast("warning", "Not canceled", errorText(error));
  }
}

export async function restoreRecord(id: string, step: number) {
  const { usage } = await api.post<{ usage: Usage | null }>(sessionPath(id, `/records/${step}/restore`));
  if (usage) applyUsage(id, usage);
  if (!isOpen(id)) return void (await refreshSession(id));
  setState({ compaction: idle });
  await refreshAll(id);
}

export async function pinMessage(position: number, pinned: boolean) {
  const { id } = getState();
  try {
    const message = await api.put<Message>(sessionPath(id, `/pins/${position}`), { pinned });
    if (isOpen(id)) replaceMessage(message);
    void refreshSession(id);
  } catch (error) {
    showToast("error", pinned ? "Not pinned" : "Not unpinned", errorText(error));
  }
}
