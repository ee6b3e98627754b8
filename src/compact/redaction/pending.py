"""Which parts of a text may become a secret when more arrives."""

from __future__ import annotations

import functools
from typing import Any

from compact.redaction.blocks import block_scalars
from compact.redaction.decode import Decoded
from compact.redaction.engine import Span, compile_bytes
from compact.redaction.grammar import API_KEY, PASSWORD, WS
from compact.redaction.prose import foreign_passwords
from compact.redaction.scan import decoded_rules
from compact.redaction.separators import CODES, CODES_LIST
from compact.redaction.shapes import KEY_BEGIN, KEY_BODY, KEY_LINES
from compact.redaction.tables import tables


def waits_from(text: bytes, pii: frozenset[str]) -> tuple[int, bytes]:
    """Where the part of `text` begins that must wait for more, or its length if nothing must wait; and the
    header, with its line break, of the table that is still open at the end, if any."""
    waiting = _waiting(pii).search(text)
    raw = len(text) if waiting is None else waiting.start()
    decoded = Decoded(text)
    data = decoded.data
    start = min(_line_from(data), _block_from(data))
    if data is not text and (waiting := _waiting(pii).search(data)) is not None:
        start = min(start, waiting.start())
    table, header = _open_table(data), b""
    if table is not None:
        begin, stop = decoded.back([(table[0], table[1] + 1)])[0]
        header = text[begin:stop]
        row = data.rfind(b"\n") + 1
        # A stream can stop only between rows, and only if the line break is not escaped.
        start = min(start, row if decoded.back([(row - 1, row)])[0][1] == _last_break(text) else table[0])
    return (
        raw if start >= len(data) else min(raw, decoded.back([(start, start + 1)])[0][0]),
        header,
    )


def _last_break(text: bytes) -> int:
    return text.rfind(b"\n") + 1


def _line_from(data: bytes) -> int:
    """The start of an unfinished line that may match a rule, or of the name that the line is the value of."""
    line = data.rfind(b"\n") + 1
    above = data[:line].rstrip()
    if above.endswith((b":", b"=", b"\xef\xbc\x9a")):
        line = above.rfind(b"\n") + 1
    return line if decoded_rules().may_find(data[line:]) or _call().search(data, line) else len(data)


def _block_from(data: bytes) -> int:
    start = block_scalars().find_open(data, [])
    return len(data) if start is None else start


def _open_table(data: bytes) -> Span | None:
    """The header of a table that is still open after the finished lines of `data`."""
    return tables().find_open(data[: data.rfind(b"\n") + 1], None)


@functools.cache
def _call() -> Any:
    return compile_bytes(
        r"(?i)(?:pass|pwd|secret|token|key|auth|log|sign|cred|bind|connect|pdo|user)\w*\([^\n]*\z"
    )


@functools.cache
def _waiting(pii: frozenset[str]) -> Any:
    """Matches, at the end of a text, anything that may become a secret when more arrives."""
    names = "pass|pwd|secret|token|credential|key|auth|session|psw|psk|pw|_pat|_salt|_dsn"
    name = rf"(?:{API_KEY}|{PASSWORD}|{foreign_passwords()}|mot|mot de|{names})[a-z0-9_-]*"
    quote = r"(?:\\*[\"'`*\]]?){0,4}"
    open_value = (
        rf"(?:{WS}|[:=>|*~`?+,]|(?-i:\xef\xbc[\x9a\x9d])|value[:=]|"
        r"[A-Za-z_][A-Za-z_.|\[\] ]{0,32}=)*[bfru]{0,2}"
        r"(?:\\*\"(?:[^\"\\\n]|\\[^\n])*|\\*'(?:[^'\\\n]|\\[^\n])*|`[^`\n]*)?"
    )
    header = (
        r"(?:authorization|cookie|bearer|basic|sshpass|identified|login)\s*(?:[^\n]*|[^\n]*\n\s*)"
        r"|(?:curl|mysql|openssl|htpasswd|ldap|redis-cli|convertto|define|unseal|mnemonic|seed phrase|"
        r"recovery phrase|https?\s|echo\s|printf\s|sudo\s)[^\n]*|"
        rf"{CODES}(?:{CODES_LIST})*[A-Za-z0-9-]*|"
        r"auth(?:\s*=\s*)?\([^)\n]*|\s--?[a-z-]+[ \t]*[\"']?"
    )
    key = rf"-{{4,5}} ?(?:BEGIN [A-Z0-9 ]*)?|{KEY_BEGIN}{KEY_BODY}*|{KEY_LINES}|Private-Lines:[^{{}}]*"
    prose = r"(?:pass(?:word|phrase|code)|key|token|secret)\s+(?:[a-z]+\s+){0,2}[:\s]*[\"'`]?"
    pair = r"(?-i:(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;|/\"'\\]*)"
    shapes = [rf"{name}{quote}{open_value}", header, key, prose, pair]
    if pii & {"phone", "card"}:
        shapes.append(r"[+(]?\d[\d ().-]*")
    return compile_bytes(rf"(?i)(?:{'|'.join(shapes)})\z")
