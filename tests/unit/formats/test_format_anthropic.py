"""Anthropic messages: results apart from the rest, thinking with its proof, cache breakpoints."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from compact.errors import MalformedMessage
from compact.formats import by_name, decode_all
from compact.formats.anthropic import with_cache_breakpoints
from compact.model.message import File, Image, MessageKind, Opaque, Reasoning, Role, Text, make
from compact.testing.formats import CLEARED, cleared
from unit.formats.samples import PNG, anthropic

FORMAT = by_name("anthropic")


def test_blocks_become_typed_parts() -> None:
    (message,) = FORMAT.decode(anthropic()[0], 0)
    text, picture, words, document = message.parts
    assert text == Text("What is in these?")
    assert picture == Image(PNG, "image/png", 3, 2)
    # A document of plain text counts as text.
    assert isinstance(words, Opaque) and "plain words" in words.text
    assert document == File("https://example.org/a.pdf")


def test_thinking_keeps_its_proof() -> None:
    (message,) = FORMAT.decode(anthropic()[1], 0)
    assert message.parts[:2] == (
        Reasoning("Look at both.", "sig=="),
        Reasoning("", "EuYB", redacted=True),
    )


def test_results_and_the_rest_are_two_messages() -> None:
    results, rest = FORMAT.decode(anthropic()[2], 2)
    assert (results.role, rest.role) == (Role.TOOL, Role.USER)
    assert [(result.call_id, result.is_error) for result in results.results] == [("c1", False), ("c2", True)]
    assert rest.text == "Go on, and search the web."
    only = FORMAT.decode(anthropic()[4], 4)
    assert [message.role for message in only] == [Role.TOOL]


def test_either_half_can_go() -> None:
    item = anthropic()[2]
    results, rest = FORMAT.decode(item, 2)
    assert FORMAT.encode([rest]) == [{"role": "user", "content": item["content"][2:]}]
    assert FORMAT.encode([results]) == [{"role": "user", "content": item["content"][:2]}]


def test_a_cleared_result_is_a_string_and_keeps_its_other_fields() -> None:
    item = anthropic()[2]
    results, rest = FORMAT.decode(item, 2)
    (encoded,) = FORMAT.encode([cleared(results), rest])
    assert encoded["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": CLEARED},
        {**item["content"][1], "content": CLEARED},
        item["content"][2],
    ]


def test_server_tools_stay_in_their_message() -> None:
    (message,) = FORMAT.decode(anthropic()[3], 3)
    assert [part.type for part in message.parts if isinstance(part, Opaque)] == [
        "server_tool_use",
        "web_search_tool_result",
    ]
    assert [call.call_id for call in message.calls] == ["c3"]


def test_our_system_messages_go_out_as_the_users() -> None:
    assert FORMAT.encode([make(MessageKind.CONTEXT, Role.SYSTEM, "x")]) == [{"role": "user", "content": "x"}]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"role": "tool", "content": "x"}, "unknown role 'tool'"),
        ({"role": "user"}, "content must be a string or an array of blocks, but is missing or null"),
        ({"role": "user", "content": [3]}, "content[0] must be an object, got number"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "content[0] has no tool_use_id"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": 1}]},
            "got number",
        ),
        ({"role": "user", "content": [{"type": "tool_use", "id": "c"}]}, "a tool_use, but the role is user"),
        (
            {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
            "a tool_result, but the role is assistant",
        ),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]}, "has no id"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "input": {}}]}, "has no name"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": [1]}]},
            "must be a string or an object, got array",
        ),
        ({"role": "assistant", "content": [{"type": "thinking", "signature": "s"}]}, "has no thinking"),
        ({"role": "user", "content": [{"type": "image"}]}, "content[0].source must be an object"),
    ],
)
def test_broken_messages_are_refused_with_index_and_reason(item: Any, problem: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        FORMAT.decode(item, 4)
    assert caught.value.index == 4
    assert problem in caught.value.problem


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(inner) for inner in value.values())
    return sum(marks(inner) for inner in value) if isinstance(value, list | tuple) else 0


PLAIN = [
    {"role": "user", "content": "What have we accomplished?"},
    {"role": "assistant", "content": "A summary."},
    {"role": "user", "content": "Go on."},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}, {"type": "thinking", "thinking": ""}],
    },
]
TOOLS = [
    {"name": "a", "input_schema": {}},
    {"name": "b", "input_schema": {}},
    {"name": "later", "input_schema": {}, "defer_loading": True},
]


@pytest.mark.spec("S2.14")
def test_breakpoints_stand_on_system_tools_summary_and_last_stable_message() -> None:
    system, tools, messages = with_cache_breakpoints("Be careful.", TOOLS, PLAIN, [1, 3])
    mark = {"type": "ephemeral"}
    assert system == [{"type": "text", "text": "Be careful.", "cache_control": mark}]
    assert tools is not None and [tool.get("cache_control") for tool in tools] == [None, mark, None]
    assert messages[1]["content"] == [{"type": "text", "text": "A summary.", "cache_control": mark}]
    # Thinking may not be marked, so the block before it is.
    assert (
        messages[3]["content"][0]["cache_control"] == mark
        and "cache_control" not in messages[3]["content"][1]
    )
    assert messages[0] is PLAIN[0] and messages[2] is PLAIN[2]
    assert marks([system, tools, messages]) == 4


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize("own", range(7))
def test_four_at_most_and_none_of_the_callers_replaced(own: int) -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    content = [{"type": "text", "text": str(at), "cache_control": mark} for at in range(own)]
    given = [*PLAIN, {"role": "user", "content": [*content, {"type": "text", "text": "end"}]}]
    before = copy.deepcopy((given, TOOLS))
    system, tools, messages = with_cache_breakpoints("Be careful.", TOOLS, given, [1, 3])
    assert marks([system, tools, messages]) == max(own, 4)
    assert messages[4] is given[4]
    assert (given, TOOLS) == before
    if own >= 4:
        assert (system, tools, messages) == ("Be careful.", TOOLS, given)


@pytest.mark.spec("S2.14")
def test_breakpoints_do_not_count_in_prefix_comparison() -> None:
    items = anthropic()
    _, _, marked = with_cache_breakpoints(None, None, items, range(len(items)))
    assert marks(marked) == 4
    assert marked != items
    assert [m.digest for m in decode_all(marked, FORMAT)] == [m.digest for m in decode_all(items, FORMAT)]


@pytest.mark.spec("S2.14")
def test_no_other_format_sets_breakpoints() -> None:
    own = [make(MessageKind.SUMMARY, Role.ASSISTANT, "A summary.")]
    for name in ("openai-chat", "openai-responses", "ai-sdk-ui", "ai-sdk-model"):
        assert marks(by_name(name).encode(own)) == 0


def test_nothing_to_mark_is_fine() -> None:
    assert with_cache_breakpoints(None, None, [], [0, 5]) == (None, None, [])
    assert with_cache_breakpoints("", [], [{"role": "user", "content": ""}], [0]) == (
        "",
        [],
        [{"role": "user", "content": ""}],
    )
