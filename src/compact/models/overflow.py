"""How providers say that a prompt is too long for the model: one list for all code that needs it."""

from __future__ import annotations

import re

_PHRASES = (
    # Error codes, some of them in the form of exception names.
    r"context_length_exceeded",
    r"exceed_context_size",
    r"context_?window_?exceeded",
    r"request_too_large",
    # Phrases in messages.
    r"(?:prompt|input) (?:is )?too long",
    r"too many (?:input )?tokens",
    r"maximum (?:context|prompt|model) length",
    r"exceeds?[^.]{0,60}(?:maximum number of tokens|token limit)",
    r"exceed[^.]{0,60}context (?:window|length|size|limit)",
    r"context (?:window|length|size|limit)[^.]{0,60}exceed",
)
_TOO_LONG = re.compile("|".join(_PHRASES), re.IGNORECASE)


def says_too_long(text: str) -> bool:
    """Whether an error's text says so. The caller checks the status: rate limits mention tokens too."""
    return _TOO_LONG.search(text) is not None
