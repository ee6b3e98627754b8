"""S4.14: archived before pruning, under the names that the requirement gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compact.archives.fs import DEFAULT_ROOT, FsArchive
from compact.archives.s3 import S3Archive
from compact.model.event import Event, EventName
from compact.redaction import Redactor
from compact.testing.archives import transcript


@pytest.mark.spec("S4.14")
def test_names_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    archive = FsArchive(redactor=Redactor())
    location = archive.write(transcript("demo", {"role": "user", "content": "api_key=sk-abc123"}, step=7))
    archive.append_event(
        "demo", Event(EventName.ARCHIVAL, "demo", 1, 0.0, {"step": 7, "file_path": location})
    )
    assert DEFAULT_ROOT == ".compact/archive"
    assert location == ".compact/archive/demo/transcript-pre-compact-007.jsonl"
    folder = tmp_path / ".compact" / "archive"
    assert (folder / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in (folder / "demo").iterdir()) == [
        "events.jsonl",
        "summary-007.json",
        "transcript-pre-compact-007.jsonl",
    ]
    lines = (folder / "demo" / "transcript-pre-compact-007.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["content"] == "api_key=<REDACTED>"
    assert json.loads((folder / "demo" / "summary-007.json").read_text())["summary"] == "so far"
    assert json.loads((folder / "demo" / "events.jsonl").read_text())["name"] == "compact.archival"


@pytest.mark.spec("S4.14")
def test_s3_takes_no_credentials() -> None:
    names = set(S3Archive.__init__.__annotations__)
    assert not any(word in name for name in names for word in ("access", "secret", "token", "password"))
