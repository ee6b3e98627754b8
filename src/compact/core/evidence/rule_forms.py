"""How rules are stated but for imperatives: obligations in English; always, never and must elsewhere."""

from __future__ import annotations

import re

_THING = (
    r"(?:all|every|each|any|no|the|our|my|your|both|these|those|answers?|replies|commits?|tests?|files?|"
    r"code|dates?|names?|results?|amounts?|prices?|messages?|functions?|nothing|everything|nobody|everyone|"
    r"anything|it|this|that|they|you)"
)
# Each form with the words of which one stands in every sentence of that form: these are far cheaper to look
# for than the pattern, and most sentences have none of them.
_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (
            "must",
            "shall",
            "may",
            "should",
            "cannot",
            "can't",
            "can’t",
            "cant ",
            "allowed",
            "forbidden",
            "off",
            "required",
            "mandatory",
            "read",
            "capped",
            "never",
            "to be",
            "not to",
            "need",
        ),
        rf"(?:^|[,;:]\s+|\b(?:that|but|and|so)\s+){_THING}\b(?:\s+[\w'’`/.-]+){{0,7}}?\s+(?:(?:must|shall|"
        r"(?-i:may))(?:\s+(?:not|never|only|always))?|mustn['’]?t|"
        r"should\s+(?:always|never|not|only|all|stay|remain|be\s+(?:in|under|at|written|named|formatted|kept|"
        r"left|done|made|sent|sorted|short|less|no))|"
        r"cannot\s+(?:exceed|be)|can['’]?t\s+(?:exceed|be)|(?:is|are)\s+(?:not\s+allowed|forbidden|"
        r"off[- ]limits|required|mandatory|read[- ]only|capped|never\s+to|to\s+be|not\s+to)|"
        r"needs?\s+to\s+be\s+(?:in|under|at|written|named|approved|reviewed|formatted)|(?:has|have)\s+to\s+be)\b",
    ),
    (("get",), r"^(?:and\s+|also\s+)?(?:every|each)\s+(?:[\w-]+\s+){1,6}gets?\s+(?:an?|the|its|no)\b"),
    (
        ("always",),
        r"^(?:and\s+)?(?!I\b|we\b|he\b|she\b|they\b|it\b|you\b|there\b)[\w/-]+(?:\s+[\w/-]+){0,4}\s+always\s+"
        r"(?:in|with|as|at|on|under|before|after|without)\b",
    ),
    (("need",), r"\b(?:every|each|all|any)\s+(?:[\w-]+\s+){1,4}needs?\s+(?:an?|the|to)\b"),
    (("needs",), r"\b(?:every|each)\s+(?:[\w-]+\s+){1,4}?needs\s+\w"),
    (
        ("you have", "you need", "you are", "you can", "you may"),
        r"\byou\s+(?:have\s+to|need\s+to|are\s+to|are\s+not\s+to|can\s+only|may\s+not|may\s+only)\b",
    ),
    (
        ("budget", "deadline", "limit", "cap", "ceiling", "maximum", "minimum"),
        r"\b(?:my|our|the|total|hard|maximum|monthly|weekly)\s+(?:[\w-]+\s+){0,3}(?:budget|deadline|limit|cap|"
        r"ceiling|maximum|minimum)\s+(?:is|stays|remains|of)\b",
    ),
    (
        ("budget", "deadline", "max", "min", "limit"),
        r"^(?:(?:my|our|the|total|hard)\s+)?(?:budget|deadline|max(?:imum)?|min(?:imum)?|limit)\b\.?"
        r"(?:\s+[\w-]+){0,3}?(?::\s*\S|\s+[$€£]?\d)",
    ),
    (
        ("want", "need", "expect", "require", "insist", "prefer", "rather"),
        r"\bI\s+(?:want|need|expect|require|insist)\s+(?:that\s+)?(?:you|all|every|each|no|only|the|"
        r"everything)\b"
        r"|\bI\s+(?:would\s+)?(?:always\s+|strongly\s+|really\s+)?prefer\b|\bI['’]d\s+(?:prefer|rather)\b|"
        r"\bI\s+(?:don['’]?t|do\s+not|never)\s+want\b",
    ),
    (
        ("circumstances", "without", "unless", "until"),
        r"\b(?:under\s+no\s+circumstances|without\s+asking|without\s+my|unless\s+I\s|until\s+I\s|"
        r"unless\s+(?:you|told))\b",
    ),
    (
        ("mandatory", "forbidden", "prohibited", "compulsory", "obligatory"),
        r"\b(?:is|are)\s+(?:strictly\s+|absolutely\s+)?(?:mandatory|forbidden|prohibited|compulsory|obligatory)\b"
        r"|^(?:strictly\s+)?forbidden\b",
    ),
    (
        ("has to", "have to"),
        r"^(?:(?:and|also|but|then|please),?\s+)*(?:all|every|each|any|no|the|our|my|your|both|these|those|it|"
        r"this|everything|nothing|\w+s)\b(?:\s+[\w'’`/.-]+){0,5}?\s+(?:has|have)\s+to\s+(?!do\s+with)\w",
    ),
    (("refrain",), r"^(?!I\b|we\b)[^.!?]{0,80}\brefrain\s+from\b"),
    (
        ("over", "more than", "above", "beyond", "past", "longer than"),
        r"\b(?:can['’]?t|cannot|can\s+not|must\s+not)\s+(?:spend|pay|go|cost|take|use|charge|order)\b[^.!?]{0,30}?"
        r"\b(?:over|more\s+than|above|beyond|past|longer\s+than)\b",
    ),
    (
        ("should",),
        r"\b(?:tone|style|format|language|voice|outputs?|answers?|replies|responses?|reports?|headings?|titles?|"
        r"dates?|comments?|summar(?:y|ies)|e-?mails?|texts?|copy|length|layout|wording)\s+should\s+(?:be|use|"
        r"follow|sound|stay|have)\b",
    ),
    (
        ("before",),
        r"^(?:please,?\s+)?(?:show|send|give|tell|ask|let|run)\b[^.!?]{0,12}?\bme\b[^.!?]{0,80}?\bbefore\b",
    ),
)
_ENGLISH = tuple((cues, re.compile(pattern, re.IGNORECASE)) for cues, pattern in _FORMS)
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
_SPACED_CUES = (
    "immer", "niemals", "keine", "muss", "müssen", "darf", "dürfen", "verboten", "zwingend", "nie",
    "toujours", "jamais", "doit", "doivent", "faut", "interdit", "obligat", "aucun", "siempre", "nunca",
    "jamás", "debe", "prohibid", "ninguna", "hay que", "всегда", "никогда", "нельзя", "долж", "запрещен",
    "обязательно", "ни в коем",
)  # fmt: skip
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
    if not sentence.isascii() and _UNSPACED.search(sentence):
        return not _OF_ONESELF.match(sentence)
    low = " ".join(sentence.lower().split())
    for cues, pattern in _ENGLISH:
        for cue in cues:
            if cue in low:
                if pattern.search(sentence):
                    return True
                break
    for cue in _SPACED_CUES:
        if cue in low:
            return _SPACED.search(low) is not None and not _OF_ONESELF.match(sentence)
    return False


def long_enough(sentence: str) -> bool:
    """Eight letters; a rule in Chinese needs fewer characters."""
    return len(sentence) >= 8 or (
        len(sentence) >= _NON_ASCII_LEAST and _UNSPACED.search(sentence) is not None
    )
