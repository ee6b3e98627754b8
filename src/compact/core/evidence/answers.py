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
from compact.core.evidence.rules import answers_only, is_rule
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind

_BARE_QUESTION = 30
_BEFORE_QUESTION = 100
_PERMITTING = {"yes": "approved", "no": "refused"}
_MARKS = ("?", "？", "か。", "か")
"""How a question ends; in Japanese often without its mark."""
_ASKING = re.compile(r"[?？]|か(?:。|\s|$)")
_FOR_LEAVE = re.compile(
    r"\b(?:shall|should|may|can|could|must)\s+(?:I|we)\b|\b(?:do|would)\s+you\s+(?:want|like|prefer)\b|"
    r"\b(?:want|like|need)\s+me\s+to\b|\b(?:ok(?:ay)?|all\s+right|fine)\b|\b(?:proceed|confirm|approve|go\s+ahead|agree)\b",
    re.IGNORECASE,
)
"""A question that asks for leave; a yes to any other is an answer, not an approval."""
_YES = re.compile(
    r"^(?:yes\b|yep\b|yeah\b|sure\b|ok(?:ay)?\b|go ahead|please (?:do\b(?! not)|go|proceed)|do it|"
    r"approved?\b|confirm(?:ed)?\b|i (?:approve|confirm|"
    r"agree)|sounds good|looks good|lgtm|proceed|ship it|that works|correct\b|perfect\b)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^(?:no\b(?!\s+(?:worries|problem|objections?))|nope\b|stop\b|cancel\b|reject(?:ed)?\b|i (?:disagree|"
    r"refuse|reject|decline)|not that|don['’]?t\b|that['’]?s (?:wrong|not))",
    re.IGNORECASE,
)
_PUT_OFF = re.compile(r"^(?:not (?:yet|now)|hold on|wait)\b", re.IGNORECASE)
"""Neither yes nor no."""
_QUALIFIES = (
    r"but|if|unless|until|till|wait|hold|actually|instead|except|however|though|although|only|maybe|perhaps|"
    r"nein|nicht|kein\w*|aber|doch|lieber|non|pas|mais|jamais|pero|nunca|nej|inte|ikke|niet|geen|maar"
)
_FOREIGN = r"[?？]|[^\W\u0000-\u024f]"
"""A question, or letters of a script whose words these lists do not hold."""
_AGAINST_YES = re.compile(
    rf"{_FOREIGN}|\b(?:{_QUALIFIES}|no|nope|nah|not|never|none|without|stop|cancel|leave|rather|later|first|"
    r"before|after|once|dont|cannot|wrong|undo|forget|skip)\b|n['’]t\b",
    re.IGNORECASE,
)
_AGAINST_NO = re.compile(
    rf"{_FOREIGN}|\b(?:{_QUALIFIES}|yes|yep|yeah|sure|ok(?:ay)?|go ahead|proceed|hesitate|worry|may|can|fine|"
    r"please do(?! not|n)|(?<!not )(?<!n['’]t )(?<!dont )do (?:it|so|that|this))\b",
    re.IGNORECASE,
)
_READ_ON = 600
"""What takes an answer back or limits it mostly stands near: so far the verdict is looked over."""
_SHORT_CHARS = 40
_SHORT_WORDS = 5


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
            asked = _last_question(reading.sentences(index)) if _ASKING.search(text[-1200:]) else ""
            numbered = numbered_questions(text) if "?" in text else {}
            asked_at = where[index]
        elif message.role is Role.USER and reading.is_original(index):
            pairs = paired_answers(text, numbered) if numbered else []
            for question, answer in pairs:
                said = _said(_verdict(answer), question)
                context = f"{said}asked in [m{asked_at}]: {question}"
                found.append(Evidence(EvidenceKind.APPROVAL, answer, where[index], context))
            start = text.lstrip() if not pairs else ""
            if asked and _answers(start) and not _is_rule_itself(reading.sentences(index), asked):
                quoted = start if len(start) <= MAX_ANSWER_CHARS else start.split("\n\n", 1)[0]
                value = " ".join(quoted.split())[:MAX_ANSWER_CHARS]
                context = f"{_said(_verdict(start), asked)}asked in [m{asked_at}]: {asked}"
                found.append(Evidence(EvidenceKind.APPROVAL, value, where[index], context))
            asked, numbered = "", {}
    return found


def _is_rule_itself(sentences: Sequence[str], asked: str) -> bool:
    first = next(iter(sentences), "")
    return is_rule(first) and not answers_only(first, asked)


def _answers(text: str) -> bool:
    """True for a yes, a no, and for few words of any language: only their question gives them a meaning."""
    if _YES.match(text) or _NO.match(text) or _PUT_OFF.match(text):
        return True
    text = text.strip()
    return 0 < len(text) <= _SHORT_CHARS and len(text.split()) <= _SHORT_WORDS and text[-1] not in "?？:"


def _verdict(answer: str) -> str:
    """Yes or no where nothing that follows speaks against it: "Okay no." is quoted and left to the reader."""
    for verdict, said, against in (("yes", _YES, _AGAINST_YES), ("no", _NO, _AGAINST_NO)):
        found = said.match(answer)
        if found:
            return "" if against.search(answer, found.end(), found.end() + _READ_ON) else verdict
    return ""


def _said(verdict: str, question: str) -> str:
    if not verdict:
        return ""
    return f"{_PERMITTING[verdict] if _FOR_LEAVE.search(question) else f'said {verdict}'}, "


def _last_question(sentences: Sequence[str]) -> str:
    at = max((at for at, sentence in enumerate(sentences) if sentence.endswith(_MARKS)), default=-1)
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
