"""Checks an archive: transcripts and summaries against their hashes, steps and events for gaps.

What no file that is left can tell stays unseen: the newest steps gone together.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from compact.archives.chaining import HEADS, line_digest, parsed_head, place_of
from compact.archives.lines import FORMAT, VERSION, summary_digest
from compact.archives.naming import EVENTS, summary_name, transcript_name

_EVENT = re.compile(r"(?:\d+-)?([0-9a-f]{16})\.jsonl")
_NUMBERED = re.compile(r"(?:transcript-pre-compact|summary)-(\d{1,18})\.")


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    what: str
    line: int | None = None


def verify(path: str | os.PathLike[str]) -> list[Problem]:
    """All problems of a file, a session's folder or a whole archive; empty when it is sound.

    Reads line by line, so size doesn't matter. Links are reported, not followed.
    """
    start = Path(path)
    if not start.exists() and not start.is_symlink():
        return [Problem(str(start), "does not exist")]
    found: list[Problem] = []
    folders: dict[Path, list[str]] = {}
    for file in _files(start):
        found += _verify_file(file)
        if file.parent != start.parent:
            folders.setdefault(file.parent, []).append(file.name)
    for folder, names in folders.items():
        found += _verify_steps(folder, names)
        if EVENTS not in names and _head_of(folder).is_file():
            found.append(Problem(str(folder / EVENTS), "is missing"))
    return found


def verify_lines(lines: Iterable[bytes], path: str) -> list[Problem]:
    """The problems of one transcript, given its lines with their line ends."""
    hasher = sha256()
    number, trailer = 0, None
    for number, line in enumerate(lines, 1):
        if trailer is not None:
            return [Problem(path, "there is more after the trailer", number)]
        ours = _ours(line)
        if ours is None:
            return [Problem(path, "is not a line of JSON with our fields", number)]
        if number == 1 and ours.get("type") != "header":
            return [Problem(path, "the header is missing", number)]
        if number == 1 and (ours.get("format"), ours.get("version")) != (FORMAT, VERSION):
            return [Problem(path, f"is in a format this version can't check: {ours.get('version')}", number)]
        if ours.get("type") == "trailer":
            trailer = ours
        else:
            hasher.update(line)
    if trailer is None:
        return [Problem(path, "is cut off: the trailer is missing", number or None)]
    found = []
    if trailer.get("messages") != number - 2:
        found.append(Problem(path, f"has {number - 2} messages, its trailer says {trailer.get('messages')}"))
    if trailer.get("sha256") != hasher.hexdigest():
        found.append(Problem(path, "was changed: its content does not match its SHA-256"))
    return found


def verify_summary(content: bytes, path: str) -> list[Problem]:
    try:
        summary = json.loads(content)
    except (ValueError, RecursionError):
        return [Problem(path, "is not JSON")]
    if not isinstance(summary, dict) or summary.get("sha256") != summary_digest(summary):
        return [Problem(path, "was changed: its content does not match its SHA-256")]
    return []


def _files(path: Path) -> Iterator[Path]:
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for child in sorted(path.iterdir()):
        if child.is_symlink() or not child.name.startswith("."):
            yield from _files(child)


def _verify_file(path: Path) -> list[Problem]:
    if path.is_symlink():
        return [Problem(str(path), "is a symbolic link")]
    if path.name.startswith("transcript-"):
        with path.open("rb") as lines:
            return verify_lines(lines, str(path))
    if path.name.startswith("summary-"):
        content = path.read_bytes()
        return verify_summary(content, str(path)) or _verify_pair(path, content)
    if path.name == EVENTS:
        head = _head_of(path.parent)
        with path.open("rb") as lines:
            return verify_events(lines, str(path), head.read_bytes() if head.is_file() else None)
    if path.parent.name == "events" and (named := _EVENT.fullmatch(path.name)):
        # A bucket has each event as an object of its own, named by its hash.
        sound = sha256(path.read_bytes()).hexdigest().startswith(named[1])
        return [] if sound else [Problem(str(path), "was changed: its content does not match its name")]
    return [Problem(str(path), "does not belong here")]


def _head_of(folder: Path) -> Path:
    folder = folder.absolute()
    return folder.parent / HEADS / folder.name


def verify_events(lines: Iterable[bytes], path: str, head: bytes | None = None) -> list[Problem]:
    """The problems of an event log; `head` says which line was the newest.

    Lines from before they were linked are only counted. One more than the head says may be there: its writer
    was stopped between the two.
    """
    found: list[Problem] = []
    newest = parsed_head(head) if head is not None else None
    if head is not None and newest is None:
        found.append(Problem(path, f"what is noted of it in {HEADS} cannot be read"))
    count, digest, is_linked = 0, "", False
    for number, line in enumerate(lines, 1):
        parsed = _parsed(line)
        if parsed is None:
            found.append(Problem(path, "is not a line of JSON", number))
        place = place_of(parsed)
        if place is not None and place != (count + 1, digest):
            gone = place[0] - count - 1
            what = (
                f"{gone} lines before it are gone"
                if gone > 1
                else "the line before it is gone or was changed"
            )
            found.append(Problem(path, what, number))
        elif place is None and is_linked and parsed is not None:
            found.append(Problem(path, "was added or changed: it does not name the line before it", number))
        is_linked = is_linked or place is not None
        count, digest = (place[0] if place is not None else count + 1), line_digest(line)
        if newest is not None and count == newest[0] and digest != newest[1]:
            found.append(Problem(path, "was changed: it is not the line that was written last", number))
    if newest is not None and count < newest[0]:
        found.append(
            Problem(path, f"is cut off: the newest {newest[0] - count} of {newest[0]} lines are gone")
        )
    return found


def _verify_steps(folder: Path, names: Iterable[str]) -> list[Problem]:
    """Steps count from 1 without a gap, and each transcript has its summary (files set aside count)."""
    transcripts: set[int] = set()
    summaries: set[int] = set()
    for name in names:
        numbered = _NUMBERED.match(name)
        if numbered is not None:
            (transcripts if name.startswith("transcript-") else summaries).add(int(numbered[1]))
    there = transcripts | summaries
    found = [
        Problem(str(folder / transcript_name(step)), f"its summary {summary_name(step)} is missing")
        for step in sorted(transcripts - summaries)
    ]
    # Stretches, not single steps: one file with a huge number must not make a huge report.
    last = 0
    for step in sorted(there):
        if step > last + 1:
            gap = (
                f"step {last + 1:03d} is"
                if step == last + 2
                else f"steps {last + 1:03d} to {step - 1:03d} are"
            )
            found.append(Problem(str(folder), f"{gap} missing: deleted, still queued, or never archived"))
        last = step
    return found


def _verify_pair(path: Path, content: bytes) -> list[Problem]:
    """A summary names its transcript; one set aside by other content is found among those set aside."""
    named = json.loads(content).get("transcript") or {}
    stem = str(named.get("name", "")).removesuffix(".jsonl")
    if not stem or "/" in stem:
        return [Problem(str(path), "names no transcript")]
    candidates = [file for file in path.parent.glob("transcript-*.jsonl") if file.name.startswith(stem + ".")]
    if not candidates:
        return [Problem(str(path), f"its transcript {stem}.jsonl is missing")]
    if any(_trailer_digest(file) == named.get("sha256") for file in candidates):
        return []
    return [Problem(str(path), f"belongs to another version of {stem}.jsonl")]


def _trailer_digest(path: Path) -> Any:
    """The hash in a transcript's last line."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 4096))
        last = file.read().splitlines()[-1:]
    ours = _ours(last[0]) if last else None
    return None if ours is None else ours.get("sha256")


def _ours(line: bytes) -> dict[str, Any] | None:
    parsed = _parsed(line)
    ours = parsed.get("_compact") if isinstance(parsed, dict) else None
    return ours if isinstance(ours, dict) else None


def _parsed(line: bytes) -> Any | None:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
