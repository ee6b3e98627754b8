"""Policy "queue": what can't be archived now waits on disk and is sent later."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from compact.archives.memory import MemoryFileArchive
from compact.archives.queue import QueuedArchive
from compact.errors import ArchiveError
from compact.redaction import Redactor
from compact.testing.archives import SUMMARY, TRANSCRIPT, transcript


class Unsteady(MemoryFileArchive):
    """An archive whose network comes and goes."""

    def __init__(self) -> None:
        super().__init__(Redactor())
        self.down = True

    def put(self, folder: str, name: str, chunks: Iterable[bytes]) -> str:
        if self.down:
            raise ArchiveError("unreachable")
        return super().put(folder, name, chunks)

    def append(self, folder: str, line: bytes) -> None:
        if self.down:
            raise ArchiveError("unreachable")
        super().append(folder, line)


def test_spooled_then_sent_byte_for_byte(tmp_path: Path) -> None:
    inner, reference = Unsteady(), MemoryFileArchive(Redactor())
    archive = QueuedArchive(inner, tmp_path / "spool")
    for target in (archive, reference):
        target.write(transcript("../demo", {"content": "password=x"}))
        target.append_event("../demo", {"name": "x", "sequence": 1})
    assert archive.write(transcript("two")).startswith("queued:")
    assert len(archive.pending()) == 5
    assert archive.flush() == 0 and len(archive.pending()) == 5
    inner.down = False
    assert archive.flush() == 5
    assert archive.pending() == []
    reference.write(transcript("two"))
    assert inner.files == reference.files


def test_the_next_good_write_sends_what_waits(tmp_path: Path) -> None:
    inner = Unsteady()
    archive = QueuedArchive(inner, tmp_path / "spool")
    archive.write(transcript())
    inner.down = False
    assert archive.write(transcript(step=2)) == "memory:demo/transcript-pre-compact-002.jsonl"
    assert f"demo/{TRANSCRIPT}" in inner.files and f"demo/{SUMMARY}" in inner.files
    assert archive.pending() == []


def test_the_queue_survives_a_restart(tmp_path: Path) -> None:
    QueuedArchive(Unsteady(), tmp_path / "spool").write(transcript())
    inner = Unsteady()
    inner.down = False
    assert QueuedArchive(inner, tmp_path / "spool").flush() == 2
    assert f"demo/{TRANSCRIPT}" in inner.files


def test_a_full_or_unwritable_spool_is_an_error_never_a_skip(tmp_path: Path) -> None:
    full = QueuedArchive(Unsteady(), tmp_path / "spool", max_bytes=10)
    full.write(transcript())
    with pytest.raises(ArchiveError, match="full"):
        full.write(transcript(step=2))
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError):
        QueuedArchive(Unsteady(), tmp_path / "file" / "spool").write(transcript())


def test_events_that_were_not_sent_stay_queued(tmp_path: Path) -> None:
    class Flaky(Unsteady):
        def append(self, folder: str, line: bytes) -> None:
            super().append(folder, line)
            self.down = True

    inner = Flaky()
    archive = QueuedArchive(inner, tmp_path / "spool")
    for number in (1, 2, 3):
        archive.append_event("demo", {"sequence": number})
    for _ in range(4):
        inner.down = False
        archive.flush()
    assert archive.pending() == []
    assert [json.loads(line)["sequence"] for line in inner.files["demo/events.jsonl"].splitlines()] == [
        1,
        2,
        3,
    ]
