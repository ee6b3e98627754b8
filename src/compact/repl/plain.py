"""The chat without a terminal: no color; text for people, or one JSON object per line for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TextIO

from compact.console.context import to_json
from compact.console.exits import ExitCode
from compact.console.terminal import clean
from compact.errors import FormatError
from compact.repl.chat import Chat, failed
from compact.repl.commands import is_command, run
from compact.repl.driving import drive
from compact.repl.exchange import say
from compact.repl.saying import Canvas, Happening, Kind, Leave, Piece, Reopened, Said
from compact.repl.typed_text import typed_text


class JsonVoice:
    """One object per line: `type`, then the content."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, happening: Happening) -> None:
        if isinstance(happening, Said):
            text = {} if happening.kind is Kind.REPLY else {"text": happening.text}
            code = {"exit_code": happening.exit_code} if happening.exit_code else {}
            shown = {**text, **happening.data, **code}
            # An error's own `type` must not replace the `type` of the line.
            if "type" in shown:
                shown["error"] = shown.pop("type")
            self._write({"type": happening.kind.value, **shown})
        elif isinstance(happening, Reopened) and happening.draft:
            self._write({"type": "unanswered", "content": happening.draft})

    def _write(self, value: object) -> None:
        self._out.write(to_json(value) + "\n")
        self._out.flush()


class TextVoice:
    """Replies and results on standard output, everything else on standard error."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._ended_line = True

    def show(self, happening: Happening) -> None:
        if isinstance(happening, Piece) and not happening.thinking:
            text = clean(happening.text)
            self._out.write(text)
            self._ended_line = text.endswith("\n") if text else self._ended_line
            self._out.flush()
        elif isinstance(happening, Said):
            if not self._ended_line:
                self._out.write("\n")
                self._ended_line = True
            text = clean(happening.text) + "\n"
            if happening.kind is Kind.RESULT:
                self._out.write(text)
            elif happening.kind is not Kind.REPLY:
                self._out.flush()
                self._err.write(text)


def messages_of(lines: Iterable[str], one_a_line: bool) -> Iterator[str | FormatError]:
    """The messages and commands in piped input, or an error for a line that is neither.

    A line that begins with a slash and a word is a command; the lines between commands are one message. For
    programs each line is one message, and a JSON object's `content` may hold several lines.
    """
    gathered: list[str] = []
    for line in map(typed_text, lines):
        if one_a_line:
            if line.strip():
                yield _content(line.strip())
        elif is_command(line):
            yield from _joined(gathered)
            gathered = []
            yield line.strip()
        else:
            gathered.append(line)
    yield from _joined(gathered)


def _joined(lines: list[str]) -> Iterator[str]:
    text = "".join(lines).strip()
    if text:
        yield text


def _content(line: str) -> str | FormatError:
    if not line.startswith("{"):
        return line
    try:
        content = json.loads(line).get("content")
    except ValueError:
        return line
    except RecursionError:
        content = None
    if isinstance(content, str):
        return typed_text(content)
    return FormatError('A line that is a JSON object needs a "content" that is text. It was not sent.')


def _happenings(chat: Chat, given: str | FormatError) -> Iterator[Happening]:
    if isinstance(given, FormatError):
        return iter([failed(given)])
    return run(chat, given, Canvas()) if is_command(given) else say(chat, given)


def converse(chat: Chat, messages: Iterable[str | FormatError], voice: JsonVoice | TextVoice) -> int:
    """Send all messages in turn; returns the exit code of the first that failed."""
    code, asked = int(ExitCode.OK), False
    for given in messages:
        asked = True

        def show(happening: Happening) -> None:
            nonlocal code
            voice.show(happening)
            if isinstance(happening, Said):
                code = code or happening.exit_code

        try:
            if drive(_happenings(chat, given), show):
                return ExitCode.INTERRUPTED
        except Leave:
            break
    if not asked:
        voice.show(Said(Kind.ERROR, "There is nothing to send: standard input is empty.", {}, ExitCode.USAGE))
        return ExitCode.USAGE
    return code
