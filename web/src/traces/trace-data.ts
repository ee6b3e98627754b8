/** Loading traces and following them. While paused, events are counted and nothing on the screen changes. */
import { useCallback, useEffect, useRef, useState } from "react";
import { api, errorText } from "../lib/api";
import { follow } from "../lib/sse";
import type { Trace, TracePage, TraceSummary } from "./spans";

export interface ListQuery {
  q: string;
  status: string;
}

export function useTraceList({ q, status }: ListQuery) {
  const [traces, setTraces] = useState<TraceSummary[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [total, setTotal] = useState<number | null>(null);
  const [loaded, setLoaded] = useState(false);
  const [problem, setProblem] = useState("");

  const path = useCallback(
    (next: string | null) => {
      const params = new URLSearchParams({ limit: "100" });
      if (q) params.set("q", q);
      if (status) params.set("status", status);
      if (next) params.set("cursor", next);
      return `/traces?${params.toString()}`;
    },
    [q, status],
  );

  const load = useCallback(async () => {
    try {
      const page = await api.get<TracePage>(path(null));
      setTraces(page.traces);
      setCursor(page.next_cursor);
      setTotal(page.total);
      setProblem("");
    } catch (error) {
      setProblem(errorText(error));
    }
    setLoaded(true);
  }, [path]);

  const more = useCallback(async () => {
    if (!cursor) return;
    const page = await api.get<TracePage>(path(cursor));
    setTraces((before) => [...before, ...page.traces]);
    setCursor(page.next_cursor);
  }, [cursor, path]);

  useEffect(() => {
    const timer = setTimeout(() => void load(), q ? 250 : 0);
    return () => clearTimeout(timer);
  }, [load, q]);

  return { traces, total, loaded, problem, load, more: cursor ? more : null };
}

export function useTrace(id: string) {
  const [trace, setTrace] = useState<Trace | null>(null);
  const [problem, setProblem] = useState("");
  const load = useCallback(async () => {
    if (!id) return setTrace(null);
    try {
      setTrace(await api.get<Trace>(`/traces/${encodeURIComponent(id)}`));
      setProblem("");
    } catch (error) {
      setProblem(errorText(error));
    }
  }, [id]);
  useEffect(() => {
    void load();
  }, [load]);
  return { trace: trace?.trace_id === id ? trace : null, problem, load };
}

const EVERY_MS = 700;

/** The live tail. `onChange` runs at most every 700 ms, never while paused. */
export function useLive(onChange: () => void) {
  const [open, setOpen] = useState(false);
  const [paused, setPaused] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const state = useRef({ paused: false, timer: undefined as ReturnType<typeof setTimeout> | undefined });
  const change = useRef(onChange);
  useEffect(() => {
    change.current = onChange;
  });

  useEffect(() => {
    const now = state.current;
    const stop = follow({
      path: "/events",
      onState: setOpen,
      onEvent: (event) => {
        if (event.data.includes('"type":"connected"') || event.data.includes('"type": "connected"')) return;
        if (now.paused) return setWaiting((before) => before + 1);
        now.timer ??= setTimeout(() => {
          now.timer = undefined;
          if (!now.paused) change.current();
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
      change.current();
    }
  }, []);
  return { open, paused, waiting, pause };
}
