"""Secrets below their name: block scalars of YAML.

They are read line by line from where a name was found, and the search continues after what was read, so a
pass stays linear. The finder reads the decoded text (`decode.py`).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from compact.redaction import plausible
from compact.redaction.engine import Search, Span, searching
from compact.redaction.keys import strength

_LONGEST_LINE = 2_000
_LONGEST_NAME = 72
_FIRST_LINES = 400
"""Bytes that decide whether a block is a secret: no placeholder is longer."""
_MARK = r":[ \t]*(?:[!&][\w!.-]{1,40}[ \t]+){0,2}[|>][0-9+-]{0,2}[ \t]*(?:#[^\n]*)?\r?\n"
_WORD = re.compile(rb"[\w.-]+")
_BLANKS = re.compile(rb"\s*")


@dataclass(frozen=True, slots=True)
class BlockScalars:
    """`password: |-  # comment`, and the more deeply indented lines below it."""

    search: Search
    needs: str

    def find(self, data: bytes, found: list[Span]) -> None:
        self.find_open(data, found)

    def find_open(self, data: bytes, found: list[Span]) -> int | None:
        """Adds the secrets; returns where the name of a block begins if it is still open at the end."""
        position = 0
        while True:
            begin, end = self.search(data, position)
            if begin < 0:
                return None
            position = end
            blanks = _BLANKS.match(data, end)
            first = blanks.end() if blanks is not None else end
            if _is_placeholder(data, first):
                continue  # Whatever its name is.
            before = data[max(0, begin - _LONGEST_NAME) : begin].rstrip(b" \t\"'")
            named = _WORD.match(before[::-1])
            name = named.group()[::-1] if named is not None else b""
            level = strength(name.decode("latin-1"))
            if level == 0:
                continue
            begin = begin - len(data[max(0, begin - _LONGEST_NAME) : begin]) + len(before) - len(name)
            low = max(0, begin - _LONGEST_LINE)
            line = data[max(low, data.rfind(b"\n", low, begin) + 1) : begin]
            below = data.find(b"\n", first)
            if level == 1 and below >= 0 and not plausible.is_random(data[first:below].rstrip()):
                continue
            stop, is_open = _block_end(data, end, _indent(line), end + _FIRST_LINES)
            if not _is_secret_block(data[end:stop].strip(), level):
                if is_open:
                    return begin
                continue
            stop, is_open = _block_end(data, end, _indent(line), len(data))
            if b'"' in line and (quote := data.find(b'"', end, stop)) >= 0:
                stop, is_open = quote, False  # The block is inside a JSON string.
            block = data[end:stop]
            first = end + len(block) - len(block.lstrip())
            position = max(position, first + len(block.strip()))
            if first < position:
                found.append((first, position))
            if is_open:
                return begin


def _is_placeholder(data: bytes, first: int) -> bool:
    """Whether a template begins here. A dollar may also begin the header of an encrypted block."""
    sign = data[first : first + 1]
    if sign == b"$":
        return plausible.is_reference(_first_line(data[first : first + _FIRST_LINES]))
    return sign in plausible.PLACEHOLDER_STARTS


def _is_secret_block(begins: bytes, level: int) -> bool:
    """Decides by how a block begins, so that a block without a secret costs no more than that."""
    line = _first_line(begins)
    is_header = line.startswith(b"$") and len(line) < len(begins)
    if not begins or (plausible.is_placeholder(begins) and not is_header):
        return False
    return level == 2 or plausible.is_random(line)


def _first_line(block: bytes) -> bytes:
    return block.partition(b"\n")[0].rstrip()


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t-"))


def _block_end(data: bytes, position: int, indent: int, limit: int) -> tuple[int, bool]:
    """Where the lines that are blank or indented deeper than their name end, and whether more may follow.

    Lines that begin after `limit` are not read.
    """
    last = position
    while position < len(data):
        if position > limit:
            return last, False
        stop = data.find(b"\n", position)
        stop = len(data) if stop < 0 else stop
        line = data[position:stop]
        if line.strip():
            if len(line) - len(line.lstrip(b" \t")) <= indent:
                return last, False
            last = stop
        position = stop + 1
    return last, True


@functools.cache
def block_scalars() -> BlockScalars:
    return BlockScalars(searching(_MARK), r"[ :][|>][-+0-9 \r\n]")
