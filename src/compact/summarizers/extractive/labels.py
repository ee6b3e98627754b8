"""What a text says of its own parts: "Decided:", "Open questions:", "Next steps"; and which text reports."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from compact.model.message import Message, MessageKind, Role

DECIDED, OPEN, DONE, FOUND = "decided", "open", "done", "found"

_WORDS = {
    "decided": DECIDED, "decision": DECIDED, "decisions": DECIDED, "agreed": DECIDED, "settled": DECIDED,
    "open": OPEN, "todo": OPEN, "to-do": OPEN, "to do": OPEN, "next": OPEN, "remaining": OPEN,
    "outstanding": OPEN, "pending": OPEN, "unresolved": OPEN, "follow-up": OPEN, "follow-ups": OPEN,
    "action": OPEN, "actions": OPEN, "who": OPEN, "done": DONE, "changed": DONE, "changes": DONE,
    "found": FOUND, "findings": FOUND, "checked": FOUND, "verified": FOUND, "result": FOUND, "results": FOUND,
}  # fmt: skip
_LABEL = re.compile(
    r"[ \t]*(?:#{1,4} +)?(?:\*\*|__)?(?:still |what is |what's )?("
    + "|".join(sorted(_WORDS, key=len, reverse=True))
    + r")\b(?: and (decided))?[^:.!?\n]{0,40}(?::(?:\*\*|__)?|(?<=\*\*)$)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_LIST_MARK = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)]) ")
_HEADING = re.compile(r"^(?:#{1,4} .*|\*\*[^*\n]{2,60}\*\*:?|[^-*•\d\s][^\n]{2,60}:)[ \t]*$", re.MULTILINE)


class Labels:
    """Which label the characters of one text stand under."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._spans: list[tuple[int, str]] = []
        for found in _labels_in(text):
            label = _WORDS[(found.group(2) or found.group(1)).lower()]
            if text[found.end() : found.end() + 1] in ("", "\n"):
                end = _block_end(text, found.end())
            elif label is OPEN:
                end = text.find("\n", found.end())
            else:
                end = found.end() + 1  # of "Decided: …" the sentence; what follows may be anything
            self._starts.append(found.start())
            self._spans.append((len(text) if end < 0 else end, label))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def at(self, position: int) -> str:
        before = bisect_right(self._starts, position) - 1
        if before < 0:
            return ""
        end, label = self._spans[before]
        return label if position < end else ""


def _labels_in(text: str) -> Iterator[re.Match[str]]:
    start = 0
    for line in text.split("\n"):
        # Most lines have neither mark, and to try all those words on each is dear.
        if ":" in line or line.endswith("**"):
            found = _LABEL.match(text, start)
            if found:
                yield found
        start += len(line) + 1


def _block_end(text: str, start: int) -> int:
    """Where the list or the paragraph below a heading ends."""
    first = text[start:].lstrip("\n")
    at = len(text) - len(first)
    listed = _LIST_MARK.match(first) is not None
    following = _HEADING.search(text, at)
    end = following.start() if following else len(text)
    gap = text.find("\n\n", at)
    while 0 <= gap < end:
        after = text[gap:end].lstrip("\n")
        if after and not (listed and (_LIST_MARK.match(after) or after[0] in " \t")):
            return gap
        gap = text.find("\n\n", gap + 2)
    return end


def reports_of(messages: Sequence[Message]) -> frozenset[int]:
    """Indexes of what an assistant said to the user after it had worked: it tells what came of it."""
    found: set[int] = set()
    worked = False
    for index, message in enumerate(messages):
        if message.role is Role.USER and not message.results:
            worked = False
        elif message.calls:
            worked = True
        elif message.role is Role.ASSISTANT and worked and message.kind is MessageKind.ORIGINAL:
            after = messages[index + 1] if index + 1 < len(messages) else None
            if after is None or (after.role is Role.USER and not after.results):
                found.add(index)
    return frozenset(found)
