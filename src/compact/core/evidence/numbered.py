"""Questions that an assistant numbers, and a user's answers under the same numbers."""

from __future__ import annotations

import re

from compact.core.evidence.reading import Reading
from compact.model.message import Role

MAX_QUESTION_CHARS = 220
MAX_ANSWER_CHARS = 240
_ITEM = re.compile(
    r"^[ \t]*(\d{1,2})[.)][ \t]+(\S[^\n]*(?:\n(?![ \t]*\d{1,2}[.)][ \t]|\n)[^\n]*)*)", re.MULTILINE
)
_NUMBER = re.compile(r"\d[.):][ \t]")
_ANSWER = re.compile(r"(?:^|(?<=[.!?;,\n])\s*)[ \t]*(\d{1,2})[.):][ \t]+(?=\S)")
_LEAD_END = re.compile(r"[.:,;?!] |[.:;?!]$")
_EMPHASIS = re.compile(r"\*\*|__")


def numbered_answers(reading: Reading, index: int) -> list[str]:
    """The pieces of a user's message that answer numbered questions of the message before."""
    if not _NUMBER.search(reading.texts[index]):
        return []
    before = next((at for at in range(index - 1, -1, -1) if reading.texts[at].strip()), -1)
    if before < 0 or reading.messages[before].role is not Role.ASSISTANT:
        return []
    questions = numbered_questions(reading.texts[before])
    return [answer for _, answer in paired_answers(reading.texts[index], questions)] if questions else []


def numbered_questions(text: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for item in _ITEM.finditer(text):
        said = " ".join(_EMPHASIS.sub("", item.group(2)).split())
        if "?" in said:
            found[int(item.group(1))] = _shortened(said)
    return found


def numbered_leads(text: str) -> dict[int, str]:
    """The first words of each numbered item, which name it; the last list of the text counts."""
    found: dict[int, str] = {}
    for item in _ITEM.finditer(text):
        number = int(item.group(1))
        if number == 1:
            found = {}
        said = " ".join(_EMPHASIS.sub("", item.group(2)).split())
        end = _LEAD_END.search(said)
        found[number] = said[: end.start() if end else len(said)].rstrip(" .,;:")
    return found


def _shortened(item: str) -> str:
    """What it is about and what is asked; of a long item the middle goes."""
    if len(item) <= MAX_QUESTION_CHARS:
        return item
    end = item.rfind("?") + 1
    start = max(item.rfind(mark, 0, end - 1) for mark in (". ", "? ", "; ", ": ")) + 2
    question = item[max(start, end - MAX_QUESTION_CHARS // 2) : end]
    about = item[: MAX_QUESTION_CHARS - len(question) - 2]
    return f"{about[: about.rfind(' ')]}… {question}"


def paired_answers(text: str, questions: dict[int, str]) -> list[tuple[str, str]]:
    marks = [mark for mark in _ANSWER.finditer(text) if int(mark.group(1)) in questions]
    numbers = [int(mark.group(1)) for mark in marks]
    if not marks or numbers != sorted(set(numbers)):
        return []
    found: list[tuple[str, str]] = []
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        line = text[mark.end() : end].split("\n", 1)[0]
        answer = " ".join(line.split())[:MAX_ANSWER_CHARS]
        if answer:
            found.append((questions[numbers[at]], answer))
    return found
