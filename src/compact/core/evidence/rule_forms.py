"""More ways to state a rule: further English forms, and the words for always, never and must elsewhere."""

from __future__ import annotations

import re

_ENGLISH = re.compile(
    r"\b(?:is|are)\s+(?:strictly\s+|absolutely\s+)?(?:mandatory|forbidden|prohibited|compulsory|obligatory)\b"
    r"|^(?:strictly\s+)?forbidden\b"
    r"|^(?:(?:and|also|but|then|please),?\s+)*(?:all|every|each|any|no|the|our|my|your|both|these|those|it|this|"
    r"everything|nothing|\w+s)\b(?:\s+[\w'’`/.-]+){0,5}?\s+(?:has|have)\s+to\s+(?!do\s+with)\w"
    r"|^(?!I\b|we\b)[^.!?]{0,80}\brefrain\s+from\b"
    r"|\b(?:can['’]?t|cannot|can\s+not|must\s+not)\s+(?:spend|pay|go|cost|take|use|charge|order)\b[^.!?]{0,30}?"
    r"\b(?:over|more\s+than|above|beyond|past|longer\s+than)\b"
    r"|\b(?:every|each)\s+(?:[\w-]+\s+){1,4}?needs\s+\w"
    r"|^(?:(?:my|our|the|total|hard)\s+)?(?:budget|deadline|max(?:imum)?|min(?:imum)?|limit)\b\.?"
    r"(?:\s+[\w-]+){0,3}?(?::\s*\S|\s+[$€£]?\d)"
    r"|\b(?:tone|style|format|language|voice|outputs?|answers?|replies|responses?|reports?|headings?|titles?|"
    r"dates?|comments?|summar(?:y|ies)|e-?mails?|texts?|copy|length|layout|wording)\s+should\s+(?:be|use|follow|"
    r"sound|stay|have)\b"
    r"|^(?:please,?\s+)?(?:show|send|give|tell|ask|let|run)\b[^.!?]{0,12}?\bme\b[^.!?]{0,80}?\bbefore\b",
    re.IGNORECASE,
)
_ENGLISH_CUES = (
    "mandatory", "forbidden", "prohibited", "compulsory", "obligatory", "to ", "refrain", "over", "more than",
    "above", "beyond", "past", "longer than", "needs", "budget", "deadline", "max", "min", "limit", "should",
    "before",
)  # fmt: skip
_SPACED = re.compile(
    r"\b(?:immer|niemals|keinesfalls|auf keinen fall|unter keinen umständen|muss|müssen|"
    r"darf (?:nicht|nur|kein\w*)|dürfen (?:nicht|nur|kein\w*)|verboten|zwingend|"
    r"toujours|jamais|doit|doivent|il faut|il ne faut pas|interdit\w*|obligatoire\w*|en aucun cas|"
    r"siempre|nunca|jamás|debe|deben|debes|prohibid[oa]s?|obligatori[oa]s?|bajo ninguna circunstancia|"
    r"hay que|"
    r"всегда|никогда|нельзя|долж(?:ен|на|но|ны)|запрещен[оаы]?|запрещено|обязательно|ни в коем случае)\b"
    r"|^nie\b",
    re.IGNORECASE,
)
_UNSPACED = re.compile(
    r"必须|必須|不要|不得|禁止|务必|務必|始终|总是|總是|绝不|絕不|永远不|一定要|不许|请勿|切勿|"
    r"必ず|決して|常に|絶対に|しないで|てはいけ|てはなら|なければな|ないでください"
)
_OF_ONESELF = re.compile(
    r"^(?:ich|wir|er|sie|je|j['’]|nous|il a|elle|yo|nosotros|él|ella|я|мы|он|она)\b"
    r"|^(?:我|我们|他|她|私|僕|彼)",
    re.IGNORECASE,
)
"""Who tells of a person tells a habit, no rule."""
_NON_ASCII_LEAST = 4


def states_rule(sentence: str) -> bool:
    """True for a sentence in one of these forms."""
    if _UNSPACED.search(sentence):
        return not _OF_ONESELF.match(sentence)
    low = sentence.lower()
    if any(cue in low for cue in _ENGLISH_CUES) and _ENGLISH.search(sentence):
        return True
    return _SPACED.search(low) is not None and not _OF_ONESELF.match(sentence)


def long_enough(sentence: str) -> bool:
    """Eight letters; a rule in Chinese needs fewer characters."""
    return len(sentence) >= 8 or (
        len(sentence) >= _NON_ASCII_LEAST and _UNSPACED.search(sentence) is not None
    )
