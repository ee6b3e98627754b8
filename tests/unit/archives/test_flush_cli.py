"""`compact flush`, as a user calls it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from compact.archives.fs import FsArchive
from compact.archives.queue import QueuedArchive
from compact.archives.verify import verify
from compact.cli import main
from compact.redaction import Redactor
from compact.testing.archives import SUMMARY, TRANSCRIPT, transcript
from support.cli import Ended


def flush(*options: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    code = main(["flush", *options], stdin=io.StringIO(), stdout=out, stderr=err, environ={})
    return Ended(int(code), out.getvalue(), err.getvalue())


@pytest.fixture
def blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive whose folder cannot be made, with a transcript that waits for it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".compact" / "archive"
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    archive = QueuedArchive(FsArchive(".compact/archive", redactor=Redactor()))
    assert archive.write(transcript()).startswith("queued:")
    return folder


def test_what_waits_goes_when_the_archive_is_back(blocked: Path) -> None:
    still = flush("--json")
    assert still.code == 4 and still.json["sent"] == 0 and still.json["waiting"] == 2
    assert still.json["problem"].endswith("or no folder; links are refused.")
    assert "still queued in .compact/spool: 2 files. The archive " in still.err
    assert "run `compact flush` again" in still.err
    # The compaction was done when the files were queued.
    assert "Nothing was compacted" not in still.err and "Nothing was compacted" not in still.out
    blocked.unlink()
    done = flush()
    assert done.code == 0 and done.out.startswith("2 files sent to ")
    assert f"sent demo/{TRANSCRIPT}" in done.err and f"sent demo/{SUMMARY}" in done.err
    assert (blocked / "demo" / TRANSCRIPT).exists() and verify(blocked) == []
    assert flush().out == "nothing to send\n"


def test_files_of_another_archive_stay(blocked: Path) -> None:
    ended = flush("--json", "--set", "archive.path=elsewhere")
    assert ended.code == 0 and ended.json["of_other_archives"] == 2
    assert "stay in .compact/spool" in ended.err and not Path("elsewhere/demo").exists()


def test_without_an_archive_it_is_told(blocked: Path) -> None:
    ended = flush("--set", "archive.adapter=none")
    assert ended.code == 2 and "no archive to send to" in ended.err


def test_an_archive_that_no_compaction_has_begun_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, err = io.StringIO(), io.StringIO()
    assert main(["verify"], stdin=io.StringIO(), stdout=out, stderr=err, environ={}) == 0
    assert "nothing was archived yet" in err.getvalue()
    # A path that somebody names has to be there.
    assert main(["verify", "elsewhere"], stdin=io.StringIO(), stdout=out, stderr=err, environ={}) == 1
