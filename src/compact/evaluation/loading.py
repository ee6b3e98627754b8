"""Conversations with probes from JSONL files, plain or gzipped. A bad line is reported and skipped."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from compact.errors import FormatError
from compact.model.message import json_kind

MAX_LINE_BYTES = 128 * 1024 * 1024
"""A longer line is rejected: a small gzip file can expand to fill a disk."""

_OTHER_KIND = 'no line is a conversation or a message; expected is JSONL, one object with "messages" a line'
_ENDINGS = (".jsonl", ".jsonl.gz")
_WHOLE = (".json", ".json.gz")
IDENTIFIER = "reused_identifier"


@dataclass(frozen=True, slots=True)
class Identifier:
    """A value that the agent uses again after the cut."""

    value: str
    hard: bool
    """Not mentioned in the last quarter before the cut, so keeping the newest messages is not enough."""


@dataclass(frozen=True, slots=True)
class Question:
    """Answerable by string search: every key occurs literally in the conversation."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    source: str
    messages: list[Any]
    cut: int
    """Identifiers are searched in what `messages[:cut]` becomes."""
    identifiers: tuple[Identifier, ...] = ()
    questions: tuple[Question, ...] = ()
    tools: list[Any] | None = None
    system: Any = None
    format: str | None = None
    where: str = ""
    """File and line, for messages to the user."""
    weight: int = 1
    """The length of its line: roughly its share of the work."""

    @property
    def horizon(self) -> int:
        """How far it is replayed: to the cut, or to the end if it has questions."""
        return len(self.messages) if self.questions else self.cut


@dataclass(frozen=True, slots=True)
class Problem:
    """A line or conversation that was skipped, and why."""

    where: str
    message: str


