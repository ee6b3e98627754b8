"""Secrets with a weak separator after their name: a space, a comma, an arrow, a dash, a bar.

The weaker the separator, the more the value itself must look like a secret: "the password rotates weekly" and
"password - 8 characters" stay. These rules read the decoded text (`decode.py`), so they need not handle
escapes.
"""

from __future__ import annotations

import functools

from compact.redaction import plausible
from compact.redaction.grammar import COLON, KEY_OWNERS, Rule
from compact.redaction.words import either, words

BLANK = r"(?:[ \t]|(?-i:\xc2\xa0))"
MARK = r"(?:[\"'`*]{1,3}|(?-i:\xc2\xab\s?|\xe2\x80[\x98-\x9f]|\xe3\x80[\x8c\x8e\x90]))"
CLOSE = r"(?: {0,7}[\"'`*]){0,3}"
SUFFIX = r"(?:[a-z]|[\xc3-\xd1][\x80-\xbf]){0,5}"
TRAILING = b".,;:!?)]}*`\"'"

_ARROW = r"(?-i:\xe2(?:\x86[\x90-\xbf]|\x87[\x80-\xbf]|\x9e[\x94-\xbe]|\x9f[\xb0-\xbf]))"
_DASH = r"(?-i:\xe2\x80[\x90-\x95])"
_POINTER = rf"(?:{BLANK}+(?:[-=]{{1,2}}>|>{{1,2}}|-{{1,2}}|\||{_DASH}){BLANK}+|{BLANK}*{_ARROW}{BLANK}*)"
_NOTE = rf"(?:{BLANK}{{0,2}}[(\[][^()\[\]\n]{{1,32}}[)\]])?"
_PART = r"[^\s\"'`,;|<>(){}\xe3\xef]"
# No digit, and not long: a word of the sentence.
_VALUE = rf"(?:{_PART}*[0-9]{_PART}*|{_PART}{{24,}})"
_KEY = rf"{KEY_OWNERS}[ _-]?(?:access[ _-]?)?(?:key|token|secret)(?:[_-]?base|s)?"

CODES = r"codes?(?: (?:is|are))?[ \t]*[:=]?\s*"
_CODE = r"[A-Za-z]{0,8}[0-9][A-Za-z0-9]{2,11}(?:-[A-Za-z0-9]{2,10}){0,5}"
CODES_LIST = rf"{_CODE}(?:[,;][ \t]*|\s{{1,4}})"


def is_typed(value: bytes) -> bool:
    """A password that someone wrote into a sentence, not the next word of the sentence."""
    value = value.rstrip(TRAILING)
    if len(value) < 5 or plausible.is_placeholder(value) or plausible.is_code(value):
        return False
    return plausible.looks_typed(value) and not (value.startswith(b"//") or plausible.is_address(value))


def _pointed_at(value: bytes, before: bytes, after: bytes) -> bool:
    value = value.rstrip(TRAILING)
    return after != b"(" and is_typed(value) and plausible.mixes_letters_and_digits(value)


def _alone(value: bytes, before: bytes, after: bytes) -> bool:
    return after != b"(" and plausible.is_typed_password(value.rstrip(TRAILING))


def _random(value: bytes, before: bytes, after: bytes) -> bool:
    value = value.rstrip(TRAILING)
    if after == b"(" or len(value) < 10 or not plausible.is_random(value) or not is_typed(value):
        return False
    return plausible.has_key_run(value) and plausible.mixes_letters_and_digits(value)


def _codes(value: bytes, before: bytes, after: bytes) -> bool:
    """Several codes, or letters among the digits: a single number may be a year or a count."""
    return len(value.split()) > 1 or plausible.mixes_letters_and_digits(value)


@functools.cache
def rules() -> tuple[Rule, ...]:
    password = either(words("password", False))
    names = (
        rf"(?:(?:{password}){SUFFIX}|\bpwd?\b|\b(?:user(?:name)?|login)[ :=]+[^\s,;/]{{1,40}}[ ,;/]+pass\b)"
    )
    needs = rf"(?:{password}|\bpwd?\b|\bpass\b)"
    opening, blank = rf"{MARK}?", rf",?{BLANK}+"
    said = rf"(?:(?:{BLANK}+(?:is|are))?{BLANK}*{COLON}{BLANK}*|{BLANK}+(?:(?:is|are|-|{_DASH}){BLANK}+)?)"
    user = r"[\w.@+-]{1,40}"
    return (
        Rule("prose", rf"(?i){names}{CLOSE}{_NOTE}{_POINTER}{opening}", _VALUE, needs, _pointed_at),
        Rule("prose", rf"(?i){names}{CLOSE}{_NOTE}{blank}{opening}", _VALUE, needs, _alone),
        Rule("prose", rf"(?i){_KEY}{CLOSE}{_NOTE}(?:{_POINTER}|{blank}){opening}", _VALUE, _KEY, _random),
        Rule(
            "pair",
            rf"(?i)\b(?:cred(?:ential)?s?{CLOSE}{said}{user}{BLANK}?[:/|]{BLANK}?|"
            rf"logins?{said}{user}{BLANK}+[/|]{BLANK}+)",
            _VALUE,
            r"\b(?:cred|login)",
            _pointed_at,
        ),
        Rule(
            "recovery-codes",
            rf"(?i)(?:recovery|backup|scratch|emergency) {CODES}",
            rf"(?:{CODES_LIST})*{_CODE}",
            "(?:recovery|backup|scratch|emergency) code",
            _codes,
        ),
    )
