"""AI SDK: a UI message falls into its steps, model messages keep their typed outputs."""

from __future__ import annotations

from typing import Any

import pytest

from compact.errors import MalformedMessage
from compact.formats import by_name
from compact.model.message import (
    File,
    Image,
    MessageKind,
    Opaque,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    make,
)
from compact.testing.formats import CLEARED, cleared
from unit.formats.samples import PNG, model, ui

UI = by_name("ai-sdk-ui")
MODEL = by_name("ai-sdk-model")
RUN = ui()[2]


def shape(messages: Any) -> list[tuple[str, list[str]]]:
    return [(message.role.value, [type(part).__name__ for part in message.parts]) for message in messages]


def test_every_step_is_an_assistant_and_a_tool_message() -> None:
    assert shape(UI.decode(RUN, 0)) == [
        ("assistant", ["Opaque", "StepStart", "Reasoning", "Text", "ToolCall", "ToolCall"]),
        ("tool", ["ToolResult", "ToolResult"]),
        ("assistant", ["StepStart", "ToolCall", "ToolCall"]),
        ("tool", ["ToolResult", "ToolResult"]),
        ("assistant", ["StepStart", "Opaque", "Text", "Opaque"]),
    ]


def test_states_of_a_tool_part() -> None:
    said, answers, more, decisions, _ = UI.decode(RUN, 0)
    assert said.parts[2] == Reasoning("Look at both.", "sig==")
    assert said.calls == (ToolCall("c1", "look", {"at": 1}), ToolCall("c2", "grep", {"for": "needle"}))
    assert answers.results[0].text == '{"seen":"' + "a cat " * 40 + '"}'
    assert answers.results[1] == ToolResult("c2", "no match", "grep", is_error=True)
    assert more.calls[0].arguments is RUN["parts"][7]["input"]
    assert decisions.results == (
        ToolResult("c3", "twelve lines", "read"),
        ToolResult("c4", "never", "rm", is_error=True),
    )


@pytest.mark.parametrize("state", ["input-available", "approval-requested", "approval-responded"])
def test_a_call_without_an_answer_waits(state: str) -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": state, "input": {}}
    messages = UI.decode({"id": "m", "role": "assistant", "parts": [part]}, 0)
    assert shape(messages) == [("assistant", ["ToolCall"])]


def test_input_that_was_still_streaming_is_no_call() -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": "input-streaming"}
    assert shape(UI.decode({"id": "m", "role": "assistant", "parts": [part]}, 0)) == [
        ("assistant", ["Opaque"])
    ]


def test_files_of_a_ui_message() -> None:
    (message,) = UI.decode(ui()[1], 0)
    assert message.parts[1:] == (
        Image(f"data:image/png;base64,{PNG}", "image/png", 3, 2),
        File("https://e.org/a", "a.pdf", "application/pdf"),
    )
    assert message.created == 1700000000.0
    assert UI.decode(RUN, 0)[0].model == "some-model"


def test_steps_can_go_from_either_end() -> None:
    messages = UI.decode(RUN, 0)
    assert UI.encode(messages[2:]) == [{**RUN, "parts": RUN["parts"][6:]}]
    assert UI.encode(messages[:2]) == [{**RUN, "parts": RUN["parts"][:6]}]


def test_separated_steps_of_one_message_have_ids_of_their_own() -> None:
    messages = UI.decode(RUN, 0)
    bridge = make(MessageKind.BRIDGE, Role.USER, "Continue.")
    first, between, second = UI.encode([*messages[:2], bridge, *messages[4:]])
    assert (first["id"], second["id"]) == ("m2", "m2#5")
    assert first["parts"] + second["parts"] == RUN["parts"][:6] + RUN["parts"][9:]
    assert between["parts"] == [{"type": "text", "text": "Continue."}]


def test_our_ids_are_stable_and_unique() -> None:
    bridge = make(MessageKind.BRIDGE, Role.USER, "Continue.")
    ids = [message["id"] for message in UI.encode([bridge, bridge])]
    assert ids == [f"compact-{bridge.digest.hex()}", f"compact-{bridge.digest.hex()}#2"]
    # A caller who adopted our message sends it back: it is theirs now and keeps its id.
    adopted = {"id": ids[0], "role": "user", "parts": []}
    mine, theirs = UI.encode([bridge, *UI.decode(adopted, 1)])
    assert theirs is adopted and mine["id"] == ids[1]


def test_cleared_outputs_of_every_state() -> None:
    messages = UI.decode(RUN, 0)
    (encoded,) = UI.encode([cleared(message) if message.results else message for message in messages])
    before, after = RUN["parts"], encoded["parts"]
    assert after[4] == {**before[4], "output": CLEARED}
    assert after[5] == {**before[5], "errorText": CLEARED}
    assert after[7] == {**before[7], "output": CLEARED}
    assert after[8] == {**before[8], "approval": {**before[8]["approval"], "reason": CLEARED}}
    assert [at for at in range(len(before)) if after[at] is not before[at]] == [4, 5, 7, 8]


def test_a_call_whose_answer_went_waits_again() -> None:
    messages = UI.decode(RUN, 0)
    (encoded,) = UI.encode([messages[0], *messages[2:]])
    assert encoded["parts"][4] == {
        "type": "tool-look",
        "toolCallId": "c1",
        "state": "input-available",
        "input": {"at": 1},
    }


