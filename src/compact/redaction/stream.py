"""Redaction of text that arrives in chunks: a secret split across chunks is still one secret.

Text is released up to the last white space before which nothing is pending. Pending means a secret that
reaches the end of the received text, or the start of one: a name without its value, an open quote, a header
line, a private key without its end, lines of base64 that may turn out to be one, a line with a command or a
word for a secret, a row of a table, an open block. So memory is bounded by the longest pending part, and the
inside of an endless secret is dropped as it arrives.

Time stays linear even on hostile text: all scans together read about a quarter more than what arrived, and
each scan takes a fixed number of searches. So a short stream is released word by word and a long one in
larger pieces, and the pending text never exceeds 128 kB by more than a chunk.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from compact.redaction.engine import Span
from compact.redaction.pending import waits_from
from compact.redaction.tables import LONGEST_HEADER

if TYPE_CHECKING:
    from compact.redaction.redactor import Redactor

_LONGEST_WORD = 16_384
_ROOM = 4_096
_LONGEST_PENDING = 65_536
_STEP = 4_096
_RESCAN = 1.25
"""How many bytes all scans together may read, per byte that arrived."""
_LOOK = 2_048
"""The fixed cost of a scan, in bytes of text."""
_FIRST_LOOKS = 8_192
"""Bytes that may be scanned before more has arrived, so that a short stream is released immediately."""
_CONTEXT = 64
_MOST_MOVES = 3


class StreamRedactor:
    """Pass chunks to `feed`, send on what it returns, and call `close` for the rest.

    Joined, the output equals `Redactor.text` of the whole, as long as no pending part exceeds 64 kB; beyond
    that, more may be redacted.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._context = b""
        self._pending = b""
        self._arrived: list[bytes] = []
        self._new = 0
        self._allowance: float = _FIRST_LOOKS

    @property
    def held_back(self) -> int:
        """The number of bytes that wait for more text."""
        return len(self._pending) + self._new

    def feed(self, chunk: str) -> str:
        """Add the next chunk; returns the text that is safe to send on (may be empty)."""
        if not self._redactor.enabled:
            return chunk
        data = chunk.encode("utf-8", "surrogatepass")
        # A list, because appending each small chunk to a long text would copy the text each time.
        self._arrived.append(data)
        self._new += len(data)
        has_border = b" " in data or b"\n" in data or b"\t" in data
        # The pending text is scanned again only after enough has arrived; otherwise every chunk would rescan
        # it.
        if self._new < _STEP and not has_border:
            return ""
        left = self._allowance + self._new * _RESCAN - (len(self._pending) + self._new + _LOOK)
        if left < 0 and self.held_back < 2 * _LONGEST_PENDING:
            return ""
        self._allowance = max(0.0, min(left, _FIRST_LOOKS))
        return self._advance()

    def close(self) -> str:
        """The rest of the text; the stream is then empty and can be reused."""
        self._take_arrived()
        rest = self._redacted(len(self._pending), self._spans())
        self._context, self._pending, self._allowance = b"", b"", _FIRST_LOOKS
        return rest

    def _take_arrived(self) -> None:
        self._pending = b"".join((self._pending, *self._arrived))
        self._arrived, self._new = [], 0

    def _advance(self) -> str:
        self._take_arrived()
        spans = self._spans()
        cut, header = self._safe_cut(spans)
        if cut == 0 and len(self._pending) > _LONGEST_PENDING:
            cut = self._forced_cut(spans)
            _, header = waits_from(self._context + self._pending[:cut], self._redactor.pii)
        sent = self._redacted(cut, spans)
        if cut:
            seen = self._context + self._pending[:cut]
            self._context = header or _tail(seen)
            self._pending = self._pending[cut:]
        return sent

    def _spans(self) -> list[Span]:
        """Secrets in the pending text, found with a little of what was sent before it."""
        base = len(self._context)
        found = self._redactor.spans(self._context + self._pending)
        if base == 0:
            return found
        spans = [(start - base, stop - base) for start, stop in found if stop > base]
        if spans and spans[0][0] < 0:
            spans[0] = (0, spans[0][1])
        return spans

    def _redacted(self, cut: int, spans: list[Span]) -> str:
        from compact.redaction.redactor import decoded, replaced

        whole = bisect_right(spans, cut, key=itemgetter(1))
        return decoded(replaced(self._pending[:cut], spans[:whole]))

    def _safe_cut(self, spans: list[Span]) -> tuple[int, bytes]:
        """How much text may be released, and the header of the table that continues there, if any."""
        data = self._pending
        # A user's pattern may span white space, so it needs some room.
        cut = _last_space(data, max(0, len(data) - _ROOM) if self._redactor.has_user_patterns else len(data))
        if cut == 0 and len(data) > _LONGEST_WORD:
            cut = _character_start(data, len(data) - _ROOM)
        for _ in range(_MOST_MOVES):
            moved = cut
            for start, stop in reversed(spans):
                if stop < moved:
                    break
                # A secret that ends at the cut may still be growing.
                if start < moved:
                    moved = start
            context = len(self._context)
            waiting, header = waits_from(self._context + data[:moved], self._redactor.pii)
            moved = min(moved, max(0, waiting - context))
            if moved == cut:
                return cut, header
            cut = _last_space(data, moved)
            if cut == 0:
                break
        return 0, b""  # Wait for more; else a series of names without values is searched once per name.

    def _forced_cut(self, spans: list[Span]) -> int:
        """Keep memory bounded: cut outside any secret, or drop the inside of the one that is in the way."""
        data = self._pending
        cut = _character_start(data, len(data) - _LONGEST_WORD)
        for start, stop in spans:
            if start < cut <= stop:
                if start:
                    return start
                if stop > _LONGEST_WORD:
                    head, rest = _character_start(data, 2_048), _character_start(data, stop - 2_048)
                    self._pending = data[:head] + data[rest:]
                    return 0
                return stop
        return cut


def _last_space(data: bytes, end: int) -> int:
    """Where the word that reaches `end` begins; 0 if everything is one word."""
    return max(data.rfind(space, 0, end) for space in (b" ", b"\n", b"\t")) + 1


def _character_start(data: bytes, position: int) -> int:
    while position > 0 and data[position] & 0xC0 == 0x80:
        position -= 1
    return position


def _tail(data: bytes) -> bytes:
    """The last words sent, for rules that look back (a word border, half a name, a table header)."""
    line = max(data.rfind(b"\n"), data.rfind(b"\\n")) + 1
    if len(data) <= _CONTEXT or _CONTEXT <= len(data) - line <= LONGEST_HEADER:
        return data if len(data) <= _CONTEXT else data[line:]
    start = _last_space(data, len(data) - _CONTEXT)
    return data[
        start if len(data) - start <= 2 * _CONTEXT else _character_start(data, len(data) - _CONTEXT) :
    ]
