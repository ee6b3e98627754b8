"""Secrets below their name: columns of tables and CSV.

The rows are read line by line from the header on, and the search continues after what was read, so a pass
stays linear. The finder reads the decoded text (`decode.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compact.redaction import plausible
from compact.redaction.engine import Search, Span, searching
from compact.redaction.keys import PIN, strength
from compact.redaction.prose import foreign_passwords

LONGEST_HEADER = 500
_LONGEST_LINE = 2_000
_RULE = re.compile(rb"[-=+|: \t_*\r]+|(?:[-=+|: \t\r]|\xe2[\x94\x95][\x80-\xbf])+")
_PLAIN_MARKS = (b",", b";", b"\t")
_QUOTES = re.compile(rb"[\"'`]")
_RULE_STARTS = b"-=+|: \t_*\r\xe2"
_NAME_LIKE = re.compile(rb"[A-Za-z_\x80-\xff][\w .#/*()\x80-\xff-]{0,39}")
_COLUMN = re.compile(rb"[^\s|]+(?: [^\s|]+)*")
_PREFIX = re.compile(rb'[^\n]*[{,\[]\s*"[\w -]{1,64}"\s*:\s*"')
_CELLS = {
    mark: re.compile(rb'[ ]*(?:"(?:[^"]|"")*"[^%b]*|[^%b]*)(?:%b|\Z)' % ((re.escape(mark),) * 3))
    for mark in (b",", b";", b"\t", b"|")
}
_STATE = re.compile(
    rb"(?i)true|false|yes|no|y|n|x|n/?a|none|null|nil|required|optional|string|str|text|varchar.*|char.*|int(?:eger)?|"
    rb"bool(?:ean)?|bytes|any|set|unset|not set|enabled|disabled|default|hidden|empty|valid|invalid|expired|"
    rb"active|ok|hashed|encrypted|masked|rotated|supported|unsupported|never|always|[-*\xe2\x80\xa2.x?]+|\xe2\x9c[\x80-\xbf]"
)


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a table: how its cells are separated, and which ones hold secrets."""

    mark: bytes
    """What separates the cells; two spaces if columns are aligned."""
    count: int
    secrets: tuple[tuple[int, int, int], ...]
    """(index of the cell, where it begins in its line, strength of its name)"""
    is_loose: bool
    """Spaces after the commas, as in a sentence."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Columns whose header names a secret."""

    search: Search
    needs: str

    def find(self, data: bytes, found: list[Span]) -> None:
        self.find_open(data, found)

    def find_open(self, data: bytes, found: list[Span] | None) -> Span | None:
        """Adds the secrets, if wanted; returns where the header is if a table is still open at the end."""
        position = 0
        while True:
            begin, end = self.search(data, position)
            if begin < 0:
                return None
            start = data.rfind(b"\n", max(0, begin - _LONGEST_LINE), begin) + 1
            stop = data.find(b"\n", end - 1)
            if stop < 0:
                return None
            position = stop + 1
            header = header_of(data[start:stop]) if stop - start <= LONGEST_HEADER else None
            if header is not None:
                position = _rows(data, position, header, found)
                if position >= len(data):
                    return start, stop


def _rows(data: bytes, position: int, header: Header, found: list[Span] | None) -> int:
    """Adds the secrets of the rows from `position` on; returns where the first line after them begins."""
    while position < len(data):
        stop = data.find(b"\n", position)
        stop = len(data) if stop < 0 else stop
        line = data[position:stop]
        if not line.strip() or len(line) > _LONGEST_LINE:
            return position
        if line[0] not in _RULE_STARTS or _RULE.fullmatch(line) is None:
            is_plain = header.mark in _PLAIN_MARKS and _QUOTES.search(line) is None
            if is_plain and line.count(header.mark) != header.count - 1:
                return position
            row = None if is_plain else _matching(line, header)
            if row is None and not is_plain:
                return position
            if found is not None:
                cells_of = _plain_row(line, header) if row is None else row
                _take_secrets(line, position, cells_of, header, found)
        position = stop + 1
    return len(data)


def _take_secrets(
    line: bytes, position: int, row: Mapping[int, Span] | list[Span], header: Header, found: list[Span]
) -> None:
    for number, _, level in header.secrets:
        begin, end = row[number]
        if _is_secret(line[begin:end], level, header.mark, header.is_loose):
            found.append((position + begin, position + end))


def _plain_row(line: bytes, header: Header) -> dict[int, Span]:
    """The wanted cells of a row without quotes, where only the separators divide the cells."""
    row: dict[int, Span] = {}
    parts = line.split(header.mark)
    for number, _, _ in header.secrets:
        text = parts[number].strip(b" \t\r")
        begin = sum(map(len, parts[:number])) + number + parts[number].index(text)
        row[number] = (begin, begin + len(text))
    return row


