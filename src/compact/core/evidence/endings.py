"""How a tool call ended: its exit code, whether it failed, what went wrong, which tests fail."""

from __future__ import annotations

import re

from compact.core.evidence.shell import errors_said
from compact.model.message import ToolResult

_FRAME_LINES = 4
_CODE = (
    r"<(?:returncode|return_code|exit_?code)>\s*(-?\d{1,3})\s*</|"
    r"[\[(]?(?:(?:the )?(?:process|command|program|script)[ :]*)?(?:(?:exited|finished|failed|completed|"
    r"ended|returned) with )?(?:exit|return)?[ _-]?(?:code|status)\s*[:=]?\s*(-?\d{1,3})\s*[\])]?\.?\s*$|"
    r"[\[(]?(?:(?:process|command) )?exited with (-?\d{1,3})[\])]?\.?\s*$|"
    r"[\[(]?exit\s*[:=]?\s*(-?\d{1,3})[\])]?\s*$"
)
_CODE_LINE = re.compile(rf"^\s*(?:{_CODE})", re.IGNORECASE)
_CODE_FIELD = re.compile(
    r"[\"'](?:exit_?code|exit_?status|return_?code)[\"']\s*:\s*(-?\d{1,3})\b", re.IGNORECASE
)
_ERROR = (
    r"^E {2,}([\w.]+: [^\n]{1,300})|^(?:E\s{2,}|\s*)((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|"
    r"Warning)\b(?::[^\n]{1,300}|$)"
    r"|(?:error|fatal|panic|Error|ERROR|FATAL)(?:\s?\[\w+\])?: [^\n]{3,300}"
)
_MID_LINE = ("command not found", "No such file or directory", "Permission denied", "SyntaxError: ")
_ERROR_LINE = re.compile(rf"{_ERROR})", re.MULTILINE)
_ANY_ERROR_LINE = re.compile(rf"{_ERROR}|[^\n]{{0,80}}(?:{'|'.join(_MID_LINE)})[^\n]{{0,120}})", re.MULTILINE)
"""Dear, as it looks for these anywhere in a line: for texts that hold one of them only."""
_FAILING_TEST = re.compile(
    r"^(?:FAILED\s+(\S+)|(?:FAIL|ERROR):\s+(\S+(?: \([\w.]+\))?)|--- FAIL: (\S+)|\s*(?:✗|✕|"
    r"×)\s+([^\n]{3,120}))",
    re.M,
)
_OPENING_ERROR = re.compile(
    r"\A\s*(?:<(?:tool_use_)?error>\s*([^\n<]{3,300})|\{\s*\"(?:error|err)\"\s*:\s*\"([^\"]{3,300})|"
    r"(Error(?:\s*$|[:!]| )[^\n]{0,300}|(?!no |0 |zero )\w+ error: [^\n]{1,300}|"
    r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception):[^\n]{1,300}|"
    r"(?:failed to|unable to|could not|cannot|can['’]t|permission denied|access denied|no such file|"
    r"file (?:not found|does not exist)|fatal:|failure:)[^\n]{0,300}))",
    re.IGNORECASE,
)
_FILE_MAY_OPEN_SO = re.compile(
    r"\A\s*(?:\w+ )?Error\s+(?!executing|reading|calling|running)\w|\A\s*(?:cannot|can['’]t)", re.I
)
"""A text about errors may open like this; a refusal to read it has a colon."""
_REFUSED_FIELD = re.compile(
    r"\A\s*\{[^{}]{0,200}?\"(?:(?:success|ok)\"\s*:\s*false\b|is_?error\"\s*:\s*true\b|"
    r"status(?:_?code)?\"\s*:\s*\"?(?:error|fail(?:ed|ure)?\b|[45]\d\d\b))",
    re.I,
)
_NOT_DONE = re.compile(
    r"\A\s*(?:\[?(?:[\w-]+ ){0,3}?(?:interrupted|cancell?ed|rejected|declined|denied) by (?:the )?user\b|"
    r"(?:the )?user (?:has )?(?:rejected|declined|denied|refused|cancell?ed|doesn['’]t want|does not want)\b|"
    r"(?:[\w-]+ ){0,3}?(?:execution|call|use|command|request|operation|edit|action|permission)"
    r"(?: to \w+(?: \w+)?)? (?:(?:was|is|has been) )?(?:rejected|denied|declined|blocked|refused|"
    r"not (?:allowed|permitted))\b|"
    r"(?:[\w-]+ ){0,2}?(?:execution|tool|command|operation) (?:was |has )?"
    r"(?:aborted|interrupted|timed out)\b|"
    r"(?:fehler|erreur|errore|erro|fout|fel|błąd|ошибка|エラー|错误|錯誤|오류) ?[:：]|"
    r"(?:datei|verzeichnis|fichier|archivo|ファイル|文件)[^\n]{0,60}?"
    r"(?:nicht gefunden|introuvable|no encontrado|"
    r"見つかりません|不存在|未找到))[^\n]{0,300}",
    re.I,
)
"""Refused, stopped, out of time, or an error in another tongue: how the output of a call begins then."""
_BROKEN_OFF = re.compile(
    r"\A\s*(?:HTTP(?:/[\d.]+)? [45]\d\d\b|Traceback \(most recent call last\)|FAILED\b|--- FAIL\b|npm ERR!|"
    r"(?:Killed|Terminated|Aborted|(?:Request )?[Tt]imed out|Segmentation fault)\b(?=[^\n]{0,60}\s*\Z))"
    r"[^\n]{0,200}"
)
_EDIT_REFUSED = re.compile(
    r"\A\s*(?:no (?:exact |unique )?match(?:es)?\b|"
    r"[^\n]{0,80}?\b(?:not found in\b|was not found\b|did not match\b|"
    r"(?:is|are) identical\b|has(?: not|n['’]t) been read\b|no (?:changes|edits|replacements?) "
    r"(?:(?:was|were) )?(?:made|applied|performed)))[^\n]{0,200}",
    re.I,
)
_LAST_WORDS = re.compile(
    r"^(?:[^\n]{0,120}: command not found(?:: [^\n]{1,60})?|sh: (?:line )?\d+: [^\n]{1,80}: not found|"
    r"npm ERR! [^\n]{1,200}|(?:Command|Execution|Process) timed out\b[^\n]{0,120}|"
    r"g?make(?:\[\d+\])?: \*\*\* [^\n]{1,200}|(?:[^\n]{0,80}: (?:line )?\d+: +\d+ )?"
    r"(?:Killed|Terminated|Aborted|"
    r"Segmentation fault|Bus error)\b[^\n]{0,120})\s*$",
    re.M,
)
"""What a shell prints last of a command that came to nothing."""
_RUN_FAILED = re.compile(
    r"^Traceback \(most recent call last\)|^FAILED\b|^--- FAIL\b|\b[1-9]\d* failed\b", re.M
)
_FAILURES = ("Traceback", "FAIL", "failed")
"""One of them stands in all that the pattern finds."""
_RUN_PASSED = re.compile(r"^OK\b|^PASS\b|\b[1-9]\d* passed\b(?![^\n]*\bfailed\b)", re.M)
_TAIL = 20_000


