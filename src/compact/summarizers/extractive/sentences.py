"""Prose as units: sentences and clauses of what was said, without filler, under the headings they have."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from compact.core.evidence.reading import Reading, split_sentences
from compact.core.render import neutralize
from compact.model.message import Role
from compact.summarizers.extractive.labels import Labels

_SUBJECT = r"(?:I|we|he|she|they|it|you|there)\b"
_CLAUSE = re.compile(
    rf", (?=(?:and |so )?{_SUBJECT})|; (?!(?:or|then|otherwise|else|but|if|unless|in that case|only)\b)|"
    rf"(?: - | – | — |—)(?={_SUBJECT})"
)
"""Where a long sentence may be parted: what follows has its own subject and limits nothing before it."""
_ASKED_CLAUSE = re.compile(r", (?:and |so )?(?=(?:can|could|how|what|do)\b)")
_OWN_SUBJECT = re.compile(rf"(?:(?:and|so|well|yeah|oh|um|uh|ok|okay),? )*{_SUBJECT}", re.IGNORECASE)
_SCOPING = re.compile(
    r"\b(?:if|unless|whether|once|when|whenever|until|till|suppos\w+|assum\w+|provided|in case|as long as|"
    r"either|neither|nor|otherwise|i (?:think|guess|believe|suppose)|not sure|maybe|perhaps|probably|"
    r"possibly|might|would|could|should|claim\w*|heard|says?|said|told|hope\w*|wenn|falls|ob|sofern|vielleicht|si|"
    r"peut-être|quand|tal vez|quizás)\b|[’']d\b|"
    r"^\W*(?:after|before|while|since|because|although|though|given|without|with)\b",
    re.IGNORECASE,
)
"""What makes all that follows it in a sentence a condition, a guess or hearsay: no cut behind it."""
LONG_SENTENCE = 170
SHORTEST = 16
_MARKED = "-*•>#|0123456789"
_NAMES_THING = re.compile(r"[a-z] (?:\w*\d|[A-Z][a-z]{2})")
SPEAKING = frozenset({Role.USER, Role.ASSISTANT})
_MARKUP = re.compile(r"^(?:[-*•>#|]+|\d{1,2}[.)])\s+|\*\*|__|</?[a-z_-]+>")
_LEAD = re.compile(
    r"^(?:(?:hi there|hello there|hey there|hello|oh|hey|hi|wow|um+|uh+|mm+|hmm+|ah|haha)"
    r"(?:[,!.]+ +| +[–—-] +| +(?=[a-zA-Z]))|and +(?!(?:if|then|only|not)\b)(?=[a-zA-Z])|"
    # "Well above 300" and "So far" are no interjections, and in "Okay, but only two" the word is an answer.
    r"(?:and|so|well|anyway|you know|i mean|(?:yeah|yep|ok|okay|cool|great|nice|awesome)"
    r"(?![,!.]* +(?:[–—-] +)?(?:but|if|unless|only|except|once|when|until|till|after|before|as long|provided|"
    r"though|although|however|or|no|not|then|because|since|maybe|perhaps|with|without|for)\b))"
    r"(?:[,!.]+ +| +[–—-] +))+",
    re.IGNORECASE,
)
"""Interjections. What hedges, limits or ties what follows ("I think", "or", "then", "but") is no filler."""
_FILLER = re.compile(r"(?:,? \b(?:uh|um|uhm)\b,?|, (?:you know|i mean),)(?= |$)", re.IGNORECASE)


_OFFER = re.compile(
    r"\b(?:I|we)(?:['’]d| would| also| now|,? \w+ly,?)* (?:suggest|propose|recommend|advise)\b|"
    r"\b(?:I|we) (?:could(?! not)|can offer)\b|"
    r"\bmy (?:suggestion|proposal|recommendation|advice)\b|\bich (?:\w+ )?(?:empfehle|rate|schlage)\b|"
    r"\b(?:empfehle|schlage) ich\b|\bje (?:vous |te )?(?:propose|suggère|conseille|recommande)\b|"
    r"\b(?:sugiero|propongo|recomiendo)\b|提案(?:し|いた)|お(?:すすめ|勧め)し|建议",
    re.IGNORECASE,
)
_LEANING = re.compile(
    r"(?:(?:and|but|so|well|yeah),? )*(?:or|otherwise|else|in that case|if (?:so|not)|sonst|oder|sinon)\b|"
    r"(?:but|and) (?:only|if|not)\b|only (?:if|after|once|when)\b",
    re.IGNORECASE,
)
_FOLLOWING = re.compile(r"(?:(?:and|but|so|well|yeah),? )*(?:then|dann|alors)\b", re.IGNORECASE)
"""After a question or a condition it is what follows from that; else only what came next."""
_SHORT_ANSWER = 40
_ANSWERING = re.compile(
    r"(?:yes|no|nope|yep|yeah|sure|ok(?:ay)?|not (?:yet|now)|neither|both|"
    r"the (?:first|second|former|latter))\b",
    re.IGNORECASE,
)
_QUESTION_ENDS = ("?", "？", "か。", "吗。")


class Unit:
    """One piece of prose that is kept or dropped as a whole."""

    __slots__ = (
        "_offers",
        "_told",
        "gain",
        "index",
        "joint",
        "label",
        "number",
        "opens",
        "role",
        "speaker",
        "text",
        "weight",
        "words",
    )

    def __init__(
        self,
        index: int,
        number: int,
        role: Role,
        speaker: str,
        text: str,
        label: str = "",
        opens: bool = True,
        joint: str = "",
    ) -> None:
        self.index = index
        self.number = number
        self.role = role
        self.speaker = speaker
        self.text = text
        self.label = label
        """Under what heading of its message it stands: decided, open, done, found, or none of these."""
        self.joint = joint
        """What parts it from the clause before it in its sentence."""
        self.opens = opens
        """False for what goes on with the line or the sentence before."""
        self.words: Collection[str] = ()
        self.weight = 1.0
        self.gain = 0.0
        self._told = ""
        self._offers: bool | None = None

    @property
    def told(self) -> str:
        """The text as one safe line, without interjections at its start and hesitations inside."""
        self._told = self._told or neutralize(tidy(self.text))
        return self._told

    @property
    def offers(self) -> bool:
        """True for what an assistant asks or proposes: it is neither done nor decided."""
        if self._offers is None:
            self._offers = self.role is Role.ASSISTANT and (
                self.text.endswith(_QUESTION_ENDS) or _OFFER.search(self.text) is not None
            )
        return self._offers


def leans_on(unit: Unit, before: Unit) -> bool:
    """True where the unit means something else, or nothing, without what was said right before it: "Or we
    cancel the order", "Then we stay", and a yes or no to a question."""
    if _LEANING.match(unit.text):
        return not unit.joint
    asked = before.text.endswith(_QUESTION_ENDS)
    if _FOLLOWING.match(unit.text):
        return asked or _SCOPING.search(before.text) is not None
    apart = before.index != unit.index and len(unit.text) <= _SHORT_ANSWER
    return asked and apart and _ANSWERING.match(unit.text) is not None


