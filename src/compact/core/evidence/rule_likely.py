"""Sentences that are likely rules by their form alone: nobody says "always", yet how things are is settled.

"Every answer ends with a summary", "Under 2 MB per image", "We bill in francs", "I'm allergic to nuts". Only
for what a user tells an assistant: people among themselves talk like this all day. What is to be done once
("Add a test for parse()") and what happened is none of it.
"""

from __future__ import annotations

import re

from compact.core.evidence.rule_likely_tongues import likely_elsewhere
from compact.core.evidence.rule_manners import MANNERS
from compact.core.evidence.rule_statements import NOBODY, STATEMENTS

_MOST_WORDS = 32
_MOST_CHARS = 240
_CONJUNCTION = 7

_OPENING = re.compile(
    r"(?:please,?|kindly|and|also,?|oh,?(?: and)?|but|ok(?:ay)?,|right,|so,|now,|then,|plus,?|finally,?|"
    r"lastly,?|again,?|"
    r"by the way,?|for the record[,:]|fyi[,:]?|heads[- ]up:|note:|nb:|ps:?|in general,?|generally,?|as a "
    r"rule,?|"
    r"just so you know[,:]?|whatever (?:happens|comes),|no matter what,|in any case,|(?:one|another|a) "
    r"(?:more |last )?(?:thing|note|rule|point|wish|request)[\w ]{0,20}[:,]|"
    r"(?:in|for|on|with|at) [\w' -]{2,40}, |to be clear[,:]|important:|remember[:,]|as always,|"
    r"preferences?:|style:|"
    r"for all intents and purposes)\s*",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r";\s+|:\s+|\s[–—-]\s|,\s+(?:so|therefore|hence|which means|meaning)\s+", re.IGNORECASE)

_TELLS = re.compile(
    r"\b(?:was|(?<!as if I )(?<!as if it )(?<!as if they )were|had|did|didn['’]t|wasn['’]t|went|got|"
    r"gotten|came|saw|said|told|asked|thought|found|"
    r"made|took|gave|ran|"
    r"tried|failed|crashed|happened|noticed|started|stopped|seems?|seemed|appears\s+(?:to|that)|looks? "
    r"like|apparently|"
    r"maybe|perhaps|"
    r"probably|yesterday|ago|earlier today|last (?:week|month|year|night|time|monday|tuesday|wednesday|"
    r"thursday|"
    r"friday)|at the moment|currently|right now|just now|this (?:morning|afternoon|evening)|tonight|"
    r"I think|I guess|I believe|I wonder|I see|I (?:also )?understand|I hope|not sure|let me know|thanks|"
    r"thank you|unfortunately|"
    r"for some reason|(?:he|she)['’](?:s|d|ll)|I['’]ve|I have|I['’]ll|we['’]ll|we['’]ve|as you "
    r"can see|wonderful|"
    r"awesome|amazing|lol|haha)\b|\.\.\.|…|[A-Z][a-z]+Error\b",
    re.IGNORECASE,
)
"""Who tells a story, guesses or thanks gives no rule, but for what tier one of the rules finds."""
_LIKELY = re.compile("|".join(f"(?:{form})" for form in (*STATEMENTS, *MANNERS)), re.IGNORECASE)


def is_likely_rule(sentence: str) -> bool:
    """True for what reads as settled for good though no word says so."""
    if len(sentence) > _MOST_CHARS or sentence.count(" ") >= _MOST_WORDS:
        return False
    if not (sentence[:1].isalnum() or sentence[:1] in "\"“'(«„$€£"):
        return False  # a line of a log, of code or of a report
    if not sentence.isascii() and likely_elsewhere(sentence):
        return True
    # The pattern of tales costs ten times as much as those of rules, which few sentences have.
    return (_has_settled(sentence) or likely_elsewhere(sentence)) and not _TELLS.search(sentence)


def _has_settled(sentence: str) -> bool:
    if _is_settled(sentence):
        return True
    tails = _CLAUSES.split(sentence)
    return len(tails) > 1 and any(_is_settled(tail) for tail in tails[1:] if len(tail) > 4)


def may_be_noted(sentence: str) -> bool:
    """True for what may be a rule where the assistant did nothing but take note of it: "Sundays off."."""
    return (
        len(sentence) <= _MOST_CHARS
        and sentence[:1].isalnum()
        and not _ELSEWHERE_TOLD.search(sentence)
        and not _TELLS.search(sentence)
        and not _NO_NOTE.match(sentence)
        and not _PAST.search(sentence)
    )


_PAST = re.compile(
    r"\b(?!need|feed|speed|shed|bed|red|indeed|seed|weed)(?<!\bare )(?<!\bget )(?<!\bbe )[a-z]{3,}ed\b"
)
_ELSEWHERE_TOLD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|^(?:peux|pouvez|peut|as-tu|kannst|können|puedes|puede|kun|"
    r"kan)\b|"
    r"\b(?:habe|hat|haben|war|waren|wurde|wurden|gestern|hatte|j['’]ai|avons|avez|ont|était|hier|ayer|ich|"
    r"je|yo|ik|wir|"
    r"nous|heb|heeft|hebben)\b",
    re.IGNORECASE,
)
_NO_NOTE = re.compile(
    rf"(?:(?:please|and|but|so|now|then|ok(?:ay)?|next|also|well|great|good)\b,?\s*)*(?:$|"
    rf"(?!if\b){NOBODY}|(?:the|an?|my|our|"
    r"his|her)\s+(?:[\w-]+\s+){1,4}?(?:is|are|has|have|[a-z]+s)\b|look|add|send|rename|compare|make|tell|"
    r"check|find|show|read|"
    r"open|run|list|build|create|update|change|remove|explain|book|translate|order|pick|fix|help|give|"
    r"start|call|pay|"
    r"buy|move|copy|install|download|print|sort|count|see|go\b|do\b|try|set|write|draft|search|get|take|"
    r"bring|prepare|"
    r"summari[sz]e|continue|thank|hi\b|hello|step|test|review|analy[sz]e|could|can|would|is|are|does|did|"
    r"has|have|all\b|each\s+of|(?:every|each)\s+time|"
    r"three|two|four|\w+ing\b|next)",
    re.IGNORECASE,
)
"""What is to be done once, or tells how things are."""


def _is_settled(clause: str) -> bool:
    start = 0
    while (opening := _OPENING.match(clause, start)) is not None:
        # "In doubt, ask" begins like "In general, …"; a mere "and" begins nothing.
        if opening.end() - start > _CONJUNCTION and _LIKELY.match(clause, start):
            return True
        start = opening.end()
    return _LIKELY.match(clause, start) is not None
