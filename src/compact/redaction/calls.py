"""Secrets as arguments of a call: `setPassword("...")`, `login("me", "...")`.

These rules read the decoded text (`decode.py`), so they need not handle escapes.
"""

from __future__ import annotations

import re

from compact.redaction import plausible
from compact.redaction.grammar import Check, Rule

# Not `get`, `read`, `ask`: their argument says where the secret is, or is the prompt.
_VERBS = (
    r"(?:set|with|use|put|add|change|update|reset|check|verify|validate|hash|encrypt|decrypt|compare|create|store|save|"
    r"assert|expect|make|new|from|configure|enter|type|fill|send|login|log_?in|auth|match|test|is|unlock|protect)\w{0,16}?"
)
_BORDER = r"(?:^|[^\w$])"
_PASSWORD = r"(?:password|passwd|passphrase|passcode|hashpw|pwd)"
_KEY = r"(?:secret|api_?key|token|bearer|private_?key|secret_?key|access_?key|signing_?key|credentials?|pin)"
_LOGIN = (
    r"(?:do|user|try|ftp|smtp|imap|admin|ssh)?_?(?:login|log_?in|logon|log_?on|sign_?in|authenticate|auth|basic_?auth|"
    r"digest_?auth|simple_?bind(?:_s)?|credentials?)(?:_?user|_?as|_?with(?:_?password)?)?|"
    r"(?:set|with|use|add|new)_?(?:basic_?)?(?:auth(?:entication)?|credentials?)|"
    r"(?:network|basic|basic_?aws|static|plain|username_?password|user_?password|client)_?credentials?|password_?authentication|"
    r"http_?(?:basic|digest)_?auth|plain_?text_?auth_?provider|plain_?authenticator|sasl_?plain|username_?password\w{0,24}"
)
_CONNECT = (
    r"mysqli?_(?:p?connect|real_connect)|ssh2_auth_password|plain_?auth|get_?connection|(?:new[ \t]+)?"
    r"(?:pdo|mysqli)|oci_connect|odbc_connect|sqlsrv_connect|ftp_login|imap_open|ldap_bind|connect|create_?connection|create_?user|add_?user|register(?:_?user)?"
)
_QUOTED = r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|`[^`\n]{0,200}`)"
_NAME = r"[\w.$>:\[\]-]{1,60}(?:\([^()\n\"']{0,40}\))?"
_ARGUMENT = rf"(?:[brfu]{{0,2}} {{0,7}}{_QUOTED}|{_NAME})\s*,\s*"
_VALUE = r"[^\"'`\n]+"
_OPEN = r"[brfu@$]{0,2} {0,7}[\"'`]"
_NO_VALUE = re.compile(
    rb"(?i)utf-?8|ascii|sha-?\d+|md5|bcrypt|argon2\w*|scrypt|pbkdf2\w*|hex|base64|plain|basic|digest|bearer|default|required|"
    rb"submit|next|page|click|change|input|button|error|success|failed|invalid|missing|get|post|put|string|text|user(?:name)?|"
    rb"email|login|local|jwt|google|github|facebook|oauth2?|saml|ldap|session|token|password|passwd|secret|admin|root|guest"
)


def _says_more(value: bytes) -> bool:
    if (
        len(value) < 4
        or plausible.is_placeholder(value)
        or plausible.is_code(value)
        or _NO_VALUE.fullmatch(value)
    ):
        return False
    if plausible.has_key_run(value):
        return True
    return (
        b" " not in value
        and not value.startswith((b"/", b"#", b".", b"http"))
        and not value.endswith((b":", b"?"))
    )


def _plain(value: bytes, before: bytes, after: bytes) -> bool:
    return _says_more(value) and not re.search(rb"(?i)pass|secret|token|cred|pwd", value)


def _login(value: bytes, before: bytes, after: bytes) -> bool:
    return _says_more(value)


def _typed(value: bytes, before: bytes, after: bytes) -> bool:
    return plausible.looks_typed(value) and _says_more(value) and not any(byte in b"/ <>" for byte in value)


def _call(name: str, skipped: str, needs: str, check: Check) -> Rule:
    return Rule(
        "call",
        rf"(?i){_BORDER}(?:{name})\(\s*{skipped}{_OPEN}",
        _VALUE,
        rf"(?:{needs})\w*\([^\"'`)\n]*[\"'`]",
        check,
    )


_PASSWORD_CALL = rf"(?:{_VERBS})?{_PASSWORD}\w{{0,12}}"
_KEY_CALL = rf"(?:{_VERBS})?{_KEY}\w{{0,12}}"

CALLS: tuple[Rule, ...] = (
    _call(_PASSWORD_CALL, "", _PASSWORD, _plain),
    _call(_PASSWORD_CALL, rf"(?:{_ARGUMENT}){{1,3}}", _PASSWORD, _login),
    _call(_KEY_CALL, rf"(?:{_ARGUMENT}){{0,3}}", _KEY, _typed),
    _call(_LOGIN, _ARGUMENT, _LOGIN, _login),
    _call(rf"{_LOGIN}|{_CONNECT}", rf"{_ARGUMENT}{_ARGUMENT}", rf"{_LOGIN}|{_CONNECT}", _typed),
    _call(_CONNECT, _ARGUMENT, _CONNECT, _typed),
)
