import { describe, expect, it, vi } from "vitest";
import { EventParser, follow } from "./sse";
import { inTurn } from "./turns";

vi.mock("./token", () => ({ authHeaders: () => ({}), checkToken: () => undefined }));
vi.mock("./turns", () => ({ inTurn: vi.fn(() => new Promise(() => undefined)) }));

const stream = 'id: 7\ndata: {"type":"session"}\n\n: heartbeat\n\nid: 8\r\ndata: a\r\ndata: b\r\n\r\ndata: last\n\n';

describe("reading server-sent events", () => {
  const whole = new EventParser().push(stream);
  it("keeps ids, joins lines, skips comments", () => {
    expect(whole).toEqual([{ id: "7", data: '{"type":"session"}' }, { id: "8", data: "a\nb" }, { id: "8", data: "last" }]);
  });
  it("gives the same events for every way to cut the stream in two", () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      // A cut between \r and \n would be two line ends; servers that write \r\n write it whole.
      if (stream[cut - 1] === "\r") continue;
      const parser = new EventParser();
      expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(whole);
    }
  });
  it("knows how far it is also where there is no event", () => {
    const parser = new EventParser();
    expect(parser.push("retry: 1000\nid: 4\n\n: heartbeat\nid: 6")).toEqual([]);
    expect(parser.reached).toBe("4");
    parser.push("\n\n");
    expect(parser.reached).toBe("6");
  });
  it("gives nothing for half an event", () => expect(new EventParser().push("data: x\n")).toEqual([]));
});

describe("following a stream", () => {
  it("is open with the first bytes, not with the answer's head", async () => {
    vi.stubGlobal("document", { visibilityState: "visible", addEventListener: () => undefined, removeEventListener: () => undefined });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const asked = vi.fn(() => Promise.resolve(new Response(readable)));
    vi.stubGlobal("fetch", asked);
    const stop = follow({ path: "/events", onEvent: () => undefined });
    const onOpen = vi.fn();
    const work = vi.mocked(inTurn).mock.lastCall?.[1];
    const done = work?.(new AbortController().signal, onOpen);
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    await new Promise((later) => setTimeout(later));
    expect(onOpen).not.toHaveBeenCalled();
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode("retry: 1000\nid: 4\n\n"));
    await vi.waitFor(() => expect(onOpen).toHaveBeenCalledOnce());
    await writer.write(new TextEncoder().encode("data: x\n\n"));
    await writer.close();
    await done;
    expect(onOpen).toHaveBeenCalledOnce();
    stop();
    vi.unstubAllGlobals();
  });
});
