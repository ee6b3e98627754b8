"""Tool steps: what each call did, to which file or with which command, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
_WRITING_TOOL = re.compile(
    r"(?:^|_|\b)(?:write|edit|create|patch|replace|insert|apply|append|save|delete|remove|move|rename|update|"
    r"cancel|book|modify|send|set|add|exchange|return|post|put|commit|submit|enable|disable|transfer|refund|"
    r"toggle|reset|change|make|schedule|pay|order)",
    re.IGNORECASE,
)
_READING_TOOL = re.compile(
    r"(?:^|_|\b)(?:read|view|open|cat|get|fetch|list|ls|find|grep|search|glob|look|show)", re.I
)
_COMMAND_HEAD = 2_000
"""What a command does stands at its start; what follows is the text that it writes."""
_CD = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_WRITING_COMMAND = re.compile(
    r"(?:^|[\s;&|])(?:sed\s+-i|perl\s+-\w*i|tee|mv|cp|rm|touch|mkdir|patch|git\s+(?:apply|commit|checkout|"
    r"mv|rm))\b"
    r"|(?<![<>0-9&-])>{1,2}\s*(?!/dev/null|&)\S"
)
_REDIRECT = re.compile(r"(?<![<>0-9&-])>{1,2}\s*([^\s;&|<>'\"]+)")
_SED_LINES = re.compile(r"['\"]?(\d+)\s*,\s*(\d+)p")
_EXIT = re.compile(
    r"(?:<returncode>|exit[ _-]?(?:code|status)[\"']?\s*[:=]?\s*|exited with (?:code |status )?|"
    r"returncode[\"']?\s*[:=]\s*)"
    r"(-?\d{1,3})\b",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"^E {2,}([\w.]+: [^\n]{1,300})|^(?:E\s{2,}|\s*)((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|"
    r"Warning)\b(?::[^\n]{1,300}|$)"
    r"|(?:error|fatal|panic|Error|ERROR|FATAL)(?:\s?\[\w+\])?: [^\n]{3,300}"
    r"|[^\n]{0,80}(?:command not found|No such file or directory|Permission denied|"
    r"SyntaxError: )[^\n]{0,120})",
    re.MULTILINE,
)
_FAILING_TEST = re.compile(
    r"^(?:FAILED\s+(\S+)|(?:FAIL|ERROR):\s+(\S+(?: \([\w.]+\))?)|--- FAIL: (\S+)|\s*(?:✗|✕|"
    r"×)\s+([^\n]{3,120}))",
    re.M,
)
_JSON_ERROR = re.compile(
    r"\A\s*\{\s*\"(?:error|message)\"\s*:\s*\"([^\"]{3,300})|\A\s*(Error\b[^\n]{0,300})", re.I
)


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
        kind = StepKind.WROTE if _WRITING_COMMAND.search(command[:_COMMAND_HEAD]) else StepKind.RAN
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
        verb = f"{call.name} {arguments.get('command', '')}"
        kind = StepKind.CALLED
        if _WRITING_TOOL.search(verb):
            kind = StepKind.WROTE
        elif _READING_TOOL.search(verb):
            kind = StepKind.READ
    status, failed, error, tests = _ending(answered[1]) if answered else ("", False, "", ())
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


def _bare(command: str) -> str:
    return _CD.sub("", command).strip()


def _command_subject(command: str, kind: StepKind) -> str:
    """The file a command is about: where it writes to, else the last file it names on its first line."""
    if kind is StepKind.WROTE:
        target = _REDIRECT.search(command[:_COMMAND_HEAD])
        if target and classify(trim(target.group(1))) is EvidenceKind.PATH:
            return trim(target.group(1))
    first = _bare(command).split("\n", 1)[0]
    for run in reversed(RUN.findall(first[:400])):
        value = trim(run)
        if value and classify(value) is EvidenceKind.PATH and "." in value.rsplit("/", 1)[-1]:
            return value
    return ""


def _ending(result: ToolResult) -> tuple[str, bool, str, tuple[str, ...]]:
    text = result.text
    failed = result.is_error
    # Exit codes stand at the start or the end of what a shell tool returns, not amid a listing.
    code = _EXIT.search(text[:200]) or _EXIT.search(text[-200:])
    status = f"exit {code.group(1)}" if code else ""
    failed = failed or bool(code and code.group(1) != "0")
    error = ""
    tests: tuple[str, ...] = ()
    if "rror" in text or "xception" in text or "FAIL" in text or "fatal" in text or "o such file" in text:
        lines = _ERROR_LINE.findall(text[-20_000:])
        error = "".join(lines[-1]).strip() if lines else ""
        if not error:
            plain = _JSON_ERROR.search(text[:400])
            error = (plain.group(1) or plain.group(2)).strip() if plain else ""
            failed = failed or bool(error)
        if "FAIL" in text or "ERROR" in text:
            found = ("".join(groups) for groups in _FAILING_TEST.findall(text))
            tests = tuple(dict.fromkeys(name.strip() for name in found if name[0] != "("))[:12]
    if failed and not status:
        status = "failed"
    return status, failed, error, tests
