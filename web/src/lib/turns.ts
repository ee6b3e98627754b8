/** A browser opens six connections to one server for all its pages: a few of them are for streams, and pages take turns. */
const SEATS = ["compact-stream-1", "compact-stream-2", "compact-stream-3"];
const TURN_MS = 1500;
/** A turn begins when the stream is open. One that does not open gives way after this time. */
const OPENING_MS = 15_000;

/** `onOpen` is to be called when the stream is open: from then on others wait for a turn at most. */
type Work = (signal: AbortSignal, onOpen: () => void) => Promise<void>;

/** Does the work in this seat until it is done, or until another page has waited for the seat for about a turn. */
async function seated(locks: LockManager, seat: string, signal: AbortSignal, work: Work): Promise<boolean> {
  // The seat is given some time after it was asked for: the page may be hidden, or the session left, by now.
  if (signal.aborted) return true;
  const turn = new AbortController();
  const end = () => turn.abort();
  signal.addEventListener("abort", end);
  const look = () => {
    void locks.query().then(({ pending }) => pending?.some((waiting) => waiting.name === seat) && end());
  };
  let clock = setInterval(look, OPENING_MS);
  const onOpen = () => {
    clearInterval(clock);
    clock = setInterval(look, TURN_MS);
  };
  try {
    await work(turn.signal, onOpen);
    return turn.signal.aborted;
  } catch (error) {
    if (turn.signal.aborted) return true;
    throw error;
  } finally {
    clearInterval(clock);
    signal.removeEventListener("abort", end);
  }
}

/**
 * Does the work once a connection for a stream is free, and says whether it was broken off: by `signal`, or because it is another page's
 * turn. `onWait` is called where none is free. A page from another machine without TLS has no locks, and does not wait.
 */
export async function inTurn(signal: AbortSignal, work: Work, onWait: () => void): Promise<boolean> {
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) return work(signal, () => undefined).then(() => signal.aborted);
  for (const seat of SEATS) {
    const found = await locks.request(seat, { ifAvailable: true }, (lock) => lock && seated(locks, seat, signal, work));
    if (found !== null) return found;
  }
  if (signal.aborted) return true;
  onWait();
  const { pending = [] } = await locks.query();
  // By chance among equals: pages that ask at the same moment do not all wait for the same seat.
  const queues = SEATS.map((seat) => ({ seat, length: pending.filter((other) => other.name === seat).length + Math.random() }));
  const { seat } = queues.reduce((best, queue) => (queue.length < best.length ? queue : best));
  return locks.request(seat, { signal }, () => seated(locks, seat, signal, work));
}
