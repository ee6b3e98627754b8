"""Events come out the same wherever the network cut the bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.models._sse import data_of

STREAM = (
    ": a comment\n\n"
    'event: x\ndata: {"text": "żółw 🐢 漢字"}\n\n'
    "id: 7\nretry: 10\n\n"
    "data: one\ndata:two\ndata:  three\n\n\n"
    "data: [DONE]\n\n"
)
EVENTS = ['{"text": "żółw 🐢 漢字"}', "one\ntwo\n three", "[DONE]"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@given(cuts=st.lists(st.integers(0, 200), max_size=20))
def test_cuts_change_nothing(newline: str, cuts: list[int]) -> None:
    raw = STREAM.replace("\n", newline).encode()
    edges = sorted({0, len(raw), *(cut % len(raw) for cut in cuts)})
    chunks = [raw[start:stop] for start, stop in pairwise(edges)]
    assert list(data_of(chunks)) == EVENTS


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_byte_alone(newline: str) -> None:
    raw = STREAM.replace("\n", newline).encode()
    assert list(data_of(raw[at : at + 1] for at in range(len(raw)))) == EVENTS


def test_the_last_event_may_lack_its_empty_line() -> None:
    assert list(data_of([b"data: one\n\ndata: two"])) == ["one", "two"]


def test_an_endless_line_is_given_up() -> None:
    with pytest.raises(ValueError, match="bytes"):
        list(data_of(b"x" * 1_000_000 for _ in range(20)))
