"""The archive on disk: links refused, modes tight, nothing half written."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compact.archives import fs
from compact.archives.fs import FsArchive, delete_unused
from compact.archives.none import NoArchive
from compact.archives.verify import verify
from compact.errors import ArchiveError
from compact.model.message import MessageKind, Origin, Role, make
from compact.model.record import Transcript
from compact.redaction import Redactor
from compact.testing.archives import HOSTILE_IDS, SUMMARY, TRANSCRIPT, messages_of, transcript


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    FsArchive(root, redactor=Redactor()).write(transcript())
    FsArchive(root, redactor=Redactor()).append_event("demo", {"name": "x"})
    modes = {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert modes.pop("demo") == modes.pop(".heads") == 0o700
    names = (TRANSCRIPT, SUMMARY, "events.jsonl")
    assert set(modes) == {".gitignore", ".heads/demo", *(f"demo/{name}" for name in names)}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_the_folder_ignores_itself_for_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    FsArchive(tmp_path / ".compact" / "archive", redactor=Redactor()).write(transcript())
    command = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b""


def test_only_unused_folders_of_those_sessions_are_deleted(tmp_path: Path) -> None:
    root, now = tmp_path / "archive", 1_000_000.0
    assert delete_unused(root, now, ["old"]) == set() and not root.exists()
    archive = FsArchive(root, redactor=Redactor())
    for name in ("old", "used", "of-people"):
        archive.write(transcript(name))
        archive.append_event(name, {"name": "x"})
        for file in (root / name).iterdir():
            os.utime(file, (now - 100, now - 100))
    os.utime(root / "used" / "events.jsonl", (now, now))
    (root / "link").symlink_to(root / "of-people")
    assert delete_unused(root, now - 50, ["gone", "old", "used", "link"]) == {"used"}
    assert {path.name for path in root.iterdir()} == {".gitignore", ".heads", "used", "of-people", "link"}
    assert {path.name for path in (root / ".heads").iterdir()} == {"used", "of-people"}
    (root / "link").unlink()
    assert not verify(root) and len(list((root / "of-people").iterdir())) == 3


def test_a_writer_that_waited_for_the_deletion_makes_the_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, locks = tmp_path / "archive", fs._lock
    archive = FsArchive(root, redactor=Redactor())
    archive.write(transcript("old"))

    def late(directory: int) -> None:
        monkeypatch.setattr(fs, "_lock", locks)
        assert delete_unused(root, float("inf"), ["old"]) == set()
        locks(directory)

    monkeypatch.setattr(fs, "_lock", late)
    archive.append_event("old", {"name": "x"})
    assert [path.name for path in (root / "old").iterdir()] == ["events.jsonl"]


def test_two_that_delete_at_once_do_not_hinder_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, locks, names = tmp_path / "archive", fs._lock, ["a", "b", "c"]
    archive = FsArchive(root, redactor=Redactor())
    for name in names:
        archive.write(transcript(name))

    def late(directory: int) -> None:
        monkeypatch.setattr(fs, "_lock", locks)
        assert delete_unused(root, float("inf"), ["a"]) == set()
        locks(directory)

    monkeypatch.setattr(fs, "_lock", late)
    assert delete_unused(root, float("inf"), names) == set()
    assert [path.name for path in root.iterdir()] == [".gitignore"]


def test_a_folder_that_cannot_be_deleted_does_not_stop_the_others(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name / ("below" if name == "b" else "")).mkdir(parents=True)
    with pytest.raises(ArchiveError, match="1 old folder"):
        delete_unused(tmp_path, float("inf"), ["a", "b", "c"])
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EACCES])
def test_a_root_that_cannot_be_opened_is_an_archive_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    class Os:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def open(self, *_: Any, **__: Any) -> int:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fs, "os", Os())
    with pytest.raises(ArchiveError, match="Nothing was deleted"):
        delete_unused(tmp_path, 0.0, ["a"])


def test_nothing_lands_outside(tmp_path: Path) -> None:
    root = tmp_path / "a" / "archive"
    archive = FsArchive(root, redactor=Redactor())
    for session_id in HOSTILE_IDS:
        archive.write(transcript(session_id))
        archive.append_event(session_id, {"name": "x"})
    assert {path.name for path in tmp_path.iterdir()} == {"a"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"archive"}
    folders = [path for path in root.iterdir() if path.is_dir() and path.name != ".heads"]
    assert len(folders) == len(HOSTILE_IDS)
    assert {path.name for path in (root / ".heads").iterdir()} == {path.name for path in folders}
    assert all(
        {file.name for file in folder.iterdir()} == {TRANSCRIPT, SUMMARY, "events.jsonl"}
        for folder in folders
    )


def test_a_linked_session_folder_is_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "archive", tmp_path / "elsewhere"
    elsewhere.mkdir()
    FsArchive(root, redactor=Redactor()).write(transcript("other"))
    (root / "demo").symlink_to(elsewhere)
    with pytest.raises(ArchiveError, match="links are refused"):
        FsArchive(root, redactor=Redactor()).write(transcript())
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", [TRANSCRIPT, SUMMARY, "events.jsonl"])
def test_a_linked_file_is_refused(tmp_path: Path, name: str) -> None:
    root, victim = tmp_path / "archive", tmp_path / "victim"
    victim.write_text("untouched")
    FsArchive(root, redactor=Redactor()).write(transcript("other"))
    (root / "demo").mkdir()
    (root / "demo" / name).symlink_to(victim)
    with pytest.raises(ArchiveError, match="links are refused"):
        FsArchive(root, redactor=Redactor()).write(transcript())
        FsArchive(root, redactor=Redactor()).append_event("demo", {"name": "x"})
    assert victim.read_text() == "untouched"


def test_a_linked_root_is_refused_also_in_a_working_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / ".compact").symlink_to(elsewhere)
    monkeypatch.chdir(copy)
    with pytest.raises(ArchiveError, match="links are refused"):
        FsArchive(redactor=Redactor()).write(transcript())
    (tmp_path / "root").symlink_to(elsewhere)
    with pytest.raises(ArchiveError, match="links are refused"):
        FsArchive(tmp_path / "root", redactor=Redactor()).write(transcript())
    assert list(elsewhere.iterdir()) == []


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    folder = tmp_path / "archive" / "demo"
    folder.mkdir(parents=True)
    os.mkfifo(folder / TRANSCRIPT)
    os.mkfifo(folder / "events.jsonl")
    with pytest.raises(ArchiveError):
        FsArchive(tmp_path / "archive", redactor=Redactor()).write(transcript())
    with pytest.raises(ArchiveError):
        FsArchive(tmp_path / "archive", redactor=Redactor()).append_event("demo", {"name": "x"})


def test_an_error_says_what_is_missing(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    (tmp_path / "archive" / "demo" / "events.jsonl").mkdir(parents=True)
    with pytest.raises(ArchiveError, match="An event is missing there, and no partial line was left"):
        archive.append_event("demo", {"name": "x"})
    (tmp_path / "archive" / "demo" / TRANSCRIPT).mkdir()
    with pytest.raises(ArchiveError, match="Nothing was compacted, and no partial file was left there"):
        archive.write(transcript())


def test_what_a_dead_writer_left_is_cleared_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    with monkeypatch.context() as dying:
        # A killed process neither renames nor deletes what it was writing.
        dying.setattr(fs, "os", DyingAt("rename", "unlink"))
        for write in (partial(archive.write, transcript()), partial(archive.append_event, "demo", {"n": 1})):
            with pytest.raises(_Died):
                write()
    assert len(list(archive.root.rglob(".tmp-*"))) == 2
    archive.write(transcript())
    archive.append_event("demo", {"n": 2})
    assert not list(archive.root.rglob(".tmp-*"))
    assert verify(archive.root) == []


def test_temporary_files_of_earlier_versions_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    FsArchive(root, redactor=Redactor()).write(transcript())
    (root / "demo" / ".tmp-0123456789abcdef").write_text("half a transcript")
    (root / "demo" / ".tmp-folder").mkdir()
    FsArchive(root, redactor=Redactor()).append_event("demo", {"n": 1})
    assert [path.name for path in (root / "demo").glob(".tmp-*")] == [".tmp-folder"]


class _Died(BaseException):
    pass


class DyingAt:
    """The module `os` for a process that is killed when it calls one of these functions."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        def die(*args: object, **more: object) -> None:
            raise _Died(name)

        return die if name in self._names else getattr(os, name)


