"""The user's yes, no and choices: quoted as they were said, with the question that they answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compact.core.evidence.numbered import (
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHARS,
    numbered_questions,
    paired_answers,
)
from compact.core.evidence.reading import Reading, without_bullet
from compact.core.evidence.rules import is_rule
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind

_BARE_QUESTION = 30
_BEFORE_QUESTION = 100
_PERMITTING = {"yes": "approved", "no": "refused"}
_FOR_LEAVE = re.compile(
    r"\b(?:shall|should|may|can|could|must)\s+(?:I|we)\b|\b(?:do|would)\s+you\s+(?:want|like|prefer)\b|"
    r"\b(?:want|like|need)\s+me\s+to\b|\b(?:ok(?:ay)?|all\s+right|fine)\b|\b(?:proceed|confirm|approve|go\s+ahead|agree)\b",
    re.IGNORECASE,
)
"""A question that asks for leave; a yes to any other is an answer, not an approval."""
_YES = re.compile(
    r"^(?:yes\b|yep\b|yeah\b|sure\b|ok(?:ay)?\b|go ahead|please (?:do|go|proceed)|do it|approved?\b|"
    r"confirm(?:ed)?\b|i (?:approve|confirm|"
    r"agree)|sounds good|looks good|lgtm|proceed|ship it|that works|correct\b|perfect\b)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^(?:no\b(?!\s+(?:worries|problem))|nope\b|stop\b|cancel\b|reject(?:ed)?\b|i (?:disagree|refuse|"
    r"reject|decline)|not (?:yet|now|that)|hold on|"
    r"don['’]?t\b|wait\b|that['’]?s (?:wrong|not))",
    re.IGNORECASE,
)


def answers_in(reading: Reading, where: Sequence[int]) -> list[Evidence]:
    """What the user approved or turned down, with the question it answers and where that was asked."""
    found: list[Evidence] = []
    if reading.speakers:
        return found  # people who talk to each other approve of all kinds of things
    asked = ""
    asked_at = 0
    numbered: dict[int, str] = {}
    for index, message in enumerate(reading.messages):
        text = reading.texts[index]
        if message.role is Role.ASSISTANT and text.strip():
            asked = _last_question(reading.sentences(index)) if "?" in text[-1200:] else ""
            numbered = numbered_questions(text) if "?" in text else {}
            asked_at = where[index]
        elif message.role is Role.USER and reading.is_original(index):
            pairs = paired_answers(text, numbered) if numbered else []
            for question, answer in pairs:
                said = _said(_verdict(answer), question)
                context = f"{said}asked in [m{asked_at}]: {question}"
                found.append(Evidence(EvidenceKind.APPROVAL, answer, where[index], context))
            start = text.lstrip() if not pairs else ""
            verdict = _verdict(start)
            if verdict and asked and not is_rule(next(iter(reading.sentences(index)), "")):
                value = " ".join(start.split("\n\n", 1)[0].split())[:MAX_ANSWER_CHARS]
                context = f"{_said(verdict, asked)}asked in [m{asked_at}]: {asked}"
                found.append(Evidence(EvidenceKind.APPROVAL, value, where[index], context))
            asked, numbered = "", {}
    return found


def _verdict(answer: str) -> str:
    return "yes" if _YES.match(answer) else "no" if _NO.match(answer) else ""


def _said(verdict: str, question: str) -> str:
    if not verdict:
        return ""
    return f"{_PERMITTING[verdict] if _FOR_LEAVE.search(question) else f'said {verdict}'}, "


def _last_question(sentences: Sequence[str]) -> str:
    at = max((at for at, sentence in enumerate(sentences) if sentence.endswith("?")), default=-1)
    if at < max(0, len(sentences) - 8):
        return ""
    question = without_bullet(sentences[at])
    if len(question) < _BARE_QUESTION and at:
        # "Should I?" tells nothing by itself.
        before = without_bullet(sentences[at - 1])
        question = (
            f"{before if len(before) <= _BEFORE_QUESTION else before[:_BEFORE_QUESTION] + '…'} {question}"
        )
    return " ".join(question.split())[:MAX_QUESTION_CHARS]
