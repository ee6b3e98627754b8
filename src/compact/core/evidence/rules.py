"""Standing rules: quoted as they were said, the newest word counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from compact.core.evidence.numbered import numbered_answers
from compact.core.evidence.reading import Reading, indexes_holding, split_sentences, without_bullet
from compact.core.evidence.rule_forms import long_enough, states_rule
from compact.model.message import Role

MAX_RULE_CHARS = 400
_BEFORE_CHARS = 160
_POINTING_BACK = re.compile(r"(?:both|it|this|that|they|these|those|neither)\b", re.IGNORECASE)
PUT_OFF = re.compile(r"\b(?:yet|for now|for the moment)\b", re.IGNORECASE)
_RULES_HEADING = re.compile(
    r"^[^\n]{0,60}\b(?:rules?|constraints?)\b[^\n?]{0,60}:[*_ \t]*\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s)",
    re.IGNORECASE | re.MULTILINE,
)
_OBSERVED = re.compile(
    r"\s*(?:observation\b|(?:tool|function|command)[ _-](?:output|result|response)s?\b|execution result|"
    r"<(?:returncode|output|stdout|stderr|observation|tool_(?:result|response|output)|function_results?)>)",
    re.IGNORECASE,
)
"""Agents without a role for tools hand their outputs over as the user's: nobody orders anything there."""
_ORDERING = frozenset({Role.USER, Role.SYSTEM, Role.DEVELOPER})

