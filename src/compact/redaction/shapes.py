"""Secrets recognized by their shape or place: tokens, key blocks, headers, URLs."""

from __future__ import annotations

from compact.redaction import plausible
from compact.redaction.grammar import BORDER, WS, Rule, value_only
from compact.redaction.vendors import BORDERED, DISTINCT, SURE_AFTER_BORDER


def _either(shapes: tuple[tuple[str, str], ...]) -> str:
    return "|".join(shape for _, shape in shapes)


def _credentials(value: bytes, before: bytes, after: bytes) -> bool:
    rest = value.partition(b" ")[2]
    return not plausible.is_placeholder(rest) and (
        plausible.has_key_run(rest) or len(rest) >= 20 or (len(rest) >= 16 and b" " not in rest)
    )


def _basic(value: bytes, before: bytes, after: bytes) -> bool:
    # A capital after the first letter: "Basic understanding1" is prose.
    mixed = any(65 <= byte <= 90 for byte in value[1:])
    return len(value) >= 12 and (value.endswith(b"=") or (mixed and plausible.has_key_run(value)))


def _card(value: bytes, before: bytes, after: bytes) -> bool:
    return not (before[-1:].isalnum() or after.isalnum()) and plausible.passes_luhn(value)


def _phone(value: bytes, before: bytes, after: bytes) -> bool:
    return not (before[-1:].isalnum() or after.isalnum()) and plausible.is_phone(value)


_key_run = value_only(plausible.has_key_run)
_SPACE = r"(?: |%20|\+)"
_FENCE_NAME = rf"(?:[A-Z0-9 +]|%20){{0,40}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?{_SPACE}?-{{4,5}}"
KEY_BEGIN = rf"-{{4,5}}{_SPACE}?BEGIN{_SPACE}{_FENCE_NAME}"
_END = rf"-{{4,5}}{_SPACE}?END{_SPACE}{_FENCE_NAME}"
_COLOR = r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}[mK]"
# Base64, escapes, indentation, headers, quotes of a source file or a diff; colors, percent codes, and the
# arrows and bars after line numbers; at the start of a line any short mark that is not base64.
KEY_BODY = (
    rf"(?:[A-Za-z0-9+/=\s\\:,.\"'()<>&#|*;@_-]|{_COLOR}|%[0-9A-Fa-f]{{2}}|\xe2[\x80-\x9f][\x80-\xbf]|"
    r"\xc2[\xa0-\xbf]|\n[^A-Za-z0-9+/=\n{}\[\]]{0,16}|\n[ \t]*\[[^\[\]{}\n]{0,40}\])"
)
# A key whose first lines are cut off: lines of base64 up to END, each after a short mark or a number.
_LINE_MARK = rf"(?:{_COLOR}|[^A-Za-z0-9+/=\n]){{0,16}}(?:\d{{1,6}}(?:{_COLOR}|[^A-Za-z0-9+/=\n]){{1,8}})?"
_LINE_TEXT = r"(?:[A-Za-z0-9+/]|%2[BbFf])"
_LINE_END = rf"(?:=|%3[Dd]){{0,2}}(?:{_COLOR}|[\"',;+ \t]){{0,8}}(?:\r?\n|(?:\\+[nr])+|(?:%0[AaDd])+)"
_KEY_TAIL = (
    rf"{_LINE_TEXT}{{8,}}{_LINE_END}(?:{_LINE_MARK}{_LINE_TEXT}{{8,}}{_LINE_END})*?"
    rf"(?:{_LINE_MARK}{_LINE_TEXT}{{1,8}}{_LINE_END})?{_LINE_MARK}\+?{_END}"
)
# The same before END has arrived.
KEY_LINES = (
    rf"{_LINE_TEXT}{{8,}}{_LINE_END}(?:{_LINE_MARK}{_LINE_TEXT}{{8,}}{_LINE_END})*"
    rf"(?:{_LINE_MARK}{_LINE_TEXT}{{1,8}}{_LINE_END})?"
    rf"{_LINE_MARK}\+?(?:-{{1,5}}(?:{_SPACE}?END(?:[A-Z0-9 +-]|%20)*)?)?"
)
_URL_USER = r"://[^\s/?#:@\"'<>\\`]*:"
_HEADER = rf"(?:\\*[\"']){{0,2}}{WS}*[:=]{WS}*(?:\\*[\"']){{0,2}}"

