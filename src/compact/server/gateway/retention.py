"""Delete conversations that have been unused for some days, and what was archived of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

from compact.archives.fs import delete_unused
from compact.errors import ArchiveError, StoreError
from compact.ports import Threads
from compact.server.gateway.wire import is_own_session

_log = logging.getLogger("compact")
_DAY = 24 * 3600.0
_EVERY_SECONDS = 3600.0
_AT_A_TIME = 100


@contextmanager
def sweeping(store: Threads, days: float, archive: Path | None = None) -> Iterator[None]:
    """Sweeps now and every hour, on a thread, while the block runs; 0 days: never. `archive` is a folder."""
    if not days:
        yield
        return
    stopped = Event()
    given = (store, days, archive, stopped)
    thread = Thread(target=_sweep_on, args=given, name="compact-retention", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _sweep_on(store: Threads, days: float, archive: Path | None, stopped: Event) -> None:
    while True:
        before = time.time() - days * _DAY
        try:
            while sweep(store, before) and not stopped.is_set():
                pass
            if archive is not None:
                delete_unused(archive, before, partial(_is_gone, store))
        except (ArchiveError, StoreError) as error:
            # Keeping something too long does no harm; the next round tries again.
            _log.warning("old conversations could not be deleted: %s", error)
        if stopped.wait(_EVERY_SECONDS):
            return


def _is_gone(store: Threads, folder: str) -> bool:
    return is_own_session(folder) is not None and store.session(folder) is None


def sweep(store: Threads, before: float) -> int:
    """Deletes some of the gateway's sessions unused since then; others in the database stay."""
    gone, last = 0, (before, "")
    while gone < _AT_A_TIME and (some := store.sessions(_AT_A_TIME, before=last)):
        old = [thread.session_id for thread in some if is_own_session(thread.session_id)]
        last = (some[-1].updated_at, some[-1].session_id)
        gone += sum(map(store.delete_session, old))
    return gone
