"""`compact.summarize` refuses what it cannot read, by name."""

from __future__ import annotations

from typing import Any

import pytest

from compact import CompactError, summarize


def nested(levels: int) -> dict[str, Any]:
    outer: dict[str, Any] = {}
    inner = outer
    for _ in range(levels):
        inner["a"] = {}
        inner = inner["a"]
    return outer


DEEP = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": nested(3_000)}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]


@pytest.mark.parametrize(
    "messages", [None, 5, "hello", {"messages": []}, DEEP], ids=lambda m: type(m).__name__
)
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    with pytest.raises(CompactError, match=r"messages"):
        summarize(messages, 100)


@pytest.mark.parametrize("wrong", [{"max_tokens": "x"}, {"max_tokens": 0}, {"strategy": None}])
def test_wrong_arguments_are_named(wrong: dict[str, Any]) -> None:
    talk = [{"role": "user", "content": "hi"}]
    with pytest.raises(CompactError, match=next(iter(wrong))):
        summarize(talk, **{"max_tokens": 100, **wrong})


def test_numbers_count_from_the_first_message_behind_the_system_prompt() -> None:
    told = [
        {"role": "user", "content": "We chose the blue door because the red one sticks."},
        {"role": "assistant", "content": "Noted: the blue door."},
    ]
    led = [{"role": "system", "content": "Be brief."}, *told]
    assert summarize(led, 400).text == summarize(told, 400).text
    assert {one.message for one in summarize(led, 400).evidence} <= {0, 1}


def test_nothing_to_say_is_an_empty_text_and_no_error() -> None:
    said = [{"role": "user", "content": "Deploy build 4417 to staging-eu."}]
    assert summarize(said, 100).text
    assert summarize([], 100).text == summarize(said, 3).text == ""
