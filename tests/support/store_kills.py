"""Kills a compacting process at every boundary of its writes and checks what is left.

Run as `python -m support.store_kills URL ARCHIVE_FOLDER`; prints one JSON object. Each run is a forked
process (its own tenant in the database) that ends by SIGKILL at the next boundary: before each writing
statement, each commit of one and each archive write. What one of them leaves is there before the next. Then
the state must be entirely that before a write or entirely that after it, and the session must continue as if
nothing had happened.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import event, update

from compact import CompactConfig, CompactManager
from compact.archives.fs import FsArchive
from compact.archives.verify import verify
from compact.core.view import chain
from compact.model.record import RecordKind, Transcript
from compact.stores.sql import SqlStore
from compact.stores.sql.database import Database
from compact.stores.sql.schema import sessions
from compact.testing.scripted import EchoSummarizer
from compact.wiring.adapters import redactor_for
from support.raw import Raw, assistant, pairs, user

RESUMED = 3
"""After every RESUMED-th run the session continues: neighboring boundaries leave the same state."""
HISTORY = [*pairs(16), user("the newest")]
LATER = [*HISTORY, assistant("an answer"), user("one more"), *pairs(2, first=50), user("another")]
LAST = [*LATER, assistant("the last answer"), user("the last question")]
LENGTHS = {0, len(HISTORY), len(LATER), len(LAST)}
"""How many messages the store may have: an append is all or nothing."""


class Boundaries:
    """Counts boundaries and dies at the chosen one."""

    def __init__(self, fatal: int) -> None:
        self.left = fatal

    def __call__(self, *_: Any) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def watch(self, store: SqlStore) -> None:
        """Before every writing statement, and before every commit of one: nothing changes in between."""
        engine = store.database.engine
        wrote = False

        def statement(connection: Any, cursor: Any, text: str, *_: Any) -> None:
            nonlocal wrote
            if text.startswith(("INSERT", "UPDATE", "DELETE")):
                wrote = True
                self()

        def commit(_: Any) -> None:
            nonlocal wrote
            if wrote:
                self()
            wrote = False

        event.listen(engine, "before_cursor_execute", statement)
        event.listen(engine, "commit", commit)


class WatchedArchive:
    def __init__(self, inner: FsArchive, boundary: Callable[[], None]) -> None:
        self._inner = inner
        self._boundary = boundary

    def write(self, transcript: Transcript) -> str:
        self._boundary()
        return self._inner.write(transcript)


def manager_on(
    store: SqlStore, root: Path, boundary: Callable[[], None]
) -> tuple[CompactManager, EchoSummarizer]:
    config = CompactConfig(
        max_context_tokens=2_000, preset="chat", counter="chars4", policy={"hard_cap_buffer": 100}
    )
    archive = WatchedArchive(FsArchive(root, redactor=redactor_for(config)), boundary)
    summarizer = EchoSummarizer()
    return CompactManager(config, summarizer, store, archive), summarizer


def scenario(manager: CompactManager) -> list[Raw]:
    """Three appends, a compaction by overflow and a manual one; a second run changes nothing."""
    manager.preflight("s", HISTORY)
    manager.preflight("s", LATER)
    if len(manager.records("s")) < 2:
        manager.manual_compact("s", LATER)
    out: list[Raw] = manager.preflight("s", LAST)
    return out


def problems(store: SqlStore, root: Path) -> list[str]:
    """What is neither the state before a write nor the one after it."""
    found = []
    kept, records, thread = list(store.originals("s")), store.records("s"), store.session("s")
    sources = [message.origin.source for message in kept if message.origin]
    if len(kept) not in LENGTHS or sources != LAST[: len(kept)]:
        found.append(f"{len(kept)} originals")
    for number, record in enumerate(records, 1):
        if record.step != number or record.kind is not RecordKind.COMPACTION:
            found.append(f"record {number} is step {record.step}")
        if chain(kept[: record.source_length]) != record.source:
            found.append(f"record {number} has originals that are not there")
        if not list(root.rglob(f"transcript-pre-compact-{record.step:03d}.jsonl")):
            found.append(f"record {number} came before its archive")
    if thread is not None:
        told = (thread.compaction_count, thread.message_count, thread.summary)
        if told != (len(records), len(kept), records[-1].summary if records else None):
            found.append(f"the thread says {told}")
    if kept and not store.search("s", kept[-1].text, 1):
        found.append("the newest message is not in the index")
    whole = [problem for problem in verify(root) if ".tmp-" not in problem.path] if root.exists() else []
    return found + [f"archive: {problem}" for problem in whole]


def let_leases_end(store: SqlStore) -> None:
    """Expire the leases, as if their time had passed since the holder was killed."""
    with store.database.writing() as connection:
        over = update(sessions).values(compacting_until=sessions.c.compacting_since)
        connection.execute(over.where(sessions.c.tenant == store.tenant))


def one_run(database: Database, folder: Path, number: int, expected: list[Raw] | None) -> dict[str, Any]:
    tenant, root = f"run-{number}", folder / f"run-{number}"
    child = os.fork()
    if child == 0:
        boundary = Boundaries(number)
        store = SqlStore(database, tenant)
        boundary.watch(store)
        scenario(manager_on(store, root, boundary)[0])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with SqlStore(database, tenant) as store:
        result: dict[str, Any] = {"number": number, "killed": os.WIFSIGNALED(status)}
        result["problems"] = problems(store, root)
        before = len(store.records("s"))
        result["state"] = [len(list(store.originals("s"))), before]
        if number % RESUMED:
            return result
        let_leases_end(store)
        manager, summarizer = manager_on(store, root, lambda: None)
        out = scenario(manager)
        if expected is not None and out != expected:
            result["problems"].append("the session went on differently")
        if len(store.records("s")) != 2 or summarizer.calls != 2 - before:
            result["problems"].append(f"{summarizer.calls} summaries after {before} records")
        result["problems"] += [f"afterwards: {problem}" for problem in problems(store, root)]
    return result


def main(url: str, folder: Path) -> None:
    # The system already has what a killed process wrote; the disk is not part of this.
    os.fsync = lambda _: None
    database = Database(url)
    with SqlStore(database, "reference") as store:
        expected = scenario(manager_on(store, folder / "reference", lambda: None)[0])
    runs = []
    while not runs or runs[-1]["killed"]:
        runs.append(one_run(database, folder, len(runs), expected))
    states = sorted({tuple(run["state"]) for run in runs})
    bad = [run for run in runs if run["problems"]]
    print(json.dumps({"killed": len(runs) - 1, "states": states, "bad": bad[:5]}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
