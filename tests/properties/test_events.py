"""Every start has exactly one end, whatever happens in between; every event is as its schema says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.errors import ArchiveError, CompactError, StoreError, SummarizerError
from compact.model.event import Event, EventName
from compact.model.record import Record, Transcript
from compact.stores.memory import MemoryStore
from compact.testing import CollectingExporter
from support.rig import PRESETS, make_rig

WORDS = "the build failed again because the importer read a stale file from the cache "
GOOD = "The importer reads a stale file; the cache is to be cleared before each build. " * 4


class Interrupted(BaseException):
    """As a keyboard interrupt or a killed task is: no Exception."""


def summarizer(ways: list[str], meanwhile: Any) -> Any:
    def summarize(request: Any) -> str:
        way = ways.pop(0) if ways else "good"
        if way == "down":
            raise SummarizerError("the model is down")
        if way == "bug":
            raise ZeroDivisionError
        if way == "interrupted":
            raise Interrupted
        if way == "race":
            meanwhile()
        return {"empty": "", "long": "word " * 9_000, "refusal": "I'm sorry, I can't help with that."}.get(
            way, GOOD
        )

    return summarize


class Archive(MemoryArchive):
    def __init__(self, ways: list[str]) -> None:
        super().__init__()
        self._ways = ways

    def write(self, transcript: Transcript) -> str:
        way = self._ways.pop(0) if self._ways else "good"
        if way == "full":
            raise ArchiveError("the disk is full")
        if way == "interrupted":
            raise Interrupted
        return super().write(transcript)


class Store(MemoryStore):
    """Its leases keep nobody out, as those of a worker that was away too long."""

    def __init__(self, ways: list[str]) -> None:
        super().__init__()
        self._ways = ways

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        yield True

    def commit(self, record: Record) -> Record:
        way = self._ways.pop(0) if self._ways else "good"
        if way == "broken":
            raise StoreError("the database is gone")
        return super().commit(record)


def conversation(turns: int, tools: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be careful. " * 20}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn}: {WORDS * 6}"})
        if tools:
            function = {"name": "read_file", "arguments": f'{{"path": "src/module_{turn}.py"}}'}
            call = {"id": f"call_{turn}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": WORDS * 12})
        messages.append({"role": "assistant", "content": f"answer {turn}: {WORDS * 6}"})
    return messages


def check(exporter: CollectingExporter) -> None:
    exporter.assert_ordered()
    exporter.assert_valid()
    # Two workers at once may overlap; the step and the number of starts and ends still agree.
    starts = [event.step for event in exporter.named(EventName.START)]
    ends = [event for event in exporter.events if event.name in (EventName.COMPLETE, EventName.FAILED)]
    assert sorted(starts) == sorted(event.step for event in ends)
    assert all(event.duration is not None for event in ends)
    assert all(step > 0 for step in starts)


SITUATIONS = st.fixed_dictionaries(
    {
        "preset": st.sampled_from(PRESETS),
        "tools": st.booleans(),
        "turns": st.lists(st.integers(1, 24), min_size=1, max_size=4),
        "summaries": st.lists(
            st.sampled_from("good down bug empty long refusal interrupted race".split()), max_size=6
        ),
        "archives": st.lists(st.sampled_from(("good", "full", "interrupted")), max_size=3),
        "commits": st.lists(st.sampled_from(("good", "broken")), max_size=3),
        "call": st.sampled_from(("preflight", "manual_compact", "end_turn")),
        "asynchronous": st.booleans(),
        "too_much": st.booleans(),
    }
)


@pytest.mark.spec("S2.18", part="events")
@pytest.mark.spec("S4.12")
@settings(max_examples=150)
@given(situation=SITUATIONS)
def test_every_start_has_exactly_one_end(situation: dict[str, Any]) -> None:
    exporter, other = CollectingExporter(), CollectingExporter()
    store = Store(situation["commits"])
    config = CompactConfig(
        max_context_tokens=4_000,
        counter="chars4",
        preset=situation["preset"],
        policy={"hard_cap_buffer": 200, "output_reserve": 300, "summary_max_tokens": 400},
    )
    messages: list[Any] = []

    def meanwhile() -> None:
        with suppress(CompactError):
            rival.preflight("s", messages)

    rival = CompactManager(config, summarizer([], None), store, MemoryArchive(), [other])
    archive = Archive(situation["archives"])
    manager = CompactManager(
        config, summarizer(situation["summaries"], meanwhile), store, archive, [exporter]
    )
    prefix = "a" if situation["asynchronous"] else ""
    for turns in situation["turns"]:
        messages[:] = conversation(turns, situation["tools"])
        if situation["too_much"]:
            messages.append({"role": "user", "content": WORDS * 500})
        try:
            made = getattr(manager, prefix + situation["call"])("s", messages)
            if situation["asynchronous"]:
                asyncio.run(_awaited(made))
        except (CompactError, Interrupted, ZeroDivisionError):
            pass
    check(exporter)
    check(other)


async def _awaited(made: Any) -> Any:
    return await made


async def _cancelled_at(kind: str) -> CollectingExporter:
    """Cancel the task while a summary, or the archive, is under way."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def summarize(request: Any) -> str:
        if kind == "summary":
            reached.set()
            await go_on.wait()
        return GOOD

    class Slow(MemoryArchive):
        def write(self, transcript: Transcript) -> str:
            loop.call_soon_threadsafe(reached.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(30)
            return super().write(transcript)

    exporter = CollectingExporter()
    config = CompactConfig(max_context_tokens=4_000, counter="chars4", policy={"hard_cap_buffer": 200})
    archive = Slow() if kind == "archive" else MemoryArchive()
    manager = CompactManager(config, summarize, archive=archive, exporters=[exporter])
    task = asyncio.create_task(manager.apreflight("s", conversation(14, False)))
    await asyncio.wait_for(reached.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    for _ in range(3_000):
        if exporter.named(EventName.FAILED):
            break
        await asyncio.sleep(0.01)
    return exporter


@pytest.mark.spec("S2.18", part="events")
@pytest.mark.parametrize("kind", ["summary", "archive"])
async def test_a_cancelled_compaction_has_its_end_and_nothing_after_it(kind: str) -> None:
    exporter = await _cancelled_at(kind)
    exporter.assert_balanced()
    check(exporter)
    last: Event = exporter.events[-1]
    assert last.name is EventName.FAILED and last.data["canRetry"] is True and last.step == 1


@pytest.mark.spec("S2.18", part="events")
@pytest.mark.parametrize("preset", PRESETS)
def test_steps_count_up_and_what_a_compaction_tells_carries_its_own(preset: str) -> None:
    rig = make_rig(preset, "openai-chat")
    whole = conversation(60, True)[1:]
    for turns in range(5, 60, 3):
        rig.prepare(whole[: 4 * turns])
    check(rig.events)
    rig.events.assert_balanced()
    starts = rig.events.named(EventName.START)
    assert [event.step for event in starts] == list(range(1, len(starts) + 1)) and starts
    inside = 0
    for event in rig.events.events:
        if event.name is EventName.START:
            inside = event.step
        assert event.step == inside, event
        if event.name in (EventName.COMPLETE, EventName.FAILED):
            inside = 0
    for event in rig.events.named(EventName.SUMMARY_CREATED) + rig.events.named(EventName.ARCHIVAL):
        assert event.duration is not None