def ending_of(
    result: ToolResult, *, command: str, shows_text: bool, edits: bool = False
) -> tuple[str, bool, str, tuple[str, ...]]:
    """Status, whether it failed, the error's line, and the failing tests.

    With a `command`, what it printed tells of it. `shows_text`: the output is the text of
    a file or of a search, which may hold anyone's error. `edits`: the tool was to change something itself.
    """
    text, ran = result.text, bool(command)
    code = _exit_code(text) if ran or not shows_text else None
    failed = result.is_error or code not in (None, "0")
    opening = ""
    if code != "0":
        opening = _opening_error(text, shows_text) or _not_done(text, ran, shows_text, edits)
        if not opening and ran and code is None:
            opening = _shell_failed(text, command, shows_text)
    failed = failed or bool(opening)
    if not failed and ran and not shows_text:
        failed = shows_failure(text, succeeded=code == "0")
    error = ""
    tests: tuple[str, ...] = ()
    if "rror" in text or "xception" in text or "FAIL" in text or "fatal" in text or "o such file" in text:
        tail = text[-_TAIL:]
        pattern = _ANY_ERROR_LINE if any(said in tail for said in _MID_LINE) else _ERROR_LINE
        lines = pattern.findall(tail)
        error = "".join(lines[-1]).strip() if lines else ""
        if "FAIL" in text or "ERROR" in text:
            found = ("".join(groups) for groups in _FAILING_TEST.findall(text))
            tests = tuple(dict.fromkeys(name.strip() for name in found if name[0] != "("))[:12]
    error = error or opening
    status = f"exit {code}" if code is not None else ""
    if failed and status in ("", "exit 0"):
        # A pipe hides the code of what runs first; what it printed tells.
        status = f"{status}, its output shows a failure" if status else "failed"
    return status, failed, error, tests


