"""kill -9 in the middle of a reply, of a trim and of a save: no finished turn is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Answer, ChatServer, chat_server
from support.terminal import Terminal, chatting

STALLING = Path(__file__).parents[1] / "support" / "stalling"
SMALL = ("--window", "2000", "--counter", "chars4", "--set", "policy.hard_cap_buffer=50")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    never = threading.Event()

    def rule(body: dict[str, Any]) -> str | Answer:
        asked = str(body["messages"][-1]["content"])
        if asked == "hold on":
            return Answer("This is the begin", "ning", hold=never)
        return f"You said: {asked}"

    with chat_server(rule) as running:
        yield running
        never.set()


def options(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--model", "gpt-4o", "--base-url", server.url, *SMALL, *more)


@contextmanager
def stalled(server: ChatServer, folder: Path, place: str) -> Iterator[tuple[Terminal, Path]]:
    """A chat that will stand still at this place, and the file that tells that it does."""
    mark = folder / "stalled"
    environ = {"PYTHONPATH": str(STALLING), "STALL_AT": place, "STALL_MARK": str(mark)}
    with chatting(folder, *options(server, "talk"), **environ) as terminal:
        yield terminal, mark


def killed_at(terminal: Terminal, mark: Path) -> None:
    terminal.until(mark.exists, "the place to be killed at")
    terminal.kill()


def told(server: ChatServer) -> list[str]:
    return [message["content"] for message in server.last]


@pytest.mark.spec("S1.14")
@pytest.mark.parametrize("before", [["a finished question"], []], ids=["a later reply", "the very first"])
def test_killed_in_the_middle_of_a_reply_the_finished_turns_are_there(
    server: ChatServer, tmp_path: Path, before: list[str]
) -> None:
    with chatting(tmp_path, *options(server, "talk")) as terminal:
        for question in before:
            terminal.say(question)
        terminal.enter("hold on")
        terminal.see("This is the begin")
        terminal.kill()
    with chatting(tmp_path, *options(server)) as terminal:
        # The next start offers it, and what was never answered stands in the prompt again.
        title = "".join(f" “{question}”" for question in before)
        terminal.see(f"Session talk{title} was not closed. /resume talk goes on with it.")
        terminal.enter("/resume talk")
        terminal.prompted("hold on")
        for _ in "hold on":
            terminal.type("\x7f")
        terminal.prompted()
        terminal.say("go on")
        finished = [text for question in before for text in (question, f"You said: {question}")]
        assert told(server) == [*finished, "go on"]
        terminal.enter("/quit")
        assert terminal.ended() == 0
    with chatting(tmp_path, *options(server)) as terminal:
        assert "was not closed" not in terminal.text


@pytest.mark.spec("S1.14")
@pytest.mark.parametrize("place", ["archive of a trim", "commit of a trim"])
def test_killed_in_the_middle_of_a_trim_nothing_was_trimmed(
    server: ChatServer, tmp_path: Path, place: str
) -> None:
    turns = [{"role": ("user", "assistant")[n % 2], "content": f"{n:04d}" + "wxyz" * 112} for n in range(14)]
    (tmp_path / "seed.json").write_text(json.dumps(turns))
    with stalled(server, tmp_path, place) as (terminal, mark):
        assert "14 turns imported" in terminal.say("/import seed.json")
        terminal.see("Context at 80% capacity")
        terminal.enter("this one trims")
        killed_at(terminal, mark)
    with chatting(tmp_path, *options(server, "talk"), ready=False) as terminal:
        terminal.prompted("this one trims")
        # Whole as it was before: fourteen turns, no compaction.
        assert "14 turns" in terminal.text and "⟳" not in terminal.status
        terminal.type("\r")
        terminal.see("You said: this one trims")
        terminal.prompted()
        contents = told(server)
        assert [turn["content"] for turn in turns][-4:] == contents[-5:-1]
        assert [turn["content"] for turn in turns][:2] == contents[:2]


@pytest.mark.spec("S1.14")
@pytest.mark.parametrize("place", ["commit of a save", "export"])
def test_killed_in_the_middle_of_a_save_the_session_is_as_it_was(
    server: ChatServer, tmp_path: Path, place: str
) -> None:
    (tmp_path / "context.json").write_text("as it was")
    command = "/save another title" if place == "commit of a save" else "/export -f context.json"
    with chatting(tmp_path, *options(server, "talk")) as terminal:
        terminal.say("first")
        terminal.say("second")
    with stalled(server, tmp_path, place) as (terminal, mark):
        terminal.enter(command)
        killed_at(terminal, mark)
    assert (tmp_path / "context.json").read_text() == "as it was"
    with chatting(tmp_path, *options(server, "talk")) as terminal:
        assert "Session talk “first”: 4 turns." in terminal.text
        terminal.say("third")
        assert told(server)[::2] == ["first", "second", "third"]


@pytest.mark.spec("S1.14")
def test_killed_while_a_reply_is_stored_only_that_reply_is_missing(
    server: ChatServer, tmp_path: Path
) -> None:
    with chatting(tmp_path, *options(server, "talk")) as terminal:
        terminal.say("first")
    with stalled(server, tmp_path, "commit of a reply") as (terminal, mark):
        terminal.enter("second")
        killed_at(terminal, mark)
    with chatting(tmp_path, *options(server, "talk"), ready=False) as terminal:
        terminal.prompted("second")
        terminal.type("\r")
        terminal.see("You said: second")
        terminal.prompted()
        assert told(server) == ["first", "You said: first", "second"]
