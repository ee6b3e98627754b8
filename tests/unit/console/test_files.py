"""Every shape a conversation comes in goes out again in the same shape."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from compact.console import files
from compact.console.files import Shape, parse, read
from compact.errors import FormatError

HELLO: list[Any] = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Grüße, 世界"}]
BODY = {"model": "m", "system": "be kind", "tools": [{"name": "t"}], "messages": HELLO, "top_p": 0.5}
RESPONSES = {"instructions": "be kind", "input": HELLO}


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n" for value in values)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (json.dumps(HELLO, ensure_ascii=False, separators=(",", ":")) + "\n", Shape.ARRAY),
        (json.dumps(HELLO, ensure_ascii=False, indent=2) + "\n", Shape.ARRAY),
        (lines(HELLO), Shape.LINES),
        (lines(HELLO[:1]), Shape.LINES),
        (json.dumps(BODY, ensure_ascii=False, indent=2) + "\n", Shape.OBJECT),
        (json.dumps(RESPONSES, ensure_ascii=False, separators=(",", ":")) + "\n", Shape.OBJECT),
        (json.dumps([BODY, BODY], ensure_ascii=False, indent=2) + "\n", Shape.OBJECTS),
        (lines([BODY, RESPONSES]), Shape.OBJECT_LINES),
    ],
)
def test_what_was_read_is_written_back_byte_for_byte(text: str, shape: Shape) -> None:
    transcript = parse(text, "x")
    assert transcript.shape is shape
    assert transcript.render([conversation.messages for conversation in transcript.conversations]) == text


def test_a_request_body_gives_its_system_prompt_and_tools_and_keeps_the_rest() -> None:
    [conversation] = parse(json.dumps(BODY), "x").conversations
    assert (conversation.system, conversation.tools) == ("be kind", [{"name": "t"}])
    assert conversation.with_messages(HELLO[:1]) == {**BODY, "messages": HELLO[:1]}
    [responses] = parse(json.dumps(RESPONSES), "x").conversations
    assert responses.system == "be kind"
    [question] = parse('{"input": "hi"}', "x").conversations
    assert question.messages == [{"role": "user", "content": "hi"}]


def test_conversations_are_picked_by_id_or_number() -> None:
    transcript = parse(lines([{"id": "a", "messages": HELLO}, {"messages": HELLO[:1]}]), "x")
    assert [found.label for found in transcript.conversations] == ["a", "2"]
    assert transcript.picked("a").conversations == transcript.conversations[:1]
    assert transcript.picked("2").conversations == transcript.conversations[1:]
    with pytest.raises(FormatError, match="x has no conversation 'z'; it has: a, 2"):
        transcript.picked("z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x is empty"),
        ("[1", "line 1, column 3"),
        ('{"role": "user"}\nnope\n', "line 2, column 1"),
        ("3", "holds a JSON number, not a conversation"),
        ('{"name": "x"}', 'an object without "messages"; found: name'),
        ('{"messages": {}}', '"messages" must be an array of messages (got object)'),
        ('{"messages": [], "tools": {}}', '"tools" must be an array (got object)'),
        ("[" * 100_000, "nested deeper"),
    ],
)
def test_what_is_no_conversation_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read("-", io.StringIO(text)) if text.startswith("[[") else parse(text, "x")
    assert message in str(caught.value)


def test_gzip_files_byte_order_marks_and_standard_input(tmp_path: Path) -> None:
    plain = json.dumps(HELLO).encode()
    path = tmp_path / "talk.jsonl.gz"
    # Two members in one file are what `cat a.gz b.gz` makes.
    path.write_bytes(gzip.compress(plain[:10]) + gzip.compress(plain[10:]))
    assert read(str(path), io.StringIO()).conversations[0].messages == HELLO
    stream = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + plain))
    assert read("-", stream).conversations[0].messages == HELLO


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe", "not UTF-8 text (byte 0)"),
        (gzip.compress(b"[]")[:-3], "ends too soon"),
        (b"\x1f\x8b\x00\x00garbage", "damaged gzip file"),
    ],
    ids=["encoding", "cut", "garbage"],
)
def test_damaged_files_are_told(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read(str(path), io.StringIO())
    assert message in str(caught.value)


def test_a_small_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * (5 << 20)))
    with pytest.raises(FormatError, match="larger than 1 MiB"):
        read(str(path), io.StringIO())


def test_half_a_surrogate_pair_survives() -> None:
    text = '[{"role":"user","content":"\\ud83d"}]'
    transcript = parse(text, "x")
    rendered = transcript.render([transcript.conversations[0].messages])
    assert rendered.encode() and json.loads(rendered) == json.loads(text)


def test_a_key_that_stands_twice_is_not_guessed() -> None:
    twice = '{"role": "user", "content": "x", "role": "assistant"}'
    with pytest.raises(FormatError, match=r"^f: the key 'role' appears twice"):
        parse(f"[{twice}]", "f")
    with pytest.raises(FormatError, match=r"^f, line 2: the key 'role' appears twice"):
        parse(f"{lines(HELLO[:1])}{twice}\n", "f")


def test_where_nothing_can_be_piped_in_no_error_says_so() -> None:
    with pytest.raises(FormatError, match=r"Name a file that holds a conversation\.$"):
        read("missing.json")
    with pytest.raises(FormatError, match=r"^- could not be read"):
        read("-")
