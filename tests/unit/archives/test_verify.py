"""verify: sound archives pass, each kind of damage is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compact.archives.fs import FsArchive
from compact.archives.verify import verify
from compact.redaction import Redactor
from compact.testing.archives import SUMMARY, TRANSCRIPT, transcript


@pytest.fixture
def archive(tmp_path: Path) -> FsArchive:
    made = FsArchive(tmp_path / "archive", redactor=Redactor())
    made.write(transcript("demo", {"content": "first"}))
    made.write(transcript("demo", {"content": "second"}))
    made.write(transcript("../other", step=2))
    made.append_event("demo", {"name": "x"})
    return made


def test_a_sound_archive_has_no_problem(archive: FsArchive) -> None:
    assert verify(archive.root) == []
    assert verify(archive.root / "demo" / TRANSCRIPT) == []


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return damage


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (edit(TRANSCRIPT, lambda data: data.replace(b"second", b"sekond")), "does not match its SHA-256"),
        (edit(TRANSCRIPT, lambda data: b"".join(data.splitlines(True)[:-1])), "trailer is missing"),
        (edit(TRANSCRIPT, lambda data: b"".join(data.splitlines(True)[1:])), "header is missing"),
        (edit(TRANSCRIPT, lambda data: data[:40]), "not a line of JSON"),
        (edit(TRANSCRIPT, lambda data: data + data), "more after the trailer"),
        (edit(TRANSCRIPT, lambda data: b""), "trailer is missing"),
        (edit(TRANSCRIPT, lambda data: data.replace(b'"version":1', b'"version":9')), "can't check: 9"),
        (edit(SUMMARY, lambda data: data.replace(b"so far", b"so fur")), "does not match its SHA-256"),
        (edit(SUMMARY, lambda data: b"{"), "is not JSON"),
        (edit("events.jsonl", lambda data: data + b"{half"), "not a line of JSON"),
        (lambda folder: [p.unlink() for p in folder.glob("transcript-*")], "is missing"),
        (lambda folder: (folder / TRANSCRIPT).unlink(), "another version"),
        (lambda folder: (folder / "stray.txt").write_text("x"), "does not belong here"),
        (lambda folder: (folder / "link").symlink_to("/"), "symbolic link"),
    ],
)
def test_damage_is_named(archive: FsArchive, damage: Callable[[Path], object], told: str) -> None:
    damage(archive.root / "demo")
    assert any(told in problem.what for problem in verify(archive.root))


def test_a_missing_path_is_a_problem(tmp_path: Path) -> None:
    assert [problem.what for problem in verify(tmp_path / "none")] == ["does not exist"]
