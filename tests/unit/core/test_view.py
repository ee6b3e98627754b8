"""The view and the hashes that recognize it."""

from __future__ import annotations

from compact.core.view import START, Item, apply_entries, chain, clear_outputs, cleared_text, handle, link
from compact.model.message import Image, Message, MessageKind, Role, ToolResult, make
from compact.model.record import Cleared, Entry, Injected, Kept, Record, RecordKind
from support.conversations import message, user
from support.views import size, step, turns


def record(*entries: Entry) -> Record:
    return Record("r1", "s", RecordKind.COMPACTION, b"", 9, b"", entries, "p", created_at=7.0)


def test_equal_chains_mean_equal_prefixes() -> None:
    messages = turns(3)
    assert chain(messages) == chain(messages[2:], chain(messages[:2]))
    assert chain([]) == START and link(START, messages[0].digest) == chain(messages[:1])
    assert len({chain(messages[:n]) for n in range(7)}) == 7
    assert chain([messages[1], messages[0]]) != chain(messages[:2])


def test_handles_rest_on_the_call_id_alone() -> None:
    assert handle("c1") == handle("c1") != handle("c2")
    assert handle("\ud800").startswith("r-")  # a lone surrogate is no reason to fail
    assert cleared_text("c1").startswith("[Tool output cleared - see conversation summary] (recall r-")


def test_clearing_replaces_the_named_results_only() -> None:
    both = message(
        Role.TOOL,
        ToolResult("a", "x" * 50, media=(Image("https://example.org/a.png"),)),
        ToolResult("b", "y" * 50),
    )
    cleared = clear_outputs(both, Cleared(3, ("a",), (50,)), at=7.0)
    first, second = cleared.results
    assert (first.text, first.media, first.cleared_at, first.original_tokens) == (
        cleared_text("a"),
        (),
        7.0,
        50,
    )
    assert second is both.results[1]
    assert cleared.changed and cleared.digest != both.digest and both.results[0].text == "x" * 50


def test_a_record_becomes_the_items_that_stand_for_its_span() -> None:
    originals = [user("q"), *step(1), user("r")]
    ours = make(MessageKind.SUMMARY, Role.ASSISTANT, "so far")
    items = apply_entries(
        record(Injected(ours), Cleared(2, ("c1",), (100,)), Kept(3)), originals.__getitem__, size
    )
    assert items is not None
    assert [item.position for item in items] == [None, 2, 3]
    assert items[0].message is ours and items[2].message is originals[3]
    assert items[1].message.results[0].cleared_at == 7.0
    assert [item.tokens for item in items] == [size(item.message) for item in items]


def test_it_does_not_apply_where_an_original_is_missing() -> None:
    def nothing(position: int) -> Message | None:
        return None

    assert apply_entries(record(Kept(0)), nothing, size) is None
    assert apply_entries(record(), nothing, size) == []


def test_an_item_knows_where_it_comes_from() -> None:
    ours = make(MessageKind.MARKER, Role.USER, "gone")
    assert Item(ours, 1, Injected(ours)).position is None
    assert Item(user("a"), 1, Kept(4)).position == 4