def add_units(units: list[Unit], reading: Reading, index: int, role: Role, shortest: int = SHORTEST) -> None:
    """Add what a message says; pieces of at most `shortest` characters only where they tell much."""
    speaker = label = ""
    named_here = bool(reading.speakers)
    text = reading.texts[index]
    labels = Labels(text) if ":" in text and not named_here else None
    at = 0
    opens = True
    for sentence in _spoken_sentences(reading, index):
        if labels:
            found = text.find(sentence, at)
            opens = found <= at or "\n" in text[at:found]
            at = found + len(sentence) if found >= 0 else at
            label = labels.at(found)
        if named_here and ": " in sentence:
            named, sentence = reading.after_speaker(sentence)
            speaker = named or speaker
        if sentence[0] in _MARKED or "**" in sentence or "<" in sentence:
            sentence = _MARKUP.sub("", sentence).strip()
        if "\n" in sentence:
            sentence = " ".join(sentence.split())
        if len(sentence) <= LONG_SENTENCE:
            if len(sentence) > shortest or label or _tells_much(sentence):
                units.append(Unit(index, len(units), role, speaker, sentence, label, opens))
            continue
        for joint, piece in _clauses(sentence):
            if len(piece) > shortest or _tells_much(piece):
                units.append(Unit(index, len(units), role, speaker, piece, label, opens, joint))
                opens = False


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """The clauses of a long sentence that hold by themselves, each with what parts it from the one before."""
    joint, start = "", 0
    scope = _SCOPING.search(sentence)
    limit = scope.start() if scope else len(sentence)
    for found in (_ASKED_CLAUSE if sentence.endswith("?") else _CLAUSE).finditer(sentence):
        if found.start() > limit:
            if found.group() != "; ":
                continue
            scope = _SCOPING.search(sentence, found.end())
            limit = scope.start() if scope else len(sentence)
        if found.group() == ", " and not _OWN_SUBJECT.match(sentence, start) and sentence[-1] != "?":
            continue  # "On Mondays, we close": what stands before is no clause
        yield joint, sentence[start : found.start()]
        joint, start = found.group(), found.end()
    yield joint, sentence[start:]


def _tells_much(text: str) -> bool:
    """A character of Chinese tells as much as three letters; and "No Lyon then." names a thing."""
    if not text.isascii() and len(text.encode(errors="replace")) > SHORTEST:
        return True
    return _NAMES_THING.search(text) is not None


def _spoken_sentences(reading: Reading, index: int) -> tuple[str, ...]:
    """Sentences without code; mostly those that were split already."""
    text = reading.texts[index]
    if "```" not in text and "\\n" not in text and text[0] != "{":
        return reading.sentences(index)
    if text[0] == "{":
        text = _speech_in_json(text)
    # A line break that was escaped twice on its way here is one still.
    return split_sentences("\n".join(text.split("```")[::2]).replace("\\n", "\n"))


_JSON_START = re.compile(r'\{\s*"[^"\n]*"\s*:')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')


def _speech_in_json(text: str) -> str:
    """Some assistants answer in JSON: its strings are what they say."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Not quite JSON, such as one that was cut off: what is no key is said.
        found = _STRING.findall(text) if _JSON_START.match(text) else [(text, "")]
        return "\n".join(string for string, is_key in found if not is_key)
    said: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(reversed(item.values()))
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, str):
            said.append(item)
    return "\n".join(said)


def tidy(text: str) -> str:
    """A unit without interjections at its start and hesitations inside."""
    short = _FILLER.sub("", _LEAD.sub("", text)).strip(" ,;")
    return short[:1].upper() + short[1:] if short[:1].islower() and text[:1].isupper() else short
