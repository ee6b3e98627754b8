"""Secrets on command lines and in configurations of appliances: `data/commands.toml` as rules.

These rules read the decoded text (`decode.py`), so they need not handle escapes.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from compact.redaction import plausible
from compact.redaction.grammar import Check, Rule
from compact.redaction.words import table

_BLANK = r"[ \t]+"
_OPEN = r"[\"'`]?"
_WORD = r"[^\s\"'`|;&]+"
_LINE = r"[^\n|;&]*?"
_VALUE = r"[^\s\"'`|;&-][^\s\"'`]*"
# A typed password has one of these, so `user=bob` is skipped on the way to it.
_TYPED_VALUE = r"(?:[^\s\"'`|;&-][^\s\"'`]*)?[0-9!@#%^*+~][^\s\"'`]*"
# A number or a word that says how an appliance encodes the password.
_KIND = (
    r"(?:(?:[0-9]{1,2}|plain|plaintext|cipher|simple|clear|encrypted|hash|sha\d*|md5|ENC|ro|rw|read|write)"
    r"[ \t]+)?"
)
_STRONG_OPTION = (
    r"password|passwd|passphrase|passcode|pass|pwd|pw|api[_-]?key|secret|secret[_-]?(?:access[_-]?)?key|"
    r"account[_-]?key|storage[_-]?key|master[_-]?key|encryption[_-]?key|psk|connection[_-]?string|sas[_-]?token"
)
_WEAK_OPTION = r"token|access[_-]?key|auth|auth[_-]?key|key|bearer|credentials?|community|license"
_OPTION = r"(?:^|[\s\"'`(\[,])--?[a-z0-9_.-]{0,40}?"
_OPTION_END = r"(?:[ \t]+|[ \t]*[\"'`][ \t]*,\s*|=)[\"'`]?"
# "pass --password and go on": the sentence continues where a value could be.
_PROSE = re.compile(
    rb"(?i)(?:a|an|and|are|as|at|be|but|by|can|command|does|entry|field|file|flag|flags|for|from|has|if|in|instead|"
    rb"into|is|it|line|must|name|not|of|off|on|only|option|options|or|param|parameter|parameters|argument|arguments|"
    rb"prompt|required|set|setting|settings|should|so|stdin|that|the|then|this|to|unless|used|user|value|via|was|when|"
    rb"where|which|will|with|without|you|your|und|oder|ist|est|et|pour|es|para|con)[.,:;)]*"
)


def _argument(value: bytes, before: bytes, after: bytes) -> bool:
    if len(value) < 3 or plausible.is_placeholder(value) or plausible.is_code(value):
        return False
    return _PROSE.fullmatch(value) is None and not plausible.names_file(value)


def _short(value: bytes, before: bytes, after: bytes) -> bool:
    """After a short option, where a port or a count is also possible."""
    return _argument(value, before, after) and not (value.isdigit() and len(value) < 6)


def _attached(value: bytes, before: bytes, after: bytes) -> bool:
    return _argument(value, before, after) and (len(value) >= 5 or not value.isalpha())


def _typed(value: bytes, before: bytes, after: bytes) -> bool:
    return len(value) >= 6 and plausible.looks_typed(value) and _argument(value, before, after)


def _option(value: bytes, before: bytes, after: bytes) -> bool:
    return len(value) >= 4 and after != b"(" and _argument(value, before, after)


def _random(value: bytes, before: bytes, after: bytes) -> bool:
    return plausible.is_random(value) and _argument(value, before, after)


def _words(text: str) -> str:
    """`use * X` from the table as a pattern."""
    return _BLANK.join(_WORD if word == "*" else word for word in text.split(" "))


def _client(entry: dict[str, Any]) -> list[Rule]:
    name = entry["name"]
    start = rf"\b(?:{name})(?:\.exe)?\b{_LINE}[ \t]"
    needs = rf"\b(?:{name})(?:\.exe)?[ \t]"

    def rule(head: str, check: Check, value: str = _VALUE) -> Rule:
        if entry.get("typed"):
            value, check = _TYPED_VALUE, _typed
        return Rule("command-line", start + head, value, needs, check)

    made = []
    if "option" in entry:
        made.append(rule(rf"(?:{'|'.join(entry['option'])})(?:{_BLANK}|=){_OPEN}", _short))
    if "attached" in entry:
        made.append(rule(rf"(?:{'|'.join(entry['attached'])}){_OPEN}", _attached))
    for options, separator in entry.get("user", ()):
        made.append(
            rule(
                rf"(?:{options})[ =]?{_OPEN}[^\s{separator}\"'`-][^\s{separator}\"'`]*{separator}",
                _argument,
                r"[^\s\"'`]+",
            )
        )
    if "after" in entry:
        made.append(
            rule(
                rf"(?i:{'|'.join(map(_words, entry['after']))}){_BLANK}{_OPEN}",
                _argument,
                r"[^\s\"'`|;&/-][^\s\"'`]*",
            )
        )
    return made


def _literal(line: str) -> str:
    """The longest run of plain words in a line of the table; every text that the line matches contains it."""
    runs = re.split(r"[ ]?[*#][ ]?|[ ]?\S*[\\(\[]\S*[ ]?", line)
    return _BLANK.join(max(runs, key=len).split(" "))


def _gap(line: str) -> str:
    """What may come between the words of a line of the table and the password."""
    if line.endswith(" #"):
        return rf"{_BLANK}{_KIND}"
    return r"[ \t]*" if line.endswith((":", "=")) else _BLANK


def _appliance(lines: list[str], before: str, check: Check, followed: str = "") -> Rule:
    lines = sorted(lines, key=len, reverse=True)
    shapes = "|".join(_words(line.removesuffix(" #")) + _gap(line) for line in lines)
    head = rf"(?im){before}(?:{shapes}){_OPEN}"
    needs = "|".join(sorted({_literal(line) for line in lines}))
    return Rule("appliance", head, r"[^\s\"'`;]+", needs, check, followed=followed)


def _appliances() -> tuple[Rule, ...]:
    listed = table("commands")["appliance"]
    line_start = r"(?:^|[#>$%;\"'`])[ \t]*(?:[0-9]+[ \t]+)?"
    return (
        _appliance(listed["anywhere"], r"\b", _option),
        # Text that continues after a space is a sentence, unless the value looks like a password.
        _appliance(listed["line_start"], line_start, _option, r"[ \t]*(?:$|[\r\n\"'`])"),
        _appliance(listed["line_start"], line_start, _typed),
    )


@functools.cache
def rules() -> tuple[Rule, ...]:
    clients = [rule for entry in table("commands")["client"] for rule in _client(entry)]
    value = r"[^\s\"'`,;&|<>()\[\]-][^\s\"'`,;&|<>()\[\]]*"
    return (
        *clients,
        *_appliances(),
        Rule(
            "command-line",
            rf"(?i){_OPTION}(?:{_STRONG_OPTION}){_OPTION_END}",
            value,
            rf"(?:{_STRONG_OPTION})[\"'`]?[ 	,=]",
            _option,
        ),
        Rule(
            "command-line",
            rf"(?i){_OPTION}(?:{_WEAK_OPTION}){_OPTION_END}",
            value,
            rf"-(?:{_WEAK_OPTION})[\"'`]?[ 	,=]|[a-z]-?(?:{_WEAK_OPTION})[\"'`]?[ 	,=]",
            _random,
        ),
        Rule("command-line", rf"(?i){_OPTION}pin{_OPTION_END}", "[0-9]{4,8}", "-pin", None),
    )
