"""Messages and records as text come back as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compact.errors import StoreError
from compact.formats import by_name, decode_all
from compact.model.message import MessageKind, Role, make
from compact.model.record import Injected
from compact.model.summary import Evidence, EvidenceKind
from compact.stores.json_text import messages_from_json, messages_to_json, record_from_json, record_to_json
from compact.stores.serialization import record_row
from compact.testing.stores import a_record, digests, same_record, talk
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
