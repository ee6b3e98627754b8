"""verify: sound archives pass, each kind of damage is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from compact.archives.chaining import line_digest
from compact.archives.fs import FsArchive
from compact.archives.lines import summary_digest
from compact.archives.verify import verify
from compact.model.event import Event, EventName
from compact.redaction import Redactor
from compact.testing.archives import SUMMARY, TRANSCRIPT, in_steps, transcript


@pytest.fixture
def archive(tmp_path: Path) -> FsArchive:
    made = FsArchive(tmp_path / "archive", redactor=Redactor())
    made.write(transcript("demo", {"content": "first"}))
    made.write(transcript("demo", {"content": "second"}))
    made.write(transcript("../other"))
    made.append_event("demo", Event(EventName.ARCHIVAL, "demo", 1, 0.0, {"step": 1}))
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
        (edit(TRANSCRIPT, lambda data: data.replace(b'"messages":1', b'"messages":7')), "its trailer says 7"),
        (
            edit(TRANSCRIPT, lambda data: data.replace(b'"end":1,"chain":"', b'"end":1,"chain":"00')),
            "chain hash",
        ),
        (edit(TRANSCRIPT, lambda data: b""), "trailer is missing"),
        (edit(TRANSCRIPT, lambda data: data.replace(b'"version":2', b'"version":9')), "can't check: 9"),
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


def test_the_newest_transcript_alone_was_never_committed(tmp_path: Path) -> None:
    """Its writer was killed before the summary; what the event log or a later step knows must be there."""
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step in in_steps(2):
        archive.write(step)
    (archive.root / "demo" / "summary-002.json").unlink()
    assert verify(archive.root) == []
    archive.append_event("demo", Event(EventName.ARCHIVAL, "demo", 1, 0.0, {"step": 2}))
    assert [problem.what for problem in verify(archive.root)] == ["its summary summary-002.json is missing"]
    archive.write(in_steps(2)[1])
    (archive.root / "demo" / "summary-001.json").unlink()
    assert [problem.what for problem in verify(archive.root)] == ["its summary summary-001.json is missing"]


@pytest.mark.parametrize("gone", [(1,), (2,), (1, 2), (3,)])
def test_a_transcript_names_the_one_before_it(tmp_path: Path, gone: tuple[int, ...]) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step in in_steps(4):
        archive.write(step)
    assert verify(archive.root) == []
    for step in gone:
        for path in (archive.root / "demo").glob(f"*-{step:03d}.*"):
            path.unlink()
    (problem,) = verify(archive.root)
    assert problem.path.endswith(f"{max(gone) + 1:03d}.jsonl")
    assert problem.what.startswith(f"transcript-pre-compact-{max(gone):03d}.jsonl, which it goes on from, is")


def test_a_transcript_that_was_forged_with_its_hashes_is_told(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step in in_steps(2):
        archive.write(step)
    forged = FsArchive(tmp_path / "forged", redactor=Redactor())
    first = in_steps(1)[0]
    forged.write(replace(first, reason="forged"))
    for name in (TRANSCRIPT, SUMMARY):
        (archive.root / "demo" / name).write_bytes((forged.root / "demo" / name).read_bytes())
    assert [problem.what for problem in verify(archive.root)] == [
        f"{TRANSCRIPT}, which it goes on from, was changed since"
    ]


def test_a_transcript_that_goes_on_from_elsewhere_is_told(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    first, second = in_steps(2)
    archive.write(first)
    archive.write(replace(second, before=b"elsewhere"))
    assert ["the chain of messages is broken" in problem.what for problem in verify(archive.root)] == [True]


def as_first_version(path: Path) -> None:
    """A transcript as it was written before they named one another."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    header, trailer = lines[0]["_compact"], lines[-1]["_compact"]
    header["version"] = 1
    for name in ("first", "chain", "previous", "end"):
        header.pop(name, None)
        trailer.pop(name, None)
    content = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines[:-1])
    trailer["sha256"] = sha256(content).hexdigest()
    path.write_bytes(content + json.dumps(lines[-1]).encode() + b"\n")


def resign(path: Path, before: bytes, after: bytes) -> None:
    """A summary for a transcript whose trailer changed."""
    old, new = (json.loads(line)["_compact"]["sha256"] for line in (before, after))
    content = json.loads(path.read_text().replace(old, new))
    content["sha256"] = summary_digest(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("gone", "told"),
    [((1,), "step 001 is missing"), ((2,), "step 002 is missing"), ((2, 3), "steps 002 to 003 are missing")],
)
def test_a_step_that_is_gone_is_told(tmp_path: Path, gone: tuple[int, ...], told: str) -> None:
    """Where transcripts do not name one another, their numbers show it."""
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for step in range(1, 5):
        archive.write(transcript("demo", step=step))
        name = f"transcript-pre-compact-{step:03d}.jsonl"
        before = (archive.root / "demo" / name).read_bytes().splitlines()[-1]
        as_first_version(archive.root / "demo" / name)
        after = (archive.root / "demo" / name).read_bytes().splitlines()[-1]
        resign(archive.root / "demo" / f"summary-{step:03d}.json", before, after)
    assert verify(archive.root) == []
    for step in gone:
        for path in (archive.root / "demo").glob(f"*-{step:03d}.*"):
            path.unlink()
    for start in (archive.root, archive.root / "demo"):
        assert [told in problem.what for problem in verify(start)] == [True]


