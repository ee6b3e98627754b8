"""kill -9 at every boundary of the store's writes, on both databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
KILLS = int(os.environ.get("COMPACT_KILLS", "6"))
"""For each database; `COMPACT_KILLS=300` is for a machine that has nothing else to do."""


def killed_everywhere(url: str, folder: Path, script: str = "store_kills", *more: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"support.{script}", url, str(folder), *map(str, more)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=300 + 5 * KILLS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    # A child that ends by an exception writes it here, and ends the kills early.
    assert "Traceback" not in done.stderr, done.stderr[-4_000:]
    return found


@pytest.mark.spec("S1.14")
def test_killed_anywhere_the_session_is_wholly_old_or_wholly_new(store_url: str, tmp_path: Path) -> None:
    found = killed_everywhere(store_url, tmp_path / "archive")
    assert found["bad"] == []
    # Every write of three appends, two leases, two archives and two commits, and every commit.
    assert found["killed"] >= (70 if store_url.startswith("sqlite") else 30)
    # Nothing yet, then every state that a finished write leaves.
    assert {tuple(state) for state in found["states"]} == {
        (0, 0),
        (33, 0),
        (33, 1),
        (40, 1),
        (40, 2),
        (42, 2),
    }


@pytest.mark.spec("S1.14")
def test_an_import_that_is_killed_is_there_whole_or_not_at_all(store_url: str, tmp_path: Path) -> None:
    found = killed_everywhere(store_url, tmp_path, "import_kills")
    texts = [f"message {n}" for n in range(251)]
    command, chat = found["by_command"], found["by_chat"]
    assert command["ended"] == chat["ended"] == 0
    # A question that a file ends with waits for its answer; the chat's own import takes it for said.
    assert command["states"] == [[[], [], "", ""], [texts[:-1], [], "", texts[-1]]]
    assert chat["states"] == [[[], [], "", ""], [texts, ["Be brief."], "a title", ""]]
    assert command["killed"] >= 15 and chat["killed"] >= 20


@pytest.mark.spec("S2.16", part="store")
def test_two_managers_a_process_lose_nothing_that_was_acknowledged(store_url: str, tmp_path: Path) -> None:
    found = killed_everywhere(store_url, tmp_path / "archive", "manager_kills", KILLS)
    assert found["problems"] == [] and found["archive"] == []
    assert found["killed"] >= KILLS and found["acknowledged"] >= KILLS / 2
