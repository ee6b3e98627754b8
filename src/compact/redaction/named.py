"""Secrets with a name: assignments, fields, command-line flags, prose."""

from __future__ import annotations

from compact.redaction import plausible
from compact.redaction.grammar import (
    ANNOTATED,
    API_KEY,
    BARE,
    CLOSE,
    COLON,
    KEY_OWNERS,
    LONG_BARE,
    PASSWORD,
    SAME_LINE_WS,
    SEED_VALUE,
    SEP,
    WS,
    Rule,
    quoted,
    value_only,
)

_SUFFIX = (
    r"(?:s|[_-]?(?:value|string|str|data|b64|base64|plain|raw|prod|dev|test|live|staging|old|new|base|primary|"
    r"secondary|default)|[_-]?\d{1,3}|_id)?"
)
_STRONG = (
    rf"(?:{API_KEY}|{PASSWORD}|passwd|passphrase|passcode|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|"
    rf"private[_-]?key|access[_-]?token|refresh[_-]?token|auth[_-]?token|bearer[_-]?token|"
    rf"connection[_-]?string){_SUFFIX}"
)
_WEAK = rf"(?:pass(?:wd|phrase|code)?|pwd|secret|token|credential|{KEY_OWNERS}[ _-]?key){_SUFFIX}"

_NEEDS_STRONG = r"pass|ap.{1,2}[_-]?.{1,3}ey|pa.{2,4}word|secret|private|token|connection"
_NEEDS_WEAK = "pass|pwd|secret|token|credential|key"
_WEAK_HOLDS = "[0-9]|[A-Za-z]{16}"
_SAME_LINE = rf"{WS}*{COLON}{SAME_LINE_WS}*"
_NEXT_LINE = rf"{WS}*{COLON}{SAME_LINE_WS}*[\r\n]{WS}*"
# More deeply indented than its name, as in YAML, and alone on its line.
_BELOW = r"[ \t]*:[ \t]*\r?\n[ \t]+"
_UNDERLINED = r"[ \t]*\r?\n[ \t]*[=~-]{3,}[ \t]*(?:\r?\n[ \t]*){1,2}"
_ALONE = r"[^\s\"'`:,;<>(){}\[\]\\|#-][^\s]*"
_NOT_SECRET_KEYS = (b"PUBLIC", b"PRIMAR", b"FOREIG", b"CACH", b"SOR", b"PARTITIO", b"IDEMPOTENC")


def _given(value: bytes, before: bytes, after: bytes) -> bool:
    """Any value, except a reference to a secret or a placeholder."""
    if len(value) < 2:
        return True
    stripped = value.strip(b"\"'`,;)")
    if plausible.is_no_value(stripped):
        return False
    return not plausible.is_reference(stripped) and not plausible.is_template(stripped)


def _given_below(value: bytes, before: bytes, after: bytes) -> bool:
    if plausible.is_statement(value) or plausible.is_address(value):
        return False
    return _given(value, before, after)


def _strong_below(value: bytes, before: bytes, after: bytes) -> bool:
    """On the line below a name, where the body of a statement or a mapping is also possible."""
    return after in (b"", b"\r", b"\n") and _strong(value, before, after) and plausible.looks_typed(value)


def _weak_below(value: bytes, before: bytes, after: bytes) -> bool:
    return after in (b"", b"\r", b"\n") and _weak_bare(value, before, after)


def _strong(value: bytes, before: bytes, after: bytes) -> bool:
    return not plausible.is_placeholder(value)


def _weak_quoted(value: bytes, before: bytes, after: bytes) -> bool:
    if len(value) < 8 or b" " in value or value.startswith((b"/", b"~/", b"./", b"http")):
        return False
    likely = plausible.is_random(value) or (value.isalpha() and len(value) >= 16)
    return likely and not plausible.names_no_secret(before)


def _weak_bare(value: bytes, before: bytes, after: bytes) -> bool:
    if len(value) < 8 or after in (b"(", b"[") or value.startswith((b"/", b"~", b"./")):
        return False
    return plausible.is_random(value) and not plausible.names_no_secret(before)


def _env_key(value: bytes, before: bytes, after: bytes) -> bool:
    if before.upper().endswith(_NOT_SECRET_KEYS):
        return False
    return len(value) >= 12 and after not in (b"(", b"[") and plausible.has_key_run(value)


def _flag(value: bytes, before: bytes, after: bytes) -> bool:
    return len(value) >= 4 and not plausible.is_placeholder(value)


_key_run = value_only(plausible.has_key_run)

