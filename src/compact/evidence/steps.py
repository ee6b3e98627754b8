"""Tool steps: what each call did, to which files or with which command, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from compact.evidence.secrets import Hiding
from compact.evidence.values import CODE, classify, values_in
from compact.evidence.words import clip
from compact.model.message import Message, ToolCall, ToolResult
from compact.model.summary import EvidenceKind
from compact.model.value import value

_PATH_KEYS = ("path", "file_path", "filepath", "file", "filename", "target_file", "notebook_path")
_COMMAND_KEYS = ("command", "cmd", "script", "shell_command", "bash", "code")
_TEXT_KEYS = ("new_string", "new_str", "content", "contents", "file_text", "new_text", "text", "insert_text")
_READS, _WRITES, _REMOVES, _MOVES = (CODE[verbs] for verbs in ("reads", "writes", "removes", "moves"))
_TOOL_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CD = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;|\n)\s*)+")
_WRITES_TEXT = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n")
_HEREDOC = re.compile(rf"{_WRITES_TEXT.pattern}(?:[^\n]*\n)*?(?:[ \t]*\1\s*$|[^\n]*\Z)", re.M)
_QUOTED = re.compile(r"'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"")
_INTO = re.compile(r"(?<![<>0-9&=-])(?:>{1,2}|\btee(?:\s+-a)?)\s*(?!/dev/|&)([\w./~-]+\.\w+)")
_IN_PLACE = re.compile(r"\b(?:sed|perl)\s+-\w*i\S*\s[^;&|\n]*?([\w./~-]+\.\w+)\s*(?:$|[;&|\n])")
_TAKING = re.compile(r"(?:^|[;&|\n]\s*)(?:git\s+)?(rm|mv|cp|checkout|restore)\s([^;&|\n]+)")
_ONLY_A_TAG = re.compile(r"</?\w[^<>]*>")
_SEARCH = re.compile(r"^<{5,9} SEARCH[ \t]*\n", re.M)
_PATCHED = re.compile(r"^[ \t]*\*\*\* (Update|Add|Delete) File: ([^\n]+)$|^\+\+\+ (?:b/)?([^\s]+)", re.M)
_LOOKS = re.compile(rf"(?:{'|'.join(CODE['looks'])}|git (?:log|status|diff|show|blame))(?!\S)")
_SIMPLE = re.compile(r"(?:[^;&|\n]|(?<=>)&)+")
_ELSEWHERE = re.compile(r"[;&|\n]\s*cd\s")
_PASSING = re.compile(r"\$|^/tmp/|^/dev/|\*|\.(?:log|out|err|tmp)$")
_CODE = re.compile(
    r"<(?:returncode|return_code|exit_?code)>\s*(-?\d{1,3})\s*<|"
    r"^[\[(]?(?:(?:the )?(?:process|command|program|script)[ :]*)?(?:(?:exited|finished|failed|completed|"
    r"returned) with )?(?:exit|return)?[ _-]?(?:code|status)?\s*[:=]?\s*(?<=[\s:=])(-?\d{1,3})"
    r"\s*[\])]?\.?\s*$|"
    r"[\"'](?:exit_?code|return_?code)[\"']\s*:\s*(-?\d{1,3})\b",
    re.IGNORECASE | re.MULTILINE,
)
_EXITS = ("exit", "code", "status", "return")
_ERROR = re.compile(
    r"^E {2,}([\w.]+: [^\n]{1,300})|^\s*((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b(?::[^\n]{1,300}|$)|"
    r"(?:error|fatal|panic|Error|ERROR|FATAL)(?:\s?\[\w+\])?: [^\n]{3,300}|"
    r"[^\n]{0,80}(?:command not found|No such file or directory|Permission denied)[^\n]{0,120})",
    re.MULTILINE,
)
_OPENING = re.compile(
    r"\A\s*(?:<(?:tool_use_)?error>\s*|\{\s*\"(?:error|err)\"\s*:\s*\"|Error\b|Traceback|FAILED|fatal:)", re.I
)
_FAILING = re.compile(r"^(?:FAILED\s+(\S+)|(?:FAIL|ERROR):\s+(\S+)|--- FAIL: (\S+))", re.MULTILINE)
_RESULT = re.compile(r"^.*\b\d+ (?:passed|failed|errors?|tests?)\b.*$|^(?:OK|FAILED)\b[^\n]*$", re.MULTILINE)
_TAIL, _HEAD, _ARGUMENT = 4_000, 2_000, 60
_SHELLS = frozenset("sh bash zsh dash /bin/sh /bin/bash".split())


@value
class Step:
    """One call with its result, by the positions of their messages; or an edit in a message's text."""

    position: int
    result_position: int
    tool: str = ""
    command: str = ""  # on one line, without the texts it writes; empty for other tools
    given: str = ""  # the arguments of another tool, shortened: `user_id=ada_17, date=2031-05-02`
    changes: tuple[tuple[str, str], ...] = ()  # files and what became of them: edited, removed, moved
    added: str = ""  # the text that an edit puts into its file
    status: str = ""  # "exit 0", "exit 1", "failed"; empty if the output does not say
    failed: bool = False
    error: str = ""  # the line of the output that says what went wrong; a tool said it
    result: str = ""  # the line that sums up a test run
    failing: tuple[str, ...] = ()
    acts: bool = True  # whether it may have changed something outside, judging by the tool's name
    doing: frozenset[str] = frozenset()  # its commands, without those that only show, such as `tail -5`
    pending: bool = False