def test_a_developer_message_of_ours_is_a_system_message() -> None:
    own = [make(MessageKind.CONTEXT, Role.DEVELOPER, "x")]
    assert MODEL.encode(own) == [{"role": "system", "content": "x"}]
    assert UI.encode(own)[0]["role"] == "system"


def test_model_messages() -> None:
    items = model()
    (message,) = MODEL.decode(items[2], 2)
    assert message.parts[:3] == (
        Reasoning("Look at both.", "gAAAA"),
        Text("Looking."),
        ToolCall("c1", "look", {"at": 1}),
    )
    (answers,) = MODEL.decode(items[3], 3)
    assert answers.results == (
        ToolResult("c1", "a cat " * 40, "look", media=(Image(PNG, "image/png", 3, 2),)),
        ToolResult("c2", "no match", "grep", is_error=True),
    )
    assert shape(MODEL.decode(items[4], 4)) == [("assistant", ["Opaque", "Opaque", "ToolCall"])]
    assert MODEL.decode(items[5], 5)[0].results[0].text == '{"lines":12}'


def test_a_cleared_model_output_is_typed_text() -> None:
    item = model()[3]
    (encoded,) = MODEL.encode([cleared(MODEL.decode(item, 3)[0])])
    assert [part["output"] for part in encoded["content"]] == [
        {"type": "text", "value": CLEARED},
        {"type": "error-text", "value": CLEARED},
    ]
    assert encoded["content"][0]["toolName"] == "look"


def test_a_step_start_is_no_border_for_an_empty_step() -> None:
    parts = [{"type": "step-start"}, {"type": "step-start"}, {"type": "text", "text": "Hi."}]
    (message,) = UI.decode({"id": "m", "role": "assistant", "parts": parts}, 0)
    assert message.parts == (StepStart(), StepStart(), Text("Hi."))


def test_unknown_parts_are_kept() -> None:
    (message,) = UI.decode({"id": "m", "role": "user", "parts": [{"type": "hologram", "beam": 7}]}, 0)
    assert message.parts == (Opaque("hologram", '{"beam":7,"type":"hologram"}'),)


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"role": "user"}, "no parts"),
        ({"role": "user", "parts": "x"}, "parts must be an array"),
        ({"role": "tool", "parts": []}, "unknown role 'tool'"),
        ({"role": "user", "parts": [{"text": "x"}]}, "parts[0] has no type"),
        ({"role": "user", "parts": [{"type": "text"}]}, "parts[0] has no text"),
        ({"role": "user", "parts": [{"type": "file"}]}, "parts[0] has no url"),
        ({"role": "assistant", "parts": [{"type": "tool-look", "state": "x"}]}, "has no toolCallId"),
        ({"role": "assistant", "parts": [{"type": "tool-look", "toolCallId": "c"}]}, "has no state"),
        ({"role": "assistant", "parts": [{"type": "dynamic-tool", "toolCallId": "c"}]}, "has no toolName"),
        ({"role": "assistant", "parts": [{"type": "tool-"}]}, "a type without a tool name"),
        (
            {"role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-error"}]},
            "has no errorText",
        ),
    ],
)
def test_broken_ui_messages_are_refused(item: Any, problem: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        UI.decode(item, 2)
    assert caught.value.index == 2 and problem in caught.value.problem


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"role": "developer", "content": "x"}, "unknown role 'developer'"),
        ({"role": "tool", "content": "x"}, "content must be an array of parts, got string"),
        ({"role": "user", "content": None}, "but is missing or null"),
        ({"role": "user", "content": [{"type": "image"}]}, "content[0] has no image"),
        ({"role": "user", "content": [{"type": "tool-call"}]}, "a tool-call, but the role is user"),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolName": "f"}]}, "has no toolCallId"),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c"}]}, "has no toolName"),
        (
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f"}]},
            "content[0].output must be an object",
        ),
    ],
)
def test_broken_model_messages_are_refused(item: Any, problem: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        MODEL.decode(item, 2)
    assert caught.value.index == 2 and problem in caught.value.problem


@pytest.mark.parametrize(
    ("output", "text", "is_error", "media"),
    [
        ({"type": "execution-denied"}, "Tool call execution denied.", True, []),
        ({"type": "execution-denied", "reason": "never"}, "never", True, []),
        ({"type": "error-json", "value": {"code": 5}}, '{"code":5}', True, []),
        ({"type": "json", "value": None}, "null", False, []),
        ({"type": "hologram", "beam": 7}, "", False, ["Opaque"]),
        (
            {
                "type": "content",
                "value": [
                    {"type": "image-url", "url": "https://e.org/a.png"},
                    {"type": "file-data", "data": "AAAA", "mediaType": "application/pdf"},
                    {"type": "custom"},
                ],
            },
            "",
            False,
            ["Image", "File", "Opaque"],
        ),
    ],
)
def test_typed_outputs(output: dict[str, Any], text: str, is_error: bool, media: list[str]) -> None:
    part = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    (message,) = MODEL.decode({"role": "tool", "content": [part]}, 0)
    (result,) = message.results
    assert (result.text, result.is_error) == (text, is_error)
    assert [type(held).__name__ for held in result.media] == media
