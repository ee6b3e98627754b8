"""The recall tool of the gateway: whose words it may find, and what of it a client may see: nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compact.server.gateway.running import serving
from support.gateway import WINDOW, Client, gateway_settings, manager
from support.providers import CHAT, MESSAGES, RESPONSES, Answer, Calls, Provider, providing

every_api = pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
either_way = pytest.mark.parametrize("stream", [False, True])
RECALL = "compact_recall"


@contextmanager
def recalling(reply: Answer) -> Iterator[tuple[str, Provider]]:
    with providing(reply, WINDOW) as provider:
        settings = gateway_settings(provider.url, recall_tool=True)
        with serving(settings, manager()) as url:
            yield url, provider


def names(tools: list[Any]) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in tools]


def a_talk(url: str, path: str, secret: str = "nothing") -> Client:
    """A conversation that is just too long, and that says something early on."""
    client = Client(url, path)
    client.messages = [
        {"role": "user", "content": "Check the fees."},
        {"role": "assistant", "content": "x " * 900 + f"the hidden cargo: {secret}"},
    ]
    for number in range(60):
        said = "every ship paid its fee in full, nothing is open here. " * 6
        client.messages.append({"role": "user", "content": f"page {number}: {said}"})
        client.messages.append({"role": "assistant", "content": f"Page {number} agrees."})
    client.messages.append({"role": "user", "content": "What was the hidden cargo?"})
    return client


@pytest.mark.spec("S5.11")
@every_api
def test_recall_finds_nothing_of_another_conversation_that_began_the_same(path: str) -> None:
    def look_up_once(messages: list[Any], tools: list[Any]) -> Any:
        said = json.dumps(messages[-2:])
        if RECALL not in names(tools) or RECALL in said or "call_id" in said or "tool_result" in said:
            return "Noted."
        return Calls([(RECALL, {"query": "hidden cargo"})])

    with recalling(look_up_once) as (url, provider):
        talks = {secret: a_talk(url, path, secret) for secret in ("cormorant", "pelican")}
        for own, other in (("cormorant", "pelican"), ("pelican", "cormorant")) * 2:
            before = len(provider.asked)
            assert talks[own].send().status_code == 200
            asked = [one.raw.decode() for one in provider.asked[before:]]
            assert len(asked) == 2 and own in asked[-1]
            assert not [one for one in asked if other in one]


@every_api
@either_way
@pytest.mark.parametrize("own_tools", [False, True])
def test_a_model_that_goes_on_recalling_is_asked_without_the_tool(
    path: str, stream: bool, own_tools: bool
) -> None:
    """Its last answer has nothing of ours, whether the client brings tools or not."""

    def insists(messages: list[Any], tools: list[Any]) -> Any:
        on = RECALL in names(tools) and choice() not in ("none", {"type": "none"})
        return Calls([(RECALL, {"query": "cargo"})], thinking="hm") if on else "I do not know."

    with recalling(insists) as (url, provider):
        choice = lambda: provider.asked[-1].body.get("tool_choice")  # noqa: E731
        client = a_talk(url, path)
        schema = {"type": "object", "properties": {}}
        more: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        if own_tools and path == CHAT:
            more["tools"] = [{"type": "function", "function": {"name": "own", "parameters": schema}}]
        elif own_tools:
            key = "input_schema" if path == MESSAGES else "parameters"
            more["tools"] = [{"type": "function", "name": "own", key: schema}]
        answer = client.send(stream=stream, **more)
        assert answer.status_code == 200 and "know" in answer.text and RECALL not in answer.text
        assert [one.refused for one in provider.asked if one.refused] == []
        assert ("own" in names(provider.asked[-1].body["tools"])) == own_tools


def test_a_model_that_calls_a_tool_it_was_not_given_is_asked_again_without_a_trace_of_it() -> None:
    def stubborn(messages: list[Any], tools: list[Any]) -> Any:
        if RECALL in names(tools) or RECALL in json.dumps(messages):
            return Calls([(RECALL, {"query": "cargo"})])
        return "I do not know."

    with recalling(stubborn) as (url, provider):
        answer = a_talk(url, CHAT).send()
        assert answer.json()["choices"][0]["message"]["content"] == "I do not know."
        assert RECALL.encode() not in provider.asked[-1].raw
        # A reply in a packing that only the client knows could not be searched for calls.
        assert {one.headers["accept-encoding"] for one in provider.asked} == {"identity"}


@every_api
@either_way
def test_what_was_thought_and_other_calls_stay_with_the_recall(path: str, stream: bool) -> None:
    """A provider refuses a call whose thinking is gone, and calls that nobody answered."""

    def both_at_once(messages: list[Any], tools: list[Any]) -> Any:
        said = json.dumps(messages)
        if "pelican" in json.dumps(messages[-3:]):
            return "It was the pelican."
        assert RECALL in names(tools), said
        calls = [("own", {"page": 1}), (RECALL, {"query": "hidden cargo"})]
        return Calls(calls, text="I look it up.", thinking="Where was it?")

    with recalling(both_at_once) as (url, provider):
        client = a_talk(url, path, "pelican")
        answer = client.send(stream=stream, thinking={"type": "enabled", "budget_tokens": 1024})
        assert answer.status_code == 200, answer.text
        assert "pelican" in answer.text and RECALL not in answer.text and '"own"' not in answer.text
        last = provider.asked[-1].raw
        assert b"I look it up." in last and (path == CHAT or b"Where was it?" in last)
