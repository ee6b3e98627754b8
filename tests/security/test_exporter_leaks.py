"""No fragment of any secret of the corpus leaves through any exporter, whatever carried it."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import trace

from compact import CompactConfig, CompactManager
from compact.model.event import Event, EventName
from compact.ports import DoorStore
from compact.redaction import Redactor
from compact.stores import open_store
from compact.tracing.agents_sdk import AgentsSdkSpans
from compact.tracing.console import ConsoleExporter
from compact.tracing.queue import Complaints
from compact.tracing.stored import StoredEvents
from support.agents_runs import traced_by
from support.ariadne import MANY
from support.wire_servers import serving
from unit.tracing.test_agents_sdk import Collected
from unit.tracing.test_otel import Telemetry

from .secret_corpus import SECRETS, Case
from .test_redaction_corpus import fragments

ESTIMATE = {"system": 0, "developer": 0, "tools_schema": 0, "messages": 5}


def carrying(case: Case, dice: random.Random) -> Iterator[tuple[EventName, dict[str, Any]]]:
    """Every event with a place for text, and the secret in it."""
    text = case.text
    middle = max(0, text.find(case.secret)) + dice.randint(1, max(1, len(case.secret) - 1))
    halves = [text[:middle], text[middle:]]
    start = {"tokensBefore": 9, "modelLimit": 9, "reason": "overflow"}
    summary = {"strategy": "brief", "input_messages": 1, "summary_tokens": 1, "compression_ratio": 0.1}
    kept = {"pinned": 0, "recent_turns": 0, "tool_pairs": 0}
    policy = {"trigger_pct": 0.85, "hard_cap_buffer": 1, "strategy": "brief"}
    yield (
        EventName.TOKEN_ESTIMATE,
        {"model": "gpt-4o", "t_est": 5, "max_tokens": 9, "usage_pct": 55.5, "breakdown": ESTIMATE},
    )
    decision = {"triggered": True, "reason": "manual", "policy": policy, "kept": kept, "pruned_count": 1}
    yield EventName.TRIGGER_DECISION, {**decision, "note": text}
    yield EventName.START, start
    yield EventName.SUMMARIZE, {"messagesCount": 1}
    yield EventName.SUMMARY_CREATED, {**summary, "survival": {"all": 1.0}, "model": "custom", "summary": text}
    yield EventName.ERROR, {"status": "error", "error_type": "x", "message": text, "fallback": "brief"}
    # Half here, half there: as a tool's name and the next one's, as a path and what follows.
    yield EventName.PRUNE, {"outputsPruned": 2, "tokensSaved": 1, "prunedTools": [text]}
    yield EventName.PRUNE, {"outputsPruned": 2, "tokensSaved": 1, "prunedTools": halves}
    yield (
        EventName.ERROR,
        {"status": "error", "error_type": halves[0], "message": halves[1], "fallback": "brief"},
    )
    where = {"session_id": text, "step": 1, "storage_adapter": "fs", "file_path": text}
    yield EventName.ARCHIVAL, where
    yield EventName.FAILED, {"error": text, "canRetry": True, "suggestNewSession": False}
    yield EventName.WARNING, {"severity": "low", "message": text}
    yield EventName.FLOOR, {"floor": 1, "sum": text}
    yield EventName.RECALL, {"query": text, "found": [1]}
    yield EventName.TITLE, {"title": text}


class Begun:
    """A store that holds the session of each event: an event does not make one."""

    def __init__(self, store: DoorStore) -> None:
        self._store = store

    def add_event(self, session_id: str, name: EventName, data: Any) -> int:
        self._store.put_session(session_id)
        return self._store.add_event(session_id, name, data)


@pytest.fixture
def spans() -> Iterator[Collected]:
    processor = Collected()
    with traced_by(processor):
        yield processor


@pytest.mark.spec("S4.15")
def test_no_fragment_through_any_exporter(
    tmp_path: Path, spans: Collected, capsys: pytest.CaptureFixture[str]
) -> None:
    screen, heard = io.StringIO(), []
    telemetry = Telemetry(capture_content=True)
    store = open_store(f"sqlite:///{tmp_path / 'sessions.db'}")
    dice = random.Random(7)
    exits: dict[str, str] = {}
    with serving(*MANY) as server, trace("a run"):
        config = CompactConfig(
            counter="chars4",
            archive={"adapter": "none"},  # Its log has a test of its own.
            tracing={
                "ariadne_url": server.url,
                "jsonl": str(tmp_path / "events.jsonl"),
                "queue_size": 100_000,
            },
        )
        exporters = [
            ConsoleExporter(screen),
            telemetry.exporter,
            AgentsSdkSpans(),
            StoredEvents(Begun(store)),
            heard.append,
        ]
        with CompactManager(config, exporters=exporters) as manager:
            for case in SECRETS:
                for name, data in carrying(case, dice):
                    manager._engine.events.emit(case.text, name, data, 1, 0.1)
            assert manager.flush(60)
        exits["ariadne"] = json.dumps([request.body for request in server.received])
    exits["jsonl"] = (tmp_path / "events.jsonl").read_text()
    exits["console"] = screen.getvalue()
    exits["callable"] = json.dumps([event.as_dict() for event in heard])
    exits["agents sdk"] = json.dumps([span.export() for span in spans.ended], default=str)
    exits["otel"] = "".join(span.to_json() for span in telemetry.all_spans())
    exits["otel metrics"] = telemetry.all_metrics().to_json()
    # The store knows its sessions by their own ids; what it was given of them is redacted like all the rest.
    exits["store"] = json.dumps(
        [dict(event.data) for case in SECRETS for event in store.events(case.text, limit=10_000)]
    )
    for case in SECRETS:
        Complaints(Redactor().text).failed(heard.append, RuntimeError(f"could not send {case.text}"))
    exits["stderr"] = capsys.readouterr().err
    store.close()
    for name, content in exits.items():
        assert len(content) > 5_000, f"nothing came out of {name}"
        leaked = _leaked(content)
        found = {case.kind for case in SECRETS if fragments(case.secret) & leaked}
        assert not found, f"{name}: {sorted(found)}"


def _leaked(content: str) -> set[str]:
    """The fragments of any secret that stand in it: one walk for each length that they have."""
    wanted = {fragment for case in SECRETS for fragment in fragments(case.secret)}
    unique = "\n".join(dict.fromkeys(content.splitlines()))
    return {
        stretch
        for length in {len(fragment) for fragment in wanted}
        for i in range(len(unique) - length + 1)
        if (stretch := unique[i : i + length]) in wanted
    }


@pytest.mark.spec("S4.15")
def test_two_sessions_named_by_secrets_stay_two() -> None:
    heard: list[Event] = []
    config = CompactConfig(counter="chars4", archive={"adapter": "none"})
    with CompactManager(config, exporters=[heard.append]) as manager:
        for secret in ("password=horsestaple", "password=correcthorse"):
            manager.preflight(secret, [{"role": "user", "content": "hello"}])
    names = {event.session_id for event in heard}
    assert len(names) == 2 and all(re.fullmatch("~[0-9a-f]{32}", name) for name in names)
    # Whoever looks in from the same process sees them as they are.
    assert {event.session_id for event in manager.events} == {"password=horsestaple", "password=correcthorse"}


@pytest.mark.spec("S4.15")
def test_from_the_conversation_to_the_exporters(tmp_path: Path) -> None:
    """A real compaction whose note, tool names, error and texts hold secrets."""
    path = tmp_path / "events.jsonl"

    def fails(request: Any) -> str:
        raise RuntimeError("401 Unauthorized for https://bob:horsestaple@models.example/v1")

    config = CompactConfig(
        max_context_tokens=6_000,
        counter="chars4",
        preset="agent",
        archive={"adapter": "none"},
        tracing={"jsonl": str(path)},
    )
    history: list[Any] = [{"role": "user", "content": "export DB_PASS=correcthorse and go on"}]
    for number in range(40):
        function = {"name": "get_password=horsestaple", "arguments": "{}"}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append(
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "token: abc1DEF2ghi3JKL4 " * 40}
        )
    with CompactManager(config, fails) as manager:
        manager.manual_compact("Passwort: horsestaple", history, note="keep DB_PASS=correcthorse")
        manager.recall("Passwort: horsestaple", "JWT_SECRET=mysupersecretvalue")
    text = path.read_text()
    assert "compaction-start" in text and "compact.recall" in text and "<REDACTED>" in text
    for secret in ("horsestaple", "correcthorse", "mysupersecretvalue", "abc1DEF2ghi3JKL4"):
        assert secret not in text


@pytest.mark.spec("S4.15")
def test_a_session_named_by_a_secret_keeps_its_events_in_the_store(tmp_path: Path) -> None:
    """The store has its name anyway; what the events say is redacted like all the rest."""
    secret, url = "password=horsestaple", f"sqlite:///{tmp_path / 'sessions.db'}"
    config = CompactConfig(
        max_context_tokens=2_000,
        counter="chars4",
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
        storage={"url": url},
    )
    messages = [{"role": "user", "content": f"Message {n}: {'the roof is dry ' * 40}"} for n in range(20)]
    with CompactManager(config) as manager:
        manager.manual_compact(secret, messages, note=f"keep what {secret} says")
        assert manager.flush(30)
    with open_store(url) as store:
        events = list(store.events(secret))
    assert "compaction-complete" in {event.name for event in events}
    assert "horsestaple" not in json.dumps([dict(event.data) for event in events])
