"""Exports and imports: the same bytes, the schema, `compact run`, and others' histories."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compact.errors import FormatError, StoreError
from compact.formats import decode_all, recognize
from compact.repl.exporting import exported, imported, write
from support.chat_server import ChatServer
from support.cli import Compact, Ended

Chat = Callable[..., Ended]
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "export.schema.json").read_text())
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"it"}'}}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    {"role": "assistant", "content": "A cat.", "custom": {"kept": True}},
]
ANTHROPIC = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "it"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a cat"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
    ],
}
AI_SDK = [
    {"id": "1", "role": "user", "parts": [{"type": "text", "text": "look"}]},
    {
        "id": "2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-look",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"at": "it"},
                "output": "a cat",
            },
            {"type": "step-start"},
            {"type": "text", "text": "A cat."},
        ],
    },
]


def saved(folder: Path, value: Any, name: str = "given.json") -> str:
    path = folder / name
    path.write_text(json.dumps(value))
    return str(path)


@pytest.mark.spec("S1.13")
@pytest.mark.parametrize("given", [OPENAI, ANTHROPIC, AI_SDK], ids=["openai", "anthropic", "ai-sdk"])
def test_other_histories_are_read(given: Any, chat: Chat, server: ChatServer, tmp_path: Path) -> None:
    path = saved(tmp_path, given)
    ended = chat("talk", "--json", given=f"/import {path}\nand now?\n/export out.json\n")
    assert ended.code == 0, ended.out
    sent = [message for message in server.last if message["role"] != "system"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[0]["content"] == "look"
    (call,) = sent[1]["tool_calls"]
    assert call["id"] == "c1" and call["function"]["name"] == "look"
    assert json.loads(call["function"]["arguments"]) == {"at": "it"}
    assert sent[2]["tool_call_id"] == "c1" and sent[2]["content"] == "a cat"
    assert sent[3]["content"] == "A cat."
    systems = [message["content"] for message in server.last if message["role"] == "system"]
    assert systems == (["Be brief."] if given is not AI_SDK else [])
    turns = json.loads((tmp_path / "out.json").read_text())
    jsonschema.validate(turns, SCHEMA)


@pytest.mark.spec("S1.12", "S1.13")
def test_tool_calls_and_unknown_fields_come_back_to_the_same_bytes(
    chat: Chat, compact: Compact, tmp_path: Path
) -> None:
    path = saved(tmp_path, OPENAI)
    chat("one", given=f"/import {path}\nmore\n/export one.json\n")
    first = (tmp_path / "one.json").read_bytes()
    jsonschema.validate(json.loads(first), SCHEMA)
    assert json.loads(first)[4]["custom"] == {"kept": True}
    chat("two", given="/import one.json\n/export two.json\n")
    assert (tmp_path / "two.json").read_bytes() == first
    # And after the session was opened again, from the store.
    chat("two", given="/export three.json\n")
    assert (tmp_path / "three.json").read_bytes() == first
    ran = compact("run", "one.json", "--window", "100000")
    assert ran.code == 0 and json.loads(ran.out) == json.loads(first)


def test_imports_are_appended_with_their_own_timestamps(
    chat: Chat, server: ChatServer, tmp_path: Path
) -> None:
    turn = {"role": "user", "content": "long ago", "timestamp": "2001-02-03T04:05:06.000Z"}
    path = saved(tmp_path, [turn, {"role": "assistant", "content": "indeed"}])
    chat("talk", given=f"first\n/import {path}\nnow\n/export out.json\n")
    assert [m["content"] for m in server.last] == ["first", "You said: first", "long ago", "indeed", "now"]
    turns = json.loads((tmp_path / "out.json").read_text())
    assert turns[2]["timestamp"] == turn["timestamp"]
    assert all(turn["session_id"] == "talk" for turn in turns)


@pytest.mark.spec("S1.13")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "5",
        '[{"role": "user"}]',
        '[{"role": "user", "content": "a"}, {"role": "assistant", "parts": []}]',
        '[{"role": "tool", "content": "no call"}]',
        '{"messages": 5}',
        '[{"messages": [{"role": "user", "content": "a"}]}, {"messages": []}]',
        "[" * 100_000,
    ],
)
def test_a_bad_file_is_refused_with_a_reason(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"bad\.json"):
        imported(str(path))


def test_what_is_ours_alone_is_not_exported_and_secrets_are_redacted() -> None:
    turn = {"role": "user", "content": "secret", "meta": {"protected": True}}
    text = exported([turn], lambda value: {**value, "content": "[gone]"})
    assert json.loads(text) == [{"role": "user", "content": "[gone]"}]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "there.json"
    path.write_text("as it was")
    with pytest.raises(StoreError, match="already exists"):
        write(path, "new")
    write(path, "new", replace=True)
    assert path.read_text() == "new"
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreError, match="could not be written"):
        write(folder, "new", replace=True)
    with pytest.raises(StoreError, match=r"The folder .*missing does not exist\. Nothing was written"):
        write(tmp_path / "missing" / "new.json", "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "there.json"]


def test_converted_turns_are_valid_openai_messages() -> None:
    from compact.chat.turns import from_message

    for given in (ANTHROPIC["messages"], AI_SDK):
        assert isinstance(given, list)
        turns = [turn for message in decode_all(given, recognize(given)) for turn in from_message(message)]
        assert recognize(turns).name == "openai-chat"


@pytest.mark.parametrize("data", [b"{", b"", b"\xff\xfe\xff", b"5", b"[]", None])
def test_a_file_that_is_no_conversation_changes_nothing_and_says_so(
    tmp_path: Path, data: bytes | None
) -> None:
    path = tmp_path / "nothing was lost.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(FormatError, match=r"Nothing was imported\.$"):
        imported(str(path))
