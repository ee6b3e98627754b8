"""What a turn costs beside the model's own time."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from compact.engine.state.session import Session
from support.studio import RuleModel, new_session, said, studio


def test_a_turn_takes_few_transactions(tmp_path: Path) -> None:
    """Each costs more than what is done in it: the check for other processes, the question, what came
    meanwhile, the reply, its announcement."""
    commits: list[str] = []
    store = f"sqlite:///{tmp_path}/counted.db"

    def counted(connection: Any) -> None:
        if str(connection.engine.url) == store:
            commits.append("commit")

    event.listen(Engine, "commit", counted)
    try:
        with studio(store, RuleModel(lambda _: "Noted.")) as client:
            session = new_session(client, preset="chat")
            said(client, session, "The first one also gives the session its title.")
            commits.clear()
            for number in range(3):
                said(client, session, f"Message {number}.")
            # The next request is answered once the turn before it is over.
            assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 8
    finally:
        event.remove(Engine, "commit", counted)
    assert 3 <= len(commits) <= 3 * 5 + 3, f"{len(commits)} transactions for three turns and a look"


def test_sessions_that_nobody_uses_leave_the_memory(tmp_path: Path) -> None:
    with studio(tmp_path, RuleModel(lambda _: "Noted."), max_conversations=2) as client:
        sessions = [new_session(client, preset="chat") for _ in range(6)]
        for session in sessions:
            said(client, session, "hello")
        gc.collect()
        held = {one.id for one in gc.get_objects() if isinstance(one, Session)} & {*sessions}
        assert held == {*sessions[-2:]}
        # They are read again when somebody asks.
        assert said(client, sessions[0], "again")[-1]["finishReason"] == "stop"
        assert client.get(f"/api/sessions/{sessions[0]}/messages").json()["total"] == 4
