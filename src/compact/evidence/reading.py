"""Split a text into sentences, and a user's message into the user's own words and quoted text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from unicodedata import category

from compact.evidence.values import CODE
from compact.model.value import value

_NO_END = "".join(
    rf"(?<!{before}{short}\.)"
    for before in (r"\s", "^")
    for short in ("[A-Z]", "[A-Z][a-z]", "[A-Z][a-z][a-z]", r"\d", r"\d\d")
)
"""After "Dr.", "Mrs." or the "2." of a list the sentence goes on; after "part XB-7-C." it does not."""
_END, _END_IN_LOWERCASE = (
    re.compile(
        rf"[.!?…؟۔।。！？](?:(?<![。！？]){no_end}[\"”»)*_`]*[ \t]+(?=[\"“«(*`\[¿¡]?[^\W{begins_no}_])"
        r"|(?<=[。！？])(?=[^」』”\"]))"
    )
    for no_end, begins_no in ((_NO_END, "a-z"), (_NO_END + r"(?<![\s.][a-z]\.)", r"\d"))
)
"""Starts with the mark itself, which stays: a search for one of a few characters is the fastest. Where a line
begins in lowercase, so do its sentences."""
_MAY_WRAP = re.compile(r"\n(?=[^\W\d_])(?=[^\WA-Z])")
_WRAPPED = re.compile(r"(?<=[^\s.!?:;。！？])[ \t]*\n(?=[^\W\d_])(?=[^\WA-Z])")
BULLET = re.compile(r"[ \t]*(?:[-*•–+]|\d{1,3}[.)]|\(?[a-z]\)|#{1,6})[ \t]+")
_FENCE = re.compile(r"[ \t]*(```|~~~|\"\"\"|''')")
_TAG = re.compile(r"[ \t]*<([A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?>")
_BLOCK = re.compile(r"\s*<([A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?>(.*?)</\1>", re.DOTALL)
_MARKUP = re.compile(rf"{_TAG.pattern}|\\[A-Za-z]+\{{")
_CLOSING = re.compile(r"</([A-Za-z][\w:.-]*)")
_FORWARDED = re.compile(r"[ \t]*[-_=*]{4,}\s*[^\W\d_][^\n]{2,60}?\s*[-_=*]{4,}:?\s*$")  # not a heading
# A command in a fence belongs to the sentence that ends with a colon right before it.
_ORDERED = re.compile(
    r"(?<=[:：])[ \t]*\n{1,2}[ \t]*```\w*[ \t]*\n[ \t]*([^\n`]{1,160})\n[ \t]*```[ \t]*$", re.M
)
_HEADER = re.compile(r"[ \t]*\*{0,2}[^\W\d_][\w -]{1,14}\*{0,2}: ?\S[^\n]*$")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w|<[^<>\s]+@")
_DIFF = re.compile(r"(?:diff --git |index [0-9a-f]{6,}|--- \S|\+\+\+ \S|@@ )")
_DIFF_BODY = re.compile(r"[-+ @\\]|diff --git |index |$")
_NUMBERED = re.compile(r"[ \t]*\d{1,6}(?!:\d\d\b)(?:[ \t]*[:|│\t]|[ \t]{2,})[ \t]*\S")  # not a time
_LOGGED = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d{1,2}:\d\d:\d\d\b|\[?(?:DEBUG|INFO|WARN|ERROR|FATAL|TRACE)\b|"
    r"Traceback \(most recent|File \"|at (?:async )?\S+(?:\(| \([^()\n]+:\d+:\d+\))|[$➜❯] \S|"
    r"[{}\[\]();]+,?\s*$|\"[\w-]+\": )"
)
_LABELED = re.compile(r"[ \t]*\[[^\[\]\n]{2,40}\][ \t]+\S")
_SPEAKER = re.compile(r"[ \t]*(?:\[[^\[\]\n]{2,30}\][ \t]*)?([^\W\d_][\w .'-]{0,24}): ?\S")
_OPENED = re.compile(r"[ \t]*(<{2,8}|\[{2,8}|\{{2,8})[ \t]*[^\W\d_]")
_MIRRORED = str.maketrans("<[{", ">]}")
_CODE_END = re.compile(r".*(?:[{};]|\)\s*:)\s*$")
_INLINE = re.compile(
    r"“[^“”\n]+”|\"[^\"\n]+\"|«[^«»\n]+»|»[^«»\n]+«|”[^“”\n]+”|„[^„“”\n]+[“”]"
    r"|‹[^‹›\n]+›|›[^‹›\n]+‹|‚[^‚‘’\n]+[‘’]|「[^「」\n]+」|『[^『』\n]+』|《[^《》\n]+》|【[^【】\n]+】"
    r"|‘[^‘’\n]{20,}’|(?<!\w)'{1,2}[^'\n]+'{1,2}(?!\w)"
)
_MAY_QUOTE = re.compile(r"[“\"«»”„‹›‚「『《【‘'](?<!\w')")  # most short texts have none of these
LIST_LINE = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s")
_QUOTED_WORDS = 5  # a quotation of at least that many is somebody's sentence
_LONG_PASTE = 160
_MANY_LINES, _WORDY_LINES = 8, 3  # a dump has more lines, and never so many lines of words in a row


class Whose(IntEnum):
    OWN = 0
    DOUBTFUL = 1  # reads as the user's own, but may be a text that the user asks about
    SHOWN = 2  # quoted, pasted or forwarded: not the user's word


@value
class Piece:
    text: str
    whose: Whose


def sentences(text: str) -> list[str]:
    """The sentences of a text, without bullets. A line break ends one unless a lowercase line follows."""
    if "\n" not in text:
        return _in_line(text)
    if _MAY_WRAP.search(text):
        text = _WRAPPED.sub(" ", text)
    return [sentence for line in text.split("\n") for sentence in _in_line(line.strip())]


def _in_line(line: str) -> list[str]:
    start = 0
    found = []
    for end in (_END_IN_LOWERCASE if line[:1].islower() else _END).finditer(line):
        found.append(_bare(line[start : end.end()]))
        start = end.end()
    found.append(_bare(line[start:] if start else line))
    return found if all(found) else list(filter(None, found))


def _bare(sentence: str) -> str:
    """Without its bullet."""
    if not sentence[:1].isalpha() or sentence[1:2] == ")":
        bullet = BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
    return sentence.strip()


def pieces(text: str) -> list[Piece]:
    """A user's message split into the user's own words and quoted text, in order."""
    text = _ORDERED.sub(r" `\1`", text) if "```" in text else text
    inside = _unwrapped(text)
    found = pieces_as_written(inside or text)
    return [Piece(one.text, max(one.whose, Whose.DOUBTFUL)) for one in found] if inside else found


def pieces_as_written(text: str) -> list[Piece]:
    """The same, with what tags enclose as quoted text, even if they enclose all of it."""
    if "\n" not in text and not _TAG.match(text):
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


def _unwrapped(text: str, levels: int = 3) -> str:
    """What is inside if tags enclose all of a message: a person would say why, so a program put them."""
    at, end, inside = 0, len(text.rstrip()), list[str]()
    while at < end and (block := _BLOCK.match(text, at)):
        at = block.end()
        shows = not CODE["shows"].isdisjoint(re.split(r"[\W_]+", block[1].lower()))
        within = levels and not shows and _unwrapped(block[2], levels - 1)
        inside.append(within or (block[0] if shows else block[2]).strip())
    return "\n\n".join(inside) if at >= end else ""


def take_quotations(text: str, words: int = _QUOTED_WORDS) -> tuple[str, list[str]]:
    """A text without its long quotations, and those quotations."""
    plain = text.isascii() and '"' not in text and "'" not in text
    if plain or not _MAY_QUOTE.search(text):
        return text, []
    taken: list[str] = []

    def take(quoted: re.Match[str]) -> str:
        # In scripts without spaces, a word has about two characters.
        if len(quoted[0].split()) < words and (quoted[0].isascii() or len(quoted[0]) < 2 * words + 2):
            return quoted[0]
        taken.append(quoted[0])
        return " "

    return _INLINE.sub(take, text), taken


def _whose_line(text: str) -> Whose:
    marked_up = ("<" in text or "\\" in text) and _MARKUP.search(text)
    return Whose.DOUBTFUL if marked_up or take_quotations(text)[1] else Whose.OWN


def _own_blocks(block: str, opens: bool) -> Iterator[Piece]:
    """Paragraphs; a long one after a lead-in ("Is this spam?", "my notes:") may be somebody else's text."""
    led_in = False
    for paragraph in re.split(r"\n[ \t]*\n", block):
        if not paragraph.strip():
            continue
        lines = paragraph.strip().split("\n")
        doubtful = led_in and not all(map(LIST_LINE.match, lines))
        for line in lines:
            whose = Whose.DOUBTFUL if doubtful else _whose_line(line)
            yield Piece(line, whose)
            doubtful = doubtful or (
                line.rstrip().endswith((":", "：")) and len(paragraph) - len(line) > _LONG_PASTE
            )
        led_in = led_in or (paragraph.rstrip()[-1] in "?:？：" and len(block) - len(paragraph) > _LONG_PASTE)