def load_cases(
    paths: Sequence[str | Path], sources: Collection[str] = (), limit: int | None = None
) -> tuple[list[Case], list[Problem]]:
    """The conversations of these files and folders, at most `limit` per source, and what was skipped.

    Raises FormatError if a path does not exist or a folder has no such file.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    taken: Counter[str] = Counter()
    for file, named in _files(paths):
        read = list(_read(file))
        if not named and file.name.endswith(_WHOLE) and not any(isinstance(one, Case) for one in read):
            continue  # A folder may also hold other JSON.
        wrong = [found for found in read if isinstance(found, Problem)]
        # If no line is usable, the file is of another kind: reported once, not line by line.
        problems += [Problem(str(file), _OTHER_KIND)] if len(wrong) == len(read) > 1 else wrong
        for case in _named([found for found in read if isinstance(found, Case)], file):
            if (not sources or case.source in sources) and (limit is None or taken[case.source] < limit):
                taken[case.source] += 1
                cases.append(case)
    return cases, problems


def _named(cases: list[Case], file: Path) -> list[Case]:
    """A file with a single source gives it its name; only a mixed file needs the names in its lines."""
    if len({case.source for case in cases}) > 1:
        return cases
    return [replace(case, source=_stem(file)) for case in cases]


def _stem(file: Path) -> str:
    return file.name.split(".")[0] or file.name


def _files(paths: Sequence[str | Path]) -> list[tuple[Path, bool]]:
    """The files, each with whether it was named directly; those found in a folder were not."""
    files: list[tuple[Path, bool]] = []
    for path in map(Path, paths):
        if path.is_dir():
            endings = (*_ENDINGS, *_WHOLE)
            inside = sorted(file for file in path.iterdir() if file.name.endswith(endings))
            if not inside:
                raise FormatError(
                    f"{path} holds no conversation: no file ends in {', '.join(endings)}. "
                    "Nothing was evaluated."
                )
            files += [(file, False) for file in inside]
        elif path.exists():
            files.append((path, True))
        else:
            raise FormatError(f"{path} does not exist; nothing was evaluated.")
    return files


def _read(file: Path) -> Iterator[Case | Problem]:
    number = 0
    try:
        with _opened(file) as stream:
            if file.name.endswith(_WHOLE):
                yield from _document(stream.read(MAX_LINE_BYTES + 1), file)
                return
            if _is_message(stream.readline(MAX_LINE_BYTES + 1)):
                stream.seek(0)
                yield _message_lines(stream.read(MAX_LINE_BYTES + 1), file)
                return
            stream.seek(0)
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    yield Problem(
                        f"{file}:{number}", "the line is too long; the rest of the file was skipped"
                    )
                    return
                if line.strip():
                    yield _parsed(line, file, number)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        yield Problem(f"{file}:{number + 1}", f"the file could not be read further ({reason})")


def _is_message(line: bytes) -> bool:
    """Whether a file that begins with this line is one conversation, a message a line."""
    value = _value(line, "")
    return isinstance(value, dict) and "role" in value and "messages" not in value


def _message_lines(raw: bytes, file: Path) -> Case | Problem:
    """What `compact export` writes."""
    if len(raw) > MAX_LINE_BYTES:
        return Problem(str(file), "the conversation is too long")
    messages = []
    for number, line in enumerate(raw.splitlines(), 1):
        if line.strip():
            value = _value(line, f"{file}:{number}")
            if isinstance(value, Problem):
                return value
            messages.append(value)
    return _case_or_problem({"messages": messages}, file, 1, len(raw))


def _document(raw: bytes, file: Path) -> Iterator[Case | Problem]:
    """A file that is one JSON value: a conversation, a list of them, or a list of messages."""
    if len(raw) > MAX_LINE_BYTES:
        yield Problem(str(file), "the file is too long; write one conversation a line, as JSONL")
        return
    value = _value(raw, str(file))
    if isinstance(value, Problem):
        yield value
    elif isinstance(value, list) and value and all(isinstance(v, dict) and "messages" in v for v in value):
        for number, one in enumerate(value, 1):
            yield _case_or_problem(one, file, number, len(raw) // len(value))
    else:
        one = {"messages": value} if isinstance(value, list) else value
        yield _case_or_problem(one, file, 1, len(raw))


def _opened(file: Path) -> IO[bytes]:
    with file.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(file, "rb")) if packed else file.open("rb")


def _parsed(line: bytes, file: Path, number: int) -> Case | Problem:
    value = _value(line, f"{file}:{number}")
    return value if isinstance(value, Problem) else _case_or_problem(value, file, number, len(line))


def _value(raw: bytes, where: str) -> Any:
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        return Problem(where, f"not valid JSON (column {error.colno}: {error.msg})")
    except UnicodeDecodeError as error:
        return Problem(where, f"not UTF-8 text (byte {error.start})")
    except RecursionError:
        return Problem(where, "nested deeper than any conversation")


def _case_or_problem(value: Any, file: Path, number: int, weight: int) -> Case | Problem:
    try:
        return _case(value, file, number, weight)
    except _Unusable as error:
        return Problem(f"{file}:{number}", str(error))


class _Unusable(Exception):
    pass


def _case(value: Any, file: Path, number: int, weight: int) -> Case:
    if not isinstance(value, dict):
        raise _Unusable(f"a JSON {json_kind(value)}, not an object with messages")
    messages = value.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _Unusable('"messages" must be an array that is not empty')
    cut = value.get("probe_cut_index")
    if cut is None:
        cut = len(messages)
    elif not isinstance(cut, int) or not 0 < cut <= len(messages):
        raise _Unusable(f'"probe_cut_index" must be a number from 1 to {len(messages)} (got {cut!r})')
    tools = value.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise _Unusable('"tools" must be an array')
    identifiers, questions = _probes(value.get("probes") or [])
    return Case(
        id=str(value.get("id") or number),
        source=str(value.get("source") or _stem(file)),
        messages=messages,
        cut=cut,
        identifiers=identifiers,
        questions=questions,
        tools=tools or None,
        system=value.get("system"),
        format=value.get("format") or None,
        where=f"{file}:{number}",
        weight=weight,
    )


def _probes(values: Any) -> tuple[tuple[Identifier, ...], tuple[Question, ...]]:
    """Probes that a string search can score; the others need a judge and are skipped."""
    identifiers: list[Identifier] = []
    questions: list[Question] = []
    if not isinstance(values, list) or not all(isinstance(probe, dict) for probe in values):
        raise _Unusable('"probes" must be an array of objects')
    for probe in values:
        if probe.get("kind") == IDENTIFIER:
            text = probe.get("value")
            if not isinstance(text, str) or not text:
                raise _Unusable(f"a {IDENTIFIER} probe without its value")
            identifiers.append(Identifier(text, bool(probe.get("hard"))))
        else:
            keys = probe.get("answer_keys") or []
            if not isinstance(keys, list) or not all(isinstance(key, str) and key for key in keys):
                raise _Unusable('"answer_keys" must be an array of strings')
            if keys:
                questions.append(Question(tuple(keys)))
    return tuple(identifiers), tuple(questions)
