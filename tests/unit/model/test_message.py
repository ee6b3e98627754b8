from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.model.message import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    call_digest,
    digest_of,
    result_digest,
    text_digest,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Image("u"), Image("u", detail="low")),
        (Image("u", detail="high"), Image("u", detail="low")),
        (Image("u", width=10, height=20), Image("u", width=20, height=10)),
        (Image("u", "image/png"), Image("u", "image/jpeg")),
        (File("f", "a", "audio/wav"), File("f", "a", "application/pdf")),
        (Reasoning("", "proof"), Reasoning("", "proof", redacted=True)),
        (ToolResult("c", "x", media=(Image("u"),)), ToolResult("c", "x", media=(Image("u", detail="low"),))),
        (ToolResult("c", "x"), ToolResult("c", "x", is_error=True)),
        (ToolCall("c", "look", "{}"), ToolCall("c", "look", '{"a":1}')),
        (Text("u"), Opaque("text", "u")),
    ],
)
def test_whatever_a_size_depends_on_is_part_of_the_digest(one: Part, other: Part) -> None:
    assert digest_of(Role.USER, (one,)) != digest_of(Role.USER, (other,))


def test_counts_and_times_are_no_part_of_the_digest() -> None:
    told = (Text("a", tokens=3), ToolResult("c", "x", tokens=5, original_tokens=9, cleared_at=1.0))
    assert digest_of(Role.TOOL, told) == digest_of(Role.TOOL, (Text("a"), ToolResult("c", "x")))


said = st.text(st.characters(), max_size=20)


@given(said, said, said, st.sampled_from(Role))
def test_the_short_ways_to_a_digest_give_the_same(one: str, other: str, third: str, role: Role) -> None:
    assert text_digest(role.value, one) == digest_of(role, (Text(one),))
    assert result_digest(one, other) == digest_of(Role.TOOL, (ToolResult(one, other),))
    call = ToolCall(one, other, third)
    assert call_digest(one, other, third) == digest_of(Role.ASSISTANT, (call,))
