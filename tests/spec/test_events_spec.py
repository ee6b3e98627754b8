"""S2.18 and S4.12: the names of all events, and what each carries."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from compact.counters import counter_for
from compact.errors import InsufficientBudget
from compact.model.event import SCHEMA_VERSION, Event, EventName
from compact.model.plan import Action
from compact.stores.memory import MemoryStore
from compact.summarizers.chunked import Chunked
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from compact.tracing.schema import DATA, envelope_of, json_schema, validate
from support.raw import Desk, pairs, protected, steps, system, user

HISTORY = [*pairs(40), user("the newest")]


def fields(event: Event) -> set[str]:
    return set(event.data)


@pytest.mark.spec("S2.18", part="events")
def test_a_compaction_on_the_stream() -> None:
    desk = Desk("agent", window=6_000)
    history = [user("go"), *steps(30, 200), *pairs(4)]
    desk.manager.manual_compact("s", history)
    (start,) = desk.events(EventName.START)
    assert start.name == "compaction-start" and fields(start) == {"tokensBefore", "modelLimit", "reason"}
    assert (start.data["modelLimit"], start.data["reason"]) == (6_000, "manual")
    (prune,) = desk.events(EventName.PRUNE)
    assert prune.name == "compaction-prune"
    assert fields(prune) == {"outputsPruned", "tokensSaved", "prunedTools"}
    assert prune.data["outputsPruned"] > 1 and prune.data["prunedTools"] == ["read_file"]
    (end,) = desk.events(EventName.COMPLETE)
    assert end.name == "compaction-complete"
    assert fields(end) == {
        "tokensBefore",
        "tokensAfter",
        "messagesCompacted",
        "wasPruned",
        "wasSummarized",
        "summary",
    }
    assert end.data["wasPruned"] is True and end.data["wasSummarized"] is False
    assert end.data["tokensBefore"] - end.data["tokensAfter"] == prune.data["tokensSaved"]


@pytest.mark.spec("S2.18", part="events")
def test_what_a_prune_saved_is_not_what_the_summary_saved() -> None:
    desk = Desk(window=20_000)
    history = [user("go"), *pairs(40), *steps(10, 3_000)]
    cleared = [step for step in desk.manager.plan("s", history).steps if step.action is Action.CLEAR]
    desk.preflight(history)
    (prune,), (end,) = desk.events(EventName.PRUNE), desk.events(EventName.COMPLETE)
    assert end.data["wasSummarized"] and prune.data["outputsPruned"] == len(cleared) > 0
    saved = end.data["tokensBefore"] - end.data["tokensAfter"]
    assert prune.data["tokensSaved"] == sum(step.saves for step in cleared) < saved


@pytest.mark.spec("S2.18", part="events")
def test_a_summary_and_a_failure_on_the_stream() -> None:
    desk = Desk(window=2_000)
    desk.preflight(HISTORY)
    (asked,), (start,), (end,) = map(desk.events, (EventName.SUMMARIZE, EventName.START, EventName.COMPLETE))
    assert asked.name == "compaction-summarize" and fields(asked) == {"messagesCount"}
    assert start.data["reason"] == "overflow" and end.data["wasSummarized"] is True
    assert end.data["summary"] and asked.data["messagesCount"] == end.data["messagesCompacted"]

    rolling = Desk("rolling", window=20_000, summarizer=ScriptedSummarizer([RuntimeError("no network")]))
    rolling.preflight(HISTORY)
    (failed,) = rolling.events(EventName.FAILED)
    assert failed.name == "compaction-error"
    assert fields(failed) == {"error", "canRetry", "suggestNewSession"}
    assert (failed.data["canRetry"], failed.data["suggestNewSession"]) == (True, False)


@pytest.mark.spec("S2.18", part="events")
@pytest.mark.spec("S4.12")
def test_what_cannot_fit_overflows() -> None:
    desk = Desk(window=2_000)
    with pytest.raises(InsufficientBudget):
        desk.preflight([*pairs(3), user("far too long", 2_500)])
    (overflow,) = desk.events(EventName.OVERFLOW)
    assert overflow.name == "context-overflow"
    assert fields(overflow) == {"currentTokens", "limit", "percentUsed"}
    assert overflow.data["percentUsed"] == round(100 * overflow.data["currentTokens"] / 2_000, 1) > 100
    (error,) = desk.events(EventName.ERROR)
    assert error.data["error_type"] == "InsufficientBudget" and error.data["status"] == "error"
    (failed,) = desk.events(EventName.FAILED)
    # The message is too long for any session.
    assert failed.data == {"error": error.data["message"], "canRetry": False, "suggestNewSession": False}
    desk.exporter.assert_balanced()


@pytest.mark.spec("S4.12")
def test_the_properties_of_the_seed() -> None:
    desk = Desk(window=2_000, composed=True)
    desk.preflight(HISTORY)
    (estimate,) = desk.events(EventName.TOKEN_ESTIMATE)
    assert estimate.name == "compact.token_estimate"
    assert fields(estimate) == {"model", "t_est", "max_tokens", "usage_pct", "breakdown"}
    assert set(estimate.data["breakdown"]) == {"system", "developer", "tools_schema", "messages"}
    (decision,) = desk.events(EventName.TRIGGER_DECISION)
    assert fields(decision) == {"triggered", "reason", "policy", "kept", "pruned_count"}
    assert set(decision.data["policy"]) == {"trigger_pct", "hard_cap_buffer", "strategy"}
    assert set(decision.data["kept"]) == {"pinned", "recent_turns", "tool_pairs"}
    (created,) = desk.events(EventName.SUMMARY_CREATED)
    assert {"strategy", "input_messages", "summary_tokens", "compression_ratio", "summary"} <= fields(created)
    assert created.duration is not None and created.step == 1
    (archival,) = desk.events(EventName.ARCHIVAL)
    assert fields(archival) == {"session_id", "step", "storage_adapter", "file_path"}
    (layers,) = desk.events(EventName.PRUNED_MESSAGES)
    assert {"pinned", "summary", "recent"} <= fields(layers)
    quiet = Desk(window=20_000)
    quiet.preflight(HISTORY)
    (decision,) = quiet.events(EventName.TRIGGER_DECISION)
    assert decision.data["triggered"] is False and fields(decision) == {"triggered", "reason", "policy"}


@pytest.mark.spec("S4.12")
def test_an_error_names_what_was_done_instead() -> None:
    desk = Desk(window=2_000, summarizer=ScriptedSummarizer([RuntimeError("no network")]))
    desk.preflight(HISTORY)
    (error,) = desk.events(EventName.ERROR)
    assert error.data == {
        "status": "error",
        "error_type": "RuntimeError",
        "message": "no network",
        "fallback": "pruning-only",
    }
    assert error.duration is not None and error.step == 1


@pytest.mark.spec("S4.12")
def test_every_name_is_told_somewhere_and_is_as_its_schema_says() -> None:
    told: list[Event] = []
    for desk in (Desk("agent", window=6_000), Desk(window=2_000)):
        desk.preflight([user("go"), *steps(30, 200), *pairs(4)])
        desk.manager.recall("s", "go")
        desk.manager.restore("s", 1)
        told += desk.exporter.events
    floor = Desk(window=4_000)
    floor.preflight([system(3_000), protected(user("memory", 500)), *pairs(2)])
    store = MemoryStore()
    busy = Desk(window=4_000, store=store)
    with store.lease("s", 60):
        busy.preflight(pairs(36))
    failing = Desk("rolling", window=20_000, summarizer=ScriptedSummarizer([RuntimeError("no network")]))
    failing.preflight(HISTORY)
    full = Desk(window=2_000)
    with pytest.raises(InsufficientBudget):
        full.preflight([user("far too long", 2_500)])
    pieces = Desk(
        window=2_000,
        summarizer=Chunked(EchoSummarizer(), counter_for("gpt-4o", "chars4"), input_limit=1_500),
    )
    pieces.preflight(HISTORY)
    for desk in (floor, busy, failing, full, pieces):
        told += desk.exporter.events
    for event in told:
        validate(event)
        envelope_of(event.name).model_validate_json(json.dumps(event.as_dict()))
    # What front doors keep of a session is in the store only, and only chats have titles.
    not_the_engines = {EventName.SETTINGS, EventName.DOOR, EventName.TITLE}
    assert {event.name for event in told} == set(EventName) - not_the_engines


def test_the_documents_are_what_the_schemas_say() -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts/event_docs.py"))
    for path, text in script["generated"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run scripts/event_docs.py"


@pytest.mark.spec("S4.22")
def test_the_guide_has_schema_set_up_and_a_timeline_and_its_examples_run() -> None:
    docs = Path(__file__).parents[2] / "docs"
    guide = (docs / "OBSERVABILITY.md").read_text(encoding="utf-8")
    for part in ("## Ariadne", "## OpenTelemetry", "## The OpenAI Agents SDK", "## Event reference"):
        assert f"\n{part}\n" in guide
    assert all(f"### `{name.value}`" in guide for name in EventName)
    assert "images/timeline.svg" in guide and "<svg" in (docs / "images/timeline.svg").read_text()
    examples = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(examples) == 3
    for source in examples:
        exec(compile(source, "OBSERVABILITY.md", "exec"), {})


def test_the_schema_is_versioned_and_names_every_event() -> None:
    schema = json_schema()
    assert set(DATA) == set(EventName) and f"version {SCHEMA_VERSION}" in schema["title"]
    events = {name: body for name, body in schema["$defs"].items() if name.endswith("Event")}
    assert {body["properties"]["name"]["const"] for body in events.values()} == {n.value for n in EventName}
    assert all("schema_version" in body["required"] for body in events.values())