# The words that make a sentence an order. "I have never been there" and "it must be fun" are none, so who is
# meant counts too: nobody (an imperative), you, or a thing that is to be somehow.
_OPENING = (
    r"^(?:please,?\s+|and\s+|also,?\s+|but\s+|so\s+|then\s+|remember:\s+|note:\s+|important:\s+|"
    r"rules?[\w ]{0,12}:\s+|"
    r"one (?:more )?(?:thing|rule):\s+|ok(?:ay)?,?\s+|actually,?\s+|update:\s+|"
    r"correction:\s+|scratch that[,.:;]\s+|instead,?\s+|sorry,?\s+|well,?\s+|by the way,?\s+|"
    r"finally,?\s+|in general,?\s+|"
    r"as a rule,?\s+|"
    r"for [\w ]{1,30},\s+|when[\w ' -]{1,50},\s+|if[\w ' -]{1,60},\s+|before[\w ' -]{1,50},\s+|"
    r"after[\w ' -]{1,50},\s+)*"
)
_IMPERATIVE = re.compile(
    _OPENING
    + r"(?:always\b|never\b(?!\s+mind)|do\s+not\b|don['’]?t\b|avoid\b|make\s+sure\b|be\s+sure\s+to\b|"
    r"ensure\b|"
    r"under\s+no\s+circumstances|in\s+no\s+case|on\s+no\s+account|from\s+now\s+on|going\s+forward|"
    r"only\s+\w+|no\s+(?:more|less|fewer|longer)\s+than|at\s+(?:most|least)\s+\w+|stop\s+\w+ing\b|"
    r"refrain\s+from|"
    r"keep\s+(?:the|all|every|each|both|my|our|your|these|those)\b|keep\b(?=[^.!?\n]{0,70}\b(?:under|below|"
    r"within|above|short|shorter|concise|brief|private|secret|"
    r"confidential|to|in|at|as|out\s+of|"
    r"intact|untouched|compatible|unchanged|sorted|separate|open|on|off|out)\b)|stick\s+(?:to|with)|limit\s+|"
    r"remember\s+to\b|use\s+(?!the\s+(?:attached|following|given|above|file)\b)\S+|prefer\s+\S+|"
    r"write\s+(?:all|every|only|in|tests?|code|commit|dates?|numbers|amounts|"
    r"the\s[\w -]{1,30}\s(?:in|as|without|first|before)\b)|"
    r"answer\s+(?:in|with|only|every|all|me)|"
    r"reply\s+(?:in|with|only|to)|respond\s+(?:in|with|only|to)|format\s+|(?:begin|start|end|sign|prefix|"
    r"tag|mark|label)\s+(?:every|each|all|the)|"
    r"ask\s+(?:me\s+)?(?:before|first|for)|ask\s+me\b|check\s+with\s+me|treat\s+|leave\s+(?!me\b|"
    r"it\s+to\b)\S+|name\s+(?:all|every|each|the)|"
    r"put\s+(?:all|every|each)|round\s+|cite\s+|quote\s+|include\s+(?:a|the|only|all|every)|log\s+(?:every|"
    r"all|each)|"
    r"store\s+(?:all|every|each|the|no)|run\s+(?:the|all|every)\s[^.!?\n]{0,60}\b(?:before|after|every|"
    r"each)\b|"
    r"no\s+\w+(?:[\w' -]{0,40})?\s(?:without|before|unless|until|in|on|after|over|above|outside|"
    r"yet|from\s+you|for\s+now)\b|nothing\s+\w+)",
    re.IGNORECASE,
)
_STANDING_WORDS = ("always", "never", "must", "rule", "now on", "forward", "circumstances")
STANDING = re.compile(
    r"\b(?:always|never|from now on|going forward|under no circumstances|rule|must(?: not)?)\b", re.IGNORECASE
)
_PLEADED = re.compile(r"\bplease,? (?:always|never)\b", re.IGNORECASE)
"""A rule wherever it stands, also among people: "I'm allergic, so please always check"."""
_NO_RULE = re.compile(
    r"^(?:(?:well|and|but|so|yeah|oh|yes),?\s+)*(?:I['’]?(?:ll|m|ve|d)?|we['’]?(?:ll|re|ve)?|he|"
    r"she)\s+(?:will\s+|have\s+|had\s+|also\s+|just\s+|am\s+|was\s+|were\s+)?"
    r"(?:never|always|must|going|don['’]?t\s+(?!want)|didn['’]?t|make|start|keep|try|use[ds]?|met|worried|"
    r"kinda|wonder|think|guess|hope|feel)\b"
    r"|\bmust(?:['’]ve|-\w+|\s+(?:have|feel|love|say|admit|know))\b"
    r"|\bmust\s+be\s+(?:so|such|nice|tough|hard|great|fun|amazing|really|incredible|rough|exciting|"
    r"an?\s+(?:great|nice|wonderful|amazing|lovely|good|hard|tough|huge|big|real|fun|lot|relief|joy)|very|"
    r"quite|wonderful|rewarding|"
    r"frustrating|difficult|scary|awesome|cool|tiring|proud|happy|nervous|thrilled)"
    r"|\b(?:not\s+sure|whether|i\s+wonder|wondering|maybe|perhaps|i\s+guess|i\s+think)\b"
    r"|^(?:\W*\w+\W+){0,3}?(?:don['’]?t|do\s+not)\s+(?:worry|mention|you\s+think|know|hesitate|give\s+up|"
    r"get\s+discouraged|be\s+(?:so|too|afraid))"
    r"|\b(?:don['’]?t|do\s+not)\s+be\s+\w+\s+about\s+(?:it|this|that)\b"
    r"|^[\w ]{2,30}:\s+(?:yes|no|nope|yeah|yep),\s"
    r"|^(?:\w+\s+)?keep\s+(?:it\s+up|up\b|going|on\b|me\s+posted|at\s+it|trying|doing|in\s+touch|"
    r"(?:(?:it|this|that)\s+)?in\s+mind\b(?!:))"
    r"|\bneed\s+to\s+know\b|^use\s+(?:it|this|that|them)\b[^.]{0,12}$|^(?:always|never)\s+(?:happy|glad|"
    r"good|fun|hard|heard|gets|need|[a-z]{3,}ing|a\s|been|had|was|is|the)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"\b(?:instead|no longer|changed my mind|actually|scratch that|forget (?:the|what|about)|updated?|"
    r"rather than|is now|"
    r"are now|not .{1,30} any ?more|correction|revised?|raised?|lower(?:ed)?|supersedes?|replaces?|"
    r"statt(?:dessen)?|ab (?:jetzt|sofort)|korrektur|a partir de ahora|en lugar de|ya no|désormais|"
    r"dorénavant|au lieu de|plutôt)\b|変更|改为|改成",
    re.IGNORECASE,
)
_FORBIDDING = frozenset(
    "never not don't don’t dont no avoid without stop mustn't mustn’t can't can’t cannot forbidden "
    "off-limits".split()
)
LANGUAGES = frozenset(
    "english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic "
    "hindi turkish "
    "deutsch englisch französisch spanisch inglé español francé alemán anglai françai espagnol allemand "
    "inglese italiano francese inglê portuguê 日本語 英語 中文 英文 한국어 영어".split()
)
_CHOICES = LANGUAGES | frozenset(
    "tab space json yaml xml csv toml markdown html prose table bullet formal informal metric imperial "
    "euro dollar pound morning afternoon evening light dark".split()
)
"""Without the s at the end."""
_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_IDEOGRAPHIC = re.compile(r"\d+|日本語|英語|中文|英文|[^\W\d_\u3040-\u309f]")
"""Without hiragana, which is mostly grammar."""
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|e)$")
_NUMBERED = re.compile(r"(\d+)-([^\W\d_]+)")
_CHANGING = frozenset("touch edit modify alter chang".split())
_TOPICLESS = frozenset(
    "a an the and or but if so of in on at to for from by with as is are be been it its this that these "
    "those you "
    "your we our my i me us they them not no never always must do don't dont only should shall may can "
    "cannot will "
    "would please make sure ensure use using used keep kept all every each any before after when whenever "
    "now on "
    "instead anymore more than least most at from going forward actually rather longer changed mind rule "
    "new remember "
    "note avoid prefer ever without unless until has have had need needs want also too than then there "
    "here what fine ok okay limit free feel again "
    "which who how let lets go get one up out it's i'm that's don’t update updated scratch forget stay "
    "stays is "
    "ab jetzt sofort auf in statt immer nur noch bitte a partir de ahora en siempre desde solo por favor "
    "désormais dorénavant uniquement toujours de la le les du des un une der die das den".split()
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


def rule_of(text: str, index: int) -> Rule:
    words = _words(text.lower())
    bare = frozenset(word.rstrip("s") for word in words if word not in _TOPICLESS and not word[0].isdigit())
    return Rule(
        text,
        index,
        topic=frozenset(map(_stem, bare - _CHOICES or bare)),
        numbers=frozenset(word for word in words if word[0].isdigit()),
        choices=bare & _CHOICES,
        forbids=not _FORBIDDING.isdisjoint(words),
        replaces=_REPLACES.search(text) is not None,
    )


def topic_of(phrase: str) -> frozenset[str]:
    """What a phrase names, in the form in which rules hold their topic and choices."""
    words = (word.rstrip("s") for word in _words(phrase.lower()) if word not in _TOPICLESS)
    return frozenset(word if word in _CHOICES else _stem(word) for word in words)


def names_of(rule: Rule) -> frozenset[str]:
    """Who speaks of what the rule is about uses one of these, as a word or the beginning of one."""
    languages = LANGUAGES if rule.choices & LANGUAGES else frozenset[str]()
    return rule.topic | rule.choices | languages | (_CHANGING if "chang" in rule.topic else frozenset())


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return "chang" if stem in _CHANGING else stem


def _words(low: str) -> list[str]:
    """The words; of a script without blanks, its letters."""
    words = _WORD.findall(_NUMBERED.sub(r"\1 \2", low) if "-" in low else low)
    if low.isascii() or not _IDEOGRAPH.search(low):
        return words
    return [piece for word in words for piece in (_IDEOGRAPHIC.findall(word) or [word])]


def rules_in(reading: Reading) -> list[Rule]:
    """Orders given by user, system or developer, in the order given. Tool output can order nothing."""
    found: list[Rule] = []
    people = bool(reading.speakers)
    indexes: Iterable[int] = range(len(reading.messages))
    if people:
        indexes = indexes_holding(reading.texts, _STANDING_WORDS)
    for index in indexes:
        if not gives_orders(reading, index):
            continue
        sentences = spoken_sentences(reading, index)
        listed = [] if people else _listed_rules(_without_code(reading.texts[index]))
        found.extend(rule_of(text, index) for text in listed)
        # What answers a numbered question stands with that question; alone it would order something else.
        answers = [] if people or listed else numbered_answers(reading, index)
        if people and len(sentences) > 1:
            sentences = tuple(sentences[at] for at in indexes_holding(sentences, _STANDING_WORDS))
        before = ""
        for sentence in sentences:
            sentence = reading.after_speaker(without_bullet(sentence))[1]
            if any(sentence in text for text in (*listed, *answers)) and not STANDING.search(sentence):
                continue
            if is_rule(sentence, among_people=people) and not any(sentence in text for text in listed):
                # "Both must work" means nothing without what stands before it.
                backed = _POINTING_BACK.match(sentence) and 0 < len(before) <= _BEFORE_CHARS and not listed
                found.append(rule_of(f"{before} {sentence}" if backed else sentence, index))
            before = sentence
    return found


def gives_orders(reading: Reading, index: int) -> bool:
    """True for what user, system or developer said themselves."""
    return (
        reading.messages[index].role in _ORDERING
        and reading.is_original(index)
        and not _OBSERVED.match(reading.texts[index])
    )


def spoken_sentences(reading: Reading, index: int) -> tuple[str, ...]:
    """The sentences outside of code: who shows a log orders nothing of what it says."""
    text = reading.texts[index]
    return split_sentences(_without_code(text)) if "```" in text else reading.sentences(index)


def _without_code(text: str) -> str:
    return "\n\n".join(text.split("```")[::2]) if "```" in text else text


def _listed_rules(text: str) -> list[str]:
    """The items of a list that is headed as rules: "My rules, for everything you do here:"."""
    found: list[str] = []
    heading = _RULES_HEADING.search(text) if "ule" in text or "onstraint" in text else None
    while heading:
        for line in text[heading.end() :].splitlines():
            item = line.strip()
            if not item:
                continue
            bare = without_bullet(item)
            if bare == item:
                break
            if long_enough(bare) and len(bare) <= MAX_RULE_CHARS and not bare.endswith(("?", ":")):
                found.append(" ".join(bare.split()))
        heading = _RULES_HEADING.search(text, heading.end())
    return found


def is_rule(sentence: str, *, among_people: bool = False) -> bool:
    """True when the sentence tells how things are to be done from now on.

    People who talk to each other (`among_people`) cheer and plan in the imperative all the time; of them
    only what names itself a standing rule counts.
    """
    if (
        len(sentence) > MAX_RULE_CHARS
        or sentence.endswith(("?", "？", ":", "："))
        or not long_enough(sentence)
    ):
        return False
    if _PLEADED.search(sentence):
        return _NO_RULE.search(sentence) is None
    if among_people and (sentence.endswith("!") or not STANDING.search(sentence)):
        return False
    if not _IMPERATIVE.match(sentence) and not states_rule(sentence):
        return False
    return _NO_RULE.search(sentence) is None


def newest(rules: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """`(text, position)` pairs, oldest first, without those that a later one takes back or changes."""
    standing: list[Rule] = []
    for text, position in rules:
        rule = rule_of(text, position)
        standing = [old for old in standing if not takes_back(rule, old)]
        standing.append(rule)
    return [(rule.text, rule.index) for rule in standing]


def takes_back(new: Rule, old: Rule) -> bool:
    """True when both cannot stand, or say the same. In doubt both stay: a rule lost is worse than one too "
    "many."""
    if new.text == old.text:
        return True
    shared = len(new.topic & old.topic)
    if not shared:
        return False
    alike = shared / len(new.topic | old.topic)
    if new.replaces and (alike >= 0.5 or (new.choices & old.choices and alike > 0.3)):
        return True
    if new.numbers != old.numbers or new.forbids != old.forbids or new.choices != old.choices:
        return alike >= 0.6
    return alike == 1.0
