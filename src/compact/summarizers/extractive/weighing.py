"""What each unit is worth: what it tells, what kind of words it is, and whether later words overtake it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from itertools import chain
from math import log

from compact.core.evidence.focus import focus_words
from compact.core.evidence.reading import Reading, indexes_holding
from compact.model.message import Role
from compact.summarizers.extractive.labels import DECIDED, OPEN
from compact.summarizers.extractive.sentences import SHORTEST, SPEAKING, Unit, add_units, tidy

_PUNCTUATION = ".,;:!?…\"'`()[]{}<>*_|~“”‘’«»–—-。，、！？：；（）「」"
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_INTENT = re.compile(
    r"^(?:now,? |next,? |first,? |ok(?:ay)?,? |great[!,.]? |good[!,.]? |perfect[!,.]? )*(?:let me|let's|"
    r"i'?ll|i will|i'?m going to|i need to (?:look|see|check))"
    r" (?:now |also |first |then |just )*(?:look|check|see|examine|search|find|try|run|start|take|view|"
    r"explore|verify|test|read|understand|also|now|create|add)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:(?P<offer>how (?:can|may) i (?:help|assist))|"
    r"happy to (?:help|assist)|let me know|feel free|anything else|thank(?:s| you) for|"
    r"you['’]re (?:very )?welcome|apologi[sz]e|"
    r"i understand|glad (?:to|i)|have a (?:great|nice|good|wonderful)|appreciate|take care|good luck|"
    r"talk (?:to you )?soon|sounds? (?:great|good|awesome))\b",
    re.IGNORECASE,
)
_FINDING = frozenset(
    "decide decided decides decision chose choose chosen instead rather issue problem bug cause reason fix "
    "solution because "
    "found turns works passes passed fail fails failed failing fixed fixes resolved confirm confirmed "
    "confirms added changed "
    "moved removed replaced implemented created updated canceled cancelled booked refund refunded must "
    "need needs should "
    "cannot can't prefer prefers agreed agree plan planned plans deadline budget goal blocked todo "
    "remaining".split()
)
_COURTEOUS = frozenset(
    "happy let feel anything thanks thank welcome apologize apologise understand glad great nice "
    "appreciate care luck soon help assist "
    "sounds sound".split()
)
_MARKING = _FINDING | _COURTEOUS
_STOP = frozenset([""]) | frozenset(
    "a an the and or but if so of in on at to for from by with about as into over is are was were be been "
    "being am do does "
    "did done have has had having i you he she it we they me him her us them my your his its our their "
    "this that these those "
    "there here what which who whom whose when where why how not no nor can could will would shall should "
    "may might must just "
    "really very much many more most some any all also too then than up out off down again get got gets "
    "getting go going goes "
    "went come came like know think mean want make made take said say says see look well yeah yes ok okay "
    "oh uh um hey hi wow "
    "thanks thank great good nice cool awesome amazing sure right one thing things lot bit way it's i'm "
    "i've that's don't "
    "you're we're they're i'd i'll let's can't didn't doesn't isn't wasn't it’s i’m i’ve that’s don’t "
    "you’re 's 've 're".split()
)

NAME_WEIGHT = 2.5
_POSSESSIVE = ("'s", "’s")
_OBLIGES = "\0"
"""Stands for words such as "must": too common to be told for themselves, yet they mark a finding."""
_FOCUS_WEIGHT = 3.0
_DILUTION_POWER = 0.3
_QUESTION_WEIGHT = 0.5
_FINDING_WEIGHT = 1.8
_COURTESY_WEIGHT = 0.25
_INTENT_WEIGHT = 0.3
_COUNTER_LENGTH = 4
_THIN = 3
_THIN_WEIGHT = 0.1
_DIGITS = re.compile(r"\d+")
_WITHDRAWING = ("forget", "drop", "scrap", "skip", "cancel")
_WITHDRAWN = re.compile(
    r"\b(?:forget|drop|scrap|skip|cancel)\s+(?:about\s+)?(?:the|that|my|our)\s+(\w{3,})", re.IGNORECASE
)
_WITHDRAWN_REACH = 8
_WITHDRAWN_WEIGHT = 0.15
CORRECTION = re.compile(
    r"\b(?:(?:have|has|need|want) to correct|correction|correct(?:ing)? myself|mixed (?:\w+ )?up|my mistake|"
    r"i was wrong|i said \S+ .*\b(?:it['’]?s|its|but|actually)\b|not \w+ [^.!?]{0,60}, it['’]?s|"
    r"changed my mind|take (?:it|that|this) back)\b",
    re.IGNORECASE,
)
"""Whoever reads only what was said before would believe the wrong thing."""
_CORRECTING = ("correct", "mixed", "mistake", "i was wrong", "i said", "not ", "my mind", "back")
_CORRECTION_WEIGHT = 3.0
_ASSISTANT_WEIGHT = 0.7
"""Users state facts about themselves and what they want; assistants also give advice that anyone could."""
_REPORT_WEIGHT = 1.6
_FEW_WORDS_WEIGHT = 0.5
_DECIDED_WEIGHT = 2.0
_ANSWERED_WEIGHT = 0.4
_ORDER_WEIGHT = 2.0
_ON_THE_WAY_WEIGHT = 0.5
"""What was said while working is often overtaken by what was reported then."""
_POINTING = tuple(
    f"{word}{end}"
    for word in (
        "It",
        "That",
        "This",
        "In that",
        "In this",
        "They",
        "These",
        "Those",
        "it",
        "that",
        "this",
        "they",
    )
    for end in (" ", "'s ", "’s ")
)
_POINTING_WEIGHT = 0.6
"""What such a word means stands in a sentence before, which may not be told."""
_ROW_WEIGHT = 0.2
"""A row of a table, without its head, tells little."""


Weights = dict[str, float]
"""What it is worth to tell a word."""


def units_of(
    reading: Reading,
    names: Container[str] = (),
    focus: str = "",
    reports: frozenset[int] = frozenset(),
    *,
    whole: bool = False,
) -> tuple[list[Unit], Weights]:
    """Every unit of what user and assistant said. Tool output is data; it speaks through the evidence.

    `names` are the words, in small letters, that name somebody or something here; `reports` the indexes of
    messages that tell what came of the work. With `whole`, room for all that was said, few words count too.
    """
    units: list[Unit] = []
    for index, message in enumerate(reading.messages):
        if message.role in SPEAKING and reading.texts[index] and reading.is_original(index):
            all_of_it = whole or index in reports
            add_units(units, reading, index, message.role, 0 if all_of_it else SHORTEST)
    weights = _weigh(units, reading.speakers, names, focus, whole)
    if reports or not reading.speakers:  # people who speak under their names label nothing else
        _weigh_labelled(units, reports)
    if whole:  # "Thanks" is no request
        units = [unit for unit in units if unit.weight or unit.label or len(unit.text) > SHORTEST]
    return units, weights


def _weigh_labelled(units: list[Unit], reports: frozenset[int]) -> None:
    """What an assistant reports after its work, and what it says was decided, outlasts how it got there."""
    newest = max(reports, default=-1)
    for unit in units:
        if unit.index in reports:
            if not unit.weight and unit.words and unit.text[-1] == ".":
                unit.weight = _FEW_WORDS_WEIGHT  # "Rolled back." is what came of it
            unit.weight *= _REPORT_WEIGHT
        if unit.label is DECIDED:
            unit.weight *= _DECIDED_WEIGHT
        elif unit.label is OPEN and unit.index < newest:
            unit.weight *= _ANSWERED_WEIGHT
        elif reports and unit.role is Role.USER:
            unit.weight *= _ORDER_WEIGHT
        elif unit.index < newest and unit.index not in reports:
            unit.weight *= _ON_THE_WAY_WEIGHT


def _weigh(
    units: list[Unit], speakers: frozenset[str], names: Container[str], focus: str, whole: bool
) -> Weights:
    """Set each unit's words, weight and gain; answer what each word is worth."""
    words = _Words({part.lower() for name in speakers for part in name.split()}, whole)
    said: dict[int, int] = {}
    for unit in units:
        said[unit.index] = said.get(unit.index, 0) + len(unit.text)
        words.read(unit)
    weights = _worth_of(units, names)
    _quiet_counters(units)
    wanted = focus_words(focus)
    for word in wanted & weights.keys():
        weights[word] *= _FOCUS_WEIGHT
    # Every message is about as important as the next: in a long one each sentence weighs less.
    dilution = {index: (1.0 / length) ** _DILUTION_POWER for index, length in said.items()}
    assistant = Role.ASSISTANT if not speakers else None
    for unit in units:
        unit.gain = sum(map(weights.__getitem__, unit.words))
        unit.weight *= dilution[unit.index]
        if wanted and not wanted.isdisjoint(unit.words):
            unit.weight *= _FOCUS_WEIGHT
        if unit.role is assistant:
            unit.weight *= _INTENT_WEIGHT if _INTENT.match(unit.text) else _ASSISTANT_WEIGHT
    if not speakers:
        _quiet_withdrawn(units)
        said_by_user = [unit for unit in units if unit.role is Role.USER]
        for at in indexes_holding([unit.text for unit in said_by_user], _CORRECTING):
            if CORRECTION.search(said_by_user[at].text):
                said_by_user[at].weight *= _CORRECTION_WEIGHT
                _quiet_corrected(units, said_by_user[at])
    return weights


