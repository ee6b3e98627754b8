"""The prose of a message, and what stands in it where a secret was."""

from __future__ import annotations

import json
import re
from contextlib import suppress

REDACTED = "<REDACTED>"
"""What a redactor puts in the place of a secret."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def prose_of(text: str) -> str:
    """An assistant's text without fenced code; for an answer in JSON, its strings of more than one word."""
    if text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            json.loads(text)
            return "\n".join(json.loads(quoted) for quoted in _STRING.findall(text) if " " in quoted)
    return "\n".join(text.split("```")[::2]) if "```" in text else text
