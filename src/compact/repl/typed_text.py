"""Text from a keyboard or a pipe, made valid for a store and a model."""

from __future__ import annotations


def typed_text(text: str) -> str:
    """With a replacement character for bytes that are not UTF-8, and for halves of characters.

    Python reads such bytes as lone surrogates, and under a locale that is not UTF-8 also those that are.
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
