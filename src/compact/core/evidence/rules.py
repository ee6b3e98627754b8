"""Standing rules: quoted as they were said, the newest word counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compact.core.evidence.numbered import numbered_answers
from compact.core.evidence.reading import Reading, indexes_holding, split_sentences, without_bullet
from compact.core.evidence.rule_forms import long_enough, states_rule
from compact.core.evidence.rule_likely import is_likely_rule, may_be_noted
from compact.core.evidence.rule_topics import Rule, rule_of
from compact.model.message import Role

MAX_RULE_CHARS = 400
_BEFORE_CHARS = 160
_LIKELY_CHARS = 4_000
"""Who writes more than this at once mostly shows a text: there, less is meant as a rule of the user's own."""
_POINTING_BACK = re.compile(
    r"(?:both|it(?!['’]s|\s+is\b)|this|that|they|these|those|neither)\b", re.IGNORECASE
)
_ANSWER = re.compile(
    r"(?:(?:ok(?:ay)?|yes|no|nope|sure|well|please),?\s+)*(?:(?:only|just|not)\s+(?:the|on|for|in|this|"
    r"that|those)\b"
    r"[^.!?]{0,30}|(?:leave|keep|use|make|put|do|don['’]?t|drop|skip|start|stop)\s(?:[\w'’]+\s){0,3}"
    r"(?:it|that|them|this|those|these)\b[^.!?]{0,20}|"
    r"I['’]?d\s+(?:rather|prefer)\s+(?:not\b|you\s+(?:did|would)n['’]?t|it\b|that\b)[^.!?]{0,20})[.!]?$",
    re.IGNORECASE,
)
"""Few words that mean something only with the question before them."""
_BARE = re.compile(r"(?:no|none|nothing|not)\s+[\w'’-]+(?:\s[\w'’-]+)?[.!]?$", re.IGNORECASE)
_YES_OR_NO = re.compile(
    r"^(?!.*\b(?:what|which|how|who|when|where|any\w*)\b).*\b(?:shall|should|may|can|could|do|does|is|are|"
    r"will|would|"
    r"want|like)\s+(?:I|we|you|it|this|that|the|me|there)\b",
    re.IGNORECASE | re.DOTALL,
)
_OFFER = re.compile(
    r"\b(?:help|assist|anything else|to know|in mind|preferences?|what (?:can|would|should|shall) (?:I|"
    r"we))\b",
    re.IGNORECASE,
)
_OF_MYSELF = re.compile(
    r"I\s+(?:don['’]t|do\s+not|never|only|always)\s+(?:eat|drink|like|fly|drive|work|do|wear|accept|take|"
    r"touch|answer|"
    r"travel|smoke)\b",
    re.IGNORECASE,
)
_TAKES_NOTE = re.compile(
    r"(?:understood|noted|got it|will do|i['’]ll (?:keep|remember|stick|follow|bear)|i will (?:keep|"
    r"remember)|"
    r"duly noted|ok(?:ay)?[.,!]? (?:noted|understood|got it|will do)|(?:alright|all right|sure|"
    r"right)[.,!]? (?:noted|"
    r"understood|got it)|verstanden|notiert|alles klar|compris|entendu|c['’]est noté|entendido|anotado|"
    r"capito|"
    r"begrepen|genoteerd|了解|承知|かしこまりました|明白|好的|知道了|알겠습니다)",
    re.IGNORECASE,
)
_NOTE_CHARS, _NOTED_CHARS = 80, 1_200
_ANSWER_WORDS = 5
_ASKED_CHARS = 300
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
    r"yet|from\s+you|for\s+now)\b|nothing\s+(?!happen|work|help|chang|show|is\s|else|new|special|wrong|"
    r"to\s|yet|appear|come|seem|in\s+the|"
    r"i\b|we\b|from\s+(?:him|her|them)|at\s+all|much)\w+)",
    re.IGNORECASE,
)
_STANDING_WORDS = ("always", "never", "must", "rule", "now on", "forward", "circumstances")
STANDING = re.compile(
    r"\b(?:always|never|from now on|going forward|under no circumstances|rule|must(?: not)?)\b", re.IGNORECASE
)
_NAMED_STANDING = re.compile(
    r"^(?!.*\b(?:we|they|he|she|government)\b)(?=.*\b(?:from now on|going forward)\b)|\bunder no "
    r"circumstances\b|"
    r"^(?:\W*(?:please|and|but|so|also|ok(?:ay)?),?\s+)*(?:always|never)\b|\b(?:new|ground|house|first|"
    r"golden|only|one) rule\b|"
    r"\byou\s+(?:must|should)\s+(?:never|always|not)\b|\b(?:every|each|no|nobody|no one|everyone|"
    r"anyone)\b[^.!?]{0,30}\bmust\b|"
    r"\b(?:must|should)\s+(?:never|always)\b",
    re.IGNORECASE,
)
"""What people among themselves call a rule; in a speech everything "must" be done."""
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
    r"|^(?:I\s+(?:(?:do|totally|fully|also)\s+)?(?:understand|realize|realise|know|see)\b|"
    r"just\s+to\s+confirm)"
    r"|\b(?:disappointed|frustrated|unhappy|sorry)\s+(?:to|that|about)\b|\bwhich\s+is\s+why\s+I\b"
    r"|\bdecided\s+(?:that\s+)?I\b|\balways\s+count\s+on\b"
    r"|\bdon['’]?t\s+want\s+(?:to\s+(?:be|lose|miss|wait|travel|go|deal|sound|bother)\b(?!.*\b(?:than|"
    r"over|above|before|after)\b)|"
    r"it\b(?!\s+to\b)|that\b)"
    r"|\bneed\s+to\s+know\b|^use\s+(?:it|this|that|them)\b[^.]{0,12}$|^(?:always|never)\s+(?:happy|glad|"
    r"good|fun|hard|heard|gets|need|[a-z]{3,}ing|a\s|been|had|was|is|the)\b",
    re.IGNORECASE,
)


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
        asked = "" if people else _asked_before(reading, index)
        shown = sum(map(len, sentences)) > _LIKELY_CHARS
        spoken = reading.messages[index].role is Role.USER and not people and not shown
        noted = spoken and not asked and _only_noted(reading, index)
        before = ""
        for sentence in sentences:
            sentence = reading.after_speaker(without_bullet(sentence))[1]
            if asked and not before and answers_only(sentence, asked):
                before = sentence
                continue
            answered = any(sentence in text for text in (*listed, *answers))
            if answered and not STANDING.search(sentence):
                continue
            if is_rule(sentence, among_people=people) and not any(sentence in text for text in listed):
                # "Both must work" means nothing without what stands before it.
                backed = _POINTING_BACK.match(sentence) and 0 < len(before) <= _BEFORE_CHARS and not listed
                text = f"{before} {sentence}" if backed else sentence
                found.append(rule_of(text, index, certain=not shown or bool(STANDING.search(text))))
            elif (
                spoken
                and not answered
                and (may_be_rule(sentence) or (noted and long_enough(sentence) and may_be_noted(sentence)))
                and not (asked and not before and _is_short(sentence, asked))
            ):
                found.append(rule_of(sentence, index, certain=False))
            before = sentence
    return found


