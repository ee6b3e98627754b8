"""The number of tokens in a text, by the fastest installed means: gigatoken, else tiktoken itself.

gigatoken computes tiktoken's own tokens from tiktoken's own ranks, about fifteen times as fast.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compact.counters import vocabulary

if TYPE_CHECKING:
    from tiktoken import Encoding

Length = Callable[[str], int]
"""Raises ValueError for text that is too long for one call."""

_NO_SPECIAL: set[str] = set()
_TOKEN_BYTES = 4

# gigatoken's name for the split of an encoding, and the tokens of a text on which all splits differ. The text
# is counted once as a check: a version with a different result is not used.
_PROBE = (
    "We'LL'VE doN'T parseXMLHttpRequest don'ts 1234567 //\n\n\r\n  x ½ǅ 漢字かな🙂\u0301"
    " </s>\n__init__\u3000./\n "
)
_QUICK = {"o200k_base": ("o200k", 42), "o200k_harmony": ("o200k", 42), "cl100k_base": ("cl100k", 45)}

RENEW_AFTER = 16_000_000
"""Characters after which gigatoken is loaded again, if the process has grown. It keeps every word it saw,
up to eight bytes per character of text without repetition, and cannot release them."""
_GROWN = 64_000_000
"""Bytes. Ordinary text repeats its words, so gigatoken hardly grows; and loading takes half a second."""

_lengths: dict[str, Length] = {}
_loading = threading.Lock()


def length_of(source: vocabulary.Source) -> Length:
    """Loaded once per process (about half a second); raises VocabularyUnavailable."""
    with _loading:
        length = _lengths.get(source.encoding)
        if length is None:
            length = _quick(source) or of_encoding(vocabulary.load(source))
            _lengths[source.encoding] = length
        return length


def of_encoding(encoding: Encoding) -> Length:
    """tiktoken's own count."""

    def length(text: str) -> int:
        try:
            # The buffer that `encode_to_numpy` reads is as long as the list that `encode` would return. Not
            # `encode_ordinary`: it panics, past `except Exception`, where these raise ValueError.
            buffer = encoding._core_bpe.encode_to_tiktoken_buffer(text, _NO_SPECIAL)
            return memoryview(buffer).nbytes // _TOKEN_BYTES
        except (AttributeError, UnicodeEncodeError):
            # This version has no such buffer, or the text has a lone surrogate, which only `encode` replaces.
            return len(encoding.encode(text, disallowed_special=()))

    return length


def _quick(source: vocabulary.Source) -> Length | None:
    """gigatoken's count; None if it is not installed or does not support the encoding."""
    split, expected = _QUICK.get(source.encoding, ("", 0))
    if not split:
        return None
    try:
        from gigatoken.gigatoken_rs import BPETokenizer
    except ImportError:
        return None
    from tempfile import NamedTemporaryFile

    def build() -> Any:
        # It reads only plain files; ours is compressed or was just downloaded.
        with NamedTemporaryFile(suffix=".tiktoken") as file:
            file.write(vocabulary.read(source))
            file.flush()
            return BPETokenizer.from_tiktoken(file.name, split, None).encode

    try:
        encode = build()
    except Exception:
        # Whatever the error is, tiktoken either reports it better or does not have it.
        return None
    counted, resident = 0, _resident()
    renewing = threading.Lock()

    def renew() -> None:
        nonlocal encode, counted, resident
        if not renewing.acquire(blocking=False):
            return  # Another thread is replacing it; the old one still counts.
        try:
            counted = 0
            if resident is None or (_resident() or 0) - resident > _GROWN:
                encode = build()
                resident = _resident()
        except Exception:
            pass  # Keep the old one, and try again after as much text.
        finally:
            renewing.release()

    def length(text: str) -> int:
        nonlocal counted
        counted += len(text)
        if counted > RENEW_AFTER:
            renew()
        try:
            return len(encode(text))
        except TypeError:
            # A lone surrogate, replaced as tiktoken does.
            return len(encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))

    return length if length(_PROBE) == expected else None


def _resident() -> int | None:
    """Bytes of memory that the process uses; None if the system does not report it."""
    import os

    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
