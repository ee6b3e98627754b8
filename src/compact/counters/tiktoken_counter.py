"""Exact counts in tiktoken's tokens, safe for text of any size and content."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil

from compact.counters import vocabulary
from compact.counters.estimator import CL100K, O200K, SMOLLM2, estimate
from compact.counters.lengths import Length, length_of

# Half a million spaces in a row overflow the tokenizer's regex stack, and long unbroken runs merge slowly. So
# text is counted in blocks, cut where a token always ends.
BLOCK = 65_536
_SLACK = 8_192
_SMALL_BLOCK = 4_096
# No token has a letter or digit followed by one of these, and a cut there changes no match before it.
_TOKEN_END = re.compile(r"(?<=[^\W_])(?=[ \n\t.,;:)\]}\"。、，])")
# Larger than any window: an estimate within about a percent is enough, and an exact count takes too long.
SAMPLE_ABOVE = 8_000_000
_SAMPLES = 64
_STAND_INS = {"o200k_base": O200K, "o200k_harmony": O200K, "smollm2": SMOLLM2}


class TiktokenCounter:
    """Counts with one encoding, loaded at the first count and shared by the process.

    If the vocabulary turns out to be unusable, the counter estimates from then on, sets `exact` to False
    and calls `on_warning` once.
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
        self._length: Length | None = None
        self._unusable = False
        self._stand_in = _STAND_INS.get(source.encoding, CL100K)

    def count(self, text: str) -> int:
        length = self._length or self._load()
        if length is None:
            return estimate(text, self._stand_in)
        if len(text) <= BLOCK:
            try:
                return length(text)
            except ValueError:
                return _count_block(length, text)
        if len(text) <= SAMPLE_ABOVE:
            return _count_blocks(length, text)
        return _count_sample(length, text)

    def warm(self) -> bool:
        """Load the vocabulary now (about half a second), from any thread; False if it is not available."""
        return (self._length or self._load()) is not None

    def _load(self) -> Length | None:
        if self._unusable:
            return None
        try:
            self._length = length_of(self._source)
        except vocabulary.VocabularyUnavailable as problem:
            self._unusable = True
            self.exact = False
            self._on_warning(
                f"Exact token counts are not available ({problem}). Token counts are estimated from now on. "
                "Install the vocabulary with: pip install 'compact-context[offline]'"
            )
        return self._length


def _count_block(length: Length, text: str) -> int:
    try:
        return length(text)
    except ValueError:
        if len(text) <= _SMALL_BLOCK:
            return estimate(text, O200K)
    return sum(
        _count_block(length, text[start : start + _SMALL_BLOCK])
        for start in range(0, len(text), _SMALL_BLOCK)
    )


def _count_blocks(length: Length, text: str) -> int:
    total = start = tokens = 0
    previous = ""
    while len(text) - start > BLOCK:
        earliest = start + BLOCK - _SLACK
        cut = _TOKEN_END.search(text, earliest, start + BLOCK)
        end = cut.start() if cut else start + BLOCK
        block = text[start:end]
        # Megabytes of one character are the slowest text there is, and they repeat the same block.
        if block != previous:
            tokens = _count_block(length, block)
            previous = block
        total += tokens
        start = end
    return total + _count_block(length, text[start:])


def _count_sample(length: Length, text: str) -> int:
    """Extrapolate from evenly spaced blocks."""
    step = len(text) // _SAMPLES
    counted = sum(
        _count_block(length, text[start : start + BLOCK]) for start in range(0, step * _SAMPLES, step)
    )
    return ceil(counted * len(text) / (BLOCK * _SAMPLES))
