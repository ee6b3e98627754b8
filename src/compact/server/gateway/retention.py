"""Delete conversations that have been unused for some days."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from compact.errors import StoreError
from compact.ports import Threads
from compact.server.gateway.wire import is_own_session

_log = logging.getLogger("compact")
_DAY = 24 * 3600.0
_EVERY_SECONDS = 3600.0
_AT_A_TIME = 100


@contextmanager
def sweeping(store: Threads, days: float) -> Iterator[None]:
    """Sweeps now and every hour, on a thread, while the block runs; 0 days: never."""
    if not days:
        yield
        return
    stopped = Event()
    thread = Thread(target=_sweep_on, args=(store, days, stopped), name="compact-retention", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _sweep_on(store: Threads, days: float, stopped: Event) -> None:
    while True:
        try:
            while sweep(store, time.time() - days * _DAY) and not stopped.is_set():
                pass
        except StoreError as error:
            # Keeping something too long does no harm; the next round tries again.
            _log.warning("old conversations could not be deleted: %s", error)
        if stopped.wait(_EVERY_SECONDS):
            return


def sweep(store: Threads, before: float) -> int:
    """Deletes some of the gateway's sessions unused since then; others in the database stay."""
    gone, last = 0, (before, "")
    while gone < _AT_A_TIME and (some := store.sessions(_AT_A_TIME, before=last)):
        old = [thread.session_id for thread in some if is_own_session(thread.session_id)]
        last = (some[-1].updated_at, some[-1].session_id)
        gone += sum(map(store.delete_session, old))
    return gone