def _is_enclosed(line: str) -> bool:
    """Whether all of a line is inside tags: `<b>Never</b> push on <b>Fridays</b>` is a sentence with two."""
    at = 0
    while at < len(line) and (tag := _TAG.match(line, at)):
        depth = 0
        for one in re.compile(rf"<(/?){re.escape(tag[1])}(?:\s[^<>]*)?>").finditer(line, at):
            depth += -1 if one[1] else 1
            if not depth:
                at = one.end()
                break
        else:
            return False
    return at >= len(line)


def _shown_lines(lines: list[str]) -> list[bool]:
    """For each line, whether it is quoted or pasted."""
    shown = [False] * len(lines)
    paste = _Paste(lines)
    at = 0
    while at < len(lines):
        end = paste.until(at)
        for number in range(at, end):
            shown[number] = True
        at = max(end, at + 1)
    return shown


class _Paste:
    """Finds where quoted text ends; remembers what is absent, so that no line is read often."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._unclosed: set[str] = set()
        self._last_closing = {
            name: number for number, line in enumerate(lines) for name in _CLOSING.findall(line)
        }
        self._no_talk_before = self._no_dump_before = 0
        # A program may send a whole message indented, except for its first line.
        margins = (len(line) - len(line.lstrip()) for line in lines[1:] if line.strip())
        self._margin = min(margins, default=0)

    def until(self, at: int) -> int:
        """The end of quoted text that begins at this line; the line itself if none does."""
        lines, line = self._lines, self._lines[at]
        if fence := _FENCE.match(line):
            if line.count(fence[1]) > 1:
                return at + 1
            return self._holding(fence[1], at + 1) or len(lines)
        if tag := _TAG.match(line):
            closed = self._last_closing.get(tag[1], -1) >= at
            end = self._holding(f"</{tag[1]}", at) if closed else at
            return end if end > at + 1 or _is_enclosed(line.rstrip()) else at
        if opened := _OPENED.match(line):
            return self._holding(opened[1].translate(_MIRRORED), at) or at
        if _FORWARDED.match(line) or _is_mail(lines, at):
            return len(lines)
        if _DIFF.match(line):
            return _run(lines, at, _DIFF_BODY)
        if line.lstrip()[:1] in (">", "｜", "┃", "│") and line.strip() != ">":
            return at + 1
        return self._talk_until(at) or max(_lines_until(lines, at), self._dump_until(at))

    def _holding(self, mark: str, at: int) -> int:
        """The number after that of the next line with the mark; 0 if there is none."""
        if mark in self._unclosed:
            return 0
        found = next((n for n in range(at, len(self._lines)) if mark in self._lines[n]), -1) + 1
        if not found:
            self._unclosed.add(mark)
        return found

    def _talk_until(self, at: int) -> int:
        """The end of a pasted conversation: lines that begin with names, at least one of which repeats."""
        if at < self._no_talk_before:
            return 0
        end = _run(self._lines, at, _SPEAKER)
        names = [match[1] for line in self._lines[at:end] if (match := _SPEAKER.match(line))]
        if 1 < len(set(names)) < len(names):
            return end
        self._no_talk_before = end  # One name alone, or none twice: no part of these lines qualifies.
        return 0

    def _dump_until(self, at: int) -> int:
        """The end of many lines of which hardly any is made of words, whatever program wrote them."""
        if at < self._no_dump_before or not _is_dump(self._lines[at], self._margin):
            return 0
        last = end = at
        while end < len(self._lines) and end - last < _WORDY_LINES:
            last = end if _is_dump(self._lines[end], self._margin) else last
            end += 1
        self._no_dump_before = last + 1
        return last + 1 if last - at >= _MANY_LINES else 0


def _is_dump(line: str, margin: int) -> bool:
    """Indented, or with a mark or a digit for every four letters; not a point of a list."""
    bare = "".join(line[:_LONG_PASTE].split())
    letters = sum(map(str.isalpha, bare))
    if not bare.isascii():  # Vowels of Hindi or Tamil, and accents written apart, belong to their letters.
        letters += sum(category(char) in ("Mn", "Mc", "Me", "Cf") for char in bare)
    indented = line[margin : margin + 2].isspace()
    return bool(bare) and (indented or 5 * letters < 4 * len(bare)) and not LIST_LINE.match(line)


def _lines_until(lines: list[str], at: int) -> int:
    """The end of numbered, logged or labeled lines, or lines of code; a single line does not count."""
    for kind in (_NUMBERED, _LOGGED, _LABELED, _CODE_END):
        end = _run(lines, at, kind)
        if end - at >= 2 or (end > at and kind is _LOGGED and len(lines[at]) > _LONG_PASTE // 2):
            return end
    return at


def _run(lines: list[str], at: int, kind: re.Pattern[str]) -> int:
    end = at
    while end < len(lines) and kind.match(lines[end]):
        end += 1
    return end


def _is_mail(lines: list[str], at: int) -> bool:
    """Two lines or more such as "From: Ada <ada@example.org>", at least one with an address."""
    end = at
    while end < min(len(lines), at + 8) and _HEADER.match(lines[end]):
        end += 1
    return end - at >= 2 and any(_ADDRESS.search(line) for line in lines[at:end])