def _quiet_withdrawn(units: list[Unit]) -> None:
    """ "Forget the boat": what was said of it shortly before counts little; that it was dropped counts."""
    said = [unit for unit in units if unit.role is Role.USER]
    for at in indexes_holding([unit.text for unit in said], _WITHDRAWING):
        unit = said[at]
        found = _WITHDRAWN.search(unit.text)
        if found is None:
            continue
        unit.weight *= _FINDING_WEIGHT
        word = found.group(1).lower()
        for other in reversed(units[: unit.number]):
            if other.index < unit.index - _WITHDRAWN_REACH:
                break
            if word in other.words and other.index < unit.index:
                other.weight *= _WITHDRAWN_WEIGHT


def _quiet_corrected(units: list[Unit], correction: Unit) -> None:
    """What the assistant worked out from a figure that the user then corrects counts little."""
    figures = {word for word in correction.words if word[0].isdigit()}
    for unit in units[: correction.number] if figures else ():
        if unit.role is Role.ASSISTANT and not figures.isdisjoint(unit.words):
            unit.weight *= _WITHDRAWN_WEIGHT


def _quiet_counters(units: list[Unit]) -> None:
    """ "Continue with item 57" tells nothing the next one does not: of many such, the newest counts."""
    alike: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.role is Role.USER and len(unit.words) <= _THIN and _DIGITS.search(unit.text):
            alike.setdefault(_DIGITS.sub("#", unit.text), []).append(unit)
    for same in alike.values():
        if len(same) >= _COUNTER_LENGTH:
            for unit in same[:-1]:
                unit.weight = 0.0


