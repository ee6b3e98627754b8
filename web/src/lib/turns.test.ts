import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { inTurn } from "./turns";

const GRANT_MS = 5;
const NEVER = 1e9;

type Grant = (lock: { name: string } | null) => Promise<unknown>;

/** Seats as the browser's locks give them: never at once, and to those that wait in order. */
class Seats {
  readonly taken = new Set<string>();
  readonly waiting: { name: string; give: () => void }[] = [];

  async request(name: string, options: { ifAvailable?: boolean; signal?: AbortSignal }, grant: Grant): Promise<unknown> {
    options.signal?.throwIfAborted();
    if (this.taken.has(name)) {
      if (options.ifAvailable) return later().then(() => grant(null));
      await new Promise<void>((give) => this.waiting.push({ name, give }));
    }
    this.taken.add(name);
    await later();
    return grant({ name }).finally(() => this.leave(name));
  }

  async query() {
    const pending = this.waiting.map(({ name }) => ({ name }));
    await later();
    return { pending };
  }

  private leave(name: string) {
    this.taken.delete(name);
    const next = this.waiting.findIndex((other) => other.name === name);
    if (next >= 0) this.waiting.splice(next, 1)[0]?.give();
  }
}

const later = () => new Promise((done) => setTimeout(done, GRANT_MS));
const untilBroken = (signal: AbortSignal) => new Promise<void>((done) => signal.addEventListener("abort", () => done()));
const ignored = () => undefined;

let seats: Seats;
beforeEach(() => {
  vi.useFakeTimers();
  seats = new Seats();
  vi.stubGlobal("navigator", { locks: seats });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A page with a stream that is open this long after its turn came; it counts how often one was begun, and tells when one ended. */
function page(opensAfter = 0) {
  const leave = new AbortController();
  const own = { leave, begun: 0, opened: 0, ended: false, brokenOff: Promise.resolve(false) };
  const work = async (signal: AbortSignal, onOpen: () => void) => {
    own.begun += 1;
    setTimeout(() => {
      if (signal.aborted) return;
      own.opened += 1;
      onOpen();
    }, opensAfter);
    await untilBroken(signal);
    own.ended = true;
  };
  own.brokenOff = inTurn(leave.signal, work, ignored);
  return own;
}

async function three(opensAfter = 0) {
  const sitting = [page(opensAfter), page(opensAfter), page(opensAfter)];
  await vi.advanceTimersByTimeAsync(20);
  return sitting;
}

describe("a page that is left before its seat is given", () => {
  it("begins nothing where a seat was free", async () => {
    const gone = page();
    gone.leave.abort();
    await vi.advanceTimersByTimeAsync(20);
    expect(await gone.brokenOff).toBe(true);
    expect([gone.begun, seats.taken.size]).toEqual([0, 0]);
  });
  it("begins nothing where it had waited", async () => {
    const sitting = await three();
    const gone = page();
    await vi.advanceTimersByTimeAsync(20);
    expect(seats.waiting).toHaveLength(1);
    for (const one of sitting) one.leave.abort();
    await vi.advanceTimersByTimeAsync(1);
    expect(seats.taken.size).toBe(1);
    gone.leave.abort();
    await vi.advanceTimersByTimeAsync(20);
    expect(await gone.brokenOff).toBe(true);
    expect([gone.begun, seats.taken.size]).toEqual([0, 0]);
  });
  it("says nothing of waiting", async () => {
    await three();
    const leave = new AbortController();
    const onWait = vi.fn();
    const broken = inTurn(leave.signal, untilBroken, onWait);
    leave.abort();
    await vi.advanceTimersByTimeAsync(20);
    expect(await broken).toBe(true);
    expect(onWait).not.toHaveBeenCalled();
  });
});

describe("a turn", () => {
  it("is broken off with the page, and goes on while nobody waits", async () => {
    const [first] = await three();
    await vi.advanceTimersByTimeAsync(60_500);
    expect(first?.ended).toBe(false);
    first?.leave.abort();
    expect(await first?.brokenOff).toBe(true);
    expect(vi.getTimerCount(), "of the other two").toBe(2);
  });
  it("is counted from the open stream, however slow the server is", async () => {
    const sitting = await three(1700);
    const waiting = page();
    await vi.advanceTimersByTimeAsync(3000);
    expect(sitting.map((one) => [one.opened, one.ended])).toEqual(Array(3).fill([1, false]));
    await vi.advanceTimersByTimeAsync(300);
    expect(waiting.begun).toBe(1);
    expect(sitting.filter((one) => one.ended)).toHaveLength(1);
  });
  it("ends also where the stream does not open", async () => {
    await three(NEVER);
    const waiting = page();
    await vi.advanceTimersByTimeAsync(14_000);
    expect(waiting.begun).toBe(0);
    await vi.advanceTimersByTimeAsync(1500);
    expect(waiting.begun).toBe(1);
  });
  it("is not waited for at one seat by all who ask at the same moment", async () => {
    await three();
    const drawn = [0.9, 0.1, 0.5, 0.2, 0.6, 0.4];
    vi.spyOn(Math, "random").mockImplementation(() => drawn.shift() ?? 0);
    page();
    page();
    await vi.advanceTimersByTimeAsync(20);
    expect(seats.waiting.map(({ name }) => name)).toEqual(["compact-stream-2", "compact-stream-1"]);
  });
});
