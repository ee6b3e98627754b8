"""Estimates tokens from the kinds of bytes in a text, with weights fitted to each vendor's tokenizer.

A tokenizer spends about one token on a word, on a few digits, on a run of punctuation, and a fraction of a
token on a character of a larger script. Counting those kinds is several times faster than tokenizing and
needs no vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

_LETTERS = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1))
_DIGITS = b"0123456789"
_NEWLINES = b"\r\n"
_BLANKS = b" \t"
_PUNCTUATION = bytes(b for b in range(0x21, 0x7F) if b not in _LETTERS and b not in _DIGITS)

# UTF-8 lead bytes grouped by how tokenizers treat the scripts behind them; the order is that of `Weights`.
_SCRIPTS: tuple[bytes, ...] = (
    bytes(range(0xC2, 0xC4)),  # Latin with accents
    bytes(range(0xC4, 0xCE)),  # extended Latin, IPA, combining marks
    bytes((0xCE, 0xCF, 0xD4, 0xD5, 0xD6)),  # Greek, Armenian
    bytes(range(0xD0, 0xD4)),  # Cyrillic
    bytes(range(0xD7, 0xE0)),  # Hebrew, Arabic
    bytes((0xE0,)),  # South and Southeast Asian scripts
    bytes((0xE1,)),  # Georgian, Ethiopic, Vietnamese
    bytes((0xE2,)),  # symbols, arrows, box drawing
    bytes((0xE3,)),  # kana, CJK punctuation
    bytes(range(0xE4, 0xEA)),  # CJK ideographs
    bytes(range(0xEA, 0xEE)),  # Hangul
    bytes(range(0xEE, 0xF0)),  # private use, full-width forms
    bytes(range(0xF0, 0x100)),  # emoji and everything above
)
_ASCII_AND_CONTINUATION = bytes(range(0xC2))


def _table(**kinds: bytes) -> bytes:
    """A translation table that maps each kind's bytes to its one-letter name and all others to a space."""
    table = bytearray(b" " * 256)
    for name, members in kinds.items():
        for byte in members:
            table[byte] = ord(name)
    return bytes(table)


_WORDS = _table(a=_LETTERS, d=_DIGITS)
_CASES = _table(l=_LETTERS[:26], u=_LETTERS[26:])
_MARKS = _table(p=_PUNCTUATION)
_LINES = _table(n=_NEWLINES)
_LEADS = bytearray(256)
for _index, _members in enumerate(_SCRIPTS):
    for _byte in _members:
        _LEADS[_byte] = _index

_CONTROLS = bytes(b for b in range(0x20) if b not in _NEWLINES + _BLANKS) + b"\x7f"
_NOT_CONTROLS = bytes(b for b in range(0x100) if b not in _CONTROLS)

# Rulers such as "========" are one or two tokens at any length; counted as pairs they would be many.
_RULERS = tuple(character * 8 for character in (b"=", b"-", b"*", b"#", b"_", b"~", b"."))
# Negligible in real text, but a megabyte of rulers, newlines or NULs must not count as nothing.
_RULER_TOKENS = 1 / 8
_FURTHER_NEWLINE_TOKENS = 1 / 16
_CONTROL_TOKENS = 1 / 2


@dataclass(frozen=True, slots=True)
class Weights:
    """Tokens per item of each kind, fitted to the vendor's tokenizer."""

    letter: float
    letter_run: float
    lower_upper: float
    digit: float
    digit_run: float
    letter_digit_border: float
    punctuation_run: float
    punctuation_pair: float
    newline_run: float
    blank: float
    scripts: tuple[float, ...]
    """One weight for each group of UTF-8 lead bytes."""
    border_share: float = 1.0
    """At most this many letter-digit borders count per letter or digit. Hashes and keys consist of borders,
    and for them the fitted weight, which comes from names such as `utf8`, is far too high."""


