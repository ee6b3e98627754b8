"""Messages and records as text come back as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from compact.errors import StoreError
from compact.formats import by_name, decode_all
from compact.model.message import MessageKind, Role, make
from compact.model.record import Injected
from compact.model.summary import Evidence, EvidenceKind
from compact.stores.json_text import messages_from_json, messages_to_json, record_from_json, record_to_json
from compact.stores.raw_json import raw_json, raw_object
from compact.stores.serialization import record_row
from compact.testing.stores import a_record, digests, same_record, talk
from support.raw import Raw
from unit.formats.samples import SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_messages_of_every_format_come_back_with_their_objects(name: str) -> None:
    raw: list[Any] = list(SAMPLES[name]())
    messages = decode_all(raw, by_name(name))
    # An object of several messages may be appended in two pieces.
    for cut in (0, len(messages) // 2):
        pieces = [messages[:cut], messages[cut:]]
        back = [
            message for piece in pieces for message in messages_from_json(messages_to_json(piece, name), "s")
        ]
        assert digests(back) == digests(messages)
        assert all(one.origin is not None and one.origin.source in raw for one in back)


HALVES = "\ud83d" + "\ude00"
"""Two halves of a pair, as concatenated pieces of a stream leave them: not the character they form."""

ODD_OBJECTS: dict[str, Raw] = {
    "halves": {"role": "user", "content": f"a {HALVES} b"},
    "a half": {"role": "user", "content": "a \ud83d b"},
    "halves in a call": {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"c{HALVES}", "type": "function", "function": {"name": "f", "arguments": HALVES}}
        ],
    },
    "halves in a key": {"role": "user", "content": [{"type": "text", "text": "x", HALVES: HALVES}]},
    "bytes": {"role": "user", "content": [{"type": "blob", "data": b"\x00\xff"}]},
    "our mark for bytes": {
        "role": "user",
        "content": [{"type": "text", "text": "x", "v": {"$bytes": "aGk="}}],
    },
    "our mark, no bytes": {"role": "user", "content": [{"type": "text", "text": "x", "v": {"$bytes": "?"}}]},
    "our other marks": {
        "role": "user",
        "content": [{"type": "text", "text": "x", "v": {"$items": [[1, 2]]}, "w": {"$text": "aGk="}}],
    },
}


@pytest.mark.parametrize("name", ODD_OBJECTS)
def test_odd_objects_come_back_as_they_were(name: str) -> None:
    messages = decode_all([ODD_OBJECTS[name]], by_name("openai-chat"))
    text = messages_to_json(messages, "openai-chat")
    text.encode()
    (back,) = messages_from_json(text, "s")
    assert back.digest == messages[0].digest
    assert back.origin is not None and back.origin.source == ODD_OBJECTS[name]


@pytest.mark.parametrize(
    "own",
    [
        {"$text": "hello"},
        {"$text": "aGk="},
        {"$text": "/w=="},
        {"$items": [1, 2]},
        {"$items": [[1, 2]]},
        {"$items": [[[1], 2]]},
        {"$items": [["a", 2, 3]]},
        {"$items": []},
        {"$bytes": "?"},
        {"$bytes": "é"},
    ],
)
def test_a_callers_mapping_that_was_stored_without_a_mark_comes_back(own: Raw) -> None:
    assert raw_object(json.dumps({"v": own})) == {"v": own}
    assert raw_object(raw_json({"v": own})) == {"v": own}


def test_a_message_of_our_own_comes_back() -> None:
    own = make(MessageKind.CONTEXT, Role.USER, "the tide is low")
    (back,) = messages_from_json(messages_to_json([own], "openai-chat"), "s")
    assert back.digest == own.digest and back.kind is MessageKind.CONTEXT and back.origin is None


def test_a_record_comes_back_whole() -> None:
    record = a_record("r1")
    assert same_record(record_from_json(record_to_json(record)), record)


def test_a_record_holds_letters_of_any_script_once_and_unescaped() -> None:
    said = Evidence(EvidenceKind.SAID, "顺便说一下，测试服务器叫白鹭。", 3)
    summary = Injected(make(MessageKind.BRIDGE, Role.USER, "Кстати, дальше."))
    record = replace(a_record("r1"), evidence=(said,), entries=(summary,))
    row = record_row(record)
    assert row["evidence"].count(said.value) == 1 and "Кстати, дальше." in row["entries"]
    half = replace(said, value="half \ud83d pair")
    for evidence in ((said,), (half,)):
        whole = replace(record, evidence=evidence)
        assert same_record(record_from_json(record_to_json(whole)), whole)


def test_what_was_changed_in_between_is_refused() -> None:
    text = messages_to_json(talk("the lamp is lit"), "openai-chat").replace("lit", "out")
    with pytest.raises(StoreError, match="not what was stored"):
        messages_from_json(text, "s")
