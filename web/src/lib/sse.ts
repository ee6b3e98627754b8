/** Server-sent events over fetch: EventSource cannot send a token. Comes back by itself, from where it broke off. */
import { authHeaders, checkToken } from "./token";
import { inTurn } from "./turns";

export interface ServerEvent {
  id: string;
  data: string;
}

/** Takes text in any fragments and gives the events that are complete. */
export class EventParser {
  /** The newest id, which the server also sends where there is no event: to go on from there. */
  reached = "";
  private rest = "";
  private id = "";
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.data.length) events.push({ id: this.id, data: this.data.join("\n") });
        this.reached = this.id;
        this.data = [];
      } else if (line.startsWith("data:")) this.data.push(line.slice(5).replace(/^ /, ""));
      else if (line.startsWith("id:")) this.id = line.slice(3).trim();
    }
    return events;
  }
}

interface Options {
  path: string;
  onEvent: (event: ServerEvent) => void;
  /** Called with true when the stream is open, with false when it broke. */
  onState?: (open: boolean) => void;
}

const WAITS = [500, 1000, 2000, 5000, 10_000];

/**
 * Follows a stream until the returned function is called. A page that nobody sees holds no connection, and those that are seen take turns
 * if they are many; with its next connection a page goes on behind the last event it got. A page that is kept for the back button counts as
 * hidden too.
 */
export function follow({ path, onEvent, onState }: Options): () => void {
  let connection: AbortController | null = null;
  let open = false;
  let last = "";
  let failures = 0;

  const once = async (signal: AbortSignal, onOpen: () => void) => {
    const headers: Record<string, string> = { Accept: "text/event-stream", ...authHeaders() };
    if (last) headers["Last-Event-ID"] = last;
    const answer = await fetch(path, { headers, signal });
    checkToken(answer);
    if (!answer.ok || !answer.body) throw new Error(`The stream answered ${answer.status}.`);
    failures = 0;
    if (!open) onState?.((open = true));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (let first = true; ; first = false) {
      const { done, value } = await reader.read();
      if (first) onOpen();
      // What was read and not given away yet comes again with the next connection.
      if (done || signal.aborted) return;
      for (const event of parser.push(value)) {
        if (event.id) last = event.id;
        onEvent(event);
      }
      last = parser.reached || last;
    }
  };

  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      let brokenOff = false;
      try {
        brokenOff = await inTurn(signal, once, () => open || onState?.(false));
      } catch {
        // Broken or refused: the next try says whether it is back.
      }
      if (signal.aborted) return;
      if (brokenOff) continue;
      onState?.((open = false));
      await new Promise((done) => setTimeout(done, WAITS[Math.min(failures, WAITS.length - 1)]));
      failures += 1;
    }
  };

  const stop = () => {
    connection?.abort();
    connection = null;
    open = false;
  };
  const look = () => {
    if (document.visibilityState === "hidden") return stop();
    if (connection) return;
    connection = new AbortController();
    void loop(connection.signal);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    stop();
  };
}
