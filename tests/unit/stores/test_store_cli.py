"""history, restore, recall, export, import and verify, as a user calls them."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from compact.cli import main
from compact.cli.commands import export
from compact.console.exits import ExitCode
from compact.console.folders import data_folder
from compact.stores import open_store
from support.cli import Compact, Ended
from support.raw import LONG_ENOUGH, Desk, assistant, pairs, system, user

LONG = [*pairs(16), user("the newest, about conf/keys.toml")]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/sessions.db"


@pytest.fixture
def compact(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compact:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # The studio keeps its sessions there.

    def run(*argv: str, store: str | None = url) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        named = ["--store", store] if store is not None else []
        code = main([*argv, *named], stdin=io.StringIO(), stdout=out, stderr=err, environ={})
        return Ended(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def session(url: str) -> list[dict[str, Any]]:
    with open_store(url) as store:
        Desk("chat", 2_000, store=store).preflight(LONG, "talk")
    return LONG


def test_history_lists_sessions_and_their_compactions(compact: Compact, session: list[Any]) -> None:
    assert "talk  33 messages, 1 compaction" in compact("history").out
    (shown,) = compact("history", "--json").json["sessions"]
    assert shown["session_id"] == "talk" and shown["compaction_count"] == 1
    assert "  1  " in compact("history", "talk").out
    assert max(map(len, compact("history", "talk").out.splitlines())) <= 80
    (record,) = compact("history", "talk", "--json").json["compactions"]
    assert record["step"] == 1 and not record["undone"]


def test_history_tells_no_secret(compact: Compact, url: str) -> None:
    secret = "sk-abc123def456ghi789jkl"
    with open_store(url) as store:
        desk = Desk("chat", 2_000, store=store, summarizer=lambda request: f"{LONG_ENOUGH} api_key={secret}")
        desk.manager.manual_compact("talk", LONG, note=f"keep api_key={secret}")
        store.put_session("talk", title=f"api_key={secret}")
        assert secret in store.records("talk")[0].summary
    for asked in (["history"], ["history", "--json"], ["history", "talk"], ["history", "talk", "--json"]):
        told = compact(*asked)
        assert told.code == ExitCode.OK and secret not in told.out, asked
    (record,) = compact("history", "talk", "--json").json["compactions"]
    assert record["note"] == "keep api_key=<REDACTED>" and record["summary"].endswith("api_key=<REDACTED>")
    # As with every other way out, only who switches redaction off sees it, and is warned.
    told = compact("history", "--json", "--set", "redaction.enabled=false")
    assert secret in told.out and "Redaction is disabled" in told.err


def test_restore_undoes_and_history_says_so(compact: Compact, session: list[Any], url: str) -> None:
    done = compact("restore", "talk", "1")
    assert done.code == ExitCode.OK and "33 messages go out as they were" in done.out
    assert "(undone)" in compact("history", "talk").out
    with open_store(url) as store:
        assert Desk("chat", 20_000, store=store).preflight(session, "talk") == session
    wrong = compact("restore", "talk", "7")
    assert wrong.code == ExitCode.USAGE and "no compaction 7" in wrong.err


def test_restore_says_what_is_in_force_afterwards(compact: Compact, url: str) -> None:
    with open_store(url) as store:
        desk = Desk("chat", 2_000, store=store)
        desk.preflight(LONG, "talk")
        desk.preflight([*LONG, *pairs(16, first=100), user("and more")], "talk")
    done = compact("restore", "talk", "2", "--json")
    assert done.json["in_force"] == 1
    again = compact("restore", "talk", "2")
    assert again.code == ExitCode.USAGE
    assert "Compaction 2 of talk was already undone; nothing was changed" in again.err
    assert "compaction 1 is in force" in again.err
    assert "66 messages go out as they were" in compact("restore", "talk", "1").out
    assert "no compaction is in force" in compact("restore", "talk", "1").err


def test_recall_finds_by_words(compact: Compact, session: list[Any]) -> None:
    found = compact("recall", "talk", "keys.toml")
    assert "conf/keys.toml" in found.out and "not an instruction" in found.out
    assert compact("recall", "talk", "keys.toml", "--json").json["found"][0]["position"] == 32
    for missing in ("xylophone", "r-0000000000", "s-0000000000"):
        nothing = compact("recall", "talk", missing)
        assert nothing.code == ExitCode.FINDINGS and nothing.out == ""
        assert "Nothing in the history" in nothing.err
        nothing = compact("recall", "talk", missing, "--json")
        assert nothing.code == ExitCode.FINDINGS and nothing.json == {"found": []}
    for empty in ("", "  "):
        told = compact("recall", "talk", empty)
        assert told.code == ExitCode.USAGE and told.out == "" and "QUERY is empty" in told.err


def test_what_is_exported_can_be_imported(compact: Compact, session: list[Any], tmp_path: Path) -> None:
    assert compact("export", "talk", "-o", "talk.jsonl").code == ExitCode.OK
    lines = (tmp_path / "talk.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == session
    again = compact("export", "talk", "-o", "talk.jsonl")
    assert again.code == ExitCode.FAILED and "Name another file" in again.err
    done = compact("import", "talk.jsonl", "copy")
    assert done.code == ExitCode.OK and "33 messages appended to copy" in done.err
    assert compact("export", "copy").out == compact("export", "talk").out
    tokens = {kept["session_id"]: kept["tokens"] for kept in compact("history", "--json").json["sessions"]}
    assert tokens["copy"] > 1_000


def test_what_a_session_holds_already_is_imported_again_only_where_that_is_meant(
    compact: Compact, tmp_path: Path
) -> None:
    def written(name: str, messages: list[Any]) -> str:
        (tmp_path / name).write_text("".join(json.dumps(message) + "\n" for message in messages))
        return name

    def contents() -> list[Any]:
        return [json.loads(line) for line in compact("export", "talk").out.splitlines()]

    talk = [user("which port?"), assistant("5432"), user("thanks")]
    first = written("first.jsonl", [system(), *talk])
    assert compact("import", first, "talk").code == ExitCode.OK
    again = compact("import", first, "talk")
    assert again.code == ExitCode.USAGE and contents() == talk
    assert "talk holds these 3 messages already. Nothing was stored" in again.err and "--again" in again.err
    nameless = compact("import", first, "")
    assert nameless.code == ExitCode.USAGE and "SESSION is empty" in nameless.err
    # More of it is appended, without its system prompt; then both ends of the session are known.
    more = [assistant("you are welcome")]
    assert compact("import", written("more.jsonl", [system(), *more]), "talk").code == ExitCode.OK
    assert contents() == [*talk, *more]
    for name in ("first.jsonl", "more.jsonl"):
        assert compact("import", name, "talk").code == ExitCode.USAGE, name
    assert "holds this message already" in compact("import", "more.jsonl", "talk").err
    assert compact("import", "more.jsonl", "talk", "--again").code == ExitCode.OK
    assert contents() == [*talk, *more, *more]


@pytest.mark.spec("S4.15")
def test_an_export_replaces_a_file_where_that_is_asked_for(
    compact: Compact, session: list[Any], tmp_path: Path
) -> None:
    whole = compact("export", "talk").out
    mine, link = tmp_path / "mine.jsonl", tmp_path / "link.jsonl"
    mine.write_text("mine\n")
    mine.chmod(0o640)
    link.symlink_to(mine)
    kept = compact("export", "talk", "-o", "mine.jsonl")
    assert kept.code == ExitCode.FAILED and "--force" in kept.err and mine.read_text() == "mine\n"
    assert compact("export", "talk", "-o", "link.jsonl", "--force").code == ExitCode.OK
    assert mine.read_text() == whole and link.is_symlink() and mine.stat().st_mode & 0o777 == 0o640
    assert compact("export", "talk", "-o", "new.jsonl", "--force").code == ExitCode.OK
    assert (tmp_path / "new.jsonl").read_text() == whole
    assert compact("export", "talk", "-o", os.devnull, "--force").code == ExitCode.OK
    assert not Path(os.devnull).is_file()


def test_an_export_that_breaks_off_leaves_the_file_that_it_would_replace(
    compact: Compact, session: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.jsonl").write_text("mine\n")
    before = set(tmp_path.iterdir())

    def full(_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "to_json", full)
    broken = compact("export", "talk", "-o", "mine.jsonl", "--force")
    assert broken.code == ExitCode.FAILED and "No space left" in broken.err
    assert (tmp_path / "mine.jsonl").read_text() == "mine\n" and set(tmp_path.iterdir()) == before


def test_an_export_is_redacted_and_the_store_is_not(compact: Compact, url: str) -> None:
    with open_store(url) as store:
        Desk(store=store).preflight(
            [user("one"), {"role": "assistant", "content": "api_key=sk-abc123def456"}]
        )
        shown = compact("export", "s").out
        assert "sk-abc123" not in shown and "api_key=<REDACTED>" in shown
        assert "sk-abc123def456" in [m.text for m in store.originals("s")][1]


def test_an_export_without_redaction_warns_first_and_says_so(
    compact: Compact, url: str, tmp_path: Path
) -> None:
    with open_store(url) as store:
        Desk(store=store).preflight([user("password=hunter2horse")])
    (tmp_path / "open.yaml").write_text("model: gpt-4o\nredaction:\n  enabled: false\n")
    done = compact("export", "s", "--config", "open.yaml")
    assert "hunter2horse" in done.out
    assert (
        done.err.startswith("warning: Redaction is disabled") and "1 message of s, NOT redacted" in done.err
    )


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_new_database_is_its_owners_alone(url: str, tmp_path: Path) -> None:
    with open_store(url) as store:
        Desk(store=store).preflight([user("one")])
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("sessions.db*")}
    assert len(modes) >= 2 and set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no message"),
        ("{", "line 1 is not JSON"),
        ('{"role": "user", "content": "fine"}\nnot json\n', "line 2 is not JSON"),
        ('{"role": "user", "content": "fine"}\n[1]\n', "line 2 is not a message"),
        ('{"role": "user", "content": "fine"}\n{"role": "nobody", "content": 5}\n', ""),
        ('{"role": "user", "content": ' + "[" * 100 + "]" * 100 + "}\n", "line 1 is not a message"),
        ("[" * 200_000, "line 1 is not JSON"),
        ('{\n "messages": []\n}\n', "holds no message"),
        ('{\n "other": []\n}\n', "must hold one message a line, as `compact export` writes it"),
        ('{"messages": [5]}\n', "message 1 is not a message"),
        ('[{"messages": []}, {"messages": []}]', "holds 2 conversations"),
    ],
)
def test_a_bad_file_is_refused_and_changes_nothing(
    compact: Compact, url: str, tmp_path: Path, text: str, told: str
) -> None:
    with open_store(url) as store:
        Desk(store=store).preflight([user("one"), assistant("two")])
        (tmp_path / "bad.jsonl").write_text(text)
        done = compact("import", "bad.jsonl", "s")
        assert done.code == ExitCode.USAGE and told in done.err
        assert len(list(store.originals("s"))) == 2 and len(store.sessions()) == 1


@pytest.mark.parametrize("shape", ["body", "printed body", "list", "printed list", "packed body"])
def test_a_whole_conversation_can_be_imported(compact: Compact, url: str, tmp_path: Path, shape: str) -> None:
    value = [system(), *LONG] if "list" in shape else {"model": "gpt-4o", "messages": [system(), *LONG]}
    data = json.dumps(value, indent=1 if "printed" in shape else None).encode()
    (tmp_path / "whole.json").write_bytes(gzip.compress(data) if "packed" in shape else data)
    done = compact("import", "whole.json", "talk")
    assert done.code == ExitCode.OK, done.err
    with open_store(url) as store:
        assert [m.origin.source for m in store.originals("talk") if m.origin] == LONG


def test_the_shipped_samples_can_be_imported(compact: Compact) -> None:
    examples = Path(__file__).parents[3] / "examples"
    for name in ("sample_session.json", "demo_chat.json"):
        assert compact("import", str(examples / name), name).code == ExitCode.OK


def test_a_system_prompt_is_no_part_of_the_history(compact: Compact, url: str, tmp_path: Path) -> None:
    history = [system(), *LONG]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(message) + "\n" for message in history))
    compact("import", "talk.jsonl", "talk")
    with open_store(url) as store:
        Desk("chat", 20_000, store=store).preflight([*history, assistant("fine")], "talk")
        assert [m.origin.source for m in store.originals("talk") if m.origin] == [*LONG, assistant("fine")]


def test_a_store_or_a_session_that_is_not_there(compact: Compact, session: list[Any], tmp_path: Path) -> None:
    for argv in (["history"], ["export", "x"], ["recall", "x", "y"], ["restore", "x", "1"]):
        gone = compact(*argv, store=f"sqlite:///{tmp_path}/gone.db")
        assert gone.code == ExitCode.FAILED and "no session store" in gone.err
        assert not (tmp_path / "gone.db").exists()
    unknown = compact("export", "nobody")
    assert unknown.code == ExitCode.USAGE and "The newest are: talk" in unknown.err
    no_step = compact("restore", "talk", "77")
    assert no_step.code == ExitCode.USAGE and "has no compaction 77" in no_step.err
    nowhere = compact("history", store=None).err
    assert "`compact chat`, `compact studio`, `compact import` or a program" in nowhere
    assert ".compact/sessions.db or " in nowhere and "studio.db" in nowhere


def test_sessions_of_the_studio_are_found_without_a_store(compact: Compact, tmp_path: Path) -> None:
    studio = data_folder({}) / "studio.db"
    studio.parent.mkdir(parents=True)
    with open_store(f"sqlite:///{studio}") as store:
        Desk("chat", 2_000, store=store).preflight(LONG, "in-studio")
    assert "in-studio  33 messages, 1 compaction" in compact("history", store=None).out
    assert "26 messages replaced" in compact("history", "in-studio", store=None).out
    assert "conf/keys.toml" in compact("recall", "in-studio", "keys.toml", store=None).out
    assert not (tmp_path / ".compact").exists(), "looking creates nothing"

    (tmp_path / ".compact").mkdir()
    with open_store("sqlite:///.compact/sessions.db") as store:
        Desk("chat", 2_000, store=store).preflight(LONG[:3], "in-terminal")
    both = compact("history", store=None)
    assert [line.split()[2] for line in both.out.splitlines()] == ["in-terminal", "in-studio"]
    assert f"sessions in sqlite:///{studio}" in both.err
    places = [each["store"] for each in compact("history", "--json", store=None).json["sessions"]]
    assert places == ["sqlite:///.compact/sessions.db", f"sqlite:///{studio}"]
    assert compact("restore", "in-studio", "1", store=None).code == ExitCode.OK
    unknown = compact("recall", "nobody", "keys", store=None).err
    assert f"in sqlite:///.compact/sessions.db and sqlite:///{studio}" in unknown
    assert "in-terminal, in-studio" in unknown


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("nope.db", "--store 'nope.db' is not a database URL; try --store sqlite:///nope.db"),
        ("", "try --store sqlite:///sessions.db"),
        ("mysql://host/x", "--store must begin with sqlite:// or postgresql:// (got mysql://)"),
        ("me:secret-word@host/x", "--store is not a database URL"),
    ],
)
def test_a_store_that_is_no_database_url_is_told(
    compact: Compact, tmp_path: Path, store: str, told: str
) -> None:
    for argv in (["history"], ["chat", "--text"]):
        ended = compact(*argv, store=store)
        assert ended.code == ExitCode.USAGE and told in ended.err, argv
        assert "SQLAlchemy" not in ended.err and "secret-word" not in ended.err
    assert list(tmp_path.iterdir()) == []
    ended = compact("history", "--set", "storage.url=nope.db", store=None)
    assert ended.code == ExitCode.USAGE and "storage.url must be a database URL, such as" in ended.err


def test_verify_finds_what_was_changed(compact: Compact, tmp_path: Path) -> None:
    from compact.archives.fs import FsArchive
    from compact.config import CompactConfig
    from compact.formats import by_name, decode_all
    from compact.model.record import Transcript
    from compact.wiring.adapters import redactor_for

    archive = FsArchive(tmp_path / "archive", redactor=redactor_for(CompactConfig()))
    where = archive.write(Transcript("s", 1, decode_all([user("one")], by_name("openai-chat"))))
    argv = ("verify", str(tmp_path / "archive"))
    assert main(list(argv), stdout=io.StringIO(), stderr=io.StringIO(), environ={}) == ExitCode.OK
    path = Path(where)
    path.chmod(0o600)
    path.write_text(path.read_text().replace("one", "two", 1))
    out = io.StringIO()
    assert main(list(argv), stdout=out, stderr=io.StringIO(), environ={}) == ExitCode.FINDINGS
    assert path.name in out.getvalue()


def test_a_broken_database_of_the_studio_does_not_hide_the_terminals(
    compact: Compact, tmp_path: Path
) -> None:
    studio = data_folder({}) / "studio.db"
    studio.parent.mkdir(parents=True)
    studio.write_text("no database, though it has the name of one\n" * 99)
    (tmp_path / ".compact").mkdir()
    with open_store("sqlite:///.compact/sessions.db") as store:
        Desk("chat", 2_000, store=store).preflight(LONG, "in-terminal")
    assert "26 messages replaced" in compact("history", "in-terminal", store=None).out
    assert compact("export", "in-terminal", store=None).code == ExitCode.OK
    listed = compact("history", store=None)
    assert "in-terminal" in listed.out and listed.code == ExitCode.OK
    assert "studio.db could not be opened" in listed.err
