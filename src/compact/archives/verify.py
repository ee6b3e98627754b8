"""Checks an archive: transcripts and summaries against their hashes, chains of transcripts, event logs.

One loss goes unnoticed, because no remaining file can show it: the newest steps, all removed together.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from compact.archives.chaining import HEADS, line_digest, parsed_head, place_of
from compact.archives.lines import TAIL_BYTES, summary_digest, trailer_in
from compact.archives.naming import EVENTS, summary_name, transcript_name
from compact.archives.transcripts import Checked, Problem, check_chain, check_lines

_EVENT = re.compile(r"(?:\d+-)?([0-9a-f]{16})\.jsonl")
_NUMBERED = re.compile(r"(?:transcript-pre-compact|summary)-(\d{1,18})\.")
_ARCHIVAL = "compact.archival"

__all__ = ["Problem", "verify", "verify_events", "verify_lines", "verify_summary"]


def verify(path: str | os.PathLike[str]) -> list[Problem]:
    """All problems of a file, a session's folder or a whole archive; empty if there are none.

    Reads line by line, so size does not matter. Links are reported, not followed.
    """
    start = Path(path)
    if not start.exists() and not start.is_symlink():
        return [Problem(str(start), "does not exist")]
    found: list[Problem] = []
    folders: dict[Path, list[str]] = {}
    transcripts: dict[Path, list[Checked]] = {}
    for file in _files(start):
        found += _verify_file(file, transcripts.setdefault(file.parent, []))
        if file.parent != start.parent:
            folders.setdefault(file.parent, []).append(file.name)
    for folder, names in folders.items():
        found += _verify_steps(folder, names, transcripts[folder])
        found += check_chain(transcripts[folder])
        if EVENTS not in names and _head_of(folder).is_file():
            found.append(Problem(str(folder / EVENTS), "is missing"))
    return found


def verify_lines(lines: Iterable[bytes], path: str) -> list[Problem]:
    """The problems of one transcript, given its lines with their line endings."""
    return check_lines(lines, path)[0]


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


def _verify_file(path: Path, transcripts: list[Checked]) -> list[Problem]:
    if path.is_symlink():
        return [Problem(str(path), "is a symbolic link")]
    if path.name.startswith("transcript-"):
        with path.open("rb") as lines:
            problems, checked = check_lines(lines, str(path))
        transcripts.append(checked)
        return problems
    if path.name.startswith("summary-"):
        content = path.read_bytes()
        return verify_summary(content, str(path)) or _verify_pair(path, content)
    if path.name == EVENTS:
        head = _head_of(path.parent)
        with path.open("rb") as lines:
            return verify_events(lines, str(path), head.read_bytes() if head.is_file() else None)
    if path.parent.name == "events" and (named := _EVENT.fullmatch(path.name)):
        # A bucket holds each event as an object of its own, named by its hash.
        sound = sha256(path.read_bytes()).hexdigest().startswith(named[1])
        return [] if sound else [Problem(str(path), "was changed: its content does not match its name")]
    return [Problem(str(path), "does not belong here")]


def _head_of(folder: Path) -> Path:
    folder = folder.absolute()
    return folder.parent / HEADS / folder.name


def verify_events(lines: Iterable[bytes], path: str, head: bytes | None = None) -> list[Problem]:
    """The problems of an event log; `head` says which line was the newest.

    Lines from before they were linked are only counted. There may be one line more than the head says: its
    writer was stopped in between.
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


def _verify_steps(folder: Path, names: Iterable[str], checked: Iterable[Checked]) -> list[Problem]:
    """Each transcript has its summary (files set aside count), and no step in between is missing.

    A writer that was stopped between the two leaves the newest transcript without a summary. That step was
    not committed, and no event says that it was archived.
    """
    transcripts: set[int] = set()
    summaries: set[int] = set()
    for name in names:
        numbered = _NUMBERED.match(name)
        if numbered is not None:
            (transcripts if name.startswith("transcript-") else summaries).add(int(numbered[1]))
    there = transcripts | summaries
    alone = transcripts - summaries
    if alone and max(alone) == max(there) and max(alone) not in _archived_steps(folder):
        alone.discard(max(alone))
    found = [
        Problem(str(folder / transcript_name(step)), f"its summary {summary_name(step)} is missing")
        for step in sorted(alone)
    ]
    # A transcript that names the previous one already shows what is missing.
    linked = {one.step for one in checked if one.is_linked}
    return found + [Problem(str(folder), what) for what in _gaps(there, linked)]


def _gaps(there: set[int], linked: set[int]) -> Iterator[str]:
    # Ranges, not single steps: one file with a huge number must not cause a huge report.
    last = 0
    for step in sorted(there):
        if step > last + 1 and step not in linked:
            gap = (
                f"step {last + 1:03d} is"
                if step == last + 2
                else f"steps {last + 1:03d} to {step - 1:03d} are"
            )
            yield f"{gap} missing: deleted, still queued, or never archived"
        last = step


def _archived_steps(folder: Path) -> set[int]:
    """The steps that were archived, according to the event log."""
    log = folder / EVENTS
    if not log.is_file() or log.is_symlink():
        return set()
    with log.open("rb") as lines:
        events = [_parsed(line) for line in lines if _ARCHIVAL.encode() in line]
    data = [event.get("data") for event in events if isinstance(event, dict)]
    steps = [one.get("step") for one in data if isinstance(one, dict)]
    return {step for step in steps if isinstance(step, int)}


def _verify_pair(path: Path, content: bytes) -> list[Problem]:
    """Check that a summary's transcript matches; it may be among the files that were set aside."""
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
        file.seek(max(0, file.tell() - TAIL_BYTES))
        trailer = trailer_in(file.read())
    return None if trailer is None else trailer.get("sha256")


def _parsed(line: bytes) -> Any | None:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
