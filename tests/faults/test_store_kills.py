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


def killed_everywhere(url: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "support.store_kills", url, str(folder)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.spec("S1.14")
def test_killed_anywhere_the_session_is_wholly_old_or_wholly_new(store_url: str, tmp_path: Path) -> None:
    found = killed_everywhere(store_url, tmp_path / "archive")
    assert found["bad"] == []
    # Every write of three appends, two leases, two archives and two commits, three boundaries or more each.
    assert found["killed"] >= (120 if store_url.startswith("sqlite") else 80)
    # Nothing yet, then every state that a finished write leaves.
    assert {tuple(state) for state in found["states"]} == {
        (0, 0),
        (33, 0),
        (33, 1),
        (40, 1),
        (40, 2),
        (42, 2),
    }
