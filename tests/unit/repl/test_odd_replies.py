"""Replies that a server cuts or shapes in odd ways: the chat goes on, and so does the session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from compact import lint
from support.chat_server import Answer, ChatServer
from support.cli import Ended

Chat = Callable[..., Ended]

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def once(*first: Answer) -> Callable[[dict[str, Any]], Answer]:
    """These answers to the first requests, then ordinary ones."""
    waiting = list(first)
    return lambda _: waiting.pop(0) if waiting else Answer("Fine.")


def replies(ended: Ended) -> list[str]:
    found = [json.loads(line) for line in ended.out.splitlines()]
    return [line["content"] for line in found if line["type"] == "reply"]


def test_half_an_emoji_at_a_chunk_border_loses_nothing(chat: Chat, server: ChatServer) -> None:
    server.rule = once(Answer("a \ud83d", "\ude00 b"))
    ended = chat("talk", "--json", given="hello\nand now?\n")
    assert ended.code == 0 and replies(ended) == ["a 😀 b", "Fine."]
    assert [message["content"] for message in server.last] == ["hello", "a 😀 b", "and now?"]


def test_a_delta_of_no_known_form_ends_the_reply_and_not_the_chat(chat: Chat, server: ChatServer) -> None:
    server.rule = once(Answer("It began", 5))
    ended = chat("talk", "--json", given="hello\nand now?\n")
    assert "Traceback" not in ended.out + ended.err
    assert replies(ended)[-1] == "Fine."


def test_a_call_that_nobody_runs_leaves_a_valid_prompt(chat: Chat, server: ChatServer) -> None:
    server.rule = once(Answer({"tool_calls": [CALL]}))
    chat("talk", "--json", given="Look!\n")
    assert replies(chat("talk", "--json", given="Well?\n")) == ["Fine."]
    assert server.last[-1]["content"] == "Well?"
    assert lint(server.last, provider="openai") == []


def test_a_reply_that_was_cut_off_says_so_and_what_to_do(chat: Chat, server: ChatServer) -> None:
    server.rule = once(Answer("Once upon", finish="length"))
    told = [json.loads(line) for line in chat("--json", given="A tale!\ncontinue\n").out.splitlines()]
    assert [line["type"] for line in told] == ["reply", "warning", "reply"]
    assert "cut off" in told[1]["text"] and "“continue”" in told[1]["text"]


def kinds(ended: Ended) -> list[str]:
    return [json.loads(line)["type"] for line in ended.out.splitlines()]


def test_a_limit_in_the_middle_of_an_exchange_that_goes_on_is_not_told(
    chat: Chat, server: ChatServer
) -> None:
    server.rule = once(Answer("Let me see.", {"tool_calls": [CALL]}, finish="length"))
    ended = chat("--json", given="Look!")
    assert replies(ended) == ["Let me see.", "Fine."] and "warning" not in kinds(ended)


def test_a_limit_that_leaves_no_words_after_a_call_is_told(chat: Chat, server: ChatServer) -> None:
    silent = Answer({"reasoning_content": "Hmm."}, finish="length")
    server.rule = once(Answer({"tool_calls": [CALL]}, finish="tool_calls"), silent)
    ended = chat("--json", given="Look!")
    assert kinds(ended)[-1] == "warning" and "length limit" in ended.out


def test_a_limit_that_leaves_no_words_is_told_from_silence(chat: Chat, server: ChatServer) -> None:
    server.rule = once(Answer({"reasoning_content": "Hmm."}, finish="length"))
    told = chat("--text", given="A tale!")
    assert told.code == 0 and "length limit" in told.err and "nothing was added" in told.err
