"""Tokens of messages, tools and system prompts. A token is a character here, so sums can be read off."""

from __future__ import annotations

import json

import pytest

from compact.core.measure import (
    FILE_BY_REFERENCE,
    IMAGE_OF_UNKNOWN_SIZE,
    measure_message,
    measure_part,
    measure_system,
    measure_tools,
)
from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)


def message(role: Role, *parts: Part, name: str | None = None) -> Message:
    return Message(role=role, parts=parts, digest=digest_of(role, parts, name), name=name)


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (Text("hello"), 5),
        (Text(""), 0),
        (Text("hello", tokens=9_999), 5),  # a count that came with the part is not trusted
        (ToolCall("call_1", "read", '{"a":1}'), 4 + 7),
        (ToolCall("call_1", "read", {"b": 2, "a": 1}), 4 + len('{"a":1,"b":2}')),
        (ToolResult("call_1", "output"), 6),
        (ToolResult("call_1", "seen", media=(Image("u", detail="low"), Text("x"))), 4 + 85 + 1),  # type: ignore[arg-type]
        (ToolResult("call_1", "[cleared]", cleared_at=1.0, original_tokens=50_000), 9),
        (Reasoning("thinking", signature="s" * 400), 8),
        (Reasoning("", signature="s" * 160), 30),
        (Reasoning("c" * 160, redacted=True), 30),
        (StepStart(), 4),
        (CompactionMarker("the summary", 1.0, 20, 9_000), 11),
        (Opaque("custom", '{"a":1}'), 7),
    ],
)
def test_each_part(part: Part, tokens: int) -> None:
    assert measure_part(part, len) == tokens


@pytest.mark.parametrize(
    ("width", "height", "detail", "tokens"),
    [
        (512, 512, None, 85 + 170),
        (100, 100, "high", 85 + 170),
        (513, 512, None, 85 + 2 * 170),
        (1024, 1024, None, 85 + 4 * 170),  # 768 x 768
        (2048, 4096, None, 85 + 6 * 170),  # 1024 x 2048, then 768 x 1536
        (4096, 512, None, 85 + 4 * 170),  # 2048 x 256
        (100_000, 10, None, 85 + 4 * 170),
        (4096, 4096, "low", 85),
        (None, None, "low", 85),
        (None, None, "high", IMAGE_OF_UNKNOWN_SIZE),
        (0, 512, None, IMAGE_OF_UNKNOWN_SIZE),
    ],
)
def test_images_by_tiles(width: int | None, height: int | None, detail: str | None, tokens: int) -> None:
    image = Image("data:image/png;base64," + "A" * 100_000, "image/png", width, height, detail)
    assert measure_part(image, pytest.fail) == tokens  # its data is never counted as text


@pytest.mark.parametrize(
    ("file", "tokens"),
    [
        (File("file-abc123"), FILE_BY_REFERENCE),
        (File("https://example.org/" + "a" * 2_000), FILE_BY_REFERENCE),
        (File("data:text/plain;base64," + "A" * 4_000), 1_000),
        (File("data:text/plain,hello%20world"), 5),
        (File("A" * 4_000, media_type="application/json"), 1_000),
        (File("data:application/pdf;base64," + "A" * 4_000), 1_500),
        (File("data:application/pdf;base64," + "A" * 320_000), 10_000),
        (File("data:audio/wav;base64," + "A" * 400_000), 600),
        (File("data:image/png;base64," + "A" * 400_000), IMAGE_OF_UNKNOWN_SIZE),
    ],
)
def test_files_by_size(file: File, tokens: int) -> None:
    assert measure_part(file, pytest.fail) == tokens


def test_data_inside_an_unknown_part_is_not_counted_as_text() -> None:
    screenshot = json.dumps(
        {"type": "computer_output", "image_url": "data:image/png;base64," + "iVBO" * 50_000}
    )
    readable = len(screenshot) - 200_000
    assert measure_part(Opaque("computer_output", screenshot), len) == readable + IMAGE_OF_UNKNOWN_SIZE
    sealed = json.dumps({"type": "compaction", "encrypted_content": "gAAA" * 4_000})
    assert measure_part(Opaque("compaction", sealed), len) == len(sealed) - 16_000 + 3_000
    prose = json.dumps({"type": "note", "text": "plain words " * 500})
    assert measure_part(Opaque("note", prose), len) == len(prose)


def test_a_message_is_its_parts_and_four_for_its_role() -> None:
    assert measure_message(message(Role.USER, Text("hello"), Text("you")), len) == 4 + 5 + 3
    assert measure_message(message(Role.ASSISTANT), len) == 4
    assert measure_message(message(Role.USER, Text("hello"), name="ann"), len) == 4 + 1 + 3 + 5
    step = message(Role.ASSISTANT, StepStart(), Text("on it"), ToolCall("c", "ls", "{}"))
    assert measure_message(step, len) == 4 + 4 + 5 + 2 + 2


def test_system_prompts_of_either_shape() -> None:
    assert measure_system(None, len) == measure_system("", len) == measure_system([], len) == 0
    assert measure_system("be kind", len) == 4 + 7
    blocks = ["be", {"type": "text", "text": "kind", "cache_control": {"type": "ephemeral"}}, Text("!")]
    assert measure_system(blocks, len) == 4 + 2 + 4 + 1
    assert measure_system([{"type": "other"}], len) == 4 + len('{"type":"other"}')


def test_tools_by_the_documented_overheads() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where"},
            "unit": {"type": "string", "enum": ["c", "f"]},
        },
        "required": ["city"],
    }
    function = 7 + len("weather:Tells it")
    properties = 3 + (3 + len("city:string:Where")) + (3 + len("unit:string:"))
    enum = -3 + (3 + 1) + (3 + 1)
    assert measure_tools([("weather", "Tells it", schema)], len) == function + properties + enum + 12
    assert measure_tools([], len) == 0
    assert measure_tools([("now", "", None)], len) == 7 + len("now:") + 12
    assert measure_tools([("now", "", {"type": "object", "properties": {}})], len) == 7 + len("now:") + 12


def test_nested_schemas_count_at_every_level() -> None:
    inner = {"type": "object", "properties": {"zip": {"type": "string"}}}
    flat = measure_tools([("f", "", inner)], len)
    for wrapper in (
        {"type": "array", "items": inner},
        {"anyOf": [inner, {"type": "null"}]},
        {"type": "object", "additionalProperties": inner},
    ):
        assert measure_tools([("f", "", wrapper)], len) == flat
    nested = {"type": "object", "properties": {"address": inner}}
    assert measure_tools([("f", "", nested)], len) == flat + 3 + 3 + len("address:object:")
    with_default = {"type": "object", "properties": {"zip": {"type": ["string", "null"], "default": "x"}}}
    assert measure_tools([("f", "", with_default)], len) == flat + len("|null") + len("default:x")
    endless: dict[str, object] = {"type": "string"}
    for _ in range(100):
        endless = {"type": "array", "items": endless}
    assert measure_tools([("f", "", endless)], len) > 0
