"""Prose as units worth keeping: sentences and clauses, without filler, weighed by what they tell."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Sequence
from math import log

from compact.core.evidence.rules import SENTENCE, SPEAKER, speaker_names
from compact.model.message import Message, MessageKind, Role

_FENCE = re.compile(r"```.*?(?:```|\Z)|<(?:code|pre)>.*?</(?:code|pre)>", re.DOTALL)
_CLAUSE = re.compile(
    r", (?=(?:and|but|so|because|since|especially|which|where|while|although|though|then|can|could|how|"
    r"what|do|I|we|"
    r"he|she|they|it|you)\b)|; | - | – | — |—"
)
_LONG_SENTENCE = 170
_MARKUP = re.compile(r"^(?:[-*•>#|]+|\d{1,2}[.)])\s+|\*\*|__|</?[a-z_-]+>")
_TAG_ONLY = re.compile(r"^</?[\w-]+>$")
_LEAD = re.compile(
    r"^(?:(?:hi there|hello there|hey there|hello|and|but|so|or|well|yeah|yep|yes|oh|ok|okay|hey|hi|wow|"
    r"cool|great|right|sure|um+|uh+|mm+|hmm+|ah|you know|i mean|"
    r"i think|i guess|like|anyway|actually|basically|absolutely|definitely|also|then|plus|haha|nice|awesome)"
    r"(?:[,!.]+ +| +[–—-] +| +(?=[a-zA-Z])))+",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:,? \b(?:uh|um|uhm|you know|i mean|sort of|kind of|kinda|basically)\b,?)(?= |$)", re.IGNORECASE
)
_WORD = re.compile(r"[$€£]?[^\W_][\w'’.,:/@%+-]*[^\W_%]%?|[^\W_]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_INTENT = re.compile(
    r"^(?:now,? |next,? |first,? |ok(?:ay)?,? |great[!,.]? |good[!,.]? |perfect[!,.]? )*(?:let me|let's|"
    r"i'?ll|i will|i'?m going to|i need to (?:look|see|check))"
    r" (?:now |also |first |then |just )*(?:look|check|see|examine|search|find|try|run|start|take|view|"
    r"explore|verify|test|read|understand|also|now|create|add)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:happy to (?:help|assist)|let me know|feel free|anything else|thank(?:s| you) for|"
    r"you['’]re (?:very )?welcome|apologi[sz]e|"
    r"i understand|glad (?:to|i)|have a (?:great|nice|good|wonderful)|appreciate|take care|good luck|"
    r"talk (?:to you )?soon|sounds? (?:great|good|awesome))\b",
    re.IGNORECASE,
)
_FINDING = re.compile(
    r"\b(?:decid|chose|choose|chosen|instead of|rather than|(?:the|this) (?:issue|problem|bug|cause|reason|"
    r"fix|solution)|root cause|because|"
    r"found (?:that|the|a)|turns? out|works? (?:now|correctly|as)|pass(?:es|ed)\b|fail(?:s|ed|ing)?\b|"
    r"fix(?:ed|es)\b|resolved|confirm|"
    r"added|changed|moved|removed|replaced|implemented|created|updated|cancell?ed|booked|refund|must|"
    r"need(?:s)? to|should|cannot|can't|"
    r"prefer|agreed|agree|plan(?:s|ned)? to|deadline|budget|goal|blocked|todo|remaining|next step)",
    re.IGNORECASE,
)

_STOP = frozenset(
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
_REPEAT = 0.35
_LENGTH_POWER = 0.75
_DILUTION_POWER = 0.3
_QUESTION_WEIGHT = 0.5
_ASSISTANT_WEIGHT = 0.7
"""Users state facts about themselves and what they want; assistants also give advice that anyone could."""
_FRAGMENT = 14
"""Added to every length, or shreds would look cheap."""


class Unit:
    """One piece of prose that is kept or dropped as a whole."""

    __slots__ = ("index", "order", "role", "speaker", "text", "weight", "words")

    def __init__(self, index: int, order: int, role: Role, speaker: str, text: str) -> None:
        self.index = index
        self.order = order
        self.role = role
        self.speaker = speaker
        self.text = text
        self.words: list[tuple[str, float]] = []
        self.weight = 1.0


def units_of(messages: Sequence[Message], focus: str = "") -> list[Unit]:
    """Every unit of what user and assistant said. Tool output is data; it speaks through the evidence."""
    speakers = speaker_names(messages)
    units: list[Unit] = []
    for index, message in enumerate(messages):
        if message.role not in (Role.USER, Role.ASSISTANT) or message.kind is not MessageKind.ORIGINAL:
            continue
        text = message.text
        if text:
            units.extend(_units_in(text, index, message.role, speakers))
    _weigh(units, speakers, focus)
    return units


def _units_in(text: str, index: int, role: Role, speakers: frozenset[str]) -> Iterator[Unit]:
    if "```" in text or "<pre>" in text or "<code>" in text:
        text = _FENCE.sub("\n", text)
    if text[:1] == "{":
        text = _speech_in_json(text)
    if "\\n" in text:
        text = text.replace("\\n", "\n")  # escaped twice on its way here
    speaker = ""
    order = 0
    for line in SENTENCE.split(text):
        sentence = line.strip()
        if not sentence or _TAG_ONLY.match(sentence):
            continue
        if speakers:
            named = SPEAKER.match(sentence)
            if named and named.group(1) in speakers:
                speaker = named.group(1)
                sentence = sentence[named.end() :]
        sentence = _MARKUP.sub("", sentence).strip()
        pieces = _CLAUSE.split(sentence) if len(sentence) > _LONG_SENTENCE else (sentence,)
        for piece in pieces:
            if len(piece) > 12:
                yield Unit(index, order, role, speaker, " ".join(piece.split()) if "\n" in piece else piece)
                order += 1


def _speech_in_json(text: str) -> str:
    """Some assistants answer in JSON: its strings are what they say."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
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


