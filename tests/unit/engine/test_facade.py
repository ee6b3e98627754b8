"""The façade that integrations stand on: typed outcomes, patience, fail-open, formats, siblings."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from compact import CompactConfig, CompactManager, InsufficientBudget, SessionBusy
from compact.errors import ConfigError, FormatError, MalformedMessage, StoreError
from compact.formats import FORMAT_NAMES, by_name, recognize, register
from compact.formats.base import Fragment, Place, SourceFormat, fragment
from compact.formats.openai_chat import OpenAIChat
from compact.model.event import EventName, Reason
from compact.model.message import Message, Role, Text
from compact.model.outcome import Compacted, Passed, Unchanged
from compact.stores.memory import MemoryStore
from compact.testing.scripted import CollectingExporter
from support.raw import Desk, pairs, protected, summaries, system, user

HISTORY = [system(), *pairs(36), user("new")]
TOO_MUCH = [system(), *pairs(45), user("new")]
PLAIN: dict[str, Any] = {"archive": {"adapter": "none"}, "counter": "chars4"}


def test_the_outcome_is_a_typed_value() -> None:
    desk = Desk()
    quiet = desk.prepare(pairs(2))
    assert quiet.outcome == Unchanged(Reason.BELOW_TRIGGER) and quiet.debug.reason is Reason.BELOW_TRIGGER
    done = desk.prepare(HISTORY)
    assert isinstance(done.outcome, Compacted) and done.outcome.record == done.record
    assert done.debug.reason is Reason.OVERFLOW


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_pass_hands_the_prompt_through_and_says_so(mode: str) -> None:
    async def prepare(desk: Desk, messages: Sequence[Any]) -> Any:
        if mode == "sync":
            return desk.manager.prepare("s", messages, on_error="pass")
        return await desk.manager.aprepare("s", messages, on_error="pass")

    pinned = [protected(message) for message in TOO_MUCH]
    for messages, cause in ((pinned, InsufficientBudget), ([{"role": "nobody"}], FormatError)):
        desk = Desk()
        passed = await prepare(desk, messages)
        assert passed.messages == messages and passed.messages is not messages
        assert isinstance(passed.outcome, Passed) and isinstance(passed.outcome.cause, cause)
        assert passed.debug.reason is Reason.PASSED and passed.tokens.final > 0
        (warning,) = [e for e in desk.events(EventName.WARNING) if e.data["severity"] == "high"]
        assert "is returned unchanged" in warning.data["message"]


class Unspeakable:
    """Neither it nor what went wrong with it can be written down."""

    def __repr__(self) -> str:
        raise ValueError("no words")


class NoWords(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("enabled", [True, False])
async def test_pass_hands_through_what_can_be_neither_read_nor_counted(
    mode: str, enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(config={"enabled": enabled})
    counting: list[int] = []

    def failing(*_: Any) -> Any:
        counting.append(threading.get_ident())
        raise NoWords

    def broken(*_: Any) -> Any:
        raise NoWords

    monkeypatch.setattr(desk.manager._engine.sizes, "of_text", failing)
    monkeypatch.setattr(desk.manager._engine.events, "emit", broken)
    for odd in (Unspeakable(), nested(5_000), {"role": "nobody"}):
        messages = [user("hello"), odd]
        if mode == "sync":
            passed = desk.manager.prepare("s", messages, tools=[odd], on_error="pass")
        else:
            passed = await desk.manager.aprepare("s", messages, tools=[odd], on_error="pass")
        assert len(passed.messages) == 2 and passed.messages[1] is odd and passed.tools == [odd]
        assert isinstance(passed.outcome, Passed)
    # A large prompt takes long to count: not on the event loop.
    assert mode == "sync" or threading.get_ident() not in counting


def test_pass_keeps_the_list_type_and_refuses_wrong_arguments_all_the_same() -> None:
    manager = Desk().manager
    assert isinstance(manager.prepare("s", ({"role": "nobody"},), on_error="pass").messages, tuple)
    for bad in (
        {"messages": None},
        {"session_id": 5},
        {"wait": -1},
        {"wait": "soon"},
        {"on_error": "ignore"},
    ):
        arguments: dict[str, Any] = {"session_id": "s", "messages": [], "on_error": "pass", **bad}
        with pytest.raises(FormatError):
            manager.prepare(**arguments)


def test_a_compaction_that_was_asked_for_says_that_the_session_is_busy() -> None:
    store = MemoryStore()
    desk = Desk(store=store)
    with store.lease("s", 60), pytest.raises(SessionBusy):
        desk.manager.manual_compact("s", pairs(20))
    assert desk.manager.manual_compact("s", pairs(20)) != pairs(20)


def test_wait_is_how_long_a_prompt_that_does_not_fit_waits_for_another_compaction() -> None:
    store = MemoryStore()
    desk = Desk(store=store)
    lease = store.lease("s", 60)
    assert lease.__enter__()
    with pytest.raises(SessionBusy):
        desk.manager.prepare("s", TOO_MUCH, wait=0)
    assert desk.events(EventName.LEASE)[-1].duration < desk.manager._engine._busy_wait
    timer = threading.Timer(0.2, lambda: lease.__exit__(None, None, None))
    timer.start()
    try:
        assert len(summaries(desk.manager.prepare("s", TOO_MUCH, wait=30).messages)) == 1
    finally:
        timer.join()


def test_warn_emits_and_delete_removes() -> None:
    desk = Desk()
    desk.preflight(HISTORY)
    desk.manager.warn("s", "The tool list is long.", severity="high")
    assert desk.events(EventName.WARNING)[-1].data == {
        "severity": "high",
        "message": "The tool list is long.",
    }
    assert desk.manager.delete("s") and not desk.manager.delete("s")
    assert desk.manager.records("s") == ()


class Smallest:
    """A store with the methods of the `Store` port and no more."""

    def __init__(self) -> None:
        kept = MemoryStore()
        self.append, self.originals, self.find = kept.append, kept.originals, kept.find
        self.commit, self.records, self.lease = kept.commit, kept.records, kept.lease


def test_a_store_that_cannot_delete_is_not_taken_for_an_empty_one() -> None:
    desk = Desk(store=Smallest())
    desk.preflight(HISTORY)
    with pytest.raises(StoreError, match="delete_session"):
        desk.manager.delete("s")
    assert len(desk.manager.records("s")) == 1


class HalfAStore:
    def append(self) -> None: ...


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"store": object()}, "store: object is no store. It has no append, originals, find"),
        ({"store": HalfAStore()}, "It has no originals, find, commit, records, lease"),
        ({"store": MemoryStore}, "store: MemoryStore is a class. Pass an object of it"),
        ({"archive": object()}, "archive: object is no archive. It has no write"),
        ({"exporters": [print, object()]}, r"exporters\[1\]: object is no exporter"),
        ({"exporters": [CollectingExporter]}, r"exporters\[0\]: CollectingExporter is a class"),
        ({"exporters": print}, "exporters must be a list"),
    ],
)
def test_what_is_no_port_is_refused_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CompactManager(CompactConfig(**PLAIN), **given)


async def test_append_stores_and_sends_nothing() -> None:
    desk = Desk()
    desk.manager.append("s", pairs(2))
    await desk.manager.aappend("s", pairs(3))
    store = desk.manager._engine.store
    assert [one.text for one in store.originals("s")] == [one["content"] for one in pairs(3)]
    assert desk.exporter.events == []


async def test_where_the_store_does_not_block_a_quiet_call_takes_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_thread(*args: Any) -> Any:
        raise AssertionError("a thread was asked for")

    desk = Desk()
    history = pairs(5)
    monkeypatch.setattr("asyncio.to_thread", no_thread)
    for number in range(6, 12):
        history = [*history, *pairs(1, first=number)]
        assert await desk.manager.apreflight("s", history) == history
    # Much at once, or a compaction, leaves the event loop free.
    for much in ([*history, *pairs(40, first=12)], HISTORY):
        with pytest.raises(AssertionError, match="thread"):
            await desk.manager.apreflight("much", much)


@dataclass
class Note:
    """A framework's own message class."""

    by: str
    text: str


