"""The example for the terminal, where there is none: it shows, hints and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from compact.stores import open_store

SCRIPT = Path(__file__).parents[2] / "examples" / "try_chat.py"


def test_without_a_terminal_it_does_not_wait(tmp_path: Path) -> None:
    for _ in range(2):  # the second time the demo session is there already
        done = subprocess.run(
            [sys.executable, str(SCRIPT)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert "before" in done.stdout and "after" in done.stdout
        assert "/resume demo" in done.stdout
    with open_store(f"sqlite:///{tmp_path}/.compact/sessions.db") as store:
        thread = store.session("demo")
    assert thread is not None and thread.message_count == 26 and thread.title == "A week in the cottage"
