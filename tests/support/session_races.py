"""One of two processes that share a CompactSession: adds exchanges and reads the view each time.

Run as `python -m support.session_races FOLDER NAME`; waits for a line on its input, prints a JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from compact import CompactConfig, CompactManager, lint
from compact.archives.none import NoArchive
from compact.integrations.openai_agents import CompactSession
from compact.stores import open_store
from compact.testing.scripted import EchoSummarizer
from support.session_kills import WINDOW, exchange

ROUNDS = 9


async def work(folder: Path, name: str) -> dict[str, Any]:
    config = CompactConfig(
        max_context_tokens=WINDOW, counter="chars4", policy={"hard_cap_buffer": 100, "keep_tool_io_pairs": 2}
    )
    unsound = 0
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        summarizer = EchoSummarizer()
        manager = CompactManager(config, summarizer, store, NoArchive())
        session = CompactSession(SQLiteSession("s", folder / "session.db"), manager)
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(ROUNDS):
            await session.add_items(exchange(f"{name}{number}"))  # type: ignore[arg-type]
            unsound += len(lint(await session.get_items(), "openai", format="openai-responses"))
        records = len(store.records("s"))
    return {"unsound": unsound, "summaries": summarizer.calls, "records": records}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))))
