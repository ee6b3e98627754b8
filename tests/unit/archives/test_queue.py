"""Policy "queue": what can't be archived now waits on disk and is sent later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from compact.archives.fs import FsArchive
from compact.archives.memory import MemoryFileArchive
from compact.archives.queue import QueuedArchive
from compact.archives.s3 import S3Archive
from compact.archives.verify import verify
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


def test_another_process_that_sends_meanwhile_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Unsteady()
    archive, other = (QueuedArchive(inner, tmp_path / "spool") for _ in range(2))
    archive.write(transcript())
    listing = Path.iterdir

    def overtaken(folder: Path) -> Iterator[Path]:
        if folder.name == "demo":
            monkeypatch.setattr(Path, "iterdir", listing)
            assert other.flush() == 2
        return listing(folder)

    inner.down = False
    monkeypatch.setattr(Path, "iterdir", overtaken)
    assert archive.write(transcript(step=2)) == "memory:demo/transcript-pre-compact-002.jsonl"
    assert f"demo/{TRANSCRIPT}" in inner.files and archive.pending() == []


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


class Bucket(Unsteady):
    """One of several archives that share a spool."""

    def __init__(self, bucket: str) -> None:
        super().__init__()
        self.bucket = bucket

    @property
    def target(self) -> str:
        return self.bucket


def test_two_archives_with_one_spool_get_only_their_own(tmp_path: Path) -> None:
    for bucket in ("one", "two"):
        archive = QueuedArchive(Bucket(bucket), tmp_path / "spool")
        archive.write(transcript("demo", {"content": f"for {bucket}"}))
        archive.append_event("demo", {"name": bucket})
    # After a restart, and with a third configuration in between.
    other = Bucket("three")
    other.down = False
    assert QueuedArchive(other, tmp_path / "spool").flush() == 0 and other.files == {}
    for bucket in ("two", "one"):
        inner = Bucket(bucket)
        inner.down = False
        archive = QueuedArchive(inner, tmp_path / "spool")
        assert len(archive.pending()) == 3 and archive.flush() == 3 and archive.pending() == []
        assert f"for {bucket}".encode() in inner.files[f"demo/{TRANSCRIPT}"]
        assert json.loads(inner.files["demo/events.jsonl"]) == {"name": bucket}


def test_targets_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    redactor = Redactor()
    targets = [
        FsArchive("a", redactor=redactor).target,
        FsArchive("b", redactor=redactor).target,
        S3Archive("a", redactor=redactor).target,
        S3Archive("a", "b", redactor=redactor).target,
        S3Archive("a", "b", redactor=redactor, endpoint_url="http://127.0.0.1:1").target,
    ]
    assert len(set(targets)) == 5
    assert FsArchive(tmp_path / "a", redactor=redactor).target == targets[0]


def test_what_was_spooled_for_a_folder_arrives_linked_and_sound(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("in the way")
    made = [
        QueuedArchive(FsArchive(tmp_path / "archive", redactor=Redactor()), tmp_path / "spool")
        for _ in range(2)
    ]
    made[0].write(transcript())
    for number in range(3):
        made[0].append_event("demo", {"sequence": number})
    (tmp_path / "archive").unlink()
    assert made[1].flush() == 3
    made[1].append_event("demo", {"sequence": 3})
    assert verify(tmp_path / "archive") == []
    lines = (tmp_path / "archive" / "demo" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["_compact"]["line"] for line in lines] == [1, 2, 3, 4]
