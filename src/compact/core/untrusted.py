"""Which lines of a summary came from tools. Tool output must not gain the authority of a system message.

A summarizer may say so itself (`Summary.untrusted`); this is the check for what it did not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compact.core.layers import SummaryText
from compact.core.view import Item
from compact.model.message import MessageKind, Role, arguments_text
from compact.model.summary import Summary

_WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")
_RUN = 4
"""So many words in a row that only a tool said are a quotation of it."""
_PER_NEEDLE = 50
_DISTINCT = re.compile(r"(?=.{6})(?=.*[\d/_\\@:#=.-]).*[^\W_]")
"""A path, id, address or value: one of them is enough."""


def split_summary(summary: Summary, replaced: Sequence[Item]) -> SummaryText:
    """The summary's two halves: as its maker says, and by what only tools returned in the replaced span."""
    text = summary.text
    if summary.untrusted:
        text = text.replace(summary.untrusted, "").strip()
    spoken: list[str] = []
    returned: list[str] = []
    for message in (item.message for item in replaced):
        if message.kind is MessageKind.SUMMARY and message.role is Role.ASSISTANT:
            returned.append(message.text)  # the earlier summary's own untrusted half, or all of it
        elif message.kind in (MessageKind.ORIGINAL, MessageKind.SUMMARY):
            spoken.append(message.text)
            spoken.extend(arguments_text(call.arguments) for call in message.calls)
            returned.extend(result.text for result in message.results)
    text, found = split_lines(text, spoken, returned)
    return SummaryText(text, "\n".join(filter(None, (summary.untrusted.strip(), found))))


def split_lines(text: str, spoken: Iterable[str], returned: Iterable[str]) -> tuple[str, str]:
    """The text as (what people and the model said, what only tools returned), line by line.

    `spoken` is what was said in the conversation, `returned` what tools gave back.
    """
    lines = text.splitlines()
    marks = [_marks(line) for line in lines]
    asked = set().union(*marks)
    from_tools, any_words = _said(returned, asked)
    if not any_words:
        return text, ""
    only_tools = from_tools - _said(spoken, from_tools)[0] if from_tools else from_tools
    trusted = [line for line, own in zip(lines, marks, strict=True) if only_tools.isdisjoint(own)]
    untrusted = [line for line, own in zip(lines, marks, strict=True) if not only_tools.isdisjoint(own)]
    return "\n".join(trusted).strip(), "\n".join(untrusted).strip()


Mark = tuple[str, ...]


def _marks(line: str) -> set[Mark]:
    """What a line can be recognized by: runs of words, and single ones that are hard to say by chance."""
    words = _words(line.casefold())
    return {(word,) for word in words if _DISTINCT.fullmatch(word)}.union(_runs(words))


def _said(texts: Iterable[str], marks: set[Mark]) -> tuple[set[Mark], bool]:
    """Those of the marks that the texts hold, and whether the texts have any words at all."""
    single = {mark[0] for mark in marks if len(mark) == 1}
    runs = {mark for mark in marks if len(mark) > 1}
    found: set[Mark] = set()
    any_words = False
    # A text without the longest word of any run holds none; to look for many costs more than to read it.
    needles = single.union(max(run, key=len) for run in runs)
    for text in texts:
        folded = text.casefold()
        if any_words and len(needles) * _PER_NEEDLE < len(text) and not any(n in folded for n in needles):
            continue
        words = _words(folded)
        any_words = any_words or bool(words)
        found.update((word,) for word in single.intersection(words))
        found |= runs.intersection(_runs(words))
    return found, any_words


def _words(folded: str) -> list[str]:
    return [word for raw in _WORD.findall(folded) if (word := raw.strip(".:!?*=-"))]


def _runs(words: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(_RUN)), strict=False)
