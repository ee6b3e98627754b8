"""What a text is made of: sentences; and of a user's message, what is the user's own and what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from compact.model.value import value

_TITLE = r"(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\b[A-Z][a-z][a-z]\.)"
"""After "Dr." and "Mrs." the sentence goes on."""
_END = re.compile(
    rf"(?<=[.!?…]){_TITLE}[\"”»)*_`]*[ \t]+(?=[\"“«(*`\[¿¡]?[^\Wa-z_])"
    r"|(?<=[。！？])(?=[^」』”\"])|[ \t]*\n\s*"
)
_WRAPPED = re.compile(r"(?<=[^\s.!?:;。！？])[ \t]*\n(?=[^\W\d_])(?=[^\WA-Z])")
BULLET = re.compile(r"[ \t]*(?:[-*•–+]|\d{1,3}[.)]|\(?[a-z]\)|#{1,6})[ \t]+")
_FENCE = re.compile(r"[ \t]*(```|~~~|\"\"\"|''')")
_TAG = re.compile(r"[ \t]*<([A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?>")
_FORWARDED = re.compile(r"[ \t]*[-_=*]{2,}\s*[^\W\d_][^\n]{2,60}?\s*[-_=*]{2,}:?\s*$")
_HEADER = re.compile(r"[ \t]*\*{0,2}[^\W\d_][\w -]{1,14}\*{0,2}: ?\S[^\n]*$")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w|<[^<>\s]+@")
_DIFF = re.compile(r"(?:diff --git |index [0-9a-f]{6,}|--- \S|\+\+\+ \S|@@ )")
_DIFF_BODY = re.compile(r"[-+ @\\]|diff --git |index |$")
_NUMBERED = re.compile(r"[ \t]*\d{1,6}(?:[ \t]*[:|│\t]|[ \t]{2,})[ \t]*\S")
_LOGGED = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d{1,2}:\d\d:\d\d\b|\[?(?:DEBUG|INFO|WARN|ERROR|FATAL|TRACE)\b|"
    r"Traceback \(most recent|File \"|at \S+\(|\$ \S|[{}\[\]();]+,?\s*$|\"[\w-]+\": )"
)
_CODE_END = re.compile(r"[{};]\s*$|\)\s*:\s*$")
_INLINE = re.compile(
    r"“[^”\n]+”|\"[^\"\n]+\"|«[^»\n]+»|„[^“”\n]+[“”]|「[^」\n]+」|『[^』\n]+』|‘[^’\n]{20,}’"
)
_LIST_LINE = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s")
_QUOTED_WORDS = 5
_QUOTED_CHARS = 12
"""From so many words (characters, where no blanks part the words) on a quotation is somebody's sentence."""
_LONG_PASTE = 160


class Whose(IntEnum):
    OWN = 0
    DOUBTFUL = 1
    """Reads as the user's own, but may be a text that the user asks about."""
    SHOWN = 2
    """Quoted, pasted, forwarded: nobody's word."""


@value
class Piece:
    text: str
    whose: Whose


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without bullets; a line break ends one unless the next line goes on small."""
    if "\n" in text:
        text = _WRAPPED.sub(" ", text)
    for sentence in _END.split(text):
        bullet = BULLET.match(sentence)
        sentence = sentence[bullet.end() :].strip() if bullet else sentence.strip()
        if sentence:
            yield sentence


def without_code(text: str) -> str:
    """An assistant's text without fenced code."""
    return "\n".join(text.split("```")[::2]) if "```" in text else text


def pieces(text: str) -> list[Piece]:
    """A user's message as what is the user's own and what is shown, in order."""
    if "\n" not in text:
        return [Piece(text, _whose_line(text))] if text.strip() else []
    lines = text.split("\n")
    shown = _shown_lines(lines)
    found: list[Piece] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and shown[end] == shown[at]:
            end += 1
        block = "\n".join(lines[at:end]).strip("\n")
        if block.strip():
            if shown[at]:
                found.append(Piece(block, Whose.SHOWN))
            else:
                found += _own_blocks(block, opens=not found)
        at = end
    return found


def _whose_line(text: str) -> Whose:
    if any(_is_sentence(quoted) for quoted in _INLINE.findall(text)) or _TAG.search(text):
        return Whose.DOUBTFUL
    return Whose.OWN


def _is_sentence(quoted: str) -> bool:
    return len(quoted.split()) >= _QUOTED_WORDS or (not quoted.isascii() and len(quoted) >= _QUOTED_CHARS)


def _own_blocks(block: str, opens: bool) -> Iterator[Piece]:
    """Paragraphs; after one that leads in ("Is this spam?", "my notes:") a long one may be another's text."""
    led_in = False
    for paragraph in re.split(r"\n[ \t]*\n", block):
        if not paragraph.strip():
            continue
        lines = paragraph.strip().split("\n")
        doubtful = led_in and not all(map(_LIST_LINE.match, lines))
        for line in lines:
            whose = Whose.DOUBTFUL if doubtful else _whose_line(line)
            yield Piece(line, whose)
            doubtful = doubtful or (
                line.rstrip().endswith((":", "：")) and len(paragraph) - len(line) > _LONG_PASTE
            )
        led_in = led_in or (paragraph.rstrip()[-1] in "?:？：" and len(block) - len(paragraph) > _LONG_PASTE)


def _shown_lines(lines: list[str]) -> list[bool]:
    """For each line whether it is quoted or pasted."""
    shown = [False] * len(lines)
    at = 0
    while at < len(lines):
        end = _shown_until(lines, at)
        for number in range(at, end):
            shown[number] = True
        at = max(end, at + 1)
    return shown


def _shown_until(lines: list[str], at: int) -> int:
    """Where what begins to be shown at this line ends; the line itself where nothing does."""
    line = lines[at]
    if fence := _FENCE.match(line):
        if line.count(fence[1]) > 1:
            return at + 1
        closing = (n for n in range(at + 1, len(lines)) if fence[1] in lines[n])
        return next(closing, len(lines) - 1) + 1
    if tag := _TAG.match(line):
        closing = (n for n in range(at, len(lines)) if f"</{tag[1]}" in lines[n])
        return next(closing, at - 1) + 1
    if _FORWARDED.match(line) or _is_mail(lines, at):
        return len(lines)
    if _DIFF.match(line):
        return _run(lines, at, _DIFF_BODY)
    if line.lstrip()[:1] in (">", "｜", "┃", "│") and line.strip() != ">":
        return at + 1
    for kind in (_NUMBERED, _LOGGED, _CODE_END):
        if kind.search(line) if kind is _CODE_END else kind.match(line):
            end = _run(lines, at, kind)
            if end - at >= 2 or (kind is _LOGGED and len(line) > _LONG_PASTE // 2):
                return end
    return at


def _run(lines: list[str], at: int, kind: re.Pattern[str]) -> int:
    end = at
    while end < len(lines) and (kind.search(lines[end]) if kind is _CODE_END else kind.match(lines[end])):
        end += 1
    return end


def _is_mail(lines: list[str], at: int) -> bool:
    """Two lines or more such as "From: Ada <ada@example.org>", with an address among them."""
    end = at
    while end < min(len(lines), at + 8) and _HEADER.match(lines[end]):
        end += 1
    return end - at >= 2 and any(_ADDRESS.search(line) for line in lines[at:end])
