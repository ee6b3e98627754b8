"""Which discovered tools leave the list, and which come back."""

from __future__ import annotations

from compact.engine.tools import active_tools, discovered_names, unreferred
from compact.model.message import MessageKind, Role, make
from support.conversations import assistant, call, result, user
from support.raw import tool

FOUND = {"meta": {"discovered": True}}


def test_only_marked_tools_are_discovered() -> None:
    tools = [tool("a"), tool("b", **FOUND), tool("c", meta={"discovered": False}), tool("d", meta="yes")]
    assert discovered_names(tools) == ["b"]
    assert discovered_names(None) == []
    assert discovered_names({"x": {"description": "", **FOUND}, "y": {"description": ""}}) == ["x"]


def test_a_call_or_a_mention_is_a_reference() -> None:
    names = {"called", "named", "returned", "gone"}
    messages = [
        call("c1", "called", "{}"),
        assistant("use `named` next"),
        result("c1", "found: returned, more"),
    ]
    assert unreferred(names, messages) == {"gone"}


def test_part_of_a_longer_word_is_none() -> None:
    assert unreferred({"run"}, [user("we ran; running run_all and pre-run")]) == {"run"}
    assert unreferred({"run"}, [user("please run it")]) == frozenset()


def test_a_summary_of_ours_is_no_kept_message() -> None:
    assert unreferred({"old"}, [make(MessageKind.SUMMARY, Role.ASSISTANT, "old was used")]) == {"old"}


def test_the_list_is_the_same_object_while_nothing_goes() -> None:
    tools = [tool("a"), tool("b", **FOUND)]
    assert active_tools(tools, frozenset()) is tools
    assert active_tools(tools, {"a"}) is tools  # not discovered, so never taken away
    assert active_tools(tools, {"b"}) == [tools[0]]
    by_name = {"a": {"description": ""}, "b": {"description": "", **FOUND}}
    assert active_tools(by_name, {"b"}) == {"a": {"description": ""}}
