"""A readable line for each event."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.model.event import Event, EventName
from compact.stores import open_store
from compact.tracing.console import ConsoleExporter, line_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def history(turns: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"src/app_{n}.py " + "word " * 150} for n in range(2 * turns)]


def run(stream: io.StringIO, **settings: Any) -> list[str]:
    config = CompactConfig(
        max_context_tokens=6_000, counter="chars4", archive={"adapter": "none"}, **settings
    )
    with CompactManager(config, exporters=[ConsoleExporter(stream)]) as manager:
        manager.preflight("demo", history(4))
        manager.preflight("demo", history(30))
    return stream.getvalue().splitlines()


def test_a_run_reads_as_a_story() -> None:
    lines = [line.split("  ", 2)[2] for line in run(io.StringIO())]
    assert lines[:2] == [
        "█████░░░░░░░░░░░░░░░  26.1%  1,563 of 6,000 tokens",
        "no compaction: below-trigger",
    ]
    assert lines[3].startswith("to be compacted: overflow; 6 turns and 0 tool steps stay, ")
    assert lines[5].startswith("compaction #1 begins: the prompt grew too large, 11,") and len(lines) == 11
    assert "% of the evidence survives" in lines[7] and " → " in lines[10] and " saved, " in lines[10]
    assert lines[8].strip().startswith("checking: ")


def test_in_a_terminal_it_has_color_and_says_the_same() -> None:
    from rich.text import Text

    colored, plain = run(Terminal()), run(io.StringIO())
    assert any("\x1b[" in line for line in colored)
    shown = [Text.from_ansi(line).plain for line in colored]
    assert [line[10:30] for line in shown] == [line[10:30] for line in plain]


def test_texts_cannot_steer_the_terminal_nor_fill_it() -> None:
    stream = io.StringIO()
    data = {"severity": "low", "message": "a\x1b]0;title\x07b\nc" + "word " * 500}
    ConsoleExporter(stream).export(Event(EventName.WARNING, "s\x1b[2J", 1, 0.0, data))
    (line,) = stream.getvalue().splitlines()
    assert "\x1b" not in line and "\x07" not in line and len(line) < 250


def test_fields_that_are_a_secret_side_by_side_are_not_shown() -> None:
    stream = io.StringIO()
    data = {"status": "error", "error_type": "password", "message": "horsestaple", "fallback": "none"}
    clean = ConsoleExporter(stream, lambda text: text.replace("password: horsestaple", "<REDACTED>"))
    clean.export(Event(EventName.ERROR, "s", 1, 0.0, data))
    assert "horsestaple" not in stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        (EventName.LEASE, {"granted": False}, "another worker compacts this session"),
        (EventName.RESTORED, {"step": 3}, "compaction #3 was undone"),
        (EventName.RECALL, {"query": "port", "found": [1, 2]}, "recalled 2 messages for 'port'"),
        (EventName.FLOOR, {"floor": 3, "sum": "system 3 = 3"}, "what can never be removed: system 3 = 3"),
        (
            EventName.OVERFLOW,
            {"currentTokens": 12_000, "limit": 9_000, "percentUsed": 133.3},
            "does not fit: 12,000 of 9,000 tokens (133.3%)",
        ),
        (
            EventName.PRUNE,
            {"outputsPruned": 7, "tokensSaved": 5_000, "prunedTools": ["read_file", "grep"]},
            "  cleared 7 tool outputs (read_file, grep), 5,000 tokens saved",
        ),
    ],
)
def test_lines(name: EventName, data: dict[str, Any], line: str) -> None:
    assert line_of(Event(name, "s", 1, 0.0, data))[1] == line


def test_without_a_standard_error_nothing_is_said_anywhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(event: Event) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr("sys.stderr", None)
    config = CompactConfig(counter="chars4", archive={"adapter": "none"}, tracing={"console": True})
    with CompactManager(config, exporters=[fails]) as manager:
        manager.preflight("demo", history(1))
    assert capsys.readouterr().out == ""


def test_settings_switch_it_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tracing = {"console": True, "jsonl": str(tmp_path / "deep/events.jsonl")}
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    config = CompactConfig(
        max_context_tokens=6_000,
        counter="chars4",
        archive={"adapter": "none"},
        tracing=tracing,
        storage={"url": url},
    )
    with CompactManager(config) as manager:
        manager.preflight("demo", history(4))
        manager.preflight("demo", history(30))
    assert "compaction #1 done" in capsys.readouterr().err
    written = [json.loads(line) for line in (tmp_path / "deep/events.jsonl").read_text().splitlines()]
    assert [event["sequence"] for event in written] == list(range(1, 12))
    assert (tmp_path / "deep/events.jsonl").stat().st_mode & 0o077 == 0
    # In the store, what led to nothing is left out.
    with open_store(url) as store:
        kept = [event.name for event in store.events("demo")]
    assert kept[0] is EventName.TOKEN_ESTIMATE and kept[-1] is EventName.COMPLETE and len(kept) == 9
    manager._engine.store.close()  # type: ignore[attr-defined]