NAMED: tuple[Rule, ...] = (
    # The two patterns of the requirement, and cases that they would redact only in part.
    Rule("api-key", rf"(?i){API_KEY}{_SAME_LINE}", SEED_VALUE, r"ap.{1,2}[_-]?.{1,3}ey", _given),
    Rule("password", rf"(?i){PASSWORD}{_SAME_LINE}", SEED_VALUE, r"pa.{2,4}word", _given),
    Rule("api-key", rf"(?i){API_KEY}{_NEXT_LINE}", SEED_VALUE, r"ap.{1,2}[_-]?.{1,3}ey", _given_below),
    Rule("password", rf"(?i){PASSWORD}{_NEXT_LINE}", SEED_VALUE, r"pa.{2,4}word", _given_below),
    quoted("named-secret", rf"(?i){_STRONG}{CLOSE}{SEP}", _NEEDS_STRONG, _strong),
    quoted("named-secret", rf"(?i){_STRONG}{ANNOTATED}", _NEEDS_STRONG, _strong),
    Rule(
        "named-secret",
        rf"(?i){_STRONG}(?:\\*[\"'`*\]]){{1,4}}{SEP}",
        BARE,
        _NEEDS_STRONG,
        _strong,
        retry_inside=True,
    ),
    Rule("named-secret", rf"(?i){_STRONG}{CLOSE}{_BELOW}", _ALONE, _NEEDS_STRONG, _strong_below),
    Rule("assignment", rf"(?i){_WEAK}{CLOSE}{_BELOW}", _ALONE, _NEEDS_WEAK, _weak_below, retry_inside=True),
    Rule("heading", rf"(?i)(?:{_STRONG}|{_WEAK}){_UNDERLINED}", _ALONE, _NEEDS_WEAK, _weak_below),
    quoted("assignment", rf"(?i){_WEAK}{CLOSE}{SEP}", _NEEDS_WEAK, _weak_quoted, True, 7, _WEAK_HOLDS),
    quoted("assignment", rf"(?i){_WEAK}{ANNOTATED}", _NEEDS_WEAK, _weak_quoted, True, 7, _WEAK_HOLDS),
    Rule(
        "assignment",
        rf"(?i){_WEAK}{CLOSE}{SEP}",
        LONG_BARE,
        _NEEDS_WEAK,
        _weak_bare,
        retry_inside=True,
        holds=_WEAK_HOLDS,
    ),
    quoted(
        "environment",
        rf"[A-Z0-9]_(?:KEY|PAT|PASS|PSW|CREDS?|AUTH|SALT|DSN){CLOSE}{SEP}",
        r"_key|_pat|_pass|_psw|_cred|_auth|_salt|_dsn",
        _env_key,
        retry_inside=True,
    ),
    Rule(
        "environment",
        rf"[A-Z0-9]_(?:KEY|PAT|PASS|PSW|CREDS?|AUTH|SALT|DSN){CLOSE}{SEP}",
        BARE,
        r"_key|_pat|_pass|_psw|_cred|_auth|_salt|_dsn",
        _env_key,
        retry_inside=True,
    ),
    Rule("netrc", r"(?i)\blogin\s+\S+\s+password\s+", r"\S+", "login"),
    Rule(
        "sql",
        r"(?i)(?:identified\s+(?:with\s+\w+\s+)?by|(?:with|encrypted|set)\s+password)\s+[\"']",
        r"[^\"'\n]+",
        r"identified|password",
        _strong,
    ),
    Rule("quoted-password", r"(?i)password\s+[\"'`]", r"[^\"'`\n]+", "password", _key_run),
    Rule(
        "prose",
        r"(?i)pass(?:word|phrase|code)\s+(?:is|was|set\s+to|changed\s+to|reset\s+to)\s*:?\s*[\"'`]?",
        r"[^\s\"'`,;]+",
        "password|passphrase|passcode",
        _key_run,
    ),
    Rule(
        "prose",
        r"(?i)(?:key|token|secret)\s+(?:is|was|set\s+to)\s*:?\s*[\"'`]?",
        r"[^\s\"'`,;]+",
        "key|token|secret",
        lambda value, before, after: len(value) >= 16 and plausible.has_key_run(value),
    ),
    Rule(
        "assignment",
        rf"(?i)\b(?:key|auth|session){CLOSE}{SEP}(?:\\*[\"'])?",
        BARE,
        rf"(?:key|auth|session){CLOSE}{SEP}",
        value_only(plausible.is_surely_random),
        retry_inside=True,
    ),
    Rule(
        "markup",
        r"(?i)<[\w:.-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key)>",
        r"[^<\s\"'`)\]][^<\n]*",
        "password>|passwd>|passphrase>|secret>|token>|key>",
        _strong,
    ),
    Rule("docker-auth", r"\"auth\\*\"\s*:\s*\\*\"", r"[A-Za-z0-9+/]{8,}={0,2}", r"\"auth\\*\""),
    Rule("npmrc", r"_auth(?:Token)?\s*=\s*", r"[^\s\"']{6,}", "_auth", _strong),
    Rule("connection-string", r"(?i)[;\"'\s](?:pwd|passwd)=", r"[^;\s\"']+", r"pwd=|passwd=", _flag),
    Rule(
        "connection-string",
        r"(?i)(?:AccountKey|SharedAccessKey|SharedSecretValue|SharedAccessSignature)=",
        r"[A-Za-z0-9+/=%&_-]{12,}",
        r"accountkey|sharedaccess|sharedsecret",
    ),
)