def steps_of(messages: Sequence[Message], positions: Sequence[int], hiding: Hiding) -> list[Step]:
    """Every tool call of the span with its result, in order."""
    results: dict[str, tuple[int, ToolResult]] = {}
    calls: list[tuple[int, ToolCall]] = []
    for position, message in zip(positions, messages, strict=True):
        for part in message.parts:
            if isinstance(part, ToolResult):
                results.setdefault(part.call_id, (position, part))
            elif isinstance(part, ToolCall):
                calls.append((position, part))
    return [_step(position, call, results.get(call.call_id), hiding) for position, call in calls]


def edits_in(text: str, at: int) -> Iterator[Step]:
    """What a text edits itself, in blocks of SEARCH and REPLACE; the line before names the file."""
    before, *blocks = _SEARCH.split("\n" + text.replace("\r\n", "\n")) if "<<< SEARCH" in text else (text,)
    name = ""
    for block in blocks:
        lines = (line.strip(" \t*#:`") for line in reversed(before.split("\n")[1:]) if "```" not in line)
        if last := next((line for line in lines if line and not _ONLY_A_TAG.fullmatch(line)), ""):
            paths = (value for value, kind in values_in(last).items() if kind is EvidenceKind.PATH)
            name = last if last.lower() in CODE["files"] else max(paths, key=last.rfind, default="")
        if name:
            added = f"\n{block}".partition("\n=======\n")[2].partition("\n>>>>>>>")[0]
            yield Step(at, at, changes=((name, "edited"),), added=added)
        before = block.rpartition("\n>>>>>>>")[2]


def _step(position: int, call: ToolCall, answered: tuple[int, ToolResult] | None, hiding: Hiding) -> Step:
    arguments = hiding.arguments(call)
    command = _command_of(arguments)
    words = _words_in(call.name)
    if command and "path" in arguments and len(command.split()) == 1:
        words, command = (*words, *command.lower().split("_")), ""
    answer = answered[1] if answered else ToolResult("", "")
    ending = _ending(answer.text, answer.is_error, bool(command))
    if any(ending[2:]) and (said := hiding.text(answer.text)) is not answer.text:
        ending = _ending(said, answer.is_error, bool(command))
    status, failed, error, result, failing = ending
    bare = _CD.sub("", command).strip() if command else ""
    changes = tuple(_changed_by(bare) if command else _changed_by_tool(words, arguments))
    texts = (arguments.get(key) for key in _TEXT_KEYS) if changes else ()
    added = next((text for text in texts if isinstance(text, str)), "")
    return Step(
        position=position,
        result_position=answered[0] if answered else position,
        tool=call.name,
        command=_in_one_line(bare) if bare else "",
        given=_in_short(arguments),
        changes=changes if not failed else (),
        added=added,
        status=status,
        failed=failed,
        error=error,
        result=result,
        failing=failing,
        acts=bool(changes) or not (command or set(words) & _READS),
        doing=_doing(bare) if bare else frozenset(),
        pending=answered is None,
    )


@lru_cache(maxsize=1_000)
def _words_in(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _TOOL_WORD.findall(name[:_HEAD]))


def _in_one_line(command: str) -> str:
    """A command up to the text it writes, if any."""
    head = command[: start.start()] + "…" if (start := _WRITES_TEXT.search(command)) else command
    return " ".join(head.split())


def _doing(command: str) -> frozenset[str]:
    masked = _QUOTED.sub(lambda quoted: "'" * len(quoted[0]), command)
    parts = (command[part.start() : part.end()].strip() for part in _SIMPLE.finditer(masked))
    return frozenset(part.removesuffix("2>&1").strip() for part in parts if not _LOOKS.match(part)) - {""}


def _command_of(given: Mapping[str, Any]) -> str:
    for key in _COMMAND_KEYS:
        line = given.get(key)
        if isinstance(line, str):
            return line
        if isinstance(line, list) and line and all(isinstance(word, str) for word in line):
            inner = line[0] in _SHELLS and len(line) == 3 and line[1][:1] == "-"
            return str(line[2]) if inner else " ".join(line)
    return ""


