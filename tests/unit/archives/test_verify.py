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
    made.write(transcript("../other"))
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
        (
            lambda folder: [p.unlink() for p in folder.glob("summary-*")],
            "its summary summary-001.json is missing",
        ),
        (lambda folder: (folder / "stray.txt").write_text("x"), "does not belong here"),
        (lambda folder: (folder / "link").symlink_to("/"), "symbolic link"),
    ],
)
def test_damage_is_named(archive: FsArchive, damage: Callable[[Path], object], told: str) -> None:
    damage(archive.root / "demo")
    assert any(told in problem.what for problem in verify(archive.root))


def test_a_missing_path_is_a_problem(tmp_path: Path) -> None:
    assert [problem.what for problem in verify(tmp_path / "none")] == ["does not exist"]


@pytest.mark.parametrize(
    ("gone", "told"),
    [((1,), "step 001 is missing"), ((2,), "step 002 is missing"), ((2, 3), "steps 002 to 003 are missing")],
)
def test_a_step_that_is_gone_is_told(tmp_path: Path, gone: tuple[int, ...], told: str) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step in range(1, 5):
        archive.write(transcript("demo", step=step))
    assert verify(archive.root) == []
    for step in gone:
        for path in (archive.root / "demo").glob(f"*-{step:03d}.*"):
            path.unlink()
    for start in (archive.root, archive.root / "demo"):
        assert [told in problem.what for problem in verify(start)] == [True]


def test_a_huge_step_number_makes_one_problem(archive: FsArchive) -> None:
    archive.write(transcript("demo", step=10**9))
    assert [problem.what[:29] for problem in verify(archive.root)] == ["steps 002 to 999999999 are mi"]