def _weigh(units: list[Unit], speakers: frozenset[str], focus: str) -> None:
    ignored = {part.lower() for name in speakers for part in name.split()}
    focused = {word.lower() for word in _WORD.findall(focus)} - _STOP
    frequency: dict[str, int] = {}
    said: dict[int, int] = {}
    raw: list[list[tuple[str, bool]]] = []
    for unit in units:
        found: dict[str, bool] = {}
        for number, word in enumerate(_words(unit.text)):
            low = word.lower()
            if low in _STOP or low in ignored or low in found:
                continue
            first = word[0]
            found[low] = (number > 0 and first.isupper()) or not first.isalpha() or "_" in word
        for low in found:
            frequency[low] = frequency.get(low, 0) + 1
        raw.append(list(found.items()))
        said[unit.index] = said.get(unit.index, 0) + len(unit.text)
    total = len(units) + 1
    # A word said once may be a slip; said twice it is as telling as a word can be.
    rarity = {word: log(1 + total / max(2, count)) for word, count in frequency.items()}
    for unit, found_words in zip(units, raw, strict=True):
        unit.words = [(low, rarity[low] * (NAME_WEIGHT if named else 1.0)) for low, named in found_words]
        # Every message is about as important as the next: in a long one each sentence weighs less.
        unit.weight = (1.0 / said[unit.index]) ** _DILUTION_POWER
        if unit.text.endswith("?"):
            unit.weight *= _QUESTION_WEIGHT
        elif unit.role is Role.ASSISTANT and _INTENT.match(unit.text):
            unit.weight *= 0.3
        elif unit.role is Role.ASSISTANT and not speakers:
            unit.weight *= _ASSISTANT_WEIGHT * (1.4 if _FINDING.search(unit.text) else 1.0)
        elif _FINDING.search(unit.text):
            unit.weight *= 1.4
        if len(unit.text) < 120 and _COURTESY.search(unit.text):
            unit.weight *= 0.25
        enough = 2 if unit.speaker and any(named for _, named in found_words) else 3
        if len(unit.words) < enough or unit.text.endswith(":"):
            unit.weight = 0.0
        if focused and any(low in focused for low, _ in found_words):
            unit.weight *= 2.0


def _words(text: str) -> list[str]:
    words: list[str] = _WORD.findall(text)
    if _CJK.search(text):
        # No blanks between words: pairs of characters stand in for them.
        return [
            piece
            for word in words
            for piece in ([word[at : at + 2] for at in range(len(word) - 1)] if _CJK.search(word) else [word])
        ]
    return words


def choose(units: Sequence[Unit], room: int, overhead: int = 7) -> list[Unit]:
    """The units that tell the most new words for the room, in the order they were said.

    Greedy with lazy updates: a unit's worth only falls as its words get told, so a stale top of the heap
    is weighed again and nothing else needs to be.
    """
    told: dict[str, int] = {}

    def worth(unit: Unit) -> float:
        if not unit.weight:
            return 0.0
        gain = 0.0
        for word, weight in unit.words:
            times = told.get(word)
            gain += weight * _REPEAT**times if times else weight
        return float(gain * unit.weight / (len(unit.text) + overhead + _FRAGMENT) ** _LENGTH_POWER)

    heap = [(-worth(unit), number) for number, unit in enumerate(units) if unit.weight]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and room > 20:
        stale, number = heap[0]
        unit = units[number]
        fresh = -worth(unit)
        if fresh > stale + 1e-12:
            heapq.heapreplace(heap, (fresh, number))
            continue
        heapq.heappop(heap)
        cost = len(unit.text) + overhead
        if cost > room:
            continue
        room -= cost
        chosen.append(number)
        for word, _ in unit.words:
            told[word] = told.get(word, 0) + 1
    return [units[number] for number in sorted(chosen)]