def test_a_write_does_not_list_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    archive.write(transcript())  # The first one looks for what earlier versions left.
    monkeypatch.setattr(fs, "os", DyingAt("listdir", "scandir", "walk"))
    archive.write(transcript())
    archive.append_event("demo", {"n": 1})


def test_a_session_id_that_is_a_secret_names_no_folder(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    archive.write(transcript(secret))
    assert all(secret not in str(path) for path in archive.root.rglob("*"))
    assert all(secret not in path.read_text() for path in archive.root.rglob("*") if path.is_file())


def test_messages_of_ours_and_shared_objects(tmp_path: Path) -> None:
    source = {"role": "assistant", "parts": ["one", "two"]}
    first, second = messages_of(source, source)
    second = type(second)(
        **{f: getattr(second, f) for f in second.__slots__} | {"origin": Origin(0, source, 1, 2)}
    )
    ours = make(MessageKind.SUMMARY, Role.ASSISTANT, "what was done; password=x")
    archive = FsArchive(tmp_path / "archive", redactor=Redactor())
    archive.write(Transcript("demo", 1, [first, second, ours]))
    lines = [json.loads(line) for line in (archive.root / "demo" / TRANSCRIPT).read_text().splitlines()]
    assert lines[1]["parts"] == ["one", "two"]
    assert set(lines[2]) == {"_compact"} and lines[2]["_compact"]["part"] == 1
    assert lines[3]["parts"] == [{"type": "Text", "text": "what was done; password=<REDACTED>"}]
    assert lines[3]["_compact"]["kind"] == "summary"


def test_unredacted_by_choice_says_so_in_the_header(tmp_path: Path) -> None:
    archive = FsArchive(tmp_path / "archive", redactor=Redactor(enabled=False))
    archive.write(transcript("demo", {"content": "password=x"}))
    lines = (archive.root / "demo" / TRANSCRIPT).read_text().splitlines()
    assert json.loads(lines[0])["_compact"]["redacted"] is False
    assert "password=x" in lines[1]


def test_none_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert NoArchive().write(transcript()) == ""
    NoArchive().append_event("demo", {"name": "x"})
    assert list(tmp_path.iterdir()) == []
