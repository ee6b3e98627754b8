"""Secrets in a known file, command or call."""

from __future__ import annotations

import re

from compact.redaction import plausible
from compact.redaction.grammar import Rule, quoted

_NAME = (
    r"(?:[\w.:-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key|(?:secret|access|private)[_-]?key)|"
    r"(?:[\w.:-]{0,40}[_.-])?(?:pass|pwd))"
)
_QUOTE = r"\\*[\"']"
_LINE_BREAK = r"(?:\r?\n|(?:\\+[nr])+)"
_HOST = re.compile(rb"[^/:?#@]*\.[A-Za-z][^/:?#@]*|localhost")
_ENVIRONMENT = r"_(?:SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|PSW|TOKEN)="


def _not_empty(value: bytes, before: bytes, after: bytes) -> bool:
    return not plausible.is_placeholder(value) and not (len(value) < 4 and value.isdigit())


def _environment(value: bytes, before: bytes, after: bytes) -> bool:
    """`DB_PASS=correcthorse`: letters alone are enough if the name is in capitals and no space follows it."""
    if not (before[-1:].isupper() or before[-1:].isdigit()) or after in (b"(", b"["):
        return False
    if len(value) < 6 or value.startswith((b"/", b"~", b"./", b"http")) or plausible.is_code(value):
        return False
    return _not_empty(value, before, after) and not plausible.names_no_secret(before)


def _password_with_signs(value: bytes, before: bytes, after: bytes) -> bool:
    """A password with both @ and /; if a host follows the first @, the rest is a path that contains an @."""
    first, _, rest = value.partition(b"@")
    if b"://" in value or b"/" not in value or first.partition(b"/")[0].isdigit():
        return False
    return not rest or _HOST.match(rest) is None


PLACES: tuple[Rule, ...] = (
    Rule(
        "environment-list",
        rf"(?i)name:[ \t]*(?:{_QUOTE})?{_NAME}(?:{_QUOTE})?[ \t]*{_LINE_BREAK}"
        rf"[ \t]*value:[ \t]*(?:{_QUOTE})?",
        r"[^\s\"'\\#][^\"'\\\n]*",
        "value:",
        _not_empty,
    ),
    Rule(
        "pgpass",
        r"[A-Za-z0-9_.*-]{1,64}:(?:543\d|6432|\*):[\w*.-]{1,64}:[\w*.-]{1,64}:",
        r"[^\s:\"'\\]{4,}",
        r":543\d:|:6432:|:\*:",
    ),
    Rule(
        "command-line",
        rf"\bhtpasswd\s+-(?:[a-mo-zA-Z]*b[a-mo-zA-Z]*\s+\S+|[A-Za-z]*(?:n[A-Za-z]*b|b[A-Za-z]*n)[A-Za-z]*)"
        rf"\s+\S+\s+(?:{_QUOTE})?",
        r"[^\s\"'\\]+",
        "htpasswd",
        _not_empty,
    ),
    Rule(
        "command-line",
        rf"(?:(?:\b|\\[nrt])(?:ENV|ARG)|(?i:\bsetx(?:\s+/m)?))[ \t]+(?i:{_NAME})[ \t]+(?:{_QUOTE})?",
        r"[^\s\"'\\=][^\s\"'\\]*",
        "env|arg|setx",
        _not_empty,
    ),
    Rule(
        "call",
        r"(?i)(?:set\w{0,16}|put\w{0,8}|define|header|append|add|store|save|write)\(\s*"
        rf"{_QUOTE}{_NAME}{_QUOTE}\s*,\s*{_QUOTE}",
        r"[^\"'\\\n]+",
        r"(?:set\w{0,16}|put\w{0,8}|define|header|append|add|store|save|write)\(",
        _not_empty,
    ),
    Rule(
        "header-list",
        rf"(?i){_QUOTE}(?:key|name){_QUOTE}\s*:\s*{_QUOTE}{_NAME}{_QUOTE}\s*,\s*{_QUOTE}value{_QUOTE}\s*:\s*"
        rf"{_QUOTE}",
        r"[^\"'\\\n]+",
        r"value\\*[\"']",
        _not_empty,
    ),
    Rule(
        "command-line",
        rf"(?i)ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?{_QUOTE}",
        r"[^\"'\\\n]+",
        "convertto-securestring",
        _not_empty,
    ),
    Rule(
        "markup",
        rf"(?i)(?:key|name)={_QUOTE}{_NAME}{_QUOTE}\s+value={_QUOTE}",
        r"[^\"'\\\n]+",
        "value=",
        _not_empty,
    ),
    quoted("environment", _ENVIRONMENT, "_secret=|_pass|_pwd=|_psw=|_token=", _environment),
    Rule(
        "environment",
        _ENVIRONMENT,
        r"[^\s\"'`=:,;&<>(){}\[\]\\|]+",
        "_secret=|_pass|_pwd=|_psw=|_token=",
        _environment,
    ),
    Rule(
        "url-password", r"://[^\s/?#:@\"'<>\\`]*:", r"[^\s\"'<>\\`]+", "://", _password_with_signs, tail="@"
    ),
)
