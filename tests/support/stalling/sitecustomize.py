"""Makes a process stop in the middle of a write, so that it can be killed exactly there.

Python itself loads this when the folder is on PYTHONPATH. `STALL_AT` names the place, and the file
`STALL_MARK` appears when it is reached.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def stall() -> None:
    Path(os.environ["STALL_MARK"]).touch()
    time.sleep(600)


def in_commit_of(method: str, only: Any = lambda *args, **named: True) -> None:
    """Stop inside the database's commit of what this method of the store does."""
    from sqlalchemy import Engine, event

    from compact.stores.sql import SqlStore

    inside = []

    @event.listens_for(Engine, "commit")
    def committing(connection: Any) -> None:
        if inside:
            stall()

    original = getattr(SqlStore, method)

    def watched(self: Any, *args: Any, **named: Any) -> Any:
        if only(*args, **named):
            inside.append(True)  # The next commit belongs to it, even if it comes after the return.
        return original(self, *args, **named)

    setattr(SqlStore, method, watched)


def before_archiving() -> None:
    from compact.archives.fs import FsArchive

    FsArchive.write = lambda self, transcript: stall()  # type: ignore[assignment,method-assign,return-value]


def before_replacing() -> None:
    original = os.replace

    def replace(source: Any, target: Any, **named: Any) -> None:
        if str(target).endswith("context.json"):
            stall()
        original(source, target, **named)

    os.replace = replace


PLACES = {
    "archive of a trim": before_archiving,
    "commit of a trim": lambda: in_commit_of("commit"),
    "commit of a reply": lambda: in_commit_of(
        "append",
        # An empty append only checks whether the session still exists.
        lambda session, start, messages, **named: (
            start > 0 and bool(messages) and messages[-1].role.value == "assistant"
        ),
    ),
    "commit of a save": lambda: in_commit_of(
        "put_session", lambda session, **named: bool(named.get("title"))
    ),
    "export": before_replacing,
}
if os.environ.get("STALL_AT"):
    PLACES[os.environ["STALL_AT"]]()