def _changed_by_tool(words: Sequence[str], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for text in given.values():
        if isinstance(text, str) and "*** " in text and "*** Begin Patch" in text:
            yield from _patched(text)
            return
    path = next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)), "")
    known = set(words)
    if not path:
        return
    if known & _REMOVES:
        yield path, "removed"
    elif known & _MOVES:
        yield path, "moved"
    elif known & _WRITES and words[0] not in _READS:
        yield path, "wrote" if known & {"write", "create"} else "edited"


def _patched(text: str) -> Iterator[tuple[str, str]]:
    effects = {"Update": "edited", "Add": "wrote", "Delete": "removed"}
    for verb, name, diffed in _PATCHED.findall(text):
        yield (name.strip(), effects[verb]) if verb else (diffed, "edited")


def _changed_by(command: str) -> Iterator[tuple[str, str]]:
    if "*** Begin Patch" in command or ("\n+++ " in command and "\n@@" in command):
        yield from _patched(command)
        return
    plain = command[: 4 * _HEAD]
    if "<<" in plain:
        plain = _HEREDOC.sub(r"<<\1\2\n", plain)
    plain = _QUOTED.sub("''", plain[:_HEAD])
    plain = _ELSEWHERE.split(plain, maxsplit=1)[0]  # After "cd try", relative names refer to other files.
    found: dict[str, str] = {}
    if ">" in plain or "tee" in plain:
        found.update(dict.fromkeys(_INTO.findall(plain), "wrote"))
    if "sed -" in plain or "perl -" in plain:
        found.update(dict.fromkeys(_IN_PLACE.findall(plain), "edited"))
    for verb, rest in _TAKING.findall(plain):
        names = [name for name in rest.split() if name[0] != "-"]
        if verb == "rm":
            # What one command writes and removes again was only temporary.
            gone = [name for name in names if found.pop(name, None) is None]
            found.update(dict.fromkeys(gone, "removed"))
        elif verb in ("mv", "cp") and len(names) == 2:
            found[names[1]] = f"{'moved' if verb == 'mv' else 'copied'} from {names[0]}"
        elif verb in ("checkout", "restore"):
            found.update(dict.fromkeys(names, "reverted"))
    for path, effect in found.items():
        name = path.removeprefix("./")
        ended = "." in name.rpartition("/")[2].strip(".")
        if ended and not _PASSING.search(name) and classify(name) is EvidenceKind.PATH:
            yield name, effect


def _ending(text: str, is_error: bool, ran: bool) -> tuple[str, bool, str, str, tuple[str, ...]]:
    """Status, whether it failed, the error line, the summary line of a test run, the failing tests."""
    head, tail = text[:400], text[-_TAIL:]
    code = _exit_code(head, text[-400:] if len(text) > 400 else "") if ran or text[:1] == "{" else None
    opens = _OPENING.match(head) is not None
    failed = is_error or code not in (None, "0") or (opens and code is None)
    error = result = ""
    failing: tuple[str, ...] = ()
    if ran and ("passed" in tail or "failed" in tail or "FAILED" in tail or "\nOK" in tail):
        found = [line.strip(" =-") for line in _RESULT.findall(tail)]
        result = found[-1][:160] if found else ""
        names = ("".join(groups) for groups in _FAILING.findall(tail))
        failing = tuple(dict.fromkeys(names))[:8]
        failed = failed or bool(failing)
    if failed and ("rror" in tail or "xception" in tail or "fatal" in tail or "not found" in tail):
        lines = _ERROR.findall(tail)
        error = "".join(lines[-1]).strip() if lines else ""
    if opens and not error:
        error = clip(" ".join(head.split()), 240)
    status = f"exit {code}" if code is not None else "failed" if failed else ""
    return status, failed, error if failed else "", result, failing


def _exit_code(head: str, tail: str) -> str | None:
    for part in (head, tail):
        lowered = part.lower()
        if any(word in lowered for word in _EXITS) and (found := _CODE.search(part)):
            return next(group for group in found.groups() if group is not None)
    return None


def _in_short(arguments: Mapping[str, Any]) -> str:
    """Arguments on one line; of long data inside them only that it is there: values have their own lines."""
    shown = []
    for key, given in arguments.items():
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        nested = len(text) > _ARGUMENT and not isinstance(given, str)
        text = f"{text[0]}…{text[-1]}" if nested else clip(" ".join(text.split()), _ARGUMENT)
        if text and key not in _COMMAND_KEYS:
            shown.append(f"{key}={text}" if key else text)
    return clip(", ".join(shown), 160)