SHAPES: tuple[Rule, ...] = (
    Rule("vendor-token", "", _either(DISTINCT), None),
    Rule("provider-key", BORDER, _either(SURE_AFTER_BORDER), "sk-"),
    Rule("vendor-token", BORDER, _either(BORDERED), None, _key_run),
    # A separate rule: it waits for a dot while others match inside it.
    Rule("jwt", "", r"eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*){0,3}", "eyj"),
    Rule("aws-pair", r"(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;|/\"'\\]{1,8}", r"[A-Za-z0-9/+]{40}", "akia|asia"),
    Rule(
        "private-key",
        "",
        rf"{KEY_BEGIN}{KEY_BODY}*?(?:{_END}|$)|{KEY_BEGIN}{KEY_BODY}*",
        r"private(?: |%20|\+)key",
        value_only(plausible.holds_key_material),
    ),
    Rule(
        "private-key",
        "",
        _KEY_TAIL,
        r"end(?: |%20|\+)(?:[a-z0-9 +]|%20){0,40}private(?: |%20|\+)key",
        value_only(plausible.holds_key_material),
    ),
    Rule("private-key", r"Private-Lines: \d+\s+", r"(?:[A-Za-z0-9+/=]+\s?)+", "private-lines"),
    Rule(
        "private-key", r"\"(?:d|dp|dq|qi)\\*\"\s*:\s*\\*\"", r"[A-Za-z0-9_-]{32,}", r"\"(?:d|dp|dq|qi)\\*\""
    ),
    Rule("private-key", r"client-key-data\"?\s*:\s*\"?", r"[A-Za-z0-9+/=]{16,}", "client-key-data"),
    Rule(
        "authorization",
        rf"(?i)authorization{_HEADER}",
        r"(?:basic|bearer|token|digest|negotiate|api-?key|aws4-hmac-sha256|ntlm|key|signature|ssws|geniekey|"
        r"api-?token|bot|splunk|sso-key|oauth|jwt|hawk|apikey|pvetoken)[ \t]+"
        r"[^\r\n\"'\\]+",
        "authorization",
        _credentials,
    ),
    Rule(
        "authorization",
        rf"(?i)authorization{_HEADER}",
        r"[^\s\"'\\,;=:]{8,}={0,2}",
        "authorization",
        value_only(plausible.is_random),
    ),
    Rule(
        "bearer", r"(?i)bearer\s+", r"[A-Za-z0-9._~+/-]{8,}={0,2}", "bearer", value_only(plausible.is_bearer)
    ),
    Rule("basic", r"(?i)\bbasic\s+", r"[A-Za-z0-9+/]{8,}={0,2}", "basic", _basic),
    Rule("cookie", rf"(?i)cookie2?{_HEADER}", r"[^\s=;,\"'\\:(){}<>]{1,64}=[^\r\n\"'\\]+", "cookie"),
    Rule("cookie", r"(?:\s-b|--cookie)[ =][\"']?", r"[^\s=;\"']{1,64}=[^\"'\n]+", r"\s-b|--cookie"),
    Rule(
        "session-cookie",
        r"(?i)(?:PHPSESSID|JSESSIONID|ASPSESSIONID[A-Z]*|ASP\.NET_SessionId|connect\.sid|sessionid|csrftoken|"
        r"xsrf-token|laravel_session|__(?:Host|Secure)-[\w.-]{1,40}|_[a-z]+_session|remember_(?:user_)?token)=",
        r"[^\s;,\"'&<>]{6,}",
        r"sess[a-z]*=|connect\.sid=|csrftoken=|xsrf-token=|__host-|__secure-|remember_[a-z_]*token=",
    ),
    # What begins with $, { or * is a variable or an already hidden password.
    Rule("url-password", _URL_USER, r"[^\s/\"'<>\\`${*][^\s/\"'<>\\`]*", "://", tail="@", until=":"),
    Rule(
        "url-password",  # With a slash in it; a port and a path look similar, but a port has only digits.
        _URL_USER,
        r"[^\s/\"'<>\\`@]*[^\s/\"'<>\\`@0-9][^\s/\"'<>\\`@]*/[^\s\"'<>\\`@]*",
        "://",
        tail="@",
        until=":",
    ),
    Rule("url-token", r"://", r"[^\s/:@\"'<>\\`?#]{16,}", "://", _key_run, tail="@"),
    Rule("connection-string", r"(?i)jdbc:oracle:\w+:[\w.$#-]+/", r"[^\s@\"']+", "jdbc:oracle", tail="@"),
    Rule(
        "signed-url",
        r"(?i)(?:[?&;](?:sig|signature)|X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential))=",
        r"[^&\s\"'<>\\]{8,}",
        r"sig=|signature=|x-amz-|x-goog-",
        _key_run,
    ),
    Rule(
        "url-parameter",
        r"(?i)[?&#](?:access_token|refresh_token|id_token|auth_token|token|key|secret|pwd|pass|auth|code|"
        r"client_secret|session|jwt)=",
        r"[^&\s\"'#<>\\]{6,}",
        r"token=|key=|secret=|pwd=|pass=|auth=|code=|session=|jwt=",
        value_only(plausible.is_random),
    ),
    Rule(
        "webhook",
        r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|"
        r"webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|api\.telegram\.org/bot)",
        r"[A-Za-z0-9/_@:.-]{12,}",
        r"hooks\.|webhook|telegram\.org",
    ),
)

PII: tuple[Rule, ...] = (
    Rule("email", "", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}", "@"),
    Rule("card", "", r"\d(?:[ -]?\d){12,18}", r"\d", _card),
    Rule(
        "phone",
        "",
        r"\+\d[\d ().-]{6,18}\d|\(?\d{2,4}\)?[ .-]\d{3,4}[ .-]\d{3,5}(?:[ .-]\d{2,4})?",
        r"\d",
        _phone,
    ),
)
