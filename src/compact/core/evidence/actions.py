"""Tool steps: what each call did, to which file or with which command, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from compact.core.evidence.endings import ending_of
from compact.core.evidence.hiding import Hiding
from compact.core.evidence.lexicon import RUN, classify, trim
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

    @property
    def writes_its_text(self) -> bool:
        """True for `cat > file <<EOF`: what the command holds is what the file holds."""
        return self.kind is StepKind.WROTE and _HEREDOC_TO_FILE.match(self.command) is not None

    @property
    def edits(self) -> bool:
        """True when it wrote to its file; to move, copy or remove one changes none of its text."""
        if self.kind is not StepKind.WROTE:
            return False
        if self.command:
            return _EDITING_COMMAND.search(_unquoted(self.command)) is not None
        return _MOVING_VERBS.isdisjoint(_words_of_tool(self.tool))

    @property
    def writes_whole_file(self) -> bool:
        """True when it says all that the file is to hold, and not what to put in place of what."""
        given = self.arguments
        return self.writes_its_text or (not _WHOLE_TEXT.isdisjoint(given) and _PLACES.isdisjoint(given))

    @property
    def shows_its_file(self) -> bool:
        """True for a command that prints of one file what stands in it."""
        first, *more = [piece for piece in _COMMANDS.split(self.command) if piece.strip()] or [""]
        return _SHOWING_FILE.match(first.strip()) is not None and not any(
            _PRINTING.match(piece.strip()) for piece in more
        )


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
_MOVING_VERBS = frozenset("delete remove move rename copy".split())
_WHOLE_TEXT = frozenset("content contents file_text".split())
_PLACES = frozenset("old_string old_str old old_text insert_line line start_line".split())
_TELLING_NOUNS = frozenset("status history details info list count summary".split())
"""`order_status` orders nothing."""
_TOOL_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAMESPACE = re.compile(r".*(?:__|[.:/])(?=\w)")
_FUSED = re.compile(r"(?:files?|dir|text)$")
_COMMAND_HEAD = 2_000
"""What a command does stands at its start; what follows is the text that it writes."""
_CD = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_CHANGING = (
    r"(?:^|[\s;&|])(?:sed\s+-i|perl\s+-\w*i|tee|mv|cp|rm|touch|mkdir|patch|git\s+(?:apply|commit|checkout|"
    r"mv|rm))\b"
)
_WRITING_TO = r"|(?<![<>0-9&=-])>{1,2}\s*(?!/dev/null|&)\S"
_EDITING_COMMAND = re.compile(r"(?:^|[\s;&|])(?:sed\s+-i|perl\s+-\w*i|tee|patch|git\s+apply)\b" + _WRITING_TO)
_CHANGING_COMMAND = re.compile(_CHANGING)
_WRITING_COMMAND = re.compile(_CHANGING + _WRITING_TO)
_ELSEWHERE = re.compile(r"[;&|(]\s*cd\s")
_REMOVING = re.compile(r"\s*rm\s")
_PASSING = re.compile(r"\$|^/tmp/|^/dev/|\.(?:log|out|err|tmp)$")
"""What a command's output goes to for a moment is no file that was worked on."""
_REDIRECT = re.compile(r"(?<![<>0-9&=-])>{1,2}\s*([^\s;&|<>'\"]+)")
_HEREDOC = re.compile(r"(<<-?\s*)['\"]?(\w+)['\"]?([^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.S | re.M)
_HEREDOC_TO_FILE = re.compile(r"(?:cat|tee)\b[^|;]*<<")
_COMMANDS = re.compile(r"[;&|\n]+")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.S)
_SHELL_IN_SHELL = re.compile(r"\s*(?:ba|z|da)?sh\s+-\w*c\b")
_SHOWING_COMMAND = re.compile(
    r"(?:cat|head|tail|sed|nl|less|more|view|grep|egrep|rg|ag|find|ls|git\s+(?:log|show|diff|grep)|"
    r"journalctl|dmesg|(?:docker|kubectl)\s[^;&|]*\blogs)\b"
)
_SHOWING_FILE = re.compile(r"(?:cat|head|tail|sed|nl|less|more|view|grep|egrep|rg|ag)\b")
_PRINTING = re.compile(r"(?!(?:head|tail|sed|grep|nl|cut|sort|uniq|wc|cat$)\b)\w")
_SED_LINES = re.compile(r"['\"]?(\d+)\s*,\s*(\d+)p")


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
    command = next((str(given[key]) for key in _COMMAND_KEYS if isinstance(given.get(key), str)), "")
    shown = " ".join(_bare(command).split())
    if shown and hiding.hides(shown):
        shown = f"{shown.split(' ', 1)[0]} …"
    if "path" in arguments and command and len(command.split()) == 1:
        command = shown = ""  # an editor's sub-command such as "view" or "str_replace"
    subject = next((str(arguments[key]) for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
    lines = _argument_lines(arguments)
    if command:
        kind = StepKind.WROTE if _WRITING_COMMAND.search(_unquoted(command)) else StepKind.RAN
        if not subject:
            subject = _command_subject(command, kind)
            if (
                kind is StepKind.RAN
                and subject
                and re.match(r"(?:cat|head|tail|sed|nl|less|view)\b", _bare(command))
            ):
                kind = StepKind.READ
        span = _SED_LINES.search(command[:_COMMAND_HEAD])
        lines = lines or (f"{span.group(1)}-{span.group(2)}" if span else "")
    else:
        kind = _kind_of_tool(str(arguments.get("command") or ""))
        if kind is StepKind.CALLED:
            kind = _kind_of_tool(call.name)
    tests: tuple[str, ...] = ()
    status, failed, error = "", False, ""
    if answered:
        shows_text = kind is StepKind.READ or bool(_SHOWING_COMMAND.match(_bare(command)))
        edits = kind is StepKind.WROTE and not command
        status, failed, error, tests = ending_of(
            answered[1], ran=bool(command), shows_text=shows_text, edits=edits
        )
    return Step(
        index, answered[0] if answered else index, call.call_id, call.name, kind, subject, lines,
        shown, arguments, status, failed, error, tests,
    )  # fmt: skip


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
    return [word.lower() for word in _TOOL_WORD.findall(_NAMESPACE.sub("", name))]


def _unquoted(command: str) -> str:
    """The start of a command without what it quotes: `awk '$3 > 5'` writes nothing."""
    head = command[:_COMMAND_HEAD]
    if _SHELL_IN_SHELL.match(_bare(head)):
        return head
    return _QUOTED.sub("''", _HEREDOC.sub(r"\1\2\3\n", head))


def _bare(command: str) -> str:
    return _CD.sub("", command).strip()


def _command_subject(command: str, kind: StepKind) -> str:
    """The file a command is about: where it writes to, else the last file it names on its first line."""
    if kind is StepKind.WROTE:
        # After "cp -r src try && cd try" the names are those of other files.
        bare = _ELSEWHERE.split(_CD.sub("", _unquoted(command)), maxsplit=1)[0]
        pieces = _COMMANDS.split(bare)
        gone = {name for piece in pieces if _REMOVING.match(piece) for name in piece.split()[1:]}
        for target in _REDIRECT.findall(bare):
            if target in gone or _PASSING.search(target):
                continue
            if classify(trim(target)) is EvidenceKind.PATH:
                return trim(target)
        # Of several commands in a row, the one that writes names the file: "compile a.py && rm b.log".
        changing = (
            piece for piece in pieces if _CHANGING_COMMAND.search(piece) and not _REMOVING.match(piece)
        )
        kept = (piece for piece in changing if gone.isdisjoint(piece.split()))
        # A copy made for a moment changes nothing that is worked on.
        command = next((piece for piece in kept if not _PASSING.search(piece.split()[-1])), "")
    first = _bare(command).split("\n", 1)[0]
    for run in reversed(RUN.findall(first[:400])):
        value = trim(run)
        if value and classify(value) is EvidenceKind.PATH and "." in value.rsplit("/", 1)[-1]:
            return value
    return ""
