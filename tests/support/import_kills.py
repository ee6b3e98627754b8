"""Kills an import at every boundary of its writes and checks what is left: all of it or nothing.

Run as `python -m support.import_kills URL FOLDER`; prints one JSON object for each of the two doors, `compact
import` and `/import` of the chat. Each run is a forked process with its own session.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Pool, event

from compact.chat.imports import take_in
from compact.chat.turn_log import TurnLog
from compact.cli import main as compact
from compact.config import CompactConfig
from compact.manager import CompactManager
from compact.repl.exporting import imported
from compact.stores import open_store
from support.store_kills import Boundaries

COUNT = 251
"""Several batches, and an unanswered question at the end."""
SAID = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(COUNT)]
FILE = [{"role": "system", "content": "Be brief."}, *SAID]

Door = Callable[[str, str, Path], None]


def by_command(url: str, session: str, file: Path) -> None:
    code = compact(
        ["import", str(file), session, "--store", url, "-q"],
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        environ={},
    )
    assert code == 0


def by_chat(url: str, session: str, file: Path) -> None:
    with open_store(url) as store:
        chat = TurnLog(CompactManager(CompactConfig(counter="chars4"), store=store), store, session)
        take_in(chat, *imported(str(file)), "gpt-4o", "a title")


def left(url: str, session: str) -> list[Any]:
    """Texts, system prompt, title and the pending question."""
    with open_store(url) as store:
        chat = TurnLog(CompactManager(CompactConfig(counter="chars4"), store=store), store, session)
        return [
            [turn["content"] for turn in chat.turns],
            [turn["content"] for turn in chat.head],
            chat.row.title,
            chat.draft,
        ]


def watch(boundary: Boundaries) -> None:
    before = ""

    def statement(connection: Any, cursor: Any, text: str, *_: Any) -> None:
        # Killing between two rows of the same kind would show nothing new.
        nonlocal before
        if text.startswith(("INSERT", "UPDATE", "DELETE")) and text != before:
            boundary()
        before = text

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "after_cursor_execute", statement)
    event.listen(Engine, "commit", boundary)
    event.listen(Pool, "checkin", boundary)


def killed_everywhere(door: Door, url: str, file: Path) -> dict[str, Any]:
    states: list[list[Any]] = []
    number = 0
    # Once without a kill, so that forked processes need not import everything again.
    door(url, f"{door.__name__}-whole", file)
    while True:
        session = f"{door.__name__}-{number}"
        child = os.fork()
        if child == 0:
            watch(Boundaries(number))
            door(url, session, file)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if (state := left(url, session)) not in states:
            states.append(state)
        if not os.WIFSIGNALED(status):
            return {"killed": number, "states": states, "ended": status}
        number += 1


def main(url: str, folder: Path) -> None:
    file = folder / "in.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in FILE))
    print(json.dumps({door.__name__: killed_everywhere(door, url, file) for door in (by_command, by_chat)}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