def _matching(line: bytes, header: Header) -> list[Span] | None:
    """The cells of a row with as many cells as its header, or with cells aligned below the header's."""
    if (
        header.mark in (b",", b";", b"\t")
        and b'"' not in line
        and line.count(header.mark) != header.count - 1
    ):
        return None
    found = cells(line, header.mark)
    if len(found) == header.count:
        return found
    if header.mark != b"  ":
        return None
    starts = {start: (start, stop) for start, stop in found if stop > start}
    below = [(number, starts[at]) for number, at, _ in header.secrets if at in starts]
    if not below or len(found) > header.count:
        return None
    row = [(0, 0)] * header.count
    for number, span in below:
        row[number] = span
    return row


@functools.lru_cache(maxsize=1024)
def _is_secret(value: bytes, level: int, mark: bytes, is_loose: bool) -> bool:
    """Cached for the next rows: most columns repeat a few values."""
    if plausible.is_placeholder(value) or _STATE.fullmatch(value):
        return False
    if plausible.is_code(value) and not plausible.looks_typed(value):
        return False
    if level == PIN:
        return value.isdigit() and 4 <= len(value) <= 8
    if level == 1:
        return plausible.is_random(value)
    if value.isdigit() and len(value) < 4:
        return False
    if is_loose or (b" " in value and mark in (b",", b"  ")):
        return plausible.looks_typed(value)
    return True


@functools.lru_cache(maxsize=1024)
def header_of(line: bytes) -> Header | None:
    mark = _mark(line)
    if mark is None or b"=" in line or b"](" in line:
        return None
    found = cells(line, mark)
    names = [line[start:stop] for start, stop in found]
    if len(names) < 2 or not all(name and _NAME_LIKE.fullmatch(name) for name in names):
        return None
    levels = [strength(name.decode("utf-8", "replace").strip(" *_`()")) for name in names]
    secrets = tuple((i, found[i][0] - _json_prefix(line), level) for i, level in enumerate(levels) if level)
    is_loose = mark == b"," and b", " in line and b'"' not in line
    return Header(mark, len(names), secrets, is_loose) if secrets else None


def _mark(line: bytes) -> bytes | None:
    for mark in (b"|", b"\t", b";", b","):
        if mark in line:
            return mark
    return b"  " if b"  " in line.strip() else None


def cells(line: bytes, mark: bytes) -> list[Span]:
    """The cells of a line without their quotes and spaces."""
    start, stop = _json_prefix(line), len(line)
    if mark == b"  ":
        return [_trimmed(line, *match.span()) for match in _COLUMN.finditer(line, start)]
    if mark == b"|":
        first = len(line) - len(line[start:].lstrip(b" \t"))
        if line[first : first + 1] == b"|":
            start = first + 1
            closing = line.rstrip(b' \t\r"}]),')
            stop = len(closing) - 1 if closing.endswith(b"|") else stop
    return [_trimmed(line, at, end) for at, end in _split(line, mark, start, stop)]


def _json_prefix(line: bytes) -> int:
    """Where the text begins in a line that contains the start of a JSON string."""
    match = _PREFIX.match(line) if b'"' in line else None
    return 0 if match is None else match.end()


def _split(line: bytes, mark: bytes, start: int, stop: int) -> Iterator[Span]:
    if b'"' not in line or mark == b"|":
        while (at := line.find(mark, start, stop)) >= 0:
            yield start, at
            start = at + len(mark)
        yield start, stop
        return
    pattern = _CELLS[mark]
    while start <= stop and (match := pattern.match(line, start, stop)) is not None:
        ended = line[match.end() - 1 : match.end()] == mark and match.end() > start
        yield start, match.end() - 1 if ended else match.end()
        if not ended:
            return
        start = match.end()


def _trimmed(line: bytes, start: int, stop: int) -> Span:
    """Without spaces and quotes; if a JSON string begins or ends in a cell, only what is inside."""
    cell = line[start:stop]
    text = cell.strip(b" \t\r")
    start += len(cell) - len(cell.lstrip(b" \t\r"))
    quote = text[:1]
    if quote in (b'"', b"'", b"`") and (closing := text.find(quote, 1)) > 0:
        if text[closing + 1 : closing + 2] == quote:
            closing = len(text) - 1  # Quotes inside quotes are doubled.
        inner = text[1:closing].strip()
        start += 1 + text[1:].index(inner)
        return start, start + len(inner)
    if b'"' in text:
        before, _, after = text.rpartition(b'"')
        if after.strip(b"}])., \t"):
            start, text = start + len(before) + 1, after
        else:
            text = text[: text.index(b'"')]
    return start, start + len(text.rstrip())


@functools.cache
def tables() -> Tables:
    english = "password|passwd|passphrase|passcode|pwd|pass|secret|token|key|pin|psk|credential"
    names = f"{english}|{foreign_passwords()}"
    # A cell ends with the name of a secret; the code that finds it checks whether it is in a header.
    cell = rf"(?:{names})s?[0-9]?[ \"'*`]{{0,12}}?(?:[,;\t|\r\n]|  )"
    return Tables(searching(f"(?i){cell}"), rf"(?:{names})s?[0-9]?[\"'*`]?(?:[,;\t|\r\n]|  | [,;|\"\r\n])")
