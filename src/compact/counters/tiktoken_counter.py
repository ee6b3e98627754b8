"""Exact counts with tiktoken, safe for text of any size and content."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

from compact.counters import vocabulary
from compact.counters.estimator import CL100K, O200K, SMOLLM2, estimate

if TYPE_CHECKING:
    from tiktoken import Encoding

# Half a million blanks in a row overflow the tokenizer's regex stack, and long unbroken runs merge slowly.
# Text is therefore counted in blocks, cut where a token ends in any case.
BLOCK = 65_536
_SLACK = 8_192
_SMALL_BLOCK = 4_096
# No token holds a letter or digit and then one of these, and a cut there changes no match before it.
_TOKEN_END = re.compile(r"(?<=[^\W_])(?=[ \n\t.,;:)\]}\"。、，])")
# Larger than any window: the size matters to about a percent, the time to count it exactly does not.
SAMPLE_ABOVE = 8_000_000
_SAMPLES = 64
_STAND_INS = {"o200k_base": O200K, "o200k_harmony": O200K, "smollm2": SMOLLM2}
_NO_SPECIAL: set[str] = set()
_TOKEN_BYTES = 4


class TiktokenCounter:
    """Counts with one encoding, loaded at the first count and shared by the process.

    If the vocabulary turns out to be unusable, the counter estimates from then on, `exact` becomes False
    and `on_warning` is told once.
    """

    def __init__(
        self,
        source: vocabulary.Source,
        *,
        exact: bool,
        margin: float,
        on_warning: Callable[[str], None],
    ) -> None:
        self.name = f"tiktoken:{source.encoding}"
        self.exact = exact
        self.margin = margin
        self._source = source
        self._on_warning = on_warning
        self._encoding: Encoding | None = None
        self._unusable = False
        self._stand_in = _STAND_INS.get(source.encoding, CL100K)

    def count(self, text: str) -> int:
        encoding = self._encoding or self._load()
        if encoding is None:
            return estimate(text, self._stand_in)
        if len(text) <= BLOCK:
            try:
                return _length(encoding, text)
            except ValueError:
                return _count_block(encoding, text)
        if len(text) <= SAMPLE_ABOVE:
            return _count_blocks(encoding, text)
        return _count_sample(encoding, text)

    def warm(self) -> bool:
        """Load the vocabulary now (about half a second), from any thread; False if it cannot be had."""
        return (self._encoding or self._load()) is not None

    def _load(self) -> Encoding | None:
        if self._unusable:
            return None
        try:
            self._encoding = vocabulary.load(self._source)
        except vocabulary.VocabularyUnavailable as problem:
            self._unusable = True
            self.exact = False
            self._on_warning(
                f"Exact token counts are not available ({problem}). Token counts are estimated from now on. "
                "Install the vocabulary with: pip install 'compact-context[offline]'"
            )
        return self._encoding


def _count_block(encoding: Encoding, text: str) -> int:
    try:
        # Not encode_ordinary: it panics, past `except Exception`, where this form raises ValueError.
        return _length(encoding, text)
    except ValueError:
        if len(text) <= _SMALL_BLOCK:
            return estimate(text, O200K)
    return sum(
        _count_block(encoding, text[start : start + _SMALL_BLOCK])
        for start in range(0, len(text), _SMALL_BLOCK)
    )


def _length(encoding: Encoding, text: str) -> int:
    try:
        # The buffer that `encode_to_numpy` reads: as long as the list that `encode` would make of it.
        buffer = encoding._core_bpe.encode_to_tiktoken_buffer(text, _NO_SPECIAL)
        return memoryview(buffer).nbytes // _TOKEN_BYTES
    except (AttributeError, UnicodeEncodeError):
        # A version without that buffer, or a lone surrogate, which only `encode` replaces.
        return len(encoding.encode(text, disallowed_special=()))


def _count_blocks(encoding: Encoding, text: str) -> int:
    total = start = tokens = 0
    previous = ""
    while len(text) - start > BLOCK:
        earliest = start + BLOCK - _SLACK
        cut = _TOKEN_END.search(text, earliest, start + BLOCK)
        end = cut.start() if cut else start + BLOCK
        block = text[start:end]
        # Megabytes of one character are the slowest text there is, and the same block again and again.
        if block != previous:
            tokens = _count_block(encoding, block)
            previous = block
        total += tokens
        start = end
    return total + _count_block(encoding, text[start:])


def _count_sample(encoding: Encoding, text: str) -> int:
    """Evenly spaced blocks stand for the whole."""
    step = len(text) // _SAMPLES
    counted = sum(
        _count_block(encoding, text[start : start + BLOCK]) for start in range(0, step * _SAMPLES, step)
    )
    return ceil(counted * len(text) / (BLOCK * _SAMPLES))
