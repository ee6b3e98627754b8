"""What a rule is about, and whether a newer one takes it back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_REPLACES = re.compile(
    r"\b(?:instead|no longer|changed my mind|change of plans?|actually|scratch that|forget (?:the|what|"
    r"about)|"
    r"updated?|rather than|is now|are now|now [a-z]+s(?= )|raise (?:that|it|this)|after all|on second "
    r"thought|not .{1,30} any ?more|correction|"
    r"revised?|"
    r"raised?|lower(?:ed)?|supersedes?|replaces?|new rule|make (?:that|it) (?:now )?(?=\S*\d)|"
    r"(?:have |has )?(?:moved|changed|switched|pushed|postponed|extended|increased|reduced|cut) (?:back |"
    r"up |down )?to|"
    r"statt(?:dessen)?|ab (?:jetzt|sofort)|korrektur|nun doch|doch lieber|neuerdings|a partir de ahora|en "
    r"lugar de|ya no|mejor|"
    r"désormais|dorénavant|au lieu de|plutôt|finalement|vanaf nu|voortaan|toch|in plaats van|d['’]ora in "
    r"poi|invece)\b"
    r"|^doch\b|変更|改为|改成",
    re.IGNORECASE,
)
_ONWARD = re.compile(
    r"\b(?:from (?:now|here|today) on|going forward|as of (?:now|today)|in future|from \w+ on)\b",
    re.IGNORECASE,
)
_FORBIDDING = frozenset(
    "never not don't don’t dont no avoid without stop mustn't mustn’t can't can’t cannot forbidden "
    "off-limits banned ban nobody no-one nothing none niemand nichts personne nadie nie niemals nicht "
    "kein keine keinen jamais pas nunca".split()
)
LANGUAGES = frozenset(
    "english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic "
    "hindi turkish swedish danish norwegian finnish czech greek "
    "deutsch englisch französisch spanisch italienisch niederländisch inglé español francé alemán holandé "
    "anglai françai "
    "espagnol allemand néerlandai nederland engel frans duit spaan "
    "inglese italiano francese inglê portuguê 日本語 英語 中文 英文 한국어 영어".split()
)
_FORMAL = {
    "tutoyer": "tu", "tutoie": "tu", "tutoyez": "tu", "vouvoyer": "vou", "vouvoie": "vou", "vouvoyez": "vou",
    "duze": "duzen", "sieze": "siezen", "duzt": "duzen", "siezt": "siezen",
}  # fmt: skip
_CHOICES = LANGUAGES | frozenset(
    "tab space json yaml xml csv toml markdown html prose table bullet formal informal metric imperial "
    "euro dollar pound morning afternoon evening light dark celsiu fahrenheit kelvin british american "
    "tu vou duzen siezen portrait landscape".split()
)
"""Without the s at the end."""
_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_IDEOGRAPHIC = re.compile(r"\d+|日本語|英語|中文|英文|[^\W\d_\u3040-\u309f]")
"""Without hiragana, which is mostly grammar."""
_ENDING = re.compile(r"(?<=[a-zäöüéè]{3})(?:ing|ed|en|e)$")
_NUMBERED = re.compile(r"(\d+)-([^\W\d_]+)")
_CHANGING = frozenset("touch edit modify alter chang".split())
_TOPICLESS = frozenset(
    "a an the and or but if so of in on at to for from by with as is are be been it its this that these "
    "those you your we our my i me us they them not no never always must do don't dont only should shall "
    "may can "
    "cannot will would please make sure ensure use using used keep kept all every each any before after "
    "when whenever "
    "now on instead anymore more than least most at from going forward actually rather longer changed "
    "mind rule "
    "new remember note avoid prefer ever without unless until has have had need needs want also too than "
    "then there "
    "here what fine ok okay limit free feel again "
    "which who how let lets go get one up out it's i'm that's don’t update updated scratch forget stay "
    "stays is "
    "under over above below within per about around maximum minimum max min moved moves switch switched "
    "allowed "
    "permitted say says otherwise further notice plan plans change lifted ban banned further else "
    "throughout everywhere today "
    "stop till just really very goes exceed exceeds welcome second thought correction raised lowered "
    "extended increased reduced "
    "ab jetzt sofort auf in statt immer nur noch bitte höchstens maximal mindestens doch lieber nie "
    "niemals nicht kein keine "
    "a partir de ahora en siempre desde solo por favor nunca "
    "désormais dorénavant uniquement toujours finalement jamais pas de la le les du des un une der die "
    "das den dem "
    "altijd nooit vanaf nu voortaan toch het een alleen".split()
)
_LIMIT_WORDS = re.compile(
    r"\b(?:at least|min(?:imum|\.)?|no (?:less|fewer) than|mindestens|au moins|al menos|more than "
    r"(?=\d))",
    re.IGNORECASE,
)
_UPPER_WORDS = re.compile(
    r"\b(?:at most|max(?:imum|\.)?|no more than|up to|under|below|exceed|höchstens|maximal|au plus|como "
    r"máximo)\b",
    re.IGNORECASE,
)
_NAMED_BY_NUMBER = re.compile(
    r"\b([^\W\d_]{3,})\s+#?(\d{1,3}|I{2,3}|I?V|[A-HJ-Z])\b(?![.,:/-]\d)"
    r"(?=\s*(?:$|[.,;:!?)'’]|(?:at|in|on|to|must|may|should|shall|is|are|can|has|have|needs?|stays?|goes|"
    r"gets|with|"
    r"without|by|until|before|after|and|or|for|from|as|not|never|only|will|first|warm|cold|open|closed|"
    r"empty|off|"
    r"always|muss|darf|bleibt|auf|bei|ist|wird|doit|reste|est|debe)\b))"
)
_UNNAMING = frozenset(
    "port version python java node php ruby rust level exceed spend pay cost reach take allow last least "
    "most than under "
    "below over above within maximum minimum budget limit deadline max min ceiling cap are until before "
    "after from "
    "about around nearly only another every each all wait invite order add want need keep stay write send "
    "and "
    "the for with has have was not per plus minus times january february march april may june july august "
    "september october november december monday tuesday wednesday thursday friday saturday sunday between "
    "than use exactly roughly just make show give try retry cut hire buy bis nach vor unter über mit".split()
)
"""What a number may follow without being its name: "port 8080" is a value, "tank 2" a thing."""
_COUNTS = frozenset(
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty "
    "hundred "
    "zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig deux trois quatre cinq dix dos tres "
    "cuatro cinco diez "
    "twee drie vier vijf tien".split()
)
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july "
    "august september october november december am pm noon midnight montag dienstag mittwoch donnerstag "
    "freitag".split()
)


@dataclass(frozen=True, slots=True)
class Rule:
    text: str
    index: int
    topic: frozenset[str]
    """What it is about: content words without numbers and without choices."""
    numbers: frozenset[str]
    choices: frozenset[str]
    """Languages, formats and the like, of which one excludes the other."""
    forbids: bool
    replaces: bool
    things: frozenset[tuple[str, str]] = frozenset()
    """What is named by a number, ("tank", "2"): a rule on another of them says nothing about this one."""
    certain: bool = True
    """False for what only reads as a rule."""


def rule_of(text: str, index: int, *, certain: bool = True) -> Rule:
    things = frozenset(
        (found.group(1).lower(), found.group(2).lower())
        for found in _NAMED_BY_NUMBER.finditer(text)
        if found.group(1).lower() not in _UNNAMING
    )
    words = _words(_uncommanded(text).lower())
    numbered = {number for _, number in things}
    bare = frozenset(
        _FORMAL.get(word, word.rstrip("s"))
        for word in words
        if word not in _TOPICLESS and word not in _COUNTS and not word[0].isdigit()
    )
    modifiers = _modifying(text) if bare & LANGUAGES else frozenset[str]()
    choices = bare & _CHOICES - modifiers
    return Rule(
        text,
        index,
        topic=frozenset(map(_stem, bare - choices or bare)),
        numbers=frozenset(
            word for word in words if (word[0].isdigit() and word not in numbered) or word in _COUNTS
        ),
        choices=choices,
        forbids=not _FORBIDDING.isdisjoint(words),
        replaces=_REPLACES.search(text) is not None,
        things=things,
        certain=certain,
    )


_MODIFIED = re.compile(r"\b([A-ZÄÖÜ]\w+)s?\s+([a-z]\w+)")
_COMMAND = re.compile(r"/[a-z]+\s+")


def _uncommanded(text: str) -> str:
    """Without a command of the terminal before it: "/ask Use tabs" says "Use tabs"."""
    found = _COMMAND.match(text) if text[:1] == "/" else None
    return text[found.end() :] if found else text


def _modifying(text: str) -> frozenset[str]:
    """Languages that tell which things are meant ("German customers"), not which one to use."""
    return frozenset(
        found.group(1).lower()
        for found in _MODIFIED.finditer(text)
        if found.group(2) not in _TOPICLESS and found.group(1).lower() in LANGUAGES
    )


def topic_of(phrase: str) -> frozenset[str]:
    """What a phrase names, in the form in which rules hold their topic and choices."""
    words = (_FORMAL.get(word, word.rstrip("s")) for word in _words(phrase.lower()) if word not in _TOPICLESS)
    return frozenset(word if word in _CHOICES else _stem(word) for word in words)


def names_of(rule: Rule) -> frozenset[str]:
    """Who speaks of what the rule is about uses one of these, as a word or the beginning of one."""
    languages = LANGUAGES if rule.choices & LANGUAGES else frozenset[str]()
    formal = frozenset(_FORMAL) if not rule.choices.isdisjoint(_FORMAL.values()) else frozenset[str]()
    return (
        rule.topic | rule.choices | languages | formal | (_CHANGING if "chang" in rule.topic else frozenset())
    )


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return "chang" if stem in _CHANGING else stem


def _words(low: str) -> list[str]:
    """The words; of a script without blanks, its letters."""
    words = _WORD.findall(_NUMBERED.sub(r"\1 \2", low) if "-" in low else low)
    if low.isascii() or not _IDEOGRAPH.search(low):
        return words
    return [piece for word in words for piece in (_IDEOGRAPHIC.findall(word) or [word])]


def newest(rules: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """`(text, position)` pairs, oldest first, without those that a later one takes back or changes."""
    standing: list[Rule] = []
    for text, position in rules:
        rule = rule_of(text, position)
        standing = [old for old in standing if not takes_back(rule, old)]
        standing.append(rule)
    return [(rule.text, rule.index) for rule in standing]


def other_things(new: Rule, old: Rule) -> bool:
    """True when both name things of one kind by number, and not the same ones."""
    kinds = {kind for kind, _ in new.things} & {kind for kind, _ in old.things}
    return bool(kinds) and {one for one in new.things if one[0] in kinds} != {
        one for one in old.things if one[0] in kinds
    }


def takes_back(new: Rule, old: Rule) -> bool:
    """True when both cannot stand, or say the same. In doubt both stay: a rule lost is worse than one "
    "too many."""
    if new.text == old.text:
        return True
    if other_things(new, old) or _other_bounds(new.text, old.text):
        return False
    shared = len(new.topic & old.topic)
    if not shared:
        return False
    alike = shared / len(new.topic | old.topic)
    # Who replaces a rule in other words still says all that it was about, and what it is now.
    retold = old.topic <= new.topic and len(old.topic) > 1 and new.forbids == old.forbids
    if retold and _ONWARD.search(new.text):
        return True
    if new.replaces:
        lasting = (new.topic | old.topic) - _DAYS
        undated = len((new.topic & old.topic) - _DAYS) / len(lasting) if lasting else alike
        # "Answer in French instead" says nothing of how long answers may be.
        other = old.numbers and not new.numbers and new.choices != old.choices
        if not other and (
            max(alike, undated) >= 0.5 or retold or (new.choices & old.choices and alike > 0.3)
        ):
            return True
    if new.numbers != old.numbers or new.forbids != old.forbids or new.choices != old.choices:
        return alike >= 0.75
    return alike == 1.0


def _other_bounds(new: str, old: str) -> bool:
    """True for "at least 5" beside "at most 10": both hold."""
    return bool(
        (_LIMIT_WORDS.search(new) and _UPPER_WORDS.search(old) and not _LIMIT_WORDS.search(old))
        or (_UPPER_WORDS.search(new) and _LIMIT_WORDS.search(old) and not _LIMIT_WORDS.search(new))
    )
