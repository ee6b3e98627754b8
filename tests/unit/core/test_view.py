"""The view and the hashes that recognize it."""

from __future__ import annotations

from compact.core.view import (
    START,
    Item,
    apply_entries,
    chain,
    clear_outputs,
    cleared_text,
    handle,
    handles_of,
    links,
    span_handle,
)
from compact.model.message import Image, Message, MessageKind, Role, ToolResult, make
from compact.model.record import Cleared, Entry, Injected, Kept, Record, RecordKind
from support.conversations import message, user
from support.views import size, step, turns


def record(*entries: Entry) -> Record:
    return Record("r1", "s", RecordKind.COMPACTION, b"", 9, b"", entries, "p", created_at=7.0)


def test_equal_chains_mean_equal_prefixes() -> None:
    messages = turns(3)
    assert chain(messages) == chain(messages[2:], chain(messages[:2]))
    assert chain([]) == START and links(START, messages[:1]) == [chain(messages[:1])]
    assert len({chain(messages[:n]) for n in range(7)}) == 7
    assert chain([messages[1], messages[0]]) != chain(messages[:2])


def test_handles_tell_apart_what_was_returned_and_for_which_call() -> None:
    one = handle(ToolResult("c1", "x"))
    assert one == handle(ToolResult("c1", "x", tokens=7, name="read"))
    assert len({one, handle(ToolResult("c1", "y")), handle(ToolResult("c2", "x"))}) == 3
    assert handle(ToolResult("\ud800", "\ud800")).startswith("r-")  # a lone surrogate is no reason to fail
    assert cleared_text(one) == f"[Tool output cleared - see conversation summary] (recall {one})"


def test_a_record_from_before_handles_were_noted_sends_what_it_sent() -> None:
    entry = Cleared(3, ("a",), (50,))
    assert handles_of(entry) == {"a": "r-f4e169f8ee"}
    (result,) = clear_outputs(message(Role.TOOL, ToolResult("a", "x" * 50)), entry, at=7.0).results
    assert result.text.endswith("(recall r-f4e169f8ee)")


def test_a_span_is_named_by_all_that_it_held() -> None:
    messages = turns(3)
    assert span_handle(messages) == span_handle(turns(3)) != span_handle(messages[1:])
    assert span_handle(messages).startswith("s-") and len(span_handle(messages)) == 12


def test_clearing_replaces_the_named_results_only() -> None:
    both = message(
        Role.TOOL,
        ToolResult("a", "x" * 50, media=(Image("https://example.org/a.png"),)),
        ToolResult("b", "y" * 50),
    )
    cleared = clear_outputs(both, Cleared(3, ("a",), (50,), ("r-0123456789",)), at=7.0)
    first, second = cleared.results
    assert (first.text, first.media, first.cleared_at, first.original_tokens) == (
        "[Tool output cleared - see conversation summary] (recall r-0123456789)",
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
    assert Item(ours, 1).entry == Injected(ours)
    assert Item(user("a"), 1, 4).entry == Kept(4)
