"""Kills a process that uses a CompactSession at every boundary of its writes and checks what is left.

Run as `python -m support.session_kills FOLDER`; prints one JSON object. Each run is a forked process with its
own databases that ends by SIGKILL at the next boundary: before every writing statement and commit of the
SDK's session and of the store, and before every archive write.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from compact import CompactConfig, CompactManager, lint
from compact.archives.fs import FsArchive
from compact.integrations.openai_agents import CompactSession
from compact.stores.sql import SqlStore
from compact.stores.sql.database import Database
from compact.testing.scripted import EchoSummarizer
from compact.wiring.adapters import redactor_for
from support.store_kills import Boundaries, WatchedArchive, let_leases_end

Item = dict[str, Any]
RESUMED = 3
WINDOW = 2_000


def exchange(name: str) -> list[Item]:
    """A user's question, a call with its result, an answer."""
    call = {"type": "function_call", "call_id": name, "name": "look", "arguments": "{}"}
    return [
        {"role": "user", "content": f"question {name}"},
        call,
        {"type": "function_call_output", "call_id": name, "output": f"{name} is {'far away ' * 160}"},
        {"role": "assistant", "content": f"answer {name}"},
    ]


CHUNKS = [exchange(f"e{number}") for number in range(9)]
STEP = 3
"""The number of exchanges added at once; twice the history is then over the trigger."""


class Watched(sqlite3.Connection):
    """A connection whose writes and commits are boundaries."""

    boundary: Callable[[], None]

    def execute(self, text: str, *args: Any) -> sqlite3.Cursor:
        self._before(text)
        return super().execute(text, *args)

    def executemany(self, text: str, *args: Any) -> sqlite3.Cursor:
        self._before(text)
        return super().executemany(text, *args)

    def commit(self) -> None:
        Watched.boundary()
        super().commit()

    def _before(self, text: str) -> None:
        if text.strip().startswith(("INSERT", "UPDATE", "DELETE")):
            Watched.boundary()


def session_on(
    folder: Path, store: SqlStore, boundary: Callable[[], None]
) -> tuple[CompactSession, EchoSummarizer]:
    config = CompactConfig(
        max_context_tokens=WINDOW, counter="chars4", policy={"hard_cap_buffer": 100, "keep_tool_io_pairs": 2}
    )
    archive = WatchedArchive(FsArchive(folder / "archive", redactor=redactor_for(config)), boundary)
    summarizer = EchoSummarizer()
    manager = CompactManager(config, summarizer, store, archive)
    return CompactSession(SQLiteSession("s", folder / "session.db"), manager), summarizer


async def scenario(session: CompactSession, acknowledged: Callable[[int], None]) -> list[Item]:
    """Adds what is missing, reading the view each time; a second run changes nothing."""
    view: list[Item] = []
    for start in range(0, len(CHUNKS), STEP):
        have = len(await session.original_items())
        new = [item for chunk in CHUNKS[start : start + STEP] for item in chunk]
        if have < start * len(CHUNKS[0]) + len(new):
            await session.add_items(new)  # type: ignore[arg-type]
            acknowledged(start * len(CHUNKS[0]) + len(new))
        view = await session.get_items()  # type: ignore[assignment]
    return view


def one_run(database: Database, folder: Path, number: int, expected: list[Item] | None) -> dict[str, Any]:
    folder = folder / f"run-{number}"
    folder.mkdir(parents=True)
    progress = folder / "acknowledged"
    child = os.fork()
    if child == 0:
        boundary = Boundaries(number)
        store = SqlStore(database, folder.name)
        boundary.watch(store)
        session, _ = session_on(folder, store, boundary)
        Watched.boundary = boundary  # type: ignore[assignment]
        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **more: connect(*args, **{**more, "factory": Watched})  # type: ignore
        asyncio.run(scenario(session, lambda count: progress.write_text(str(count)) and None))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    result: dict[str, Any] = {"number": number, "killed": os.WIFSIGNALED(status), "problems": []}
    result |= asyncio.run(_left(database, folder, number, expected, result["problems"]))
    return result


async def _left(
    database: Database, folder: Path, number: int, expected: list[Item] | None, problems: list[str]
) -> dict[str, Any]:
    everything = [item for chunk in CHUNKS for item in chunk]
    progress = folder / "acknowledged"
    promised = int(progress.read_text() or 0) if progress.exists() else 0
    with SqlStore(database, folder.name) as store:
        let_leases_end(store)
        session, summarizer = session_on(folder, store, lambda: None)
        left: list[Item] = await session.original_items()  # type: ignore[assignment]
        if left != everything[: len(left)] or len(left) < promised or len(left) % (STEP * len(CHUNKS[0])):
            problems.append(f"{len(left)} items where {promised} were acknowledged")
        before = len(store.records("s"))
        if number % RESUMED == 0:
            view = await scenario(session, lambda count: None)
            if await session.original_items() != everything:
                problems.append("not every item is there after going on")
            if lint(view, "openai", format="openai-responses"):
                problems.append("the view is not sound")
            if expected is not None and view != expected:
                problems.append("the session went on differently")
            if summarizer.calls > len(store.records("s")) - before:
                problems.append(f"{summarizer.calls} summaries after {before} records")
        session.underlying.close()  # type: ignore[attr-defined]
    return {"state": [len(left), before]}


def main(folder: Path) -> None:
    # The system already has what a killed process wrote; the disk is not part of this.
    os.fsync = lambda _: None
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(f"sqlite:///{folder / 'store.db'}")
    with SqlStore(database, "reference") as store:
        session, _ = session_on(folder, store, lambda: None)
        expected = asyncio.run(scenario(session, lambda count: None))
        session.underlying.close()  # type: ignore[attr-defined]
    runs = []
    while not runs or runs[-1]["killed"]:
        runs.append(one_run(database, folder, len(runs), expected))
    states = sorted({tuple(run["state"]) for run in runs})
    bad = [run for run in runs if run["problems"]]
    print(json.dumps({"killed": len(runs) - 1, "states": states, "bad": bad[:5]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
