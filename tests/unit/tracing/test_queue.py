"""Nothing waits for an exporter; nothing is lost without a word."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from compact.model.event import Event, EventName
from compact.tracing.stream import EventStream, Immediate


class Gate:
    """An exporter that does not go on until it is let."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.seen: list[Event] = []

    def export(self, event: Event) -> None:
        self.entered.set()
        assert self.open.wait(30)
        self.seen.append(event)


def stream(*exporters: Any, **options: Any) -> EventStream:
    return EventStream(exporters, lambda: 0.0, **options)


def emit(events: EventStream, count: int, session: str = "s") -> None:
    for number in range(count):
        events.emit(session, EventName.RECALL, {"number": number})


def test_an_exporter_that_hangs_holds_nobody_up_and_gets_everything_in_order() -> None:
    gate = Gate()
    events = stream(gate)
    emit(events, 1_000)
    assert gate.seen == [] and len(events.recent) == 1_000
    gate.open.set()
    assert events.flush(30)
    assert [event.sequence for event in gate.seen] == list(range(1, 1_001))


def test_a_full_queue_drops_the_oldest_and_tells_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    gate = Gate()
    events = stream(gate, queue_size=10)
    emit(events, 1)
    assert gate.entered.wait(30)
    emit(events, 25)
    gate.open.set()
    assert events.flush(30)
    assert events.flush(30)  # The warning is an event too.
    recalled = [event.data["number"] for event in gate.seen if event.name is EventName.RECALL]
    assert recalled[0] == 0 and recalled[-9:] == list(range(16, 25))
    (warning,) = [event for event in gate.seen if event.name is EventName.WARNING]
    dropped = warning.data["dropped"]
    assert dropped >= 15 and f"{dropped} events were not exported" in warning.data["message"]
    assert f"{dropped} events were not exported" in capsys.readouterr().err


def test_threads_that_tell_at_once_are_exported_in_the_order_of_the_numbers() -> None:
    seen: list[Event] = []
    events = stream(seen.append)
    threads = [threading.Thread(target=emit, args=(events, 200, f"s{n}")) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events.flush(30)
    assert [event.sequence for event in seen] == list(range(1, 1_201))


def test_one_that_fails_takes_nothing_from_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise SystemExit("password=horsestaple")

    class Clean:
        def text(self, text: str) -> str:
            return text.replace("horsestaple", "<REDACTED>")

        def value(self, value: Any) -> Any:
            return value

        def is_secret(self, text: str) -> bool:
            return False

    events = stream(broken, seen.append, redactor=Clean())
    emit(events, 3)
    assert events.flush(30) and len(seen) == 3
    said = capsys.readouterr().err
    assert said.count("an exporter failed (broken): SystemExit") == 1 and "horsestaple" not in said


def test_what_cannot_be_redacted_does_not_go_out() -> None:
    seen: list[Event] = []

    class Broken:
        def text(self, text: str) -> str:
            return text

        def value(self, value: Any) -> Any:
            raise RecursionError

        def is_secret(self, text: str) -> bool:
            return False

    events = stream(seen.append, Immediate(seen.append), redactor=Broken())
    emit(events, 2)
    assert events.flush(30) and seen == [] and len(events.recent) == 2


def test_an_immediate_one_is_called_in_place_the_others_in_a_thread_with_the_callers_context() -> None:
    where: ContextVar[str] = ContextVar("where", default="nowhere")
    told: list[tuple[str, str]] = []

    def note(event: Event) -> None:
        told.append((threading.current_thread().name, where.get()))

    events = stream(Immediate(note), note)
    token = where.set("in a request")
    emit(events, 1)
    assert told == [(threading.current_thread().name, "in a request")]
    where.reset(token)
    assert events.flush(30) and told[1] == ("compact-events", "in a request")


@pytest.mark.parametrize("immediate", [True, False])
def test_an_exporter_with_only_events_gets_those_alone(immediate: bool) -> None:
    seen: list[EventName] = []

    class Warnings:
        only_events = frozenset({EventName.WARNING})

        def __init__(self) -> None:
            self.immediate = immediate

        def export(self, event: Event) -> None:
            seen.append(event.name)

    events = stream(Warnings())
    emit(events, 2)
    events.emit("s", EventName.WARNING, {"message": "The window is small."})
    assert events.flush(30) and seen == [EventName.WARNING]


def test_closing_delivers_what_waits_and_closes_exporters_once() -> None:
    calls: list[str] = []

    class Closing:
        def export(self, event: Event) -> None:
            calls.append("export")

        def flush(self) -> None:
            calls.append("flush")

        def close(self) -> None:
            calls.append("close")

    events = stream(Closing())
    emit(events, 2)
    events.close()
    assert calls[-2:] == ["flush", "close"] and calls.count("export") == 2 and calls.count("close") == 1
    emit(events, 1)
    assert calls.count("export") == 2 and len(events.recent) == 3


def test_closing_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    gate = Gate()
    events = stream(gate)
    emit(events, 3)
    assert gate.entered.wait(30)
    events.close(timeout=0.05)
    assert "3 events were not exported" in capsys.readouterr().err
    gate.open.set()


def test_an_idle_worker_ends_and_the_next_event_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compact.tracing.queue.IDLE", 0.01)
    rested = threading.Event()
    seen: list[Event] = []

    class Resting:
        def export(self, event: Event) -> None:
            seen.append(event)

        def rest(self) -> None:
            rested.set()

    events = stream(Resting())
    for count in (1, 2):
        rested.clear()
        emit(events, 1)
        assert rested.wait(30) and len(seen) == count


LEAVING = """
import os, sys, time
from compact.model.event import EventName
from compact.tracing.jsonl import JsonlExporter
from compact.tracing.stream import EventStream
events = EventStream([JsonlExporter(sys.argv[1])], time.time)
for number in range(300):
    events.emit("s", EventName.RECALL, {"query": str(number), "found": []})
"""


def lines_after(code: str, path: Any) -> list[str]:
    done = subprocess.run([sys.executable, "-c", LEAVING + code, str(path)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    return path.read_text().splitlines() if path.exists() else []


def test_one_that_wants_to_be_asked_again_is_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compact.tracing.queue.IDLE", 0.01)
    done = threading.Event()

    class Persistent:
        rests = 0

        def export(self, event: Event) -> None: ...

        def rest(self) -> float | None:
            self.rests += 1
            if self.rests < 4:
                return 0.001
            done.set()
            return None

    exporter = Persistent()
    events = stream(exporter)
    emit(events, 1)
    assert done.wait(30)
    queue = events._queue
    assert queue is not None
    worker = queue._worker
    if worker is not None:
        worker.join(30)
    assert exporter.rests == 4 and queue._worker is None  # it ends with that; nothing spins
    emit(events, 1)
    events.close(30)


def test_leaving_the_process_delivers_what_waits(tmp_path: Any) -> None:
    assert len(lines_after("", tmp_path / "events.jsonl")) == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_tells_its_own_events_and_not_its_parents_again(tmp_path: Any) -> None:
    code = """
child = os.fork()
events.emit("child" if child == 0 else "parent", EventName.RECALL, {"query": "", "found": []})
if child == 0:
    events.close()
    os._exit(0)
os.waitpid(child, 0)
"""
    lines = lines_after(code, tmp_path / "events.jsonl")
    assert len(lines) == 302
    assert sum('"session_id":"child"' in line for line in lines) == 1
