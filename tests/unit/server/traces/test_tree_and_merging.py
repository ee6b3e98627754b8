"""What several events add up to, and the order in which a tree shows spans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.server.traces.event import TraceEvent
from compact.server.traces.merging import is_running, merged
from compact.server.traces.tree import in_order

NAMES = st.sampled_from("abcdefgh")


def spans(parents: dict[str, str | None]) -> dict[str, TraceEvent]:
    return {id: TraceEvent("t", id, parent) for id, parent in parents.items()}


@given(st.dictionaries(NAMES, st.none() | NAMES | st.just("nowhere")))
def test_every_span_stands_once_below_its_parent(parents: dict[str, str | None]) -> None:
    placed = list(in_order(spans(parents)))
    assert sorted(str(place.span.span_id) for place in placed) == sorted(parents)
    above: list[str] = []
    for place in placed:
        del above[place.depth :]
        if place.depth:
            assert above[-1] == place.span.parent_id
        else:
            # At the root: no parent, one that is missing, or a ring of parents that had to be cut somewhere.
            assert place.orphan == (place.span.parent_id is not None)
        above.append(str(place.span.span_id))


def test_a_chain_of_any_length_is_drawn() -> None:
    chain: dict[str, str | None] = {str(n): str(n - 1) if n else None for n in range(5_000)}
    assert [place.depth for place in in_order(spans(chain))] == list(range(5_000))


def test_siblings_stand_in_the_order_they_began() -> None:
    found = {id: TraceEvent("t", id, started=at) for id, at in (("late", 3), ("never", None), ("early", 1))}
    assert [place.span.span_id for place in in_order(found)] == ["early", "late", "never"]


START = TraceEvent("t", "s", "p", "custom", "begun", started=10, data={"a": 1, "b": 1})
END = TraceEvent("t", "s", name="done", ended=30, status="error", data={"b": 2})


def test_start_and_end_give_the_same_in_either_order() -> None:
    whole = TraceEvent("t", "s", "p", "custom", "done", None, 10, 30, "error", {"a": 1, "b": 2})
    assert merged(merged(None, START), END) == merged(merged(None, END), START) == whole


@given(st.permutations([START, END, replace(END, status="ok", ended=40), replace(START, started=5)]))
def test_the_span_is_as_long_as_all_say_and_an_error_stays(order: list[TraceEvent]) -> None:
    known: TraceEvent | None = None
    for event in order:
        known = merged(known, event)
    assert known is not None
    assert (known.started, known.ended, known.status) == (5, 40, "error")


@pytest.mark.parametrize(
    ("event", "running"),
    [
        (START, True),
        (END, False),
        (TraceEvent("t", "s"), False),
        (replace(START, ended=11), False),
        (None, False),
    ],
)
def test_running_is_what_began_and_has_not_ended(event: TraceEvent | None, running: bool) -> None:
    assert is_running(event) is running