def test_a_huge_step_number_makes_one_problem(archive: FsArchive) -> None:
    archive.write(transcript("demo", step=10**9))
    path = archive.root / "demo" / f"transcript-pre-compact-{10**9}.jsonl"
    before = path.read_bytes().splitlines()[-1]
    as_first_version(path)
    resign(archive.root / "demo" / f"summary-{10**9}.json", before, path.read_bytes().splitlines()[-1])
    assert [problem.what[:29] for problem in verify(archive.root)] == ["steps 002 to 999999999 are mi"]


def log(tmp_path: Path, count: int = 6) -> tuple[FsArchive, Path]:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    for number in range(1, count + 1):
        # A long one, so that the last line is longer than one read from the end.
        archive.append_event("demo", {"name": "x", "number": number, "text": "y" * 90_000 * (number == 4)})
    path = archive.root / "demo" / "events.jsonl"
    assert verify(archive.root) == [] and len(path.read_bytes().splitlines()) == count
    return archive, path


def without(*numbers: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [line for n, line in enumerate(lines, 1) if n not in numbers]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (without(3), ["the line before it is gone or was changed"]),
        (without(2, 3, 4), ["3 lines before it are gone"]),
        (without(1), ["the line before it is gone or was changed"]),
        (without(6), ["is cut off: the newest 1 of 6 lines are gone"]),
        (without(5, 6), ["is cut off: the newest 2 of 6 lines are gone"]),
        (without(*range(7)), ["is cut off: the newest 6 of 6 lines are gone"]),
        (without(2, 6), ["the line before it is gone or was changed", "is cut off: the newest 1 of 6"]),
        (lambda lines: [lines[0].replace(b'"x"', b'"z"'), *lines[1:]], ["the line before it is gone or was"]),
        (
            lambda lines: [*lines[:5], lines[5].replace(b'"x"', b'"z"')],
            ["not the line that was written last"],
        ),
        (
            lambda lines: [*lines[:3], b'{"name":"forged"}\n', *lines[3:]],
            ["was added", "gone or was changed"],
        ),
        (lambda lines: [lines[1], lines[0], *lines[2:]], ["gone or was changed"] * 3),
    ],
)
def test_lines_of_events_that_are_gone_are_told(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], told: list[str]
) -> None:
    archive, path = log(tmp_path)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    found = [problem.what for problem in verify(archive.root)]
    assert len(found) == len(told) and all(part in what for part, what in zip(told, found, strict=True)), (
        found
    )


def test_an_event_log_that_is_gone_is_told(archive: FsArchive) -> None:
    (archive.root / "demo" / "events.jsonl").unlink()
    assert [problem.what for problem in verify(archive.root)] == ["is missing"]


def test_a_log_from_before_lines_were_linked_goes_on_and_is_checked_from_then(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    path = archive.root / "demo" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"name":"one"}\n{"name":"two"}\n')
    assert verify(archive.root) == []
    archive.append_event("demo", {"name": "three"})
    archive.append_event("demo", {})
    assert verify(archive.root) == []
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    assert [problem.line for problem in verify(archive.root)] == [2]


def test_half_a_line_of_a_writer_that_died_goes_and_the_log_goes_on(tmp_path: Path) -> None:
    archive, path = log(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"name":"ha')
    archive.append_event("demo", {"name": "next"})
    assert verify(archive.root) == [] and path.read_bytes().startswith(whole)
    # Stopped after the line and before its number was noted.
    (archive.root / ".heads" / "demo").write_bytes(
        b"6 " + line_digest(whole.splitlines()[5]).encode() + b"\n"
    )
    assert verify(archive.root) == []
    archive.append_event("demo", {"name": "after"})
    assert verify(archive.root) == [] and len(path.read_bytes().splitlines()) == 8


def test_events_of_a_bucket_are_checked_by_their_names(tmp_path: Path) -> None:
    line = b'{"name":"x","sequence":12}\n'
    path = tmp_path / "demo" / "events" / f"00000012-{sha256(line).hexdigest()[:16]}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(line)
    assert verify(tmp_path) == []
    path.write_bytes(line.replace(b"x", b"y"))
    assert [problem.what for problem in verify(tmp_path)] == [
        "was changed: its content does not match its name"
    ]
