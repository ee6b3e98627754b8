"""The terminal's loop with keys from a pipe; marks of open chats; Ctrl-C wherever it strikes."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from compact.chat.drivers import undisturbed
from compact.cli.commands import chat as command
from compact.console.context import Context
from compact.console.options import add_output
from compact.console.terminal import Screen
from compact.errors import ConfigError
from compact.repl import opening
from compact.repl.background import Opening
from compact.repl.driving import drive
from compact.repl.marks import Left, Mark, left_behind
from compact.repl.prompt import PrivateHistory, Prompt, SlashCompleter
from compact.repl.saying import Happening, Piece, info
from compact.repl.terminal import converse
from support.chat_server import ChatServer

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def terminal(server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The chat at a terminal: one of `keys` at each prompt; returns its exit code and what it showed."""
    monkeypatch.chdir(tmp_path)
    ask = Prompt.ask

    def run(keys: list[str], *options: str) -> tuple[int, str]:
        parser = ArgumentParser()
        command.add_arguments(parser)
        add_output(parser)
        args = parser.parse_args(["--model", "gpt-4o", "--base-url", server.url, *options])
        out = io.StringIO()
        screen = Screen(out, 80)
        context = Context(args, io.StringIO(), screen, screen, {})
        with create_pipe_input() as given, create_app_session(input=given, output=DummyOutput()):
            waiting = iter(keys)

            def typing(prompt: Prompt, draft: str = "") -> str:
                given.send_text(next(waiting, ""))
                return ask(prompt, draft)

            monkeypatch.setattr(Prompt, "ask", typing)
            code = converse(context)
        return code, out.getvalue()

    return run


def test_messages_commands_and_leaving(terminal: Run, server: ChatServer, tmp_path: Path) -> None:
    code, shown = terminal(["hello\r", "fail\r", "\x03", "\r", "/stats\r", "/quit\r"], "talk")
    assert code == 0
    assert "You said: hello" in shown and "answered 404" in shown and "Context: " in shown
    assert "Stored as talk." in shown
    assert not list((tmp_path / ".compact" / "chat").glob("open-*"))
    # Again, by Ctrl-D; what was never answered stands in the prompt, and Enter sends it.
    _, shown = terminal(["\r", "\x03", "\x04"], "talk")
    assert "Session talk “hello”: 2 turns." in shown
    assert server.last[-1]["content"] == "fail"


def test_a_remembered_model_that_is_not_there_is_told_before_another_one_answers(
    terminal: Run, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(["hello\r", "/model gpt-4.1\r", "/quit\r"], "talk")
    monkeypatch.setattr(opening, "_wanted", lambda context: {})  # as without --model
    choose = opening.chosen

    def refusing(name: str, context: Any) -> Any:
        if name == "gpt-4.1":
            raise ConfigError("gpt-4.1 needs OPENAI_API_KEY, which is not set.")
        return choose(name, context)

    monkeypatch.setattr(opening, "chosen", refusing)
    asked = len(server.requests)
    _, shown = terminal(["\x04"], "talk")
    assert "This session was with gpt-4.1, which cannot be used now" in shown
    assert len(server.requests) == asked


def test_a_message_that_is_stopped_while_the_chat_still_loads_stands_in_the_prompt_again(
    terminal: Run, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()
    open_chat, result = opening.open_chat, Opening.result

    def slowly(context: Context) -> Any:
        assert stopped.wait(60)
        return open_chat(context)

    def interrupted(self: Opening) -> Any:
        if stopped.is_set():
            return result(self)
        try:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            return result(self)
        finally:
            stopped.set()

    monkeypatch.setattr(opening, "open_chat", slowly)
    monkeypatch.setattr(Opening, "result", interrupted)
    code, shown = terminal(["too early\r", "\r", "/quit\r"])
    assert code == 0
    assert shown.index("starting …") < shown.index("Stopped; nothing was added.")
    assert "You said: too early" in shown and len(server.last) == 1


def test_what_prevents_the_start_ends_it(terminal: Run) -> None:
    with pytest.raises(ConfigError, match="preset must be one of"):
        terminal([], "--preset", "nope")


def test_a_chat_that_died_is_offered(terminal: Run, tmp_path: Path) -> None:
    folder = tmp_path / ".compact" / "chat"
    folder.mkdir(parents=True)
    (folder / "open-1").write_text('{"session_id": "lost", "title": "a title"}')
    assert "Session lost “a title” was not closed. /resume lost goes on with it." in terminal(["\x04"])[1]
    assert "was not closed" not in terminal(["\x04"])[1]


def test_marks(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    mark.set("one", "")
    mark.set("two", "a title")
    # Whoever looks from this machine sees that its process lives.
    assert left_behind(tmp_path) is None
    mark.remove()
    mark.remove()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "open-7").write_text("not json")
    (tmp_path / "open-8").write_text('{"session_id": "x", "title": ""}')
    assert left_behind(tmp_path) == Left("x", "")
    assert left_behind(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/ex", ["/export"]),
        ("/s", ["/stats", "/summary", "/save", "/sessions"]),
        ("/resume al", ["alpha"]),
        ("/preset b", ["budget"]),
        ("/model gpt", ["gpt-4o"]),
        ("/help comp", ["compact"]),
        ("/import no", ["tes.json"]),
        ("/export -f no", ["tes.json"]),
        ("/stats ", []),
        ("no command", []),
        ("/two\nlines", []),
    ],
)
def test_completion(typed: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.json").touch()
    completer = SlashCompleter(lambda: ["alpha", "beta"], lambda: ["gpt-4o", "local"])
    found = completer.get_completions(Document(typed, len(typed)), CompleteEvent())
    assert [completion.text for completion in found] == offered


def test_what_was_typed_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "history"
    history = PrivateHistory(str(path))
    history.append_string("my secret")
    assert path.stat().st_mode & 0o077 == 0
    assert list(PrivateHistory(str(path)).load_history_strings()) == ["my secret"]
    (tmp_path / "blocked").touch()
    PrivateHistory(str(tmp_path / "blocked" / "history")).append_string("no room for this")


def test_an_interrupt_in_the_drawing_reaches_the_exchange() -> None:
    kept: list[str] = []

    def exchange() -> Iterator[Happening]:
        try:
            yield Piece("some")
            yield Piece("more")
        except KeyboardInterrupt:
            kept.append("what came")
            yield info("Stopped")

    seen: list[Any] = []

    def show(happening: Happening) -> None:
        seen.append(happening)
        if isinstance(happening, Piece):
            raise KeyboardInterrupt

    assert drive(exchange(), show) is True
    assert kept == ["what came"] and seen == [Piece("some"), info("Stopped")]


def test_only_the_first_interrupt_counts() -> None:
    def exchange() -> Iterator[Happening]:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGINT)  # the impatient second one
            yield info("kept")

    seen: list[Happening] = []
    drive(exchange(), seen.append)
    assert seen == [info("kept")]


def test_an_interrupt_while_a_reply_is_stored_does_not_lose_it() -> None:
    stored = []
    with undisturbed():
        os.kill(os.getpid(), signal.SIGINT)
        stored.append("reply")
    assert stored == ["reply"]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("text", ["[1]", '{"session_id": "\\u001b[2Jx", "title": 5}', "half {"])
def test_a_mark_that_somebody_tampered_with_does_no_harm(terminal: Run, tmp_path: Path, text: str) -> None:
    folder = tmp_path / ".compact/chat"
    folder.mkdir(parents=True)
    (folder / "open-1").write_text(text)
    code, shown = terminal(["/quit\r"])
    assert code == 0 and "\x1b[2J" not in shown
