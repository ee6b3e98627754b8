"""Delete conversations that have been unused for some days, and what was archived of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    left: set[str] = set()
    while True:
        before = time.time() - days * _DAY
        try:
            sweep_all(store, before, archive, left, stopped)
        except StoreError as error:
            _warn(error)
        if stopped.wait(_EVERY_SECONDS):
            return


def sweep_all(store: Threads, before: float, archive: Path | None, left: set[str], stopped: Event) -> None:
    """Delete all unused sessions, unless stopped. `left`: deleted ones whose archive still has to go."""
    _sweep(store, [], before, archive, left)
    for session_ids in _unused(store, before):
        _sweep(store, session_ids, before, archive, left)
        if stopped.is_set():
            return


def _unused(store: Threads, before: float) -> Iterator[list[str]]:
    """The gateway's sessions unused since then, in pages; others in the database stay."""
    some = store.sessions(_AT_A_TIME, before=(before, ""))
    while some:
        # Read first: a page starts behind a session that the store still has.
        following = store.sessions(_AT_A_TIME, before=(some[-1].updated_at, some[-1].session_id))
        if own := [thread.session_id for thread in some if is_own_session(thread.session_id)]:
            yield own
        some = following


def _sweep(
    store: Threads, session_ids: list[str], before: float, archive: Path | None, left: set[str]
) -> None:
    """Delete these sessions, their archives and those `left`.

    The archive may serve other stores and tenants too, so only sessions of this store are deleted there. It
    comes first: if the process ends in between, the next sweep finds the session again. A session whose
    archive cannot be deleted goes all the same, and its archive is `left` for the next round.
    """
    left.update(session_ids)
    used: set[str] = set()
    try:
        used = delete_unused(archive, before, left) if archive is not None else used
        left.clear()
    except ArchiveError as error:
        _warn(error)
    for session_id in session_ids:
        if session_id not in used:
            store.delete_session(session_id)


def _warn(error: Exception) -> None:
    # Keeping something too long does no harm; the next round tries again.
    _log.warning("old conversations could not be deleted: %s", error)
