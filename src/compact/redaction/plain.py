"""Secrets that may be plain words, because the setting, command or call around them leaves no doubt."""

from __future__ import annotations

import re

from compact.redaction import plausible
from compact.redaction.grammar import SEP, Rule, quoted, value_only

_QUOTE = r"\\*[\"']"
# Not every "pass" is a password: a render pass, a first pass, "encompass".
PASS_OWNERS = (
    "db|database|smtp|mail|email|imap|ftp|sftp|ssh|become|sudo|user|admin|root|auth|login|ldap|redis|mysql|"
    "postgres|pg|mongo|rabbit|rabbitmq|proxy|http|basic|vpn|wifi|store|keystore|truststore|cert|rpc|svc|account"
)
_NAME = (
    rf"(?:(?:{PASS_OWNERS})[_.-]?pass|passwd|passphrase|passcode|secret[_-]?key|"
    r"(?:client|jwt|app|consumer|webhook|signing|shared|session|cookie|hmac|oauth)[_.-]?secret)"
)
_NEEDS = "pass|secret"
_BARE = r"[^\s\"'`=,;&<>(){}\[\]\\|$][^\s\"'`=,;&<>(){}\[\]\\|]{3,}"
# The name of the setting itself, a type, or a state.
_NAMED = re.compile(rb"(?i)pass|secret|token|key|cred")
_DIGIT = re.compile(rb"[0-9]")
_NO_VALUE = re.compile(
    rb"(?i)any|bool(?:ean)?|bytes|text|char|varchar|number|object|unknown|"
    rb"required|optional|(?:dis|en)abled|default|changed|updated|hidden|missing|(?:in)?valid|empty|needed|"
    rb"generated|rotated|permission"
)


def _says_more(value: bytes) -> bool:
    if len(value) < 24 and _DIGIT.search(value) is None and _NAMED.search(value):
        return False  # The most frequent answer first: hostile texts ask tens of thousands of times.
    if plausible.is_placeholder(value) or plausible.is_code(value):
        return False
    return plausible.has_key_run(value) or not (_NAMED.search(value) or _NO_VALUE.fullmatch(value))


def _setting(value: bytes, before: bytes, after: bytes) -> bool:
    if before.endswith(b"/") or value.startswith((b"/", b"~", b"./")):
        return False
    # f(client_secret=secret): an argument of a call, not a value in a form or a file.
    return after not in (b"(", b")", b"[", b",") and _says_more(value)


def _not_empty(value: bytes, before: bytes, after: bytes) -> bool:
    return not plausible.is_placeholder(value)


def _long(value: bytes) -> bool:
    return plausible.is_random(value) or (len(value) >= 16 and value.isalnum())