def _asked_before(reading: Reading, index: int) -> str:
    """The question that the assistant ended with right before; else nothing."""
    before = next((at for at in range(index - 1, -1, -1) if reading.texts[at].strip()), -1)
    if before < 0 or reading.messages[before].role is not Role.ASSISTANT:
        return ""
    text = reading.texts[before]
    if "?" not in text[-_ASKED_CHARS:] and "？" not in text[-_ASKED_CHARS:]:
        return ""
    return next((said for said in reversed(reading.sentences(before)) if said.endswith(("?", "？"))), "")


def _only_noted(reading: Reading, index: int) -> bool:
    """True where the assistant answers with "Understood." and does nothing: it was told how things are."""
    if index + 1 >= len(reading.messages) or "?" in reading.texts[index]:
        return False
    answer = reading.messages[index + 1]
    said = reading.texts[index + 1].strip()
    return (
        answer.role is Role.ASSISTANT
        and len(reading.texts[index]) <= _NOTED_CHARS
        and 0 < len(said) <= _NOTE_CHARS
        and not answer.calls
        and _TAKES_NOTE.match(said) is not None
    )


def answers_only(sentence: str, asked: str) -> bool:
    """True for few words that answer a question and order nothing by themselves: "Leave it off."."""
    if sentence.count(" ") > _ANSWER_WORDS or STANDING.search(sentence):
        return False
    return bool(_ANSWER.match(sentence) or (_BARE.match(sentence) and _YES_OR_NO.search(asked)))


def _is_short(sentence: str, asked: str) -> bool:
    return sentence.count(" ") < _ANSWER_WORDS and not _OFFER.search(asked)


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
    if among_people and (sentence.endswith("!") or not _NAMED_STANDING.search(sentence)):
        return False
    if not _IMPERATIVE.match(sentence) and not states_rule(sentence):
        return False
    return _NO_RULE.search(sentence) is None


def may_be_rule(sentence: str) -> bool:
    """True for what reads as a rule by its form alone; `is_rule` has said no already."""
    if sentence.endswith(("?", "？", ":", "：")) or not (long_enough(sentence) or not sentence.isascii()):
        return False
    return is_likely_rule(sentence) and (
        _NO_RULE.search(sentence) is None or _OF_MYSELF.match(sentence) is not None
    )
