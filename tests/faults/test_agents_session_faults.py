"""A CompactSession loses nothing: killed anywhere, with a summarizer that says nothing, with two writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import RunConfig, Runner, SQLiteSession

from compact import count_tokens
from compact.integrations.openai_agents import CompactSession, compact_filter
from support.agents_runs import (
    BUDGET,
    TASK,
    manager_for,
    page_text,
    reader,
    reading,
    refused,
    scripted,
    traced_by,
)
from support.session_kills import exchange
from support.session_races import ROUNDS

TESTS = Path(__file__).parents[1]
ENVIRON = {**os.environ, "PYTHONPATH": str(TESTS)}


def test_killed_anywhere_every_acknowledged_item_is_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "support.session_kills", str(tmp_path)],
        env=ENVIRON,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["bad"] == []
    assert found["killed"] >= 75
    # Items in the SDK's session, compactions in the store: nothing, then every state a finished write leaves.
    assert [tuple(state) for state in found["states"]] == [
        (0, 0),
        (12, 0),
        (24, 0),
        (24, 1),
        (36, 1),
        (36, 2),
    ]


@pytest.mark.parametrize("prose", ["", "   \n", "ok"])
@pytest.mark.parametrize("survival_floor", [0.0, 0.8])
async def test_an_empty_summary_loses_nothing(prose: str, survival_floor: float) -> None:
    """Alone, the prose is refused and old results are dropped; with the ledger, the ledger stands alone."""
    manager = manager_for(summarizer=lambda request: prose, policy={"survival_floor": survival_floor})
    session = CompactSession(SQLiteSession("s"), manager)
    model = scripted(reading())
    options = RunConfig(call_model_input_filter=compact_filter(manager, "s"))
    with traced_by():
        await Runner.run(reader(model), TASK, max_turns=60, session=session, run_config=options)
    originals = await session.original_items()
    assert all(page_text(number) in str(originals) for number in range(36))
    view = await session.get_items()
    assert refused(view) == []
    assert count_tokens(view) <= BUDGET and view[0]["content"] == TASK  # type: ignore[typeddict-item]
    (found, *_) = manager.recall("s", "Keeper-51 page 3")
    assert page_text(3) in found.text, "what went out of the prompt can be recalled"


def test_two_processes_at_once_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "support.session_races", str(tmp_path), name],
            env=ENVIRON,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    answers = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, problem = worker.communicate(timeout=300)
        assert worker.returncode == 0, problem[-4_000:]
        answers.append(json.loads(out))
    assert [answer["unsound"] for answer in answers] == [0, 0]
    items = _stored(tmp_path / "session.db")
    for name in "ab":
        mine = [item for item in items if f"{name}" in _label(item)]
        assert mine == [item for number in range(ROUNDS) for item in exchange(f"{name}{number}")]
    assert len(items) == 2 * ROUNDS * 4
    made, kept = sum(answer["summaries"] for answer in answers), max(answer["records"] for answer in answers)
    assert 3 <= kept <= made <= kept + 2, "of two who compact the same at once, one uses the other's record"


def _label(item: dict[str, Any]) -> str:
    return str(item.get("call_id") or item["content"].split()[1])


def _stored(path: Path) -> list[dict[str, Any]]:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as database:
        return [
            json.loads(row[0])
            for row in database.execute("SELECT message_data FROM agent_messages ORDER BY id")
        ]
