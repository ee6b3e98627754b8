"""What a text looks like to a reader, whatever its letters are made of.

To a model, a tag in full-width letters, one with an invisible character in it and one in Cyrillic letters are
all the same, so code that looks for a tag or a quotation must see them the same way.
"""

from __future__ import annotations

import re
from html import unescape
from unicodedata import normalize

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef"
)
"""Zero-width characters, as the inside of a regular expression's set."""
_UNSEEN = re.compile(f"[{INVISIBLE}\u0300-\u036f\u20d0-\u20ff]+")
LETTERS = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u043a\u0442\u043c\u0432\u043d\u0501\u04bb"
    "\u03b1\u03bf\u03c1\u03c4\u03c5\u03bd\u03ba\u03bc\u03b9\u03b5\u03c7"
)
"""Cyrillic and Greek letters that look like Latin ones."""
_LOOK_ALIKE = str.maketrans(
    LETTERS + "\u2010\u2011\u2012\u2013\u2014\u2212\u2044\u2215\u2223",
    "aeopcyxisjktmbhdhaoptuvkmiex------//|",
)
"""These, and dashes, slashes and bars."""


def plain(text: str) -> str:
    """Lowercase, without entities, invisible characters, accents and other scripts' look-alikes."""
    if "&" in text:
        text = unescape(text)
    if text.isascii():
        return text.casefold()
    return _UNSEEN.sub("", normalize("NFKD", text)).casefold().translate(_LOOK_ALIKE)


def whole(text: str) -> str:
    """`text` with a mark for each half of a character, since no provider accepts one."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
