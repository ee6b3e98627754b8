"""A text as its reader sees it, without escapes and disguises, and a map back to the original.

`pass\\u0077ord`, `password%3D`, a full-width or Cyrillic letter, a color code or a zero-width space inside a
name hide it from every pattern. So the rules also read a decoded copy, and their findings are mapped back to
positions in the original text.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from compact.core import seeming
from compact.redaction.engine import Span, matcher, unanchored

_UNIT = "u[0-9A-Fa-f]{4}"
# Only runs of equal depth, so that all characters of a run have the same width in the text.
_ESCAPED = (
    rf"(?:\\{_UNIT})+|(?:\\{{2}}{_UNIT})+|(?:\\{{3}}{_UNIT})+|\\{{4,8}}{_UNIT}|"
    r"\\{1,8}(?:x1[Bb]|033|e\[)"
)
_SIGNS = (b"\\u", b"\\x1", b"\\033", b"\\e[")
# A form or a URL in a URL. As above, only runs of equal depth.
_PERCENT_CODES = r"(?:%25(?:0[9AaDd]|[2-7][0-9A-Fa-f]))+|(?:%(?:0[9AaDd]|[2-7][0-9A-Fa-f]))+"
# Encoded colons, equal signs and quotes: without them, other codes hide nothing.
_PERCENT_SIGNS = (b"%3", b"%22", b"%253", b"%2522")
_HIDDEN = (
    r"(?:\x1b(?:\[[0-9;:?]{0,24}[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Z])|"
    r"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad|\xcd\x8f|\xe1\xa0\x8e|"
    r"\xef\xb8[\x80-\x8f]|\xe1\x85[\x9f\xa0]|\xe3\x85\xa4)+"
)
# Latin letters and digits in other forms: full-width, mathematical, circled.
_FORMS = (
    r"(?:\xef(?:\xbc[\x90-\x99\xa1-\xba\xbf]|\xbd[\x81-\x9a]))+|(?:\xf0\x9d[\x90-\x9f][\x80-\xbf])+|"
    r"(?:\xe2\x92[\xb6-\xbf]|\xe2\x93[\x80-\xa9])+|(?:\xed\xa0\xb5\xed[\xb0-\xbf][\x80-\xbf])+"
)
_LETTERS = seeming.LETTERS + seeming.LETTERS.upper()
_ALIKE = f"(?:{'|'.join(letter.encode().decode('latin-1') for letter in _LETTERS)})+"
# Letters of another script count only inside a Latin word: "пароль" is a word of its own.
_MIXED = rf"[A-Za-z_]{_ALIKE}|{_ALIKE}[A-Za-z_]"
_DEPTH = re.compile(rb"\\+u")
_CONTINUATION = bytes(range(0x80, 0xC0))
# The length stays the same, so no map is needed: the backslash becomes a space, which every rule allows
# there.
_LAYOUT = ((b"\\n", b" \n"), (b"\\r", b" \r"), (b"\\t", b" \t"), (b'\\"', b' "'), (b"\\'", b" '"))
_DEEPEST = 8
_SHORT_RUN = 64
_BRACKET = ord("[")
# As numbers: Python tries to read bytes before an `in` as one, and a failed try costs more than the search.
_BACKSLASH, _PERCENT, _ESCAPE = ord("\\"), ord("%"), ord("\x1b")


def characters(data: bytes) -> int:
    """The number of characters that begin in UTF-8 `data`."""
    return len(data.translate(None, _CONTINUATION))


class _Edits:
    """The replacements, in order: position in the text, position in the copy, number of characters."""

    __slots__ = ("_counts", "_ends", "_places", "_starts", "_stops", "copy")

    def __init__(
        self, data: bytes, found: Iterable[Span], new: Callable[[bytes], bytes] | None = None
    ) -> None:
        starts: list[int] = []
        stops: list[int] = []
        places: list[int] = []
        ends: list[int] = []
        counts: list[int] = []
        pieces: list[bytes] = []
        last = length = 0
        for start, stop in found:
            pieces.append(data[last:start])
            length += start - last
            starts.append(start)
            stops.append(stop)
            places.append(length)
            if new is not None:
                piece = new(data[start:stop])
                pieces.append(piece)
                length += len(piece)
                counts.append(characters(piece))
                ends.append(length)
            last = stop
        pieces.append(data[last:])
        self.copy = b"".join(pieces)
        self._starts, self._stops, self._places, self._counts = starts, stops, places, counts
        self._ends = ends or places  # Removed text has no length.

    def __bool__(self) -> bool:
        return bool(self._starts)

    def back(self, spans: list[Span]) -> list[Span]:
        result, last = [], (-1, 0, 0)
        for start, end in spans:
            begin, _, last = self._place(start, last)
            _, stop, last = self._place(end - 1, last)
            result.append((begin, stop))
        return result

    def _place(self, at: int, last: tuple[int, int, int]) -> tuple[int, int, tuple[int, int, int]]:
        """The range in the text that the byte `at` of the copy comes from.

        `last` (edit, place, characters before it) keeps ascending lookups in one run linear in total.
        """
        index = bisect_right(self._places, at) - 1
        if index < 0:
            return at, at + 1, last
        begin, stop, copied, end = (
            self._starts[index],
            self._stops[index],
            self._places[index],
            self._ends[index],
        )
        if at >= end:
            return stop + at - end, stop + at - end + 1, last
        known, seen = (last[1], last[2]) if last[0] == index and last[1] <= at else (copied, 0)
        seen += characters(self.copy[known : at + 1])
        width = (stop - begin) // self._counts[index]
        return begin + (seen - 1) * width, begin + seen * width, (index, at + 1, seen)


class Decoded:
    """`back` maps sorted spans of `.data` or of `.plain` to spans of the original."""

    __slots__ = ("_stages", "data", "plain")
    plain: bytes
    """Letters decoded, invisible characters removed."""
    data: bytes
    """The same length, with escaped line breaks, tabs and quotes as the characters they represent."""

    def __init__(self, data: bytes) -> None:
        self._stages: list[_Edits] = []
        has_backslash = _BACKSLASH in data
        if has_backslash and any(sign in data for sign in _SIGNS):
            data = self._edited(data, _Edits(data, _escapes(data), _unescaped))
        if _PERCENT in data and any(sign in data for sign in _PERCENT_SIGNS):
            data = self._edited(data, _Edits(data, _every(_PERCENT_CODES, data), _unquoted))
        if _ESCAPE in data or not data.isascii():
            data = self._edited(data, _Edits(data, _hidden(data)))
        if not data.isascii():
            data = self._edited(data, _Edits(data, _disguised(data), _folded))
        self.plain = data
        self.data = _laid_out(data) if has_backslash else data

    @property
    def had_hidden(self) -> bool:
        """Whether letters were decoded or invisible characters removed."""
        return bool(self._stages)

    def _edited(self, data: bytes, edits: _Edits) -> bytes:
        if not edits:
            return data
        self._stages.append(edits)
        return edits.copy

    def back(self, spans: list[Span]) -> list[Span]:
        for stage in reversed(self._stages):
            spans = stage.back(spans)
        return spans


@functools.cache
def _matcher(pattern: str) -> Any:
    return matcher(pattern)


def _escapes(data: bytes) -> Iterator[Span]:
    for start, stop in _every(_ESCAPED, data):
        # `\\e[`: the bracket belongs to the color code that begins here.
        yield start, stop - 1 if data[stop - 1] == _BRACKET else stop


def _hidden(data: bytes) -> Iterator[Span]:
    return _every(_HIDDEN, data)


def _disguised(data: bytes) -> Iterator[Span]:
    return _every(f"{_FORMS}|{_MIXED}", data, f"{_FORMS}|(?<=[A-Za-z_]){_ALIKE}|{_ALIKE}(?=[A-Za-z_])")


def _every(pattern: str, data: bytes, listed: str = "") -> Iterator[Span]:
    """re2 is faster if nothing matches; the standard engine lists many matches faster and may look around."""
    first = _matcher(pattern)(unanchored(), data, 0, len(data))[0][0]
    if first < 0:
        return iter(())
    return (match.span() for match in _standard(listed or pattern).finditer(data, first))


@functools.lru_cache(maxsize=1024)
def _folded(run: bytes) -> bytes:
    """As many characters as before, so that each keeps its position; unknown characters stay.

    JSON escapes a mathematical letter as two halves.
    """
    letters = seeming.whole(run.decode("utf-8", "surrogatepass"))
    folded = seeming.plain(letters)
    return folded.encode() if len(folded) == len(letters) else run


@functools.cache
def _standard(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode("latin-1"))


def _unescaped(run: bytes) -> bytes:
    return _short_unescaped(run) if len(run) <= _SHORT_RUN else _unescaped_now(run)


@functools.lru_cache(maxsize=1024)
def _short_unescaped(run: bytes) -> bytes:
    """Cached, because a text escapes the same few letters again and again."""
    return _unescaped_now(run)


def _unescaped_now(run: bytes) -> bytes:
    if b"u" not in run:
        return b"\x1b"
    return _DEPTH.sub(rb"\\u", run).decode("unicode_escape").encode("utf-8", "surrogatepass")


def _unquoted(run: bytes) -> bytes:
    is_nested = len(run) == 5 * run.count(b"%25")
    return bytes.fromhex(run.replace(b"%25" if is_nested else b"%", b"").decode())


def _laid_out(data: bytes) -> bytes:
    """Escaped line breaks, tabs and quotes as the characters they represent."""
    for escaped, plain in _LAYOUT:
        data = data.replace(escaped, plain)
    for _ in range(_DEEPEST):
        if b"\\ " not in data:
            break
        data = data.replace(b"\\ ", b"  ")
    return data