class Notes(OpenAIChat):
    name = "notes"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return all(isinstance(message, Note) for message in messages)

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        if not isinstance(item, Note):
            raise MalformedMessage(index, "no Note")
        (decoded,) = super().decode({"role": item.by, "content": item.text}, index)
        return (decoded.__class__(decoded.role, decoded.parts, decoded.digest, _origin(index, item)),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        return [
            one.origin.source if one.origin is not None else Note(one.role.value, one.text)
            for one in messages
        ]


def _origin(index: int, item: Any) -> Any:
    from compact.model.message import Origin

    return Origin(index, item)


def test_a_framework_brings_its_own_message_class() -> None:
    history = [Note(message["role"], message["content"]) for message in HISTORY]
    config = CompactConfig(**PLAIN, max_context_tokens=4_000, policy={"hard_cap_buffer": 100})
    manager = CompactManager(config, format=Notes())
    out = manager.preflight("s", history)
    assert len(out) < len(history) and all(isinstance(one, Note) for one in out)
    assert out[-1] is history[-1] and any(one.text.startswith("<COMPACT-SUMMARY") for one in out)
    grown = [*history, Note("assistant", "Fine."), Note("user", "Go on.")]
    again = manager.preflight("s", grown)
    assert again[: len(out)] == out and len(manager.records("s")) == 1
    history[-1].text = "Something else."
    assert manager.preflight("s", history)[-1].text == "Something else."
    assert by_name("notes").name == "notes"


class _Offered:
    """Stands for installed packages' entry points."""

    names = frozenset({"postcards"})

    def __getitem__(self, name: str) -> Any:
        return self

    def load(self) -> Any:
        return type("Postcards", (Notes,), {"name": "postcards"})


def test_formats_register_through_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def entry_points(group: str) -> Any:
        asked.append(group)
        return _Offered()

    monkeypatch.setattr("compact.formats.entry_points", entry_points)
    with pytest.raises(FormatError, match="postcards"):
        by_name("letters")
    assert recognize([Note("user", "Hello")]).name in ("notes", "postcards")
    assert by_name("postcards") is by_name("postcards") and set(asked) == {"compact.formats"}
    CompactManager(CompactConfig(**PLAIN), format="postcards").preflight("s", [Note("user", "Hello")])


class Letters(SourceFormat):
    """{"from": "user", "body": "…"}: what no format of ours looks like, but for a plain message at times."""

    name = "letters"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return all("from" in message or message.keys() == {"role", "content"} for message in messages)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        role, text = fields.get("from") or fields.get("role"), fields.get("body") or fields.get("content")
        return [fragment(Role(str(role)), [(Text(str(text)), Place("body"))])]

    def rebuild(self, fields: Any, kept: Any, repeated: Any) -> dict[str, Any]:
        return dict(fields)

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {"from": role.value, "body": text}

    def create_result(self, result: Any, call: Any) -> dict[str, Any]:
        raise NotImplementedError


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    """The format, known to this process for the length of a test."""
    monkeypatch.setattr("compact.formats._registered", {})
    return cast(Letters, register(Letters()))


def letter(number: int) -> dict[str, Any]:
    return {"from": ("user", "assistant")[number % 2], "body": f"Line {number}. " * 20}


def test_a_registered_format_is_recognized(letters: Letters) -> None:
    assert recognize([letter(0)]) is letters
    assert recognize([{"role": "user", "content": "Hi."}, letter(1)]) is letters
    assert recognize([{"role": "user", "content": "Hi."}]).name == "openai-chat"
    with pytest.raises(FormatError, match="mix formats"):
        recognize(
            [
                {"role": "user", "content": "Hi."},
                {"role": "tool", "tool_call_id": "c", "content": "x"},
                {"role": "user", "parts": []},
            ]
        )
    for unknown in ([letter(0), {"body": "from nobody"}], [{"body": "from nobody"}], ["text"]):
        with pytest.raises(FormatError):
            recognize(unknown)


def test_a_session_in_a_registered_format_goes_on_and_forks(letters: Letters) -> None:
    config = CompactConfig(**PLAIN, max_context_tokens=4_000, policy={"hard_cap_buffer": 100})
    manager = CompactManager(config)
    history = [letter(n) for n in range(3)]
    assert manager.preflight("s", history) == history
    history += [letter(n) for n in range(3, 81)]
    sent = manager.preflight("s", history)
    assert len(sent) < len(history) and sent[-1] is history[-1] and all("from" in one for one in sent)
    retried = [*history[:-1], {"from": "user", "body": "Something else."}]
    assert manager.preflight("s", retried)[-1]["body"] == "Something else."
    with pytest.raises(FormatError, match=r"begin as letters, but messages\[81\]"):
        manager.preflight("s", [*history, {"type": "tool_result"}])
    assert manager.preflight("s", history) == sent


def test_a_session_of_plain_messages_turns_out_to_be_in_a_registered_format(letters: Letters) -> None:
    manager = CompactManager(CompactConfig(**PLAIN))
    begun = [{"role": "user", "content": "Hi."}]
    assert manager.preflight("s", begun) == begun
    assert manager.preflight("s", [*begun, letter(1)]) == [*begun, letter(1)]


def test_a_format_that_fails_to_recognize_is_passed_over(letters: Letters) -> None:
    class Careless(Letters):
        name = "careless"

        def recognizes(self, messages: Sequence[Any]) -> bool:
            return bool(messages[0]["nobody has this"])

    monkeypatched = register(Careless())
    assert monkeypatched.name == "careless" and recognize([letter(0)]) is letters


def test_of_two_formats_with_one_name_the_newer_counts_or_is_refused(letters: Letters) -> None:
    again = Letters()
    assert register(again) is again is by_name("letters")
    with pytest.raises(FormatError, match=r"'letters' is taken by .*Letters"):
        register(type("Others", (Letters,), {})())
    assert by_name("letters") is again


def test_what_is_no_format_is_refused() -> None:
    with pytest.raises(FormatError, match="is not a format"):
        CompactManager(CompactConfig(**PLAIN), format=object())  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="taken"):
        register(type("Mine", (Notes,), {"name": FORMAT_NAMES[0]})())
    with pytest.raises(FormatError, match="Unknown format"):
        CompactManager(CompactConfig(**PLAIN), format="letters")


