"""Tool steps: what each call did, to which file or with which command, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from compact.core.evidence import shell
from compact.core.evidence.endings import ending_of, shows_failure
from compact.core.evidence.hiding import Hiding
from compact.core.evidence.lexicon import RUN, classify, trim
from compact.core.evidence.patches import Change, Effect, is_patch, sections
from compact.model.message import Message, ToolCall, ToolResult
from compact.model.summary import EvidenceKind


class StepKind(StrEnum):
    READ = "read"
    WROTE = "edited"
    RAN = "ran"
    CALLED = "called"


@dataclass(frozen=True, slots=True)
class Step:
    """One call with its result. Indexes count within the span."""

    index: int
    result_index: int
    call_id: str
    tool: str
    kind: StepKind
    subject: str
    """The file it is about, if any."""
    lines: str
    command: str
    arguments: Mapping[str, Any]
    status: str
    """"exit 0", "exit 1", "failed" or empty when the output does not say."""
    failed: bool
    error: str
    """The line of the output that says what went wrong. From a tool, so untrusted."""
    failing_tests: tuple[str, ...] = ()

    changes: tuple[Change, ...] = ()
    """What it did to files, or tried to."""
    writes: tuple[tuple[str, str], ...] = ()
    """Files with the text that the call itself puts into them, by `cat > file <<EOF` or a patch."""
    patches: bool = False
    """True for a patch, whose text tells file by file what changes."""
    shows_its_file: bool = False
    """True for a command that prints of one file what stands in it."""

    @property
    def writes_its_text(self) -> bool:
        """True for `cat > file <<EOF`: what the command holds is what the file holds."""
        return bool(self.command and self.writes and not self.patches and self.writes[0][0] == self.subject)

    @property
    def edits(self) -> bool:
        """True when it wrote to a file, or tried; to move, copy or remove one changes none of its text."""
        return any(change.writes for change in self.changes)

    @property
    def writes_whole_file(self) -> bool:
        """True when it says all that the file is to hold, and not what to put in place of what."""
        given = self.arguments
        return self.writes_its_text or (not _WHOLE_TEXT.isdisjoint(given) and _PLACES.isdisjoint(given))


_PATH_KEYS = (
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "target_file",
    "notebook_path",
    "absolute_path",
)
_COMMAND_KEYS = ("command", "cmd", "script", "shell_command", "bash", "code")
_READING_VERBS = frozenset("read view open cat get fetch list ls find grep search glob look show".split())
_WRITING_VERBS = frozenset(
    "write edit create patch replace insert apply append save delete remove move rename update cancel book "
    "modify send set add exchange return post put commit submit enable disable transfer refund toggle reset "
    "change make schedule pay order str".split()
)
_WHOLE_TEXT = frozenset("content contents file_text".split())
_PLACES = frozenset("old_string old_str old old_text insert_line line start_line".split())
_TELLING_NOUNS = frozenset("status history details info list count summary".split())
"""`order_status` orders nothing."""
_LONGEST_TOOL_NAME = 2_000
_TOOL_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAMESPACE = re.compile(r".*(?:__|[.:/])(?=\w)")
_FUSED = re.compile(r"(?:files?|dir|text)$")
_CHANGING = (
    r"(?:^|[\s;&|])(?:sed\s+-[a-zA-Z]*i|perl\s+-\w*i|tee|mv|cp|rm|unlink|touch|mkdir|patch|apply_patch|"
    r"git\s+(?:apply|commit|checkout|restore|mv|rm))\b"
)
_WRITING_TO = r"|(?<![<>0-9&=-])>{1,2}\s*(?!/dev/null|&)\S"
_WRITING_COMMAND = re.compile(_CHANGING + _WRITING_TO)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.S)
_SHOWING_COMMAND = re.compile(
    r"(?:cat|head|tail|sed|nl|less|more|view|grep|egrep|rg|ag|find|ls|git\s+(?:log|show|diff|grep)|"
    r"journalctl|dmesg|(?:docker|kubectl)\s[^;&|]*\blogs)\b"
)
_READING_COMMAND = re.compile(r"(?:cat|head|tail|sed|nl|less|view)\b")
_SHOWING_FILE = re.compile(r"(?:cat|head|tail|sed|nl|less|more|view|grep|egrep|rg|ag)\b")
_PRINTING = re.compile(r"(?!(?:head|tail|sed|grep|nl|cut|sort|uniq|wc|cat$)\b)\w")
_PIECES = re.compile(r"[;&|\n]+")
_LINES_APART = re.compile(r"&&|\|\||;\s|\n")
_SED_LINES = re.compile(r"['\"]?(\d+)\s*,\s*(\d+)p")
_SHELL_NAMES = frozenset("sh bash zsh dash /bin/sh /bin/bash".split())


def steps_of(messages: Sequence[Message], hiding: Hiding | None = None) -> list[Step]:
    """Every tool call of the span with its result, in order, without what `hiding` hides."""
    hiding = hiding or Hiding(None)
    results: dict[str, tuple[int, ToolResult]] = {}
    calls: list[tuple[int, ToolCall]] = []
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolResult):
                results.setdefault(part.call_id, (index, part))
            elif isinstance(part, ToolCall):
                calls.append((index, part))
    return [_step(index, call, results.get(call.call_id), hiding) for index, call in calls]


def _step(index: int, call: ToolCall, answered: tuple[int, ToolResult] | None, hiding: Hiding) -> Step:
    given = _arguments(call.arguments)
    arguments: Mapping[str, Any] = hiding.data(given)
    command = _command_of(given)
    if "path" in arguments and command and len(command.split()) == 1:
        command = ""  # an editor's sub-command such as "view" or "str_replace"
    patch = next(
        (text for text in (command, *arguments.values()) if isinstance(text, str) and is_patch(text)), ""
    )
    shown = " ".join(shell.bare(shell.HEREDOC.sub(r"\1\2\3", command) if patch else command).split())
    if shown and hiding.hides(shown):
        shown = f"{shown.split(' ', 1)[0]} …"
    subject = next((str(arguments[key]) for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
    lines = _argument_lines(arguments)
    kind = _kind_of_tool(str(arguments.get("command") or ""))
    if kind is StepKind.CALLED:
        kind = _kind_of_tool(call.name)
    if command:
        kind = StepKind.WROTE if _WRITING_COMMAND.search(_unquoted(command)) else StepKind.RAN
    status, failed, error = "", False, ""
    tests: tuple[str, ...] = ()
    if answered:
        shows_text = kind is StepKind.READ or (
            kind is not StepKind.WROTE and _SHOWING_COMMAND.match(shell.bare(command)) is not None
        )
        edits = kind is StepKind.WROTE and not command
        status, failed, error, tests = ending_of(
            answered[1], command=command, shows_text=shows_text, edits=edits
        )
    changes: tuple[Change, ...] = ()
    writes: Sequence[tuple[str, str]] = ()
    if kind is StepKind.WROTE:
        output = answered[1].text if answered else None
        if command:
            went_on = failed and (status.startswith("exit") or shows_failure(output or ""))
            changes = shell.changed_by(command, output, failed, went_on)
        elif patch:
            changes = tuple(replace(change, done=not failed) for change, _ in sections(patch))
        elif subject:
            changes = (Change(subject, _effect_of_tool(call.name, arguments), done=not failed),)
        if patch:
            writes = [(change.path, body) for change, body in sections(patch)]
        elif command:
            writes = shell.texts_written(command)[1]
        written = (change.path for change in changes if change.effect is not Effect.REMOVED)
        subject = subject or next(written, "")
    elif command and not subject:
        subject = _last_file(command)
        if subject and _READING_COMMAND.match(shell.bare(command)):
            kind = StepKind.READ
    if command and not lines:
        lines = _lines_shown(command, subject)
    return Step(
        index, answered[0] if answered else index, call.call_id, call.name, kind, subject, lines,
        shown, arguments, status, failed, error, tests, changes, tuple(writes), bool(patch and changes),
        bool(command) and _shows_one_file(command, subject),
    )  # fmt: skip


def _command_of(given: Mapping[str, Any]) -> str:
    """The command line of a call, which some tools take as a list of words."""
    for key in _COMMAND_KEYS:
        line = given.get(key)
        if isinstance(line, str):
            return line
        if isinstance(line, list) and line and all(isinstance(word, str) for word in line):
            inner = line[0] in _SHELL_NAMES and len(line) == 3 and line[1][:1] == "-"
            return str(line[2]) if inner else " ".join(line)
    return ""


def _lines_shown(command: str, subject: str) -> str:
    """The lines that `sed -n 10,20p file` prints of this very file."""
    for piece in _LINES_APART.split(command[: shell.COMMAND_HEAD]):
        span = _SED_LINES.search(piece)
        if span and subject in piece:
            return f"{span.group(1)}-{span.group(2)}"
    return ""


def _shows_one_file(command: str, subject: str) -> bool:
    first, *more = [piece for piece in _PIECES.split(shell.bare(_unquoted(command))) if piece.strip()] or [""]
    if not subject or ">" in first or not _SHOWING_FILE.match(first.strip()):
        return False
    return _files_in(first) == [subject] and not any(_PRINTING.match(piece.strip()) for piece in more)


def _effect_of_tool(tool: str, arguments: Mapping[str, Any]) -> Effect:
    words = {
        *_words_of_tool(tool),
        *_words_of_tool(str(arguments.get("command") or arguments.get("type") or "")),
    }
    if words & {"delete", "remove"}:
        return Effect.REMOVED
    if words & {"move", "rename"}:
        return Effect.MOVED
    if "copy" in words:
        return Effect.COPIED
    return Effect.ADDED if "create" in words else Effect.EDITED


def _arguments(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            return {"": arguments} if arguments.strip() else {}
    return arguments if isinstance(arguments, Mapping) else {"": arguments}


def _argument_lines(arguments: Mapping[str, Any]) -> str:
    start = arguments.get("offset") or arguments.get("start_line") or arguments.get("line_start")
    if start is None:
        view = arguments.get("view_range")
        return "-".join(map(str, view)) if isinstance(view, list) and len(view) == 2 else ""
    end = arguments.get("end_line") or arguments.get("line_end")
    if end is None and str(arguments.get("limit", "")).isdigit() and str(start).isdigit():
        end = int(start) + int(arguments["limit"]) - 1
    return f"{start}-{end}" if end is not None else str(start)


def _kind_of_tool(name: str) -> StepKind:
    """By the first word of the name; by a later one only when the first says nothing."""
    words = _words_of_tool(name)
    if not words:
        return StepKind.CALLED
    rest = set(words[1:])
    for word in words:
        verb = word if word in _READING_VERBS | _WRITING_VERBS else _FUSED.sub("", word)
        if verb in _READING_VERBS:
            both = "replace" in rest or (not rest.isdisjoint({"and", "or"}) and rest & _WRITING_VERBS)
            return StepKind.WROTE if both else StepKind.READ
        if verb in _WRITING_VERBS:
            return StepKind.READ if words[-1] in _TELLING_NOUNS and len(words) == 2 else StepKind.WROTE
    return StepKind.CALLED


def _words_of_tool(name: str) -> list[str]:
    # No name is longer; a command of any length may come here in the place of one.
    return [word.lower() for word in _TOOL_WORD.findall(_NAMESPACE.sub("", name[:_LONGEST_TOOL_NAME]))]


def _unquoted(command: str) -> str:
    """The start of a command without what it quotes: `awk '$3 > 5'` writes nothing."""
    head = shell.unwrapped(command)[: shell.COMMAND_HEAD]
    return _QUOTED.sub("''", shell.HEREDOC.sub(r"\1\2\3\n", head))


def _last_file(command: str) -> str:
    """The file that a command is about: the last that it names on its first line."""
    files = _files_in(shell.bare(command).split("\n", 1)[0][:400])
    return files[-1] if files else ""


def _files_in(line: str) -> list[str]:
    values = map(trim, RUN.findall(line))
    return [
        value
        for value in values
        if value and classify(value) is EvidenceKind.PATH and "." in value.rsplit("/", 1)[-1]
    ]
