"""S4.14: archived before pruning, under the names that the requirement gives, by a manager at work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.archives.fs import DEFAULT_ROOT
from compact.archives.s3 import S3Archive
from compact.archives.verify import verify
from compact.testing.scripted import EchoSummarizer
from support.raw import Raw, assistant, pairs, system, user

FOLDER = Path(DEFAULT_ROOT) / "demo"


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompactManager:
    """With the default archive, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return new_manager()


def new_manager(**settings: Any) -> CompactManager:
    config = CompactConfig(
        max_context_tokens=2_000,
        preset="chat",
        counter="chars4",
        policy={"hard_cap_buffer": 100},
        **settings,
    )
    return CompactManager(config, EchoSummarizer())


def archived(folder: Path = FOLDER) -> list[list[Raw]]:
    """The lines of each transcript, in the order of their steps."""
    files = sorted(folder.glob("transcript-pre-compact-???.jsonl"))
    return [[json.loads(line) for line in file.read_bytes().splitlines()] for file in files]


def without_ours(lines: list[Raw], is_system: bool) -> list[Raw]:
    bodies = [line for line in lines[1:-1] if bool(line["_compact"].get("system")) is is_system]
    return [{key: value for key, value in line.items() if key != "_compact"} for line in bodies]


def conversation(turns: int) -> list[Raw]:
    return [system(20), *pairs(turns), user("the newest")]


@pytest.mark.spec("S4.14")
def test_names_on_disk(manager: CompactManager) -> None:
    assert DEFAULT_ROOT == ".compact/archive"
    messages = conversation(20)
    messages[1]["content"] += " api_key=sk-abc123"
    assert len(manager.preflight("demo", messages)) < len(messages)
    manager.flush()
    assert (Path(DEFAULT_ROOT) / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in FOLDER.iterdir()) == [
        "events.jsonl",
        "summary-001.json",
        "transcript-pre-compact-001.jsonl",
    ]
    assert "api_key=<REDACTED>" in without_ours(archived()[0], is_system=False)[0]["content"]
    summary = json.loads((FOLDER / "summary-001.json").read_text())
    assert summary["summary"] == manager.records("demo")[0].summary != ""
    names = [json.loads(line)["name"] for line in (FOLDER / "events.jsonl").read_bytes().splitlines()]
    assert "compact.archival" in names and verify(DEFAULT_ROOT) == []


@pytest.mark.spec("S4.14")
@pytest.mark.parametrize("adopts", [False, True])
def test_all_transcripts_together_are_the_conversation_each_message_once(
    manager: CompactManager, adopts: bool
) -> None:
    said, sent = conversation(20), conversation(20)
    for n in range(40):
        out = manager.preflight("demo", sent)
        sent = list(out) if adopts else sent
        for message in (assistant(f"answer {n}", 60), user(f"question {n}", 60)):
            said.append(message)
            sent.append(message)
    manager.manual_compact("demo", sent)
    files = archived()
    assert len(files) >= 4
    assert [line for lines in files for line in without_ours(lines, is_system=False)] == said[1:]
    assert all(without_ours(lines, is_system=True) == said[:1] for lines in files)
    headers, trailers = ([lines[n]["_compact"] for lines in files] for n in (0, -1))
    for before, header in zip(trailers, headers[1:], strict=False):
        assert (header["first"], header["chain"]) == (before["end"], before["chain"])
        assert header["previous"]["sha256"] == before["sha256"]
    manager.flush()
    assert verify(DEFAULT_ROOT) == []


@pytest.mark.spec("S4.14")
def test_another_process_goes_on_from_the_last_transcript(manager: CompactManager, tmp_path: Path) -> None:
    said = conversation(20)
    for n in range(4):
        with new_manager(storage={"url": f"sqlite:///{tmp_path}/s.db"}) as another:
            another.manual_compact("demo", said)
            said += pairs(6, first=100 * n)
    files = archived()
    assert len(files) == 4
    found = [line for lines in files for line in without_ours(lines, is_system=False)]
    assert found == said[1 : len(found) + 1]
    assert verify(DEFAULT_ROOT) == []


@pytest.mark.spec("S4.14")
def test_what_is_cleared_is_archived_and_the_next_step_goes_on_from_there(manager: CompactManager) -> None:
    messages = conversation(20)
    manager.preflight("demo", messages)
    messages += [assistant("an answer"), user("one more")]
    manager.clear("demo", messages)
    assert verify(DEFAULT_ROOT) == [] and len(archived()) == 2
    messages += pairs(25, first=100)
    manager.manual_compact("demo", messages)
    manager.flush()
    files = archived()
    assert [line for lines in files for line in without_ours(lines, is_system=False)] == messages[1:]
    assert verify(DEFAULT_ROOT) == []


@pytest.mark.spec("S4.14")
def test_an_undone_step_leaves_a_sound_archive(manager: CompactManager) -> None:
    messages = conversation(20)
    manager.preflight("demo", messages)
    assert manager.restore("demo", 1) == messages
    messages += [assistant("an answer"), user("one more")]
    manager.manual_compact("demo", messages)
    manager.flush()
    assert verify(DEFAULT_ROOT) == []
    assert [line for lines in archived() for line in without_ours(lines, is_system=False)] == messages[1:]


@pytest.mark.spec("S4.14")
@pytest.mark.spec("S5.4")
def test_a_session_that_uses_the_record_of_another_has_its_own_transcript(manager: CompactManager) -> None:
    messages = conversation(20)
    manager.preflight("demo", messages)
    messages += [assistant("an answer"), user("one more")]
    manager.preflight("other", messages)
    assert [record.session_id for record in manager.records("other")] == ["other"]
    for n in range(20):
        messages += [assistant(f"answer {n}", 60), user(f"question {n}", 60)]
        manager.preflight("other", messages)
    manager.manual_compact("other", messages)
    manager.flush()
    files = archived(FOLDER.with_name("other"))
    assert len(files) >= 3
    assert [line for lines in files for line in without_ours(lines, is_system=False)] == messages[1:]
    assert verify(DEFAULT_ROOT) == []


@pytest.mark.spec("S4.14")
def test_a_history_that_was_edited_goes_on_from_what_it_shares(manager: CompactManager) -> None:
    messages = conversation(20)
    manager.preflight("demo", messages)
    edited = [*messages[:-1], user("another question"), assistant("fine"), *pairs(25, first=200)]
    manager.manual_compact("demo", edited)
    manager.flush()
    assert verify(DEFAULT_ROOT) == []
    found = [line for lines in archived() for line in without_ours(lines, is_system=False)]
    assert all(message in found for message in (*messages[1:], *edited[1:]))


@pytest.mark.spec("S4.14")
def test_a_system_prompt_given_apart_is_archived(manager: CompactManager) -> None:
    manager.prepare("demo", [*pairs(20), user("the newest")], system="Be brief. password=hunter2hunter2")
    (line,) = without_ours(archived()[0], is_system=True)
    assert line == {"role": "system", "content": "Be brief. password=<REDACTED>"}


@pytest.mark.spec("S4.14")
def test_none_switches_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    manager = new_manager(archive={"adapter": "none"})
    manager.preflight("demo", conversation(20))
    manager.flush()
    assert len(manager.records("demo")) == 1 and not Path(".compact").exists()


@pytest.mark.spec("S4.14")
def test_s3_takes_no_credentials() -> None:
    names = set(S3Archive.__init__.__annotations__)
    assert not any(word in name for name in names for word in ("access", "secret", "token", "password"))
