"""What a rule is, and the pattern pieces that rules share.

Two laws keep a pass linear even on hostile text (re2 alone makes only each single search linear). A pattern
either matches as soon as its prefix is found, or what it waits for must also start its next match. And after
a rejected candidate the search continues at its end, or at a value that cannot contain the start of another
candidate beyond its separator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Check = Callable[[bytes, bytes, bytes], bool]
"""(value, the 16 bytes before the match, the byte after the value) -> is it a secret?"""


@dataclass(frozen=True, slots=True)
class Rule:
    """Patterns are bytes written as Latin-1, without groups, so that re2 can use its fastest engine."""

    kind: str
    head: str
    """What stays: name, separator, opening quote."""
    secret: str
    """What is redacted."""
    needs: str | None
    """An alternation (case ignored) that occurs in every text this rule matches; None: the rule itself.

    It never depends on where the text begins or ends: what a part between quotes has, the whole text has.
    """
    check: Check | None = None
    retry_inside: bool = False
    """After a rejection, continue at the value, because another name may follow inside (a = b = "c")."""
    tail: str = ""
    """One character that must follow, and stays."""
    followed: str = ""
    """More text that must follow, and stays; nothing that the secret could continue with."""
    whole: str = ""
    """Head and secret in one, if what may be secret depends on how the head ended (which quote)."""
    holds: str = ""
    """What every secret of this rule contains, on a single line; candidates without it are skipped."""
    unless: str = ""
    """How a head begins that reveals nothing, for the standard engine."""
    until: str = ""
    """The character that ends the head, if it occurs only there after the head's first three characters."""

    @property
    def pattern(self) -> str:
        return self.whole or f"{self.head}(?:{self.secret}){self.tail}{self.followed}"


# Python's \s for text, as UTF-8 bytes; re2's \s is ASCII only.
WS = (
    r"(?:[\s\x0b\x1c-\x1f]|(?-i:\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|"
    r"\xe3\x80\x80))"
)
SAME_LINE_WS = WS.replace(r"[\s\x0b", r"[ \t\f\x0b")
# Letters that Python's (?i) folds to i, k and s.
_I = r"(?:i|(?-i:\xc4[\xb0\xb1]))"
_K = r"(?:k|(?-i:\xe2\x84\xaa))"
_S = r"(?:s|(?-i:\xc5\xbf))"
API_KEY = rf"ap{_I}[_-]?{_K}ey"
PASSWORD = rf"pa{_S}{_S}word"

# Whose key, token or secret it is: a "sort key" is none.
KEY_OWNERS = (
    r"(?:secret|access|private|signing|encryption|master|account|(?:pre-?)?shared|auth|storage|service|deploy|"
    r"license|consumer|session|webhook|app|client|jwt|hmac|ssh|gpg|admin|bot|subscription|integration|api|bearer|"
    r"refresh|wpa[23]?|wi-?fi|wlan|network|hotspot|router|vpn)"
)

COLON = r"(?:[:=]|(?-i:\xef\xbc[\x9a\x9d])|\\+uff1[ad])"  # Also the full-width forms.
_QUOTED_AND_REST = (
    r"(?:\"(?:[^\"\\\n]|\\[^\n])*\"\S*|'(?:[^'\\\n]|\\[^\n])*'\S*|\\+\"[^\"\n]*\"\S*|\\+'[^'\n]*'\S*)"
)
# Otherwise a lone ":=", "=>", "|", "**", an escaped line break or the backslash of a continued line would be
# taken for the value.
_NOT_YET = rf"(?:(?:[=>|*~`]{{1,3}}[0-9+-]{{0,2}}(?:\\+[nrt])*|(?:\\+[nrt])+|\\){WS}+)?"
SEED_VALUE = rf"{_NOT_YET}(?:{_QUOTED_AND_REST}|\S+)"

# Opening quotes and their content: plain, and in quotes that are themselves escaped.
_OPEN = r"[bfru]{0,2}\\*[\"'`]"
_QUOTED = (
    r"(?:[bfru]{0,2}\"(?:[^\"\\\n]|\\[^\n])+|[bfru]{0,2}'(?:[^'\\\n]|\\[^\n])+|\\+\"(?:[^\"\\\n]|\\[^\"\n])+|"
    r"\\+'(?:[^'\\\n]|\\[^'\n])+|`[^`\n]+)"
)
BARE = r"[^\s\"'`=:,;&<>(){}\[\]\\|]+={0,2}"
LONG_BARE = BARE.replace("+={0,2}", "{7,}={0,2}")
CLOSE = r"(?:\\*[\"'`*\]]){0,4}"
GAP = r"(?:[ \t]|(?-i:\xc2\xa0))*"
SEP = rf"{GAP}(?::=|=>|={{1,3}}|:|(?-i:\xef\xbc[\x9a\x9d]))[`*]{{0,2}}{GAP}"
ANNOTATED = rf"{GAP}\??:[ \t]*[A-Za-z_][A-Za-z_.|\[\] ]{{0,32}}={GAP}"

# Before a short prefix: not inside a word, but allowed after an escape, a percent code or a color code.
BORDER = r"(?:[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m|^)"


def quoted(
    kind: str,
    name: str,
    needs: str,
    check: Check | None,
    retry_inside: bool = False,
    least: int = 1,
    holds: str = "",
) -> Rule:
    """A rule for `name` (with its separator) and a quoted value; the quotes stay.

    `least` keeps values that the check would reject for their length from becoming candidates at all.
    """
    value = _QUOTED if least == 1 else re.sub(r"(?<=[)\]])\+(?=[|)])", f"{{{least},}}", _QUOTED)
    whole = rf"{name}{value}"
    return Rule(
        kind, rf"{name}{_OPEN}", "", needs, check, retry_inside=retry_inside, whole=whole, holds=holds
    )


def value_only(check: Callable[[bytes], bool]) -> Check:
    return lambda value, before, after: check(value)
