"""What a server holds in memory does not grow with the number of turns."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from pathlib import Path

import pytest

from compact.engine.state import ledgers
from compact.engine.state.session import Session
from compact.evidence import remembered
from compact.model.event import Event, EventName
from compact.server.http.settings import TENANT
from compact.server.studio.catalog import Catalog, Offered
from compact.server.studio.settings import StudioSettings
from compact.server.studio.studio import Studio
from compact.server.weighing import Weight
from support.studio import RuleModel, config, new_session, said, studio

_TURNS = 4
_SESSIONS = 4


def test_twice_as_many_sessions_leave_no_more_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds that a few turns fill; sessions end and new ones begin, each with a compaction."""
    monkeypatch.setattr(remembered, "_CHARS", 1_000)
    monkeypatch.setattr(ledgers, "_MOST", 2)
    before, after = asyncio.run(_held_after(tmp_path, _SESSIONS, 2 * _SESSIONS))
    grown = {kind: count - before[kind] for kind, count in after.items() if count > before[kind]}
    # One a session may stay: its name is known among the last thousand.
    assert not {kind: more for kind, more in grown.items() if more > _SESSIONS}, f"not forgotten: {grown}"


async def _held_after(folder: Path, *counts: int) -> list[Counter[str]]:
    """The objects of this package, after that many sessions."""
    catalog = Catalog([Offered("gpt-4o", "gpt-4o")], "gpt-4o", lambda _: _forgetful())
    small = config(max_context_tokens=1_500)
    settings = StudioSettings(store=f"sqlite:///{folder}/studio.db", config=small, max_conversations=2)
    running = Studio(settings, catalog)
    await running.start()
    here = await running.workspace(TENANT)
    held = []
    for number in range(1, max(counts) + 1):
        session = f"session-{number}"
        here.store.put_session(session)
        here.store.add_event(session, EventName.SETTINGS, {"preset": "chat"})
        for turn in range(_TURNS):
            text = _long(f"Turn {turn} of {session}")
            live = await here.begin(session, lambda found, text=text: found.send(text))
            assert b"finishReason" in b"".join([chunk async for chunk in live.follow()])
        assert here.store.records(session), "no compaction"
        if number in counts:
            held.append(_objects())
    await running.close()
    return held


def _objects() -> Counter[str]:
    gc.collect()
    kinds = Counter(map(type, gc.get_objects()))
    ours = {kind: count for kind, count in kinds.items() if str(kind.__module__).startswith("compact.")}
    # The newest thousand are kept for readers, which this does not fill.
    return Counter(
        {f"{kind.__module__}.{kind.__name__}": count for kind, count in ours.items() if kind is not Event}
    )


def test_long_conversations_leave_the_memory_for_others(tmp_path: Path) -> None:
    with studio(tmp_path, _forgetful(), max_history_bytes=20_000) as client:
        sessions = [new_session(client, preset="chat") for _ in range(3)]
        for session in sessions:
            said(client, session, "hello")
        assert _held(sessions) == {*sessions}
        said(client, sessions[2], "a" * 16_000)
        client.get("/api/health")  # answered once what follows the reply is done
        assert _held(sessions) == {sessions[2]}
        # The newest stays, however long it is; the others are read again when somebody asks.
        assert said(client, sessions[0], "again")[-1]["finishReason"] == "stop"
        assert client.get(f"/api/sessions/{sessions[0]}/messages").json()["total"] == 4


def test_a_conversation_is_weighed_by_what_it_says() -> None:
    weight = Weight()
    turns = [{"role": "user", "content": [{"type": "text", "text": "a" * 10_000}]}]
    weight.take(turns)
    assert 10_000 < weight.bytes < 13_000
    turns.append({"role": "assistant", "content": "b" * 10_000})
    weight.take(turns)
    assert 20_000 < weight.bytes < 26_000
    weight.take(turns[:1])
    assert 10_000 < weight.bytes < 13_000


def _forgetful() -> RuleModel:
    """A model that keeps no prompt, unlike others of its kind."""
    model = RuleModel(lambda _: "Noted.")
    model.prompts = _Nothing()
    model.tools = _Nothing()
    return model


class _Nothing(list):  # type: ignore[type-arg]
    def append(self, _: object) -> None: ...


def _long(start: str) -> str:
    return f"{start}: we take the red roof since it is dry. " + f"{start} needs new tiles. " * 40


def _held(sessions: list[str]) -> set[str]:
    gc.collect()
    return {one.id for one in gc.get_objects() if isinstance(one, Session)} & {*sessions}