def test_a_sibling_of_a_subclass_is_of_that_class_and_has_its_attributes() -> None:
    class Named(CompactManager):
        def __init__(self, name: str) -> None:
            super().__init__(CompactConfig(**PLAIN))
            self.name = name

    with Named("mine") as manager:
        sibling = manager.for_model("gpt-4o", max_context_tokens=4_000)
        assert type(sibling) is Named and sibling.name == "mine"
        assert (manager.window, sibling.window) == (128_000, 4_000)


def test_a_sibling_shares_what_was_stored_and_has_its_own_window() -> None:
    desk = Desk()
    small = desk.manager.for_model("gpt-4o", max_context_tokens=4_000)
    large = desk.manager.for_model("gpt-4o")
    assert (small.window, large.window) == (4_000, 128_000)
    small.preflight("s", HISTORY)
    assert len(desk.manager.records("s")) == 1 == len(large.records("s"))
    assert large.preflight("s", HISTORY) == HISTORY
    assert small.events == large.events == desk.manager.events
    rolling = desk.manager.for_model("gpt-4o", preset="rolling", policy={"fold_slack_turns": 0})
    assert rolling.config.policy.name == "rolling" and rolling.config.policy.fold_slack_turns == 0


def test_closing_a_sibling_leaves_the_exporters_open() -> None:
    desk = Desk()
    with desk.manager.for_model("gpt-4o-mini") as sibling:
        sibling.preflight("s", pairs(1))
    seen = len(desk.exporter.events)
    desk.preflight(pairs(1))
    desk.manager.flush()
    assert len(desk.exporter.events) > seen > 0


def test_a_hundred_siblings_cost_no_thread_and_no_file(tmp_path: Any) -> None:
    before = threading.enumerate()
    config = CompactConfig(
        model="gpt-4o",
        archive={"adapter": "fs", "path": str(tmp_path / "archive")},
        storage={"url": f"sqlite:///{tmp_path}/sessions.db"},
        tracing={"jsonl": str(tmp_path / "events.jsonl")},
    )
    with CompactManager(config) as manager:
        manager.for_model("gpt-4o-mini").preflight("s", pairs(2))
        manager.flush()
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))
        models = ["gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "gpt-4.1"]
        siblings = [manager.for_model(models[n % 4]) for n in range(100)]
        for sibling in siblings:
            sibling.preflight("s", pairs(2))
        manager.flush()
        # Threads come with work and go when idle, so one of each kind is what a single manager has too.
        names = [thread.name for thread in threading.enumerate() if thread not in before]
        assert len(names) == len(set(names)) <= 2
        assert len(os.listdir("/proc/self/fd")) <= files
        manager._engine.store.close()  # type: ignore[attr-defined]
