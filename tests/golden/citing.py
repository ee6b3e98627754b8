"""Does a message say what a line says that cites it? Strict enough that spread words do not pass for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compact.core.summary_checks.citations import cited_positions
from compact.model.message import Message, arguments_text

NEGATIONS = frozenset(
    "not no never without nor neither cannot hardly don dont t isn doesn didn won can't".split()
)
_OWN = re.compile(
    r"(?:^|(?<=- )|(?<=\. ))(?:Goal|Rules|Answers|Done|Decided|Open|Last said|User|Assistant|the list|"
    r"no result yet|last said|last step did not succeed|Ran|Key values|No result yet): |— later :|"
    r"\(?\b(?:wrote|writing) \d+ lines\)?|\(\+\d+ lines\)|\(failed\)|\(\s*\)|and \d+ more edits"
)
"""What the summarizer says itself; what of it can be checked, is below."""
_CLAUSES = frozenset("because since otherwise so due in and but".split())
"""What begins so is a clause of its own: a "not" before it is none of its words."""
_CITE = re.compile(r"\[m\d[^\]]*\]")
_RANGE = re.compile(r"\[m(\d+)-m(\d+)\]")
_PIECES = re.compile(r"(?<=[.!?…:])\s+|;\s+(?=(?:[^`]*`[^`]*`)*[^`]*$)| :: | — | \((?=`)|”\s+“")
_STEP = re.compile(r"^(?:tried to )?(?:edited|edit|wrote|write|ran|read|removed) ")
_ENDING = re.compile(r" → (exit \d+)?(, its output shows a failure)?(failed)?$")
_ANSWER = re.compile(r"(?:(approved|refused|said yes|said no), )?asked in \[m(\d+)\]: (.+?)(?= — “)")
_SAID_YES = re.compile(r"\W*(?:yes|yep|sure|ok|go|please|do|sounds|looks|that works|correct|perfect)", re.I)
_SAID_NO = re.compile(r"\W*(?:no\b|nope|stop|cancel|not|don|wait|hold)", re.I)
_FACTS = re.compile(
    r"^(?:- )?(?:(?:Files (\w+)|Paths|Ids|Links|Figures|Code names|Dates|Named|Key values)|in (\S+)): "
)


@dataclass(frozen=True)
class Session:
    messages: Sequence[Message]

    def text(self, at: int) -> str:
        """All that a message says, escapes of JSON undone."""
        message = self.messages[at]
        return " ".join([message.text, self.called(at), *(result.text for result in message.results)])

    def called(self, at: int) -> str:
        calls = self.messages[at].calls
        return " ".join(f"{call.name} {_values(arguments_text(call.arguments))}" for call in calls)

    def around(self, line: str) -> list[int]:
        """The messages that a line cites; a call and its results stand together."""
        cited = set(cited_positions(line))
        for first, last in _RANGE.findall(line):
            cited.update(range(int(first), int(last) + 1))
        for at in list(cited):
            if self.messages[at].calls:
                cited.add(at + 1)
            elif self.messages[at].results:
                cited.add(next(before for before in range(at, -1, -1) if self.messages[before].calls))
        return sorted(cited)

    def endings(self, at: Iterable[int]) -> set[str]:
        """The exit statuses that the cited results report."""
        texts = [result.text for one in at for result in self.messages[one].results]
        return {found.group() for text in texts if (found := re.match(r"exit \d+", text))}


def _values(arguments: str) -> str:
    return " ".join(str(value) for value in json.loads(arguments).values())


def tokens(text: str) -> list[str]:
    """Words in small letters; a mark that ends a sentence as "." or "?", one that parts clauses as ",",
    and what opens something new in its sentence as ";"."""
    found = _TOKEN.findall(text.lower().replace("\\n", " "))
    return [word or (_mark(mark) if mark else "?" if "?" in end else ".") for word, end, mark in found]


_TOKEN = re.compile(
    r"([^\W_]+)|([.!?…]+[\"'”’)\]*`]*(?=\s|$)|\n(?=\s*(?:[-*•#]|\d+[.)]|\n|[^\Wa-z]|$)))|([.,;:!?()—–\n])"
)
_ENDS = frozenset(".?")
_MARKS = frozenset(".?,;")


def _mark(mark: str) -> str:
    return ";" if mark in ";:—–" else ","


_BEFORE = re.compile(
    r"\b(?:if|unless|whether|once|until|suppose|supposing|assuming|provided|in case|i (?:think|guess|believe|"
    r"suppose)|maybe|perhaps|probably|possibly|kind of|sort of|not much|hardly|barely|otherwise|only|heard|"
    r"claims?|or|then)\b(?! far\b)"
)
"""What makes the words after it in their sentence a condition, a guess, hearsay or one of several."""
_AFTER = re.compile(r"\b(?:if|unless|provided|except|as long as|otherwise|only when|only after)\b")
_RIGHT_AFTER = re.compile(r"(?:, )?(?:but only|only|or|until|once)\b")
_RANGE_WORDS = frozenset("to or bis".split())
_RANGE_GOES_ON = re.compile(rf"(?:(?:{'|'.join(_RANGE_WORDS)}) )?\d")
_ASKS = re.compile(
    r"(?:[,;] )?(?:and |so |but )?(?:can|could|how|what|do|does|shall|should|is|are|will|would)\b"
)


def says(source: str, piece: str, line: str = "") -> bool:
    """True when the words of the piece stand together in the source, in order; few words may be left out,
    and none that turns the meaning round, neither inside nor right before.

    With the `line` that the piece is of: none either that hedges, limits or asks what it says, unless the
    line has it elsewhere, and no range is halved.
    """
    wanted = [token for token in tokens(re.sub(r"\S*…$", "", piece)) if token not in _MARKS]
    there = tokens(source)
    if not wanted:
        return True
    whole = not piece.endswith("…")
    told = " ".join(token for token in tokens(line) if token not in _MARKS)
    return any(
        (end := _end_of_match(there, start, wanted, strict=bool(line))) >= 0
        and (wanted[0] in _CLAUSES or not _denied(there[max(0, start - 3) : start]))
        and not (line and _bent(there, start, end if whole else -1, told, asks=piece[-1] in "?:"))
        for start, word in enumerate(there)
        if word == wanted[0]
    )


def _denied(before: Sequence[str]) -> bool:
    last = max((at for at, token in enumerate(before) if token in _MARKS), default=-1)
    return not NEGATIONS.isdisjoint(before[last + 1 :])


def _bent(there: Sequence[str], start: int, end: int, told: str, *, asks: bool) -> bool:
    """True when the sentence around the words says something of them that the line does not tell."""
    first = start
    while first and there[first - 1] not in _ENDS and there[first - 1] != ";":
        first -= 1
    if any(_lost(found.group(), told) for found in _BEFORE.finditer(" ".join(there[first:start]))):
        return True
    if (
        start > 1
        and there[start].isdigit()
        and there[start - 1] in _RANGE_WORDS
        and there[start - 2].isdigit()
    ):
        return True
    if end < 0:
        return False  # "…" says that it goes on
    if there[end - 1].isdigit() and _RANGE_GOES_ON.match(" ".join(there[end : end + 2])):
        return True
    last = end
    while last < len(there) and there[last] not in _ENDS and there[last] != ";":
        last += 1
    rest = " ".join(there[end:last])
    limits = [*_AFTER.findall(rest), *_RIGHT_AFTER.findall(rest[:12] if _RIGHT_AFTER.match(rest) else "")]
    if any(_lost(limit.lstrip(", "), told) for limit in limits):
        return True
    asked = next((token for token in there[end:] if token in _ENDS), "") == "?"
    return asked and not asks and not _ASKS.match(rest)


def _lost(words: str, told: str) -> bool:
    return re.search(rf"\b{words}\b", told) is None


def _end_of_match(there: Sequence[str], at: int, wanted: Sequence[str], *, strict: bool) -> int:
    """Where the words end that stand from there on, or -1."""
    spare = max(3, len(wanted) // 5)
    for word in wanted:
        while at < len(there) and there[at] != word:
            spare -= there[at] not in _MARKS
            if spare < 0 or there[at] in NEGATIONS or (strict and _weighs(there, at)):
                return -1
            at += 1
        if at >= len(there):
            return -1
        at += 1
    return at


def _weighs(there: Sequence[str], at: int) -> bool:
    """True for a word that may not be left out: half of a range, a condition, a guess."""
    return (
        there[at].isdigit()
        or _BEFORE.fullmatch(there[at]) is not None
        or (_BEFORE.fullmatch(" ".join(there[at : at + 2])) is not None)
    )


def problems(session: Session, line: str) -> list[str]:
    """What in the line no cited message says; empty when all is said."""
    at = session.around(line)
    if not at:
        return [f"cites nothing: {line}"]
    found = [*_answered(session, line), *_listed(session, line, at), *_stepped(session, line, at)]
    if _FACTS.match(line):
        return found
    answer = _ANSWER.search(line)
    body = " ".join(_CITE.sub(" ", line.replace(answer.group(), "") if answer else line).split())
    body = _OWN.sub(" ", _OWN.sub(" ", body.removeprefix("- ")))
    sources = [session.text(one) for one in at]
    for part in _PIECES.split(body):
        piece = re.sub(r"^[\s“]+|[\s”.]+$", "", part)
        if inside := re.fullmatch(r"in (\S+) (\S+)", piece):
            found += _held(session, at, *inside.groups())
        elif not _is_form(piece) and not any(
            says(source, piece, "" if "`" in piece else body) for source in sources
        ):
            found.append(f"no cited message says “{piece}”")
    return found


def _is_form(piece: str) -> bool:
    """What is checked elsewhere: steps, counts, the field of a ledger that says how it ended."""
    return (
        piece in ("", "-", "rule", "returned", "failed")
        or re.fullmatch(r"exit \d+(?:, its output shows a failure)?", piece) is not None
        or re.match(r"(?:removed|reverted|(?:moved|copied) from \S+)$", piece) is not None
        or re.fullmatch(r"(?:\S+ )?(?:edited|wrote|removed)(?: \d+ times)?", piece) is not None
        or re.match(r"called \w+\(|test run$|failing test$", piece) is not None
        or re.match(r"(?:call \w+|and \d+ more edits|wrote \d+ lines)$", piece) is not None
        or _STEP.match(piece) is not None
    )


def _answered(session: Session, line: str) -> list[str]:
    """An approval must be one, and its question must have been asked where it says."""
    answer = _ANSWER.search(line)
    if not answer:
        return []
    verdict, asked, question = answer.groups()
    found = []
    if not all(says(session.text(int(asked)), part) for part in question.split("… ")):
        found.append(f"[m{asked}] does not ask “{question}”")
    said = re.search(r"“(.+?)”", line.replace(question, ""))
    quote = said.group(1) if said else ""
    if verdict in ("approved", "said yes") and not _SAID_YES.match(quote):
        found.append(f"no yes: “{quote}”")
    if verdict in ("refused", "said no") and not _SAID_NO.match(quote):
        found.append(f"no refusal: “{quote}”")
    return found


def _listed(session: Session, line: str, at: Sequence[int]) -> list[str]:
    """Every value of a list stands letter for letter in one cited message, and a file was so treated."""
    head = _FACTS.match(line)
    if not head:
        return []
    values = [value.strip(" .") for value in _CITE.sub("", line[head.end() :]).split(", ")]
    sources = [session.text(one) for one in at]
    found = [
        f"no cited message has {value}"
        for value in values
        if head.group(1) != "written"
        and not any(_has(source, value, "Figures" in head.group()) for source in sources)
    ]
    if head.group(2):
        found += [wrong for value in values for wrong in _held(session, at, head.group(2), value)]
    if head.group(1) == "written":
        found += _unwritten(session, at, (re.sub(r":\d.*", "", value) for value in values), _WRITING)
    return found


def _has(source: str, value: str, is_figure: bool) -> bool:
    """Words around a figure are a claim; a mere value is there or not."""
    if is_figure and " " in value and not re.fullmatch(r"[\d.,:]+ \w+", value):
        return says(source, value, value)
    return re.sub(r":\d.*", "", value) in source or says(source, value)


def _held(session: Session, at: Sequence[int], name: str, value: str) -> list[str]:
    """A value that is said to stand in a file: the message that has it is about that file."""
    for one in at:
        if value in session.text(one) and any(name in session.text(near) for near in {one, max(0, one - 1)}):
            return []
    return [f"{value} stands in no {name}"]


_WRITING = r"write_file|edit_file|bash .*(?:>|sed -i)"
_VERBS = {"edited": r"edit_file|bash .*(?:>|sed -i)", "wrote": r"write_file|bash .*>"}


_TAKING = {
    "removed": r"delete_file|bash .*\brm ",
    "reverted": r"bash .*\bgit (?:checkout|restore) ",
    "moved from": r"move_file|bash .*\bmv ",
    "copied from": r"bash .*\bcp ",
}


def _unwritten(session: Session, at: Sequence[int], paths: Iterable[str], how: str) -> list[str]:
    """Files that no cited call writes to; a folder may stand before the name in one message only."""
    calls = [session.called(one) for one in at]
    return [
        f"no cited call wrote {path}"
        for path in paths
        if not any(_writes(call, path.rsplit("/", 1)[-1], how) for call in calls)
    ]


def _writes(call: str, name: str, how: str = _WRITING) -> bool:
    return name in call and re.match(rf"\s*(?:{how})", call, re.S) is not None


def _stepped(session: Session, line: str, at: Sequence[int]) -> list[str]:
    """What was run stands in a call, its exit status is the reported one, and as many lines were written."""
    found = []
    sources = [session.text(one) for one in at]
    for command in re.findall(r"(?:ran|read) `([^`]+)`", line):
        if not any(says(source, command) for source in sources):
            found.append(f"not run: {command}")
    if re.search(r"\bran `", line) or " :: call " in line or "] call " in line:
        told = set(re.findall(r"exit \d+", re.sub(r"`[^`]*`", "", line))) or {"exit 0"}
        if (there := session.endings(at)) and not told & there:
            found.append(f"ended with {there}, not {told}")
    for count in re.findall(r"wrote (\d+) lines", line):
        contents = [str(call_text) for one in at for call_text in _contents(session.messages[one])]
        if not any(len(text.splitlines()) == int(count) for text in contents):
            found.append(f"no text of {count} lines was written")
    for verb, files in re.findall(r"(?:\] |; )(edited|wrote) (?!\d+ lines)([^:;]+)", line):
        paths = (file.split()[0].rstrip(".") for file in files.split(", "))
        found += _unwritten(session, at, paths, _VERBS[verb])
    for path, what in re.findall(r"- (\S+): (?:.* \()?(removed|reverted|moved from|copied from)\b", line):
        if not any(_writes(session.called(one), path.rsplit("/", 1)[-1], _TAKING[what]) for one in at):
            found.append(f"{path} was not {what}")
    for path, times in re.findall(r"(?:edited|wrote|,) (\S+) \((\d+) times\)", line):
        calls = sum(_writes(session.called(one), path) for one in at)
        if calls < int(times):
            found.append(f"{path} was written {calls} times, not {times}")
    return found


def _contents(message: Message) -> list[str]:
    given = [json.loads(arguments_text(call.arguments)) for call in message.calls]
    commands = [str(arguments.get("command", "")) for arguments in given]
    written = [text for command in commands for text in _HEREDOC.findall(command)]
    return [*(str(arguments.get("content", "")) for arguments in given), *(text for _, text in written)]


_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)[^\n]*\n(.*?)^\1$", re.S | re.M)
