/** Loading traces and following them. While paused, events are counted and nothing on the screen changes. */
import { useCallback, useEffect, useRef, useState } from "react";
import { api, errorText } from "../lib/api";
import { follow } from "../lib/sse";
import type { Trace, TracePage, TraceSummary } from "./spans";

export interface ListQuery {
  q: string;
  /** One of LIST_FILTERS; empty for all. */
  status: string;
}

/** From this long on a trace counts as slow in the list. */
export const SLOW_TRACE_MS = 10_000;

const wanted: Record<string, [string, string]> = {
  error: ["status", "error"],
  running: ["status", "running"],
  slow: ["min_ms", String(SLOW_TRACE_MS)],
  compacted: ["compacted", "true"],
};

export function listPath({ q, status }: ListQuery, limit: number, cursor: string | null): string {
  const params = new URLSearchParams({ limit: String(limit) });
  if (q) params.set("q", q);
  const filter = wanted[status];
  if (filter) params.set(...filter);
  if (cursor) params.set("cursor", cursor);
  return `/traces?${params.toString()}`;
}

/** Says of an answer whether the question has been asked anew since. `again`: this asks it anew. */
function useNewest() {
  const asked = useRef(0);
  return useCallback((again = true) => {
    if (again) asked.current += 1;
    const own = asked.current;
    return () => own === asked.current;
  }, []);
}

/** `ready`: the live tail is open, so that nothing falls between what is read and what it brings. */
export function useTraceList({ q, status }: ListQuery, ready: boolean) {
  const [traces, setTraces] = useState<TraceSummary[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [total, setTotal] = useState<number | null>(null);
  const [loaded, setLoaded] = useState(false);
  const [problem, setProblem] = useState("");

  const [errors, setErrors] = useState<number | null>(null);

  const path = useCallback((next: string | null) => listPath({ q, status }, 100, next), [q, status]);
  const ask = useNewest();

  const load = useCallback(async () => {
    const isNewest = ask();
    try {
      const [page, failed] = await Promise.all([
        api.get<TracePage>(path(null)),
        api.get<TracePage>(listPath({ q: "", status: "error" }, 1, null)),
      ]);
      if (!isNewest()) return;
      setErrors(failed.total);
      setTraces(page.traces);
      setCursor(page.next_cursor);
      setTotal(page.total);
      setProblem("");
    } catch (error) {
      if (!isNewest()) return;
      setProblem(errorText(error));
    }
    setLoaded(true);
  }, [ask, path]);

  const more = useCallback(async () => {
    if (!cursor) return;
    const isNewest = ask(false);
    const page = await api.get<TracePage>(path(cursor));
    if (!isNewest()) return;
    setTraces((before) => [...before, ...page.traces]);
    setCursor(page.next_cursor);
  }, [ask, cursor, path]);

  useEffect(() => {
    if (!ready) return;
    const timer = setTimeout(() => void load(), q ? 250 : 0);
    return () => clearTimeout(timer);
  }, [load, q, ready]);

  return { traces, total, errors, loaded, problem, load, more: cursor ? more : null };
}

export function useTrace(id: string, ready: boolean) {
  const [trace, setTrace] = useState<Trace | null>(null);
  const [problem, setProblem] = useState("");
  const ask = useNewest();
  const load = useCallback(async () => {
    const isNewest = ask();
    if (!id) return setTrace(null);
    try {
      const found = await api.get<Trace>(`/traces/${encodeURIComponent(id)}`);
      if (!isNewest()) return;
      setTrace(found);
      setProblem("");
    } catch (error) {
      if (isNewest()) setProblem(errorText(error));
    }
  }, [ask, id]);
  useEffect(() => {
    if (ready) void load();
  }, [load, ready]);
  return { trace: trace?.trace_id === id ? trace : null, problem, load };
}

const EVERY_MS = 700;

/** Which trace an event of the stream belongs to. */
function traceOf(data: string): string {
  try {
    return String((JSON.parse(data) as { trace_id?: unknown }).trace_id ?? "");
  } catch {
    return "";
  }
}

/** The live tail. `onChange` gets the traces that changed, at most every 700 ms, never while paused; null: perhaps all. */
export function useLive(onChange: (changed: Set<string> | null) => void, onStart: () => void) {
  const [open, setOpen] = useState(false);
  const [paused, setPaused] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const state = useRef({ paused: false, changed: new Set<string>(), timer: undefined as ReturnType<typeof setTimeout> | undefined });
  const change = useRef(onChange);
  const start = useRef(onStart);
  useEffect(() => {
    change.current = onChange;
    start.current = onStart;
  });

  useEffect(() => {
    const now = state.current;
    let started = false;
    const stop = follow({
      path: "/events",
      onState: (connected) => {
        setOpen(connected);
        // Open, or refused: either way there is nothing more to wait for. What went by while it was broken is read again.
        if (!started) start.current();
        else if (connected && !now.paused) change.current(null);
        started = true;
      },
      onEvent: (event) => {
        if (event.data.includes('"type":"connected"') || event.data.includes('"type": "connected"')) return;
        if (now.paused) return setWaiting((before) => before + 1);
        now.changed.add(traceOf(event.data));
        now.timer ??= setTimeout(() => {
          now.timer = undefined;
          const changed = now.changed;
          now.changed = new Set();
          if (!now.paused) change.current(changed);
        }, EVERY_MS);
      },
    });
    return () => {
      clearTimeout(now.timer);
      stop();
    };
  }, []);

  const pause = useCallback((on: boolean) => {
    state.current.paused = on;
    setPaused(on);
    if (!on) {
      setWaiting(0);
      change.current(null);
    }
  }, []);
  return { open, paused, waiting, pause };
}
