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
    from_tools = _Said(returned)
    if not from_tools.words:
        return text, ""
    from_people = _Said(spoken)
    trusted: list[str] = []
    untrusted: list[str] = []
    for line in text.splitlines():
        known = from_tools.marks(line) - from_people.marks(line)
        (untrusted if known else trusted).append(line)
    return "\n".join(trusted).strip(), "\n".join(untrusted).strip()


class _Said:
    def __init__(self, texts: Iterable[str]) -> None:
        self.words: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()
        for text in texts:
            words = _words(text)
            self.words.update(words)
            self._runs.update(_runs(words))

    def marks(self, line: str) -> set[tuple[str, ...]]:
        """What in the line was said here: runs of words, and single ones that are hard to say by chance."""
        words = _words(line)
        single = {(word,) for word in words if word in self.words and _DISTINCT.fullmatch(word)}
        return single | {run for run in _runs(words) if run in self._runs}


def _words(text: str) -> list[str]:
    return [word for raw in _WORD.findall(text.casefold()) if (word := raw.strip(".:!?*=-"))]


def _runs(words: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(_RUN)), strict=False)
