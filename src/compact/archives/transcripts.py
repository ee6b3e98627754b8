"""Checks transcripts: each one against its own hashes, and all of a session as one chain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any

from compact.archives.lines import FORMAT, VERSION

_VERSIONS = (1, VERSION)


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    what: str
    line: int | None = None


@dataclass(slots=True)
class Checked:
    """What the other transcripts of the session must agree with."""

    path: str
    step: int = 0
    is_linked: bool = False
    """Whether its version names the previous transcript."""
    previous: dict[str, Any] = field(default_factory=dict)
    """Step, name and hash of the previous transcript."""
    sha256: str = ""
    chain: list[bytes] = field(default_factory=list)
    """The chain hash before its first original, then after each."""


def check_lines(lines: Iterable[bytes], path: str) -> tuple[list[Problem], Checked]:
    """The problems of one transcript, given its lines with their line endings."""
    checked = Checked(path)
    try:
        return list(_problems(lines, checked)), checked
    except _Unreadable as stop:
        return [Problem(path, stop.what, stop.line)], checked


class _Unreadable(Exception):
    def __init__(self, what: str, line: int | None) -> None:
        self.what = what
        self.line = line


def _problems(lines: Iterable[bytes], checked: Checked) -> Iterator[Problem]:
    hasher = sha256()
    number, trailer = 0, None
    for number, line in enumerate(lines, 1):
        if trailer is not None:
            raise _Unreadable("there is more after the trailer", number)
        ours = _ours(line)
        if ours is None:
            raise _Unreadable("is not a line of JSON with our fields", number)
        if number == 1:
            _read_header(ours, checked)
        if ours.get("type") == "trailer":
            trailer = ours
            continue
        hasher.update(line)
        if number > 1 and checked.is_linked and not ours.get("system"):
            _follow(ours, checked, number)
    if trailer is None:
        raise _Unreadable("is cut off: the trailer is missing", number or None)
    checked.sha256 = str(trailer.get("sha256"))
    if trailer.get("messages") != number - 2:
        yield Problem(checked.path, f"has {number - 2} messages, its trailer says {trailer.get('messages')}")
    if checked.sha256 != hasher.hexdigest():
        yield Problem(checked.path, "was changed: its content does not match its SHA-256")
    if checked.is_linked and trailer.get("chain") != checked.chain[-1].hex():
        yield Problem(checked.path, "was changed: its messages do not lead to the chain hash in its trailer")


def _read_header(ours: dict[str, Any], checked: Checked) -> None:
    if ours.get("type") != "header":
        raise _Unreadable("the header is missing", 1)
    if ours.get("format") != FORMAT or ours.get("version") not in _VERSIONS:
        raise _Unreadable(f"is in a format this version can't check: {ours.get('version')}", 1)
    step, previous = ours.get("step"), ours.get("previous")
    checked.step = step if isinstance(step, int) else 0
    checked.is_linked = ours["version"] > 1
    checked.previous = previous if isinstance(previous, dict) else {}
    if checked.is_linked:
        checked.chain.append(_bytes(ours.get("chain"), 1))


def _follow(ours: dict[str, Any], checked: Checked, number: int) -> None:
    digest = _bytes(ours.get("digest"), number)
    checked.chain.append(blake2b(checked.chain[-1] + digest, digest_size=16).digest())


def _bytes(text: Any, number: int) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise _Unreadable("is not a line of JSON with our fields", number) from None


def check_chain(transcripts: Sequence[Checked]) -> list[Problem]:
    """Where the transcripts of a session do not continue one another. Those set aside count as well."""
    by_step: dict[int, list[Checked]] = {}
    for one in transcripts:
        by_step.setdefault(one.step, []).append(one)
    found = []
    for one in transcripts:
        if one.is_linked and one.previous and (what := _break(one, by_step)):
            found.append(Problem(one.path, what))
    return found


def _break(one: Checked, by_step: dict[int, list[Checked]]) -> str:
    step, noted = one.previous.get("step"), one.previous.get("sha256")
    before = by_step.get(step, []) if isinstance(step, int) else []
    if not before:
        return f"{one.previous.get('name')}, which it goes on from, is missing: deleted or still queued"
    if noted is not None and noted not in [other.sha256 for other in before]:
        return f"{one.previous.get('name')}, which it goes on from, was changed since"
    if not any(one.chain[:1] and one.chain[0] in other.chain for other in before if other.is_linked):
        return f"does not go on from {one.previous.get('name')}: the chain of messages is broken"
    return ""


def _ours(line: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    ours = parsed.get("_compact") if isinstance(parsed, dict) else None
    return ours if isinstance(ours, dict) else None
