"""What a user says later about a rule: some of it ends the rule, some may, and then both are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from compact.core.evidence.reading import Reading, indexes_holding, without_bullet
from compact.core.evidence.rule_topics import (
    LANGUAGES,
    Rule,
    names_of,
    other_things,
    rule_of,
    takes_back,
    topic_of,
)
from compact.core.evidence.rules import PUT_OFF, gives_orders, spoken_sentences
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind

LATER = "later: "
"""So begins the context of a rule that a later sentence may have taken back."""
LIKELY_SHARE = 0.6
"""What a likely rule ranks of a certain one."""
_LONGEST = 120
_CUES = (
    "you can", "you may", "may be ", "can be ", "now be ", "again be ", "welcome", "lifted", "ban ",
    "gone", "is over", "are over", "after all", "second thought", "change of plan", ", not ", "extended",
    "pushed", "postponed", "raised", "lowered", "reduced", "increased", "now on", "no need", "doch",
    "ab jetzt", "ab sofort", "aufgehoben", "nicht mehr", "finalement", "levée", "ne plus", "mejor",
    "vanaf nu", "voortaan", "toch", "in plaats", "niet meer", "okay", "hoeft", "obsolete", "void",
    "history", "don't need", "don't have to", "for good", "go on with", "up to", "bis zu", "jusqu'à",
    "hasta", "feel free", "go ahead", " fine", " ok", "allowed", "all right", "alright", "my mind",
    "forget", "never mind", "no longer", "any more", "anymore", "scratch", "drop ", "lift ", "scrap ",
    "ignore ", "cancel ", "remove ", "instead", "rather than", "switch", "moved to", "changed to", " now",
    "correction", "statt", "lieber", "vergiss", "darfst", "dürfen", "in ordnung", "erlaubt", "au lieu",
    "plutôt", "oublie", "tu peux", "vous pouvez", "désormais", "en lugar", "en vez", "ya no", "olvida",
    "puede", "変更", "代わり", "ではなく", "じゃなく", "やめ", "いい", "良い", "構いません", "改为",
    "改成", "不再", "可以",
)  # fmt: skip
"""One of them stands in every sentence that the patterns below find."""
_ENDS = re.compile(
    r"\b(?:changed my mind|forget (?:the|about|that|what|my)|never ?mind (?:the|about|my)|"
    r"scratch (?:that|the|my)|(?:drop|lift|scrap|ignore|cancel|remove) (?:the|that|my|this)\b[^.!?]{0,40}\b"
    r"(?:rule|limit|ban|cap|restriction|requirement|constraint)|"
    r"(?:rule|limit|ban|cap|restriction|requirement|constraint|freeze|embargo|moratorium|"
    r"deadline)\b[^.!?]{0,50}\b"
    r"(?:is|are|was|has been) (?:now |hereby |finally |officially )?(?:lifted|gone|over|off|dropped|"
    r"scrapped|cancel+ed|"
    r"history|void|obsolete|removed|withdrawn|ended)|"
    r"(?:no need|you (?:don['’]?t|do not) (?:need|have)|no longer (?:need|necessary)) (?:to|for)|"
    r"(?:ist|sind) (?:jetzt |nun |damit )?(?:aufgehoben|hinfällig)|(?:est|sont) levée?s?|"
    r"vergiss (?:die|das|den)|oublie[zr]? (?:la|le|les)|olvida (?:el|la|lo))\b|やめ(?:ます|て|よう)|不再",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"\b(?:no longer|any ?more|nicht mehr|ya no|ne\b.{1,30}\bplus|niet meer)\b", re.IGNORECASE
)
_NOT_THAT = re.compile(
    r"(?:,|—|–|\() ?(?:and )?not (?:the |on |in |at |to |by )*(\S+?)(?:[.,;:!?)]|\s|$)", re.IGNORECASE
)
"""What is set aside: "on port 9090, not 8080"."""
_KEEPS = re.compile(
    r"\b(?:keep|leave|hold|retain|preserve|behalte|lass|garde|laisse|houd)\w*\b", re.IGNORECASE
)
_UNTIL_TOLD = re.compile(
    r"\b(?:until|till|unless) (?:I (?:say|tell|confirm|approve|give|decide)|told|further notice|"
    r"you hear from me)",
    re.IGNORECASE,
)
_KEEPING = frozenset(
    "hold back keep leav wait off hear tell told confirm approv giv decid remov delet".split()
)
_UNDOING = frozenset("remov delet drop chang replac clean retir kill discard scrap".split())
"""What may be done to a thing once it need not be kept."""
_INSTEAD = re.compile(
    r"(?:\binstead of|\brather than|\bstatt|\bau lieu d(?:e\b|['’])|\ben (?:lugar|vez) de\b)\s*"
    r"((?:[^\s,.;:!?]+(?:\.(?=\w))?[^\s,.;:!?]*\s*){1,3})",
    re.IGNORECASE,
)
_IS_FINE = re.compile(
    r"(?:\b(?:is|are)|['’](?:s|re)) (?:now |again |all )?"
    r"(?:fine|ok|okay|allowed|permitted|all right|alright|welcome|acceptable)\b",
    re.IGNORECASE,
)
_PERMITS = re.compile(
    r"\byou (?:can|may)\b(?!['’]|\s+(?:not|never|only))|\bfeel free to\b|\bgo ahead and\b|"
    r"\b(?:can|may) (?:now |again )?be \w+(?:ed|en|t)\b|\b(?:take|use|spend|go) (?:up to )?\d|"
    rf"{_IS_FINE.pattern}|"
    r"\b(?:darfst|dürfen sie|ist (?:jetzt |nun )?(?:okay|ok|erlaubt|in ordnung))\b|"
    r"\b(?:tu peux|vous pouvez|puedes?)\b|"
    r"て(?:も)?(?:いい|良い|構いません)|可以",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:switch(?:ing|ed)? (?:back |over )?to|(?:moved?|pushed|postponed|extended|brought forward) "
    r"(?:back )?(?:to|until|by)|"
    r"(?:changed?|raised|lowered|reduced|increased|cut|upped) (?:\w+ )?(?:to|from)|(?:is|are) now|instead|"
    r"correction|lieber|"
    r"after all|on second thought|change of plans?|from now on|go(?:ing)? forward|make (?:that|it)|"
    r"plutôt|désormais|finalement|mejor|ab (?:jetzt|sofort)|nun doch|vanaf nu|voortaan|toch)\b|^doch\b|変更|"
    r"代わり|ではなく|じゃなく|改为|改成",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:only|except|but|if(?! (?:needed|necessary|need be|you (?:like|want|wish)))|when|while|unless|"
    r"once|this time|for (?:the|this|that|now|today)|"
    r"in (?:the|this)|nur|außer|wenn|aber|sauf|seulement|salvo|s[oó]lo)\b|だけ|ただ",
    re.IGNORECASE,
)
"""Who lifts a rule in part leaves the rest of it standing."""
_SCOPE = re.compile(r"(?:in|for) (?:the|this|that) ([\w' -]+)", re.IGNORECASE)
_EVERYTHING = frozenset({"*"})
_ANSWERING = frozenset(
    "answer repli reply respond writ speak talk switch antwort schreib sprich sprech répond parl escrib habl "
    "antwoord schrijf praat spreek".split()
)
_PART, _HALF, _MOST = 0.3, 0.5, 0.6
_FORBIDDEN_VERB = re.compile(
    r"\b(?:don['’]?t|do not|never|not)\s+(?:\w+ly\s+)?([a-z]{3,})|\bno\s+([a-z]{3,}?)(?:ing|s)?\b",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|(?:very )?good|great|fine|now|then|so|and|please|you (?:can|may)(?: now)?|"
    r"go ahead(?: and)?|next)[,:]?\s+)*([a-z]+)\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(r"\buntil\b", re.IGNORECASE)


def said_later(rule: Evidence) -> str:
    """What to write behind a rule that a later sentence may have taken back; else nothing."""
    return f"; {rule.context}" if rule.context.startswith(LATER) else ""


@dataclass(frozen=True, slots=True)
class Settled:
    """Rules of before and rules of a span, each as it stands after all that was said."""

    earlier: tuple[Evidence, ...]
    said: tuple[Evidence, ...]
    ended: frozenset[str]
    """Rules, word for word, that do not stand any more."""


@dataclass(slots=True)
class _Standing:
    item: Evidence
    rule: Rule
    """Its index is that of the message in the span, or -1."""
    names: frozenset[str] = field(init=False)
    put_off: str = field(init=False)
    """What it forbids for the time being only: "clean" of "Don't clean anything yet"; else nothing."""

    def __post_init__(self) -> None:
        self.names = names_of(self.rule)
        self.put_off = _put_off(self.rule.text)


def settle(
    earlier: Sequence[Evidence],
    said: Sequence[Rule],
    reading: Reading,
    where: Sequence[int],
    rank: float,
    hides: Callable[[str], bool],
) -> Settled:
    """The newest word counts; where it is not certain that it ends a rule, it is quoted beside the rule."""
    standing = [
        _Standing(item, rule_of(item.value, -1)) for item in sorted(earlier, key=lambda item: item.message)
    ]
    given: dict[int, list[Rule]] = {}
    for rule in said:
        given.setdefault(rule.index, []).append(rule)
    for index in sorted({*given, *_telling(reading, earlier, said)}):
        rules = given.get(index, [])
        own = {rule.text for rule in rules}
        for sentence in spoken_sentences(reading, index) if standing else ():
            sentence = reading.after_speaker(without_bullet(sentence))[1]
            standing, ends, beside = _after(sentence, index, standing)
            if sentence in own or hides(sentence):
                continue
            quoted = " ".join(sentence.split())
            if ends:
                rules = [*rules, rule_of(sentence, index)]
            for one in beside:
                one.item = replace(one.item, context=f"{LATER}“{quoted}” [m{where[index]}]")
        for rule in rules:
            standing = [old for old in standing if not takes_back(rule, old.rule)]
            worth = rank if rule.certain else rank * LIKELY_SHARE
            item = Evidence(EvidenceKind.RULE, rule.text, where[index], "user", worth)
            standing.append(_Standing(item, rule))
    texts = {one.rule.text for one in standing}
    told = {item.value for item in earlier} | {rule.text for rule in said}
    return Settled(
        tuple(one.item for one in standing if one.rule.index < 0),
        tuple(one.item for one in standing if one.rule.index >= 0),
        frozenset(told - texts),
    )


def _telling(reading: Reading, earlier: Sequence[Evidence], said: Sequence[Rule]) -> list[int]:
    """Indexes of what users said that may end a rule; none where there are no rules."""
    if not earlier and not said:
        return []
    first = -1 if earlier else said[0].index
    users = [
        index
        for index in range(first + 1, len(reading.messages))
        if reading.messages[index].role is Role.USER and gives_orders(reading, index)
    ]
    if any(PUT_OFF.search(rule.text) for rule in said) or any(PUT_OFF.search(item.value) for item in earlier):
        return users
    holding = indexes_holding([reading.texts[index] for index in users], _CUES)
    rules = [*said, *(rule_of(item.value, -1) for item in earlier)]
    named = frozenset[str]().union(*map(names_of, rules))
    return [users[at] for at in holding if any(map(reading.texts[users[at]].lower().__contains__, named))]


@dataclass(frozen=True, slots=True)
class _Saying:
    """A sentence that may say something about a rule, with what kind of thing it says."""

    rule: Rule
    ends: bool
    no_more: bool
    replaced: frozenset[str] | None
    """What is named after "instead of"."""
    set_aside: frozenset[str]
    """What is named after ", not"."""
    permits: bool
    changes: bool
    limited: bool
    scope: frozenset[str]
    """What it is limited to, where that is a place or a thing: "in the tools folder"."""


def _saying(sentence: str, index: int) -> _Saying | None:
    """The sentence, if it has one of the forms in which people take rules back."""
    replaced = _INSTEAD.search(sentence)
    aside = _NOT_THAT.search(sentence)
    ends, no_more, permits, changes = (
        pattern.search(sentence) is not None for pattern in (_ENDS, _NO_MORE, _PERMITS, _CHANGES)
    )
    if not (ends or no_more or replaced or aside or permits or changes):
        return None
    limit = _LIMITED.search(sentence)
    scope = _SCOPE.match(sentence, limit.start()) if limit else None
    return _Saying(
        rule_of(sentence, index),
        ends,
        no_more,
        topic_of(replaced.group(1)) if replaced else None,
        topic_of(aside.group(1)) if aside else frozenset(),
        permits,
        changes,
        limit is not None,
        topic_of(scope.group(1)) if scope else _EVERYTHING,
    )


def _after(
    sentence: str, index: int, standing: list[_Standing]
) -> tuple[list[_Standing], bool, list[_Standing]]:
    """The rules that stand after the sentence, whether it ends one for good, and those that it may end."""
    if sentence.endswith(("?", "？")):
        return standing, False, []
    ordered = _ordered(sentence) if any(one.put_off for one in standing) else ""
    kept = [one for one in standing if one.rule.index == index or not ordered or one.put_off != ordered]
    if len(sentence) > _LONGEST or sentence.endswith((":", "：")):
        return kept, False, []
    said = sentence.lower().__contains__
    meant = [one for one in kept if one.rule.index < index and any(map(said, one.names))]
    new = _saying(sentence, index) if meant and any(map(said, _CUES)) else None
    if new is None:
        return kept, False, []
    judged = [(one, *_judged(new, one.rule)) for one in meant]
    best = max(weight for _, _, weight in judged)
    over = [one for one, verdict, weight in judged if verdict == "over" and weight == best]
    beside = [one for one, verdict, weight in judged if verdict == "later" and weight == best]
    return [one for one in kept if one not in over], bool(over), beside


def _judged(saying: _Saying, old: Rule) -> tuple[str, float]:
    """ "over", "later" or "" for what the new sentence does to the old rule, and how much it speaks of it."""
    if not old.topic:
        return "", 0.0
    new = saying.rule
    if other_things(new, old):
        return "", 0.0
    limited = saying.limited and not saying.scope <= old.topic
    shared = new.topic & old.topic
    share = len(shared) / len(old.topic)
    same_number = bool(new.numbers & old.numbers)
    languages = new.choices & LANGUAGES and old.choices & LANGUAGES and new.choices != old.choices
    if saying.changes and languages:
        told = old.topic - _ANSWERING
        if not told or (told <= new.topic and new.topic - _ANSWERING <= told):
            return ("later" if limited else "over"), 1.0
        return "later", share
    if saying.set_aside and shared and saying.set_aside & (old.numbers | old.choices | old.topic):
        aside = saying.set_aside <= old.numbers | old.choices and not old.forbids
        return ("over" if aside and share >= _HALF and not limited else "later"), max(share, _HALF)
    if new.numbers and old.numbers and new.numbers != old.numbers and (saying.permits or saying.changes):
        valued = len(shared | (new.choices & old.choices)) / len(old.topic | old.choices)
        if max(share, valued) >= _MOST and not limited:
            return "over", max(share, valued)
    named = saying.replaced
    if named and not old.forbids and (named <= old.topic or named <= old.choices):
        return ("over" if share >= _PART and not limited else "later"), max(share, _PART)
    if saying.ends and (share >= _HALF or (same_number and shared)):
        return ("later" if limited else "over"), max(share, _HALF)
    if named is not None or not shared or (share < _PART and not any(map(_is_distinct, shared))):
        return "", 0.0
    if saying.no_more:
        ends = share >= _HALF and not limited and not (new.forbids and old.forbids)
        return ("over" if ends else "later"), share
    if saying.permits and (old.forbids or old.numbers):
        if share < 1.0 and _IS_FINE.search(new.text) and not any(map(_is_distinct, shared)):
            return "", 0.0  # "The file is fine" allows nobody to delete files
        # "You can mail me the board's minutes" does not allow to mail the board.
        ends = new.topic == old.topic and old.forbids and not new.forbids and not limited
        return ("over" if ends else "later"), share
    if saying.permits and _UNTIL_TOLD.search(old.text):
        meant = old.topic - _KEEPING
        ends = bool(meant) and meant <= new.topic and len(new.topic - meant) <= 1 and not limited
        return ("over", 1.0) if ends else ("later", share)
    if saying.permits and _KEEPS.search(old.text) and not new.topic.isdisjoint(_UNDOING):
        # "You can remove the old webhooks now" ends "Keep the old webhooks until I say otherwise".
        return ("over" if new.topic - _UNDOING == old.topic and not limited else "later"), share
    if saying.changes:
        other = (new.numbers, new.choices, new.forbids) != (old.numbers, old.choices, old.forbids)
        return ("over" if other and takes_back(new, old) and not limited else "later"), share
    return "", 0.0


def _is_distinct(word: str) -> bool:
    """File names, addresses and the like: one of them tells what is meant."""
    return any(mark in word for mark in "._/-@") or any(map(str.isdigit, word))


def _put_off(rule: str) -> str:
    """The verb of a rule that only puts something off ("Don't clean anything yet"); else nothing."""
    if not PUT_OFF.search(rule) or _OPEN_END.search(rule):
        return ""
    found = _FORBIDDEN_VERB.search(rule)
    return (found.group(1) or found.group(2)).lower() if found else ""


def _ordered(sentence: str) -> str:
    """The verb of an order: "clean" of "Then clean it"."""
    found = _ORDERED.match(sentence)
    return found.group(1).lower() if found else ""
