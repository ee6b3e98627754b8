"""Which format it is: from the input, or refused with what was seen."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from compact.errors import FormatError, MalformedMessage
from compact.formats import FORMAT_NAMES, FORMATS, by_name, recognize, strip_meta
from compact.formats.recognition import ANY, PREFERENCE, narrow, preferred
from unit.formats.samples import SAMPLES

PLAIN = {"role": "user", "content": "Hi."}


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_rich_samples_are_recognized_by_one_format_only(name: str) -> None:
    sample = SAMPLES[name]()
    assert recognize(sample).name == name
    assert [format.name for format in FORMATS if format.recognizes(sample)] == [name]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (PLAIN, "openai-chat"),
        ({"role": "system", "content": "x"}, "openai-chat"),
        ({"role": "developer", "content": "x"}, "openai-chat"),
        ({"role": "user", "content": [{"type": "text", "text": "x"}]}, "openai-chat"),
        ({"role": "assistant", "content": None}, "openai-chat"),
        ({"role": "tool", "tool_call_id": "c", "content": "x"}, "openai-chat"),
        ({"role": "tool", "content": "x"}, "openai-chat"),
        ({"role": "function", "name": "f", "content": "x"}, "openai-chat"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "openai-chat"),
        ({"role": "user", "content": [{"type": "file", "file": {}}]}, "openai-chat"),
        ({"type": "message", "role": "user", "content": "x"}, "openai-responses"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "openai-responses"),
        ({"type": "function_call_output", "call_id": "c", "output": ""}, "openai-responses"),
        ({"type": "reasoning", "summary": []}, "openai-responses"),
        ({"id": "msg_1"}, "openai-responses"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "image", "source": {}}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "bash_tool_result"}]}, "anthropic"),
        ({"role": "user", "parts": []}, "ai-sdk-ui"),
        ({"role": "user", "parts": [{"text": "x"}]}, "gemini"),
        ({"role": "model", "parts": [{"functionCall": {"name": "f"}}]}, "gemini"),
        ({"type": "human", "content": "x"}, "langchain"),
        ({"role": "user", "blocks": [{"block_type": "text", "text": "x"}]}, "llama-index"),
        ({"type": "ai", "data": {"content": "x"}}, "langchain"),
        ({"role": "tool", "content": [{"type": "tool-result"}]}, "ai-sdk-model"),
        ({"role": "user", "content": [{"type": "image", "image": "u"}]}, "ai-sdk-model"),
        ({"role": "user", "content": [{"type": "file", "data": "u", "mediaType": "m"}]}, "ai-sdk-model"),
    ],
)
def test_one_message_tells(message: dict[str, Any], name: str) -> None:
    assert recognize([message]).name == name
    apart = name in ("ai-sdk-ui", "gemini", "langchain", "llama-index")
    mixture = [message] if apart else [PLAIN, message]
    assert recognize(mixture).name == name


def test_nothing_yet_is_openai_chat() -> None:
    assert recognize([]).name == "openai-chat"


def test_mixed_formats_are_refused_with_what_was_seen() -> None:
    tool = {"role": "tool", "tool_call_id": "c", "content": "x"}
    block = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
    with pytest.raises(FormatError, match=r"messages\[2\] looks like anthropic.*openai-chat"):
        recognize([PLAIN, tool, block])
    with pytest.raises(FormatError, match="mix formats"):
        recognize([PLAIN, {"role": "user", "parts": []}])


@pytest.mark.parametrize(
    ("message", "seen"),
    [
        ({"role": "robot", "parts": [{"text": "x"}]}, "role='robot'"),
        ({"speaker": "ada", "words": "x"}, "no role and no type; fields: speaker, words"),
        ({}, "fields: none"),
        ({"type": "text", "text": "x"}, "type='text'"),
        ({"role": 3, "content": "x"}, "role=3"),
    ],
)
def test_unknown_messages_are_refused_with_what_was_seen(message: Any, seen: str) -> None:
    with pytest.raises(FormatError) as caught:
        recognize([PLAIN, message])
    assert "messages[1] fits no known format" in str(caught.value) and seen in str(caught.value)


def test_what_is_no_mapping_is_named_by_its_index() -> None:
    with pytest.raises(MalformedMessage) as caught:
        recognize([PLAIN, "Hi."])
    assert caught.value.index == 1
    assert not any(format.recognizes(["Hi."]) for format in FORMATS)


def test_names() -> None:
    assert [format.name for format in FORMATS] == list(FORMAT_NAMES)
    assert FORMATS[1:3] == (by_name("openai-responses"), by_name("anthropic"))
    assert {format.provider for format in FORMATS} == {"openai", "anthropic"}
    with pytest.raises(
        FormatError, match="openai-chat, openai-responses, anthropic, ai-sdk-ui, ai-sdk-model"
    ):
        by_name("openai")


def test_any_mapping_is_a_message() -> None:
    item = MappingProxyType(PLAIN)
    format = recognize([item])
    assert format.encode(format.decode(item, 0))[0] is item


def test_strip_meta_copies_only_what_carries_it() -> None:
    assert strip_meta(PLAIN) is PLAIN
    marked = {**PLAIN, "meta": {"protected": True}}
    assert strip_meta(marked) == PLAIN
    assert "meta" in marked


def test_strip_meta_of_an_sdk_object() -> None:
    from openai.types.chat import ChatCompletionMessage

    plain = ChatCompletionMessage(role="assistant", content="Hi.")
    assert strip_meta(plain) is plain
    marked = ChatCompletionMessage.model_validate({"role": "assistant", "content": "Hi.", "meta": {"a": 1}})
    assert strip_meta(marked) == {"role": "assistant", "content": "Hi."}


@pytest.mark.parametrize("meta", [None, "x", {"protected": False}, {"protected": 0}, {}])
def test_only_what_is_true_protects(meta: Any) -> None:
    assert not by_name("openai-chat").decode({**PLAIN, "meta": meta}, 0)[0].protected


@pytest.mark.parametrize("name", PREFERENCE)
def test_recognizing_only_what_is_new_gives_the_same_answer(name: str) -> None:
    sample = SAMPLES[name]()
    for cut in range(len(sample) + 1):
        assert preferred(narrow(narrow(ANY, sample[:cut], 0), sample[cut:], cut)) == name


def test_a_new_message_of_another_format_is_refused_with_its_own_index() -> None:
    known = narrow(ANY, [{"role": "tool", "tool_call_id": "c", "content": "x"}], 0)
    with pytest.raises(FormatError, match=r"messages\[9\] looks like ai-sdk-ui"):
        narrow(known, [{"role": "user", "parts": []}], 9)


OTHER_PROGRAMS = [
    {"type": "user", "message": {"role": "user", "content": "Hi."}, "uuid": "u1"},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi."}},
    {"type": "span", "name": "llm"},
    {
        "object": "response",
        "type": "x",
        "output": [{"type": "message", "role": "assistant", "content": "Hi."}],
    },
]


@pytest.mark.parametrize("message", OTHER_PROGRAMS)
def test_objects_of_other_programs_are_no_items(message: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"messages\[0\] fits no known format"):
        recognize([message] * 12)


def test_a_refusal_names_the_list_to_pass() -> None:
    with pytest.raises(FormatError, match="pass its 'output'"):
        recognize([OTHER_PROGRAMS[3]])
    with pytest.raises(FormatError, match="Pass the 'message' of each object"):
        recognize([OTHER_PROGRAMS[0]])
    with pytest.raises(FormatError, match=r"Pass its choices\[0\]\.message\."):
        recognize([PLAIN, {"object": "chat.completion", "choices": [{"index": 0, "message": PLAIN}]}])
    with pytest.raises(FormatError, match="pass its 'history'"):
        recognize([{"title": "x", "history": [PLAIN]}])


def test_an_item_of_a_new_type_counts_beside_a_known_one() -> None:
    assert recognize(
        [{"type": "message", "role": "user", "content": "x"}, {"type": "novelty_call"}]
    ).name == ("openai-responses")