O200K = Weights(
    0.17, 0.27, 0.32, 0.34, 0.80, 1.3, 0.56, 0.35, 1.37, 0.023,
    (0.45, 1.0, 0.38, 0.30, 0.36, 0.39, 0.32, 0.50, 0.69, 0.78, 0.67, 1.5, 2.4),
    border_share=0.15,
)  # fmt: skip
# The vocabulary before o200k: the same on ASCII, far more expensive on most other scripts.
CL100K = replace(O200K, scripts=(1.9, 1.9, 1.02, 0.55, 0.94, 1.05, 1.1, 0.55, 0.98, 1.15, 1.15, 1.6, 2.6))
CLAUDE_TO_4_6 = Weights(
    0.13, 0.71, 1.04, 0.35, 0.63, 2.01, 0.86, 0.21, 1.82, 0.02,
    (0.17, 1.76, 0.77, 0.44, 0.80, 0.93, 0.85, 1.05, 0.79, 1.13, 1.37, 2.21, 2.87),
)  # fmt: skip
CLAUDE_FROM_4_7 = Weights(
    0.30, 0.51, 1.23, 0.35, 0.74, 1.80, 0.87, 0.43, 1.71, 0.01,
    (0.20, 2.03, 0.78, 0.45, 0.81, 0.93, 0.86, 1.12, 0.79, 1.17, 1.39, 1.95, 2.89),
)  # fmt: skip
GEMINI = Weights(
    0.15, 0.32, 0.26, 1.01, 0.22, 2.03, 0.99, 0.22, 2.01, 0.0,
    (0.84, 0.86, 0.45, 0.27, 0.37, 0.30, 0.42, 0.22, 0.42, 0.62, 0.63, 2.13, 2.01),
)  # fmt: skip
# A small, mostly English vocabulary: every digit is a token, and other scripts are split into bytes.
SMOLLM2 = Weights(
    0.084, 0.66, 1.68, 1.04, 0.12, 0.72, 1.03, 0.30, 1.25, 0.0,
    (3.71, 3.80, 0.99, 0.89, 1.21, 1.55, 0.74, 1.41, 1.77, 1.91, 2.74, 2.74, 3.04),
    border_share=0.15,
)  # fmt: skip


def estimate(text: str, weights: Weights) -> int:
    """Estimated tokens of `text`, without any margin."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    total = 0.0
    if len(data) != len(text):
        leads = data.translate(None, _ASCII_AND_CONTINUATION).translate(_LEADS)
        total = sum(weight * leads.count(index) for index, weight in enumerate(weights.scripts))
    for ruler in _RULERS:
        if ruler in data:
            total += _RULER_TOKENS * data.count(ruler)
            data = data.replace(ruler, b"")
    total += _CONTROL_TOKENS * len(data.translate(None, _NOT_CONTROLS))
    # A leading separator gives every run a left border, so that runs can be counted by their starts.
    data = b"\0" + data
    words = data.translate(_WORDS)
    letters, digits = words.count(b"a"), words.count(b"d")
    total += _words(words, letters, digits, weights)
    if letters:
        total += weights.lower_upper * data.translate(_CASES).count(b"lu")
    marks = data.translate(_MARKS)
    total += weights.punctuation_run * marks.count(b" p") + weights.punctuation_pair * marks.count(b"pp")
    lines = data.translate(_LINES)
    newline_runs, newlines = lines.count(b" n"), lines.count(b"n")
    total += weights.newline_run * newline_runs + _FURTHER_NEWLINE_TOKENS * (newlines - newline_runs)
    total += weights.blank * (data.count(b" ") + data.count(b"\t"))
    return ceil(total)


def _words(words: bytes, letters: int, digits: int, weights: Weights) -> float:
    total = weights.letter * letters + weights.digit * digits
    after_digit = after_letter = 0
    if letters and digits:
        after_digit, after_letter = words.count(b"da"), words.count(b"ad")
    total += weights.letter_run * (words.count(b" a") + after_digit)
    if digits:
        total += weights.digit_run * (words.count(b" d") + after_letter)
    borders = min(after_digit + after_letter, weights.border_share * (letters + digits))
    # No tokenizer spends more than one token per byte, whatever the weights add up to.
    return min(total + weights.letter_digit_border * borders, letters + digits)


class EstimatingCounter:
    """Counts with fitted weights; `margin` covers what the fit cannot know."""

    exact = False

    def __init__(self, name: str, weights: Weights, margin: float) -> None:
        self.name = name
        self.margin = margin
        self._weights = weights

    def count(self, text: str) -> int:
        return estimate(text, self._weights)