def _not_done(text: str, ran: bool, shows_text: bool, edits: bool) -> str:
    """The words that say that the call came to nothing; a text that is shown must be no more than them."""
    head = text[:600]
    if shows_text and "\n" in head.strip():
        return ""
    found = _NOT_DONE.match(head)
    if not found and not (ran and shows_text):
        found = _BROKEN_OFF.match(head) or (_EDIT_REFUSED.match(head) if edits else None)
    if not found and not shows_text and (ran or "\n" not in head.strip()):
        lines = text[-400:].rstrip().splitlines()[-2:]
        found = next((last for line in reversed(lines) if (last := _LAST_WORDS.match(line))), None)
    return found.group().strip() if found else ""


def _shell_failed(text: str, command: str, shows_text: bool) -> str:
    """The last words of the shell, where no code is given: they end the output, or are all of it."""
    said = errors_said(text, command)
    if not said or (shows_text and len(said) < len(text.split("\n")) - text.count("\n\n") - 1):
        return ""
    return said[-1][1].strip() if text.rstrip().endswith(said[-1][1].rstrip()) else ""


def shows_failure(text: str, *, succeeded: bool = False) -> bool:
    """True when the output tells of a failure that nothing after it made good."""
    text = text[-_TAIL:]
    if not any(cue in text for cue in _FAILURES):
        return False
    last = max((found.start() for found in _RUN_FAILED.finditer(text)), default=-1)
    if last < 0 or not succeeded:
        return last >= 0
    return not any(found.start() > last for found in _RUN_PASSED.finditer(text))


def _exit_code(text: str) -> str | None:
    """The code that the tool itself reports: a line of its own first or last, or a field."""
    head, tail = text[:400].splitlines()[:_FRAME_LINES], text[-400:].splitlines()[-_FRAME_LINES:]
    if len(text) > 400:
        tail = tail if "\n" in text[-400:] else []
    for line in (*head, *reversed(tail)):
        found = _CODE_LINE.match(line)
        if found:
            return next(group for group in found.groups() if group is not None)
    if text.lstrip()[:1] == "{":
        field = _CODE_FIELD.search(text[:200]) or _CODE_FIELD.search(text[-200:])
        return field.group(1) if field else None
    return None


def _opening_error(text: str, shows_text: bool) -> str:
    if shows_text and _FILE_MAY_OPEN_SO.match(text[:400]):
        return ""
    found = _OPENING_ERROR.match(text[:600])
    if found:
        return next(group for group in found.groups() if group is not None).strip()[:300]
    refused = _REFUSED_FIELD.match(text[:600])
    return " ".join(text[:300].split()) if refused else ""
