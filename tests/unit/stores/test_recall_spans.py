"""A summary's handle reaches all that the summary stands for, in every preset and after further summaries."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from compact.counters import counter_for
from compact.policies import PRESETS
from compact.recall import MARK, handle_recall
from support.raw import Desk, Raw, assistant, pairs, step, steps, system, user

Opener = Callable[[], Any]
WINDOW = 2_000


def named(prompt: list[Raw]) -> list[str]:
    """The handles of summaries and markers in what goes out."""
    return re.findall(r"\(recall (s-[0-9a-f]{10})\)", str(prompt))


def everything(desk: Desk, handle: str, session: str = "s") -> dict[int, str]:
    """All that a handle reaches, page by page."""
    found: dict[int, str] = {}
    while page := desk.manager.recall(session, handle, limit=3, after=max(found, default=-1)):
        assert min(hit.position for hit in page) > max(found, default=-1)
        found |= {hit.position: hit.text for hit in page}
    return found


def grown(desk: Desk, history: list[Raw], compactions: int) -> list[Raw]:
    while sum(bool(record.handle) for record in desk.manager.records("s")) < compactions:
        history = [*history, assistant(f"answer to {len(history)}"), user(f"question {len(history)}")]
        desk.preflight(history)
    return history


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_names_what_it_replaced(preset: str) -> None:
    desk = Desk(preset, WINDOW)
    history = [system(), *pairs(20), user("the newest")]
    out = desk.preflight(history)
    (handle,) = named(out)
    assert desk.preflight(history) == out
    gone = {n: message["content"] for n, message in enumerate(history[1:]) if message not in out}
    assert gone and everything(desk, handle) == gone
    assert desk.manager.recall("s", f"(recall {handle})") == desk.manager.recall("s", handle)


def test_a_second_summary_reaches_the_whole_span_and_the_first_one_still_resolves(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    history = grown(desk, pairs(16), 1)
    (first,) = named(desk.preflight(history))
    before = everything(desk, first)
    history = grown(desk, history, 2)
    (second,) = named(desk.preflight(history))
    assert second != first
    # Another process, after both: the same.
    later = Desk("chat", WINDOW, store=opened())
    assert everything(later, first) == before
    reached = everything(later, second)
    assert before.items() <= reached.items() and len(reached) > len(before)
    assert reached == {n: history[n]["content"] for n in reached}
    assert list(reached) == list(range(len(reached)))


def test_who_goes_on_with_the_shorter_list_gets_the_same_bytes_and_handles(opened: Opener) -> None:
    store = opened()
    desk = Desk("chat", WINDOW, store=store)
    history = [*pairs(16), user("the newest")]
    out = desk.preflight(history)
    more = [message for n in range(12) for message in (assistant(f"a {n}"), user(f"q {n}"))]
    full = desk.preflight([*history, *more])
    adopting = Desk("chat", WINDOW, store=opened())
    adopted = adopting.preflight([*out, *more], session="s")
    assert adopted == full and named(full)
    assert everything(adopting, named(full)[0]) == everything(desk, named(full)[0])


def test_words_behind_a_handle_narrow_it(opened: Opener) -> None:
    desk = Desk("budget", 4_000, store=opened())
    history = [user("the task"), *steps(60), user("berth LH-204 again?"), assistant("which?"), user("go on")]
    history[20] = {**history[20], "content": "ship LH-204 lies at berth 7 " * 4}
    (handle,) = named(desk.preflight(history))
    assert [hit.position for hit in desk.manager.recall("s", f"{handle} LH-204")] == [20]
    assert {hit.position for hit in desk.manager.recall("s", "LH-204")} == {20, 121}
    assert desk.manager.recall("s", f"{handle} zeppelin") == []
    assert desk.manager.recall("s", f"{handle} LH-204", after=20) == []


def test_a_handle_holds_on_a_line_that_was_left_and_in_no_other_session(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    history = [*pairs(16), user("the newest")]
    (handle,) = named(desk.preflight(history))
    before = everything(desk, handle)
    desk.preflight([user("another beginning"), *history[1:4]])
    assert everything(desk, handle) == before
    desk.preflight(pairs(2), session="t")
    assert desk.manager.recall("t", handle) == [] and desk.manager.recall("nobody", handle) == []
    assert desk.manager.recall("s", "s-0000000000") == []


def test_sessions_with_the_same_history_share_the_record_and_recall_their_own(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    history = [*pairs(16), user("the newest")]
    (handle,) = named(desk.preflight(history))
    assert named(desk.preflight(history, session="t")) == [handle]
    assert len(desk.summarizer.requests) == 1
    assert everything(desk, handle, "t") == everything(desk, handle)


def test_equal_call_ids_have_handles_of_their_own(opened: Opener) -> None:
    history = [user("the task")]
    for number in range(22):
        call, result = step(number, output=400)
        call = {**call, "tool_calls": [{**call["tool_calls"][0], "id": "call_0"}]}
        history += [call, {**result, "tool_call_id": "call_0"}, assistant("so", 5), user(f"and {number}?", 5)]
    desk = Desk("agent", 10_000, store=opened())
    out = desk.prepare(history)
    handles = re.findall(r"\(recall (r-[0-9a-f]{10})\)", str(out.messages))
    assert out.debug.outputs_cleared == len(handles) > 10 and len(set(handles)) == len(handles)
    results = [message["content"] for message in history if message["role"] == "tool"]
    for handle, text in zip(handles, results, strict=False):
        assert [hit.text for hit in desk.manager.recall("s", handle)] == [text]
    # The bytes are the same for who goes on with the shorter list, also when more is cleared.
    tail = [
        m for n in range(30, 50) for m in (*step(n, output=400), assistant("so", 5), user(f"and {n}?", 5))
    ]
    more = [assistant("so"), user("next"), *tail]
    full = desk.preflight([*history, *more])
    assert Desk("agent", 10_000, store=opened()).preflight([*out.messages, *more]) == full


@pytest.mark.parametrize(("limit", "tokens"), [(4, 600), (5, 190)])
def test_the_tool_pages_through_a_summary_within_its_tokens(limit: int, tokens: int) -> None:
    desk = Desk("chat", WINDOW)
    history = [*pairs(30), user("the newest")]
    (handle,) = named(desk.preflight(history))
    expected, shown, after = everything(desk, handle), [], None
    count = counter_for("gpt-4o", "chars4").count
    while True:
        asked = {"query": handle, "limit": limit} | ({} if after is None else {"after": after})
        answer = handle_recall(desk.manager, "s", asked, max_tokens=tokens)
        assert answer.startswith(MARK) and count(answer) <= tokens
        # Little room: fewer messages, but whole ones.
        assert "more characters" not in answer
        shown += [int(n) for n in re.findall(r"^--- message (\d+),", answer, re.MULTILINE)]
        more = re.search(r"repeat the query with after=(\d+)", answer)
        if more is None:
            break
        after = int(more[1])
    assert shown == list(expected)
    one = handle_recall(desk.manager, "s", {"query": handle, "offset": 5, "after": 3}, max_tokens=300)
    assert re.findall(r"^--- message (\d+),", one, re.MULTILINE) == ["4"]
