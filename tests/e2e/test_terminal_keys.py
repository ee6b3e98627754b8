"""The terminal as hands use it: stopping a reply, several lines, pasting, completion, slips; and mishaps."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Answer, ChatServer, chat_server
from support.terminal import chatting

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    never, slow = threading.Event(), threading.Event()

    def rule(body: dict[str, Any]) -> str | Answer:
        asked = str(body["messages"][-1]["content"])
        if asked == "hold on":
            return Answer("This much came", " and this never does", hold=never)
        if asked == "play tricks":
            return Answer("\x1b]0;tricked\x07\x1b", "[31mRED", " and <http://a.b/%1b%5b41mBACK%1b%5b2J>")
        if asked == "fail slowly":
            slow.wait(120)
            return Answer("no such model", status=404)
        if asked == "wrong key":
            return Answer("Incorrect API key provided", status=401)
        if asked == "markdown":
            return "# A heading\n\nSome **bold** words.\n\n- one\n- two\n\n```python\nprint(1)\n```\n"
        return f"You said: {asked!r}"

    with chat_server(rule) as running:
        running.slow = slow  # type: ignore[attr-defined]
        yield running
        never.set()


def options(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--model", "gpt-4o", "--base-url", server.url, *more)


def test_keys(server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[]")
    with chatting(tmp_path, *options(server, "keys")) as terminal:
        # Ctrl-C stops a reply, keeps what came, and the line to the server is closed.
        terminal.enter("hold on")
        terminal.see("This much came")
        terminal.type("\x03")
        terminal.prompted()
        assert "Stopped; what arrived is kept." in terminal.text
        assert server.left.wait(60)
        terminal.say("next")
        assert [m["content"] for m in server.last] == ["hold on", "This much came", "next"]

        # It does not drop what was typed during the reply.
        server.left.clear()
        terminal.enter("hold on")
        terminal.until(lambda: terminal.text.count("This much came") == 2, "the second reply")
        terminal.type("typed meanwhile")
        terminal.type("\x03")
        terminal.prompted("typed meanwhile")
        assert server.left.wait(60)
        terminal.type("\x03")
        terminal.prompted()

        # Alt-Enter makes a new line; a pasted block stays one message.
        terminal.type("two")
        terminal.type("\x1b\r")
        terminal.enter("lines")
        terminal.prompted()
        assert server.last[-1]["content"] == "two\nlines"
        terminal.type("\x1b[200~pasted\nblock\nof lines\x1b[201~")
        terminal.see("of lines")
        terminal.type("\r")
        terminal.prompted()
        assert server.last[-1]["content"] == "pasted\nblock\nof lines"

        # Completion: commands, paths, sessions. Ctrl-C empties the line.
        terminal.type("/ex")
        terminal.see("/export [-f] [file]")
        terminal.type("\t")
        terminal.until(lambda: terminal.cursor_line == "› /export", "the command completed")
        terminal.type(" no")
        terminal.see("notes.json")
        terminal.type("\t")
        terminal.until(lambda: terminal.cursor_line == "› /export notes.json", "the path completed")
        terminal.type("\x03")
        terminal.prompted()
        terminal.type("/resume k")
        terminal.see(" keys")
        terminal.type("\t")
        terminal.until(lambda: terminal.cursor_line == "› /resume keys", "the session completed")
        terminal.type("\x03")
        terminal.prompted()

        # History, a slip, a message that only looks like a command.
        terminal.type("\x1b[A")
        terminal.until(lambda: "of lines" in terminal.cursor_line, "the message before")
        terminal.type("\x03")
        terminal.prompted()
        assert "Did you mean /export?" in terminal.say("/exprot")
        assert "You said: '/usr/bin is full'" in terminal.say("/usr/bin is full")

        said = terminal.say("markdown")
        assert "A heading" in said and "#" not in said and "**" not in said
        assert "• one" in said and "print(1)" in said
        assert terminal.status.startswith("gpt-4o · ctx ")

        # What a model says cannot drive the terminal, nor does a link that hides control characters.
        said = terminal.say("play tricks")
        assert "RED" in said and "BACK" in said and terminal.screen.title == ""
        assert terminal.color_of("RED") == {"default"}
        terminal.type("\x04")
        assert terminal.ended() == 0


def test_mishaps_are_told_and_the_session_is_as_it_was(server: ChatServer, tmp_path: Path) -> None:
    with chatting(tmp_path, *options(server, "talk")) as terminal:
        terminal.say("a finished question")
        before = terminal.say("/stats").split("\n")[0]

        terminal.enter("wrong key")
        terminal.see("answered 401")
        terminal.prompted("wrong key")
        assert "Incorrect API key" in terminal.text
        assert terminal.color_of("answered 401") == {"red"}
        terminal.type("\x03")
        terminal.prompted()
        assert terminal.say("/stats").split("\n")[0] == before

        # No byte more may be written: a full disk, as far as the process can tell.
        resource.prlimit(terminal.child.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        terminal.enter("while the disk is full")
        terminal.see("could not be written")
        terminal.prompted("while the disk is full")
        terminal.type("\x03")
        terminal.prompted()
        assert "could not be written" in terminal.say("/export full.json")
        assert not (tmp_path / "full.json").exists()
        resource.prlimit(terminal.child.pid, resource.RLIMIT_FSIZE, UNLIMITED)

        assert "You said: 'it goes on'" in terminal.say("it goes on")
        assert [m["content"] for m in server.last] == [
            "a finished question",
            "You said: 'a finished question'",
            "it goes on",
        ]
        server.shutdown()
        server.server_close()
        terminal.enter("is anybody there")
        terminal.until(lambda: "could not be reached" in terminal.text.replace("\n", " "), "the mishap")
        terminal.prompted("is anybody there")
        terminal.type("\x03")
        terminal.prompted()
        assert "4 turns" in terminal.say("/save")
        assert "4 turns written" in terminal.say("/export after.json")


@pytest.mark.parametrize("at_once", [False, True], ids=["while it waits", "together with Enter"])
def test_what_is_typed_ahead_is_not_glued_to_a_message_that_came_back(
    server: ChatServer, tmp_path: Path, at_once: bool
) -> None:
    with chatting(tmp_path, *options(server, "ahead")) as terminal:
        terminal.say("hello")
        if at_once:
            terminal.type("fail slowly\rand another thing")
        else:
            terminal.enter("fail slowly")
        terminal.until(lambda: len(server.requests) == 2, "the request")
        if not at_once:
            terminal.type_unread("and another thing")
        server.slow.set()  # type: ignore[attr-defined]
        terminal.prompted("and another thing")
        assert "press Up to get back" in terminal.text
        terminal.type("\x15")  # Ctrl-U empties the line
        terminal.prompted()
        terminal.type("\x1b[A")
        terminal.prompted("fail slowly")
