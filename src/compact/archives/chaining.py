"""Event logs in which each line refers to the previous one, so that a missing line can be detected.

Each line ends with its number and the hash of the previous line. A small file at the archive's root holds the
number and hash of the newest line, which shows whether the end was cut off. Lines from before this scheme
stay as they are, but they are counted.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

HEADS = ".heads"
"""The folder at the root that records the newest line of each session's log."""
_OURS = "_compact"
_BLOCK = 1 << 16


def line_digest(line: bytes) -> str:
    return sha256(line.rstrip(b"\n")).hexdigest()[:32]


def linked(line: bytes, number: int, previous: str) -> bytes:
    """A line that is a JSON object, with its position in the log as the last field."""
    place = json.dumps({"line": number, "previous": previous}, separators=(",", ":")).encode()
    body = line.rstrip(b"\n")[:-1]
    comma = b"" if body == b"{" else b","
    return b'%s%s"%s":%s}\n' % (body, comma, _OURS.encode(), place)


def place_of(parsed: Any) -> tuple[int, str] | None:
    """The number of a line and the hash of the previous one, if the line has them."""
    ours = parsed.get(_OURS) if isinstance(parsed, dict) else None
    if not isinstance(ours, dict) or not isinstance(ours.get("line"), int):
        return None
    return ours["line"], str(ours.get("previous", ""))


def end_of(log: int, size: int) -> tuple[int, int, str]:
    """Where the last complete line of an open log ends, its number and its hash."""
    end, last = _last_line(log, size)
    if not last:
        return 0, 0, ""
    try:
        place = place_of(json.loads(last))
    except (ValueError, RecursionError):
        place = None
    # Only a log from before lines had numbers needs counting.
    number = place[0] if place is not None else _count(log, end)
    return end, number, line_digest(last)


def _last_line(log: int, size: int) -> tuple[int, bytes]:
    tail, start = b"", size
    while True:
        if start == 0:
            whole = tail.rfind(b"\n") + 1
            return whole, tail[tail.rfind(b"\n", 0, max(0, whole - 1)) + 1 : whole]
        step = min(start, max(_BLOCK, len(tail)))
        start -= step
        tail = os.pread(log, step, start) + tail
        whole = tail.rfind(b"\n") + 1
        before = tail.rfind(b"\n", 0, whole - 1) if whole else -1
        if before >= 0:
            return start + whole, tail[before + 1 : whole]


def _count(log: int, end: int) -> int:
    return sum(os.pread(log, min(_BLOCK, end - at), at).count(b"\n") for at in range(0, end, _BLOCK))


def head_text(number: int, digest: str) -> bytes:
    return f"{number} {digest}\n".encode()


def parsed_head(text: bytes) -> tuple[int, str] | None:
    number, _, digest = text.decode("ascii", "replace").strip().partition(" ")
    return (int(number), digest) if number.isdigit() and digest else None