PLAIN: tuple[Rule, ...] = (
    quoted("setting", rf"(?i){_NAME}{_QUOTE}?{SEP}", _NEEDS, lambda value, before, after: _says_more(value)),
    Rule("setting", rf"(?i){_NAME}=", _BARE, _NEEDS, _setting, until="="),
    # To the end of the line: text that continues after a space is prose or code.
    Rule("setting", rf"(?i){_NAME}:[ \t]+", _BARE, _NEEDS, _setting, tail=r"[\r\n\\\"']"),
    Rule("setting", rf"(?i){_NAME}:[ \t]+", rf"{_BARE}$", _NEEDS, _setting),
    quoted("setting", r"(?i)\bpsk=", "psk=", _not_empty),
    Rule(
        "setting", rf"(?i)\bpw{SEP}", r"[^\s\"'`=:,;&<>(){}\[\]\\|]+", "pw", value_only(plausible.is_random)
    ),
    Rule("netrc", r"\bmachine\s+(?:[\w-]+\.[\w.-]+|localhost)\s+password\s+", r"\S+", "machine"),
    Rule(
        "header",
        r"(?i)\bx-(?:[a-z]+-)*(?:token|key|secret):[ \t]*",
        r"[^\s\"'\\,;]{8,}",
        "x-",
        value_only(_long),
    ),
    Rule(
        "url-parameter",
        r"(?i)[?&#](?:access_token|refresh_token|id_token|client_secret)=",
        r"[^&\s\"'#<>\\]{16,}",
        "token=|secret=",
        _not_empty,
    ),
    Rule(
        "cookie", r"(?i)set-cookie(?:[ \t]|\\+t)+", r"[^\s=;,\"'\\:(){}<>]{1,64}=[^\r\n\"'\\]+", "set-cookie"
    ),
    Rule("aws-table", r"Secret(?:AccessKey|Key)[ \t]*\|[ \t]*", r"[A-Za-z0-9/+]{16,}", r"secret\w*[ \t]*\|"),
    Rule("unseal-key", r"(?i)unseal key(?: \d{1,2})?:\s*", r"[A-Za-z0-9+/]{16,}={0,2}", "unseal key"),
    Rule(
        "command-line",
        r"--from-literal[= ][\w.-]{1,64}=[\"']?",
        r"[^\s\"'\\]+",
        "--from-literal",
        value_only(plausible.is_random),
    ),
    Rule("workflow", r"::add-mask::", r"[^\s\"'\\]{4,}", "::add-mask::"),
    Rule(
        "workflow",
        r"(?i)::set-(?:output|env) name=[\w-]*(?:token|secret|password|key)::",
        r"[^\s\"'\\]{4,}",
        "::set-",
        _not_empty,
    ),
    Rule(
        "command-line",
        r"\s-(?:(?:src|dest)?(?:store|key)pass|(?:pass(?:in|out)?|k)[ \t]+[\"']?pass:)[ \t]*[\"']?",
        r"[^\s\"'\\-][^\s\"'\\]{3,}",
        "storepass|keypass|pass:",
        _not_empty,
    ),
    Rule(
        "command-line",
        r"\bopenssl\s+enc\b[^\n]*?\s-k[ \t]+[\"']?",
        r"[^\s\"'\\-][^\s\"'\\]*",
        "openssl",
        _not_empty,
    ),
    Rule(
        "command-line",
        r"(?i)\bset[ \t]+-[a-z]+[ \t]+\w{0,40}(?:password|passwd|secret|token|api_?key|_key)[ \t]+[\"']?",
        r"[^\s\"'\\$(-][^\s\"'\\]{3,}",
        r"\bset[ \t]+-",
        _not_empty,
    ),
    Rule(
        "call",
        rf"(?:\bauth\s*=\s*\(|Http(?:Basic|Digest)Auth\(|HTTP(?:Basic|Digest)Auth\(|\bBasicAuth\()\s*"
        rf"{_QUOTE}[^\"'\\\n]*{_QUOTE}\s*,\s*{_QUOTE}",
        r"[^\"'\\\n]+",
        r"auth\s*=\s*\(|auth\(",
        _not_empty,
    ),
    Rule(
        "piped",
        rf"\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?(?:{_QUOTE})?",
        r"[^\s\"'|$`\\-](?:[^\"'|\n]*[^\s\"'|\\])?",
        "sudo|passwd|password-stdin",
        _not_empty,
        followed=rf"(?:{_QUOTE})?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S\b|"
        rf"(?:sudo[ \t]+)?(?:ch)?passwd\b|[^\n|;&]*?--password-stdin)",
    ),
    Rule(
        "piped",
        rf"\bsudo[ \t]+(?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S\b[^\n|;&]*?<<<[ \t]*(?:{_QUOTE})?",
        r"[^\s\"'|$`\\][^\s\"'\\]*",
        "<<<",
        _not_empty,
    ),
    Rule(
        "seed-phrase",
        r"(?i)(?:mnemonic|(?:seed|recovery) phrase)(?: is)?[\"']?[ \t]*[:=]?[ \t]*[\"']?",
        r"(?-i:(?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
        "mnemonic|phrase",
    ),
)