class _Words(dict[str, str]):
    """What a word says, looked up once: its bare form, or nothing where it tells nothing."""

    def __init__(self, ignored: set[str], whole: bool) -> None:
        super().__init__()
        self._ignored = ignored
        self._whole = whole

    def __missing__(self, word: str) -> str:
        low = word if word.isalpha() else word.strip(_PUNCTUATION)
        low = low.lower()
        if low in _STOP or low in self._ignored:
            low = _OBLIGES if low in _FINDING else ""
        elif low.endswith(_POSSESSIVE):
            low = low[:-2]
        self[word] = low
        return low

    def read(self, unit: Unit) -> None:
        """Set the unit's content words, and its weight for what kind of unit it is."""
        text = unit.text
        words = text.split() if text.isascii() or not _CJK.search(text) else _pairs(text.split())
        # The loop over words runs inside `map`: there are about as many of them as tokens.
        found = dict.fromkeys(map(self.__getitem__, words))
        found.pop("", None)
        obliges = found.pop(_OBLIGES, 0) is None
        unit.words = found
        ending = text[-1]
        marked = not _MARKING.isdisjoint(found)
        if len(found) < 3 and not (unit.speaker and len(found) == 2 and any(map(_names, words))):
            unit.weight = _THIN_WEIGHT if self._whole and _says_something(unit) else 0.0
        elif ending == "?":
            unit.weight = _QUESTION_WEIGHT
        elif ending == ":":
            unit.weight = 0.0
        elif obliges or (marked and not _FINDING.isdisjoint(found)):
            unit.weight = _FINDING_WEIGHT
        if text.count(" | ") > 1 or text.endswith(" |"):
            unit.weight *= _ROW_WEIGHT
        elif not unit.speaker and text.startswith(_POINTING):
            unit.weight *= _POINTING_WEIGHT
        if marked and len(text) < 120 and not _COURTEOUS.isdisjoint(found):
            courtesy = _COURTESY.search(text)
            if courtesy:
                unit.weight *= 0.0 if courtesy["offer"] else _COURTESY_WEIGHT


def _says_something(unit: Unit) -> bool:
    """Not so "Mm-hmm" and "Yeah, uh, yeah"; nor what an assistant says in so few words."""
    if unit.role is Role.ASSISTANT and not unit.speaker and (len(unit.words) < 2 or _INTENT.match(unit.text)):
        return False
    said = tidy(unit.text)
    if said.endswith(":"):
        return False
    return len(said.split()) > 1 or (not said.isascii() and len(said) > 1)


def _worth_of(units: Sequence[Unit], names: Container[str]) -> Weights:
    """Rare words tell more, names and numbers most."""
    frequency = Counter(chain.from_iterable(unit.words for unit in units))
    # A word said once may be a slip; said twice it is as telling as a word can be.
    rarity = {count: log(1 + (len(units) + 1) / max(2, count)) for count in set(frequency.values())}
    return {
        word: rarity[count] * (NAME_WEIGHT if word in names or not word[0].isalpha() or "_" in word else 1.0)
        for word, count in frequency.items()
    }


def _names(word: str) -> bool:
    bare = word.strip(_PUNCTUATION)
    return bare[:1].isupper() or bare[:1].isdigit() or "_" in bare


def _pairs(words: list[str]) -> list[str]:
    """No blanks between words: pairs of characters stand in for them."""
    return [
        piece
        for word in words
        for piece in ([word[at : at + 2] for at in range(len(word) - 1)] if _CJK.search(word) else [word])
    ]
