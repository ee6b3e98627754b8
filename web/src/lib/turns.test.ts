import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { inTurn } from "./turns";

const GRANT_MS = 5;

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
});

/** A page that counts the streams it began. */
function page() {
  const leave = new AbortController();
  const own = { leave, begun: 0, brokenOff: Promise.resolve(false) };
  const work = (signal: AbortSignal) => {
    own.begun += 1;
    return untilBroken(signal);
  };
  own.brokenOff = inTurn(leave.signal, work, ignored);
  return own;
}

async function three() {
  const sitting = [page(), page(), page()];
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
