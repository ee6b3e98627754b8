"""How rules are stated in English but for plain imperatives."""

from __future__ import annotations

import re

from compact.core.evidence.rule_tongues import is_unspaced_rule, orders_elsewhere

_THING = (
    r"(?:all|every|each|any|no|the|our|my|your|both|these|those|answers?|replies|commits?|tests?|files?|"
    r"code|dates?|names?|results?|amounts?|prices?|messages?|functions?|nothing|everything|nobody|everyone|"
    r"anything|it|this|that|they|you)"
)
_NO_ANSWER = (
    r"^(?!(?:yes|no|nope|yeah|yep|well|sorry|ok(?:ay)?|maybe|perhaps|probably|hopefully|true|right|sure|"
    r"thanks|hm+|"
    r"oh|ah|actually|honestly|great|nice|good|fine|of\s+course)\b)"
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
        r"needs?\s+to\s+be\s+(?:in|under|at|written|named|approved|reviewed|formatted)|(?:has|"
        r"have)\s+to\s+be)\b",
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
        ("budget", "deadline", "limit", "cap", "ceiling", "maximum", "minimum", "hard stop", "quota"),
        r"\b(?:my|our|the|total|hard|maximum|monthly|weekly)\s+(?:[\w-]+\s+){0,3}(?:budget|deadline|limit|"
        r"cap|"
        r"ceiling|maximum|minimum|hard\s+stop|quota)\s+(?:is|stays|remains|of)\b",
    ),
    (
        ("budget", "deadline", "max", "min", "limit"),
        r"^(?:(?:my|our|the|total|hard)\s+)?(?:budget|deadline|max(?:imum)?|min(?:imum)?|limit)\b\.?"
        r"(?:\s+[\w-]+){0,3}?(?::\s*\S|\s+[$€£]?\d)",
    ),
    (
        ("want", "need", "expect", "require", "insist", "prefer", "rather"),
        r"\bI\s+(?:want|need|expect|require|insist)\s+(?:that\s+)?(?:all|every|each|no|only|everything|"
        r"the\s[\w '’-]{1,40}\s(?:to\s+(?:be|stay|remain|have|follow)|in|as|without|kept|left|under|"
        r"within|never|always))\b"
        r"|\bI\s+(?:expect|require|insist)\s+(?:that\s+)?you\b|\bI\s+(?:want|need)\s+you\s+to\s+(?:always|"
        r"never|only|not|keep|"
        r"stay|use|be|write|answer|reply|respond|ask|avoid|follow|stick|treat|remember|speak|act|address|"
        r"call)\b"
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
        r"\b(?:is|are)\s+(?:strictly\s+|absolutely\s+)?(?:mandatory|forbidden|prohibited|compulsory|"
        r"obligatory)\b"
        r"|^(?:strictly\s+)?forbidden\b",
    ),
    (
        ("has to", "have to"),
        r"(?:^|[:;]\s+)(?:(?:and|also|but|then|please),?\s+)*(?:all|every|each|any|no|the|our|my|your|"
        r"both|these|"
        r"those|it|this|everything|anything|nothing|\w+s)\b(?:\s+[\w'’`/.-]+){0,5}?\s+(?:has|"
        r"have)\s+to\s+(?!do\s+with)\w",
    ),
    (("refrain",), r"^(?!I\b|we\b)[^.!?]{0,80}\brefrain\s+from\b"),
    (
        ("over", "more than", "above", "beyond", "past", "longer than"),
        r"\b(?:can['’]?t|cannot|can\s+not|must\s+not)\s+(?:spend|pay|go|cost|take|use|charge|"
        r"order)\b[^.!?]{0,30}?"
        r"\b(?:over|more\s+than|above|beyond|past|longer\s+than)\b",
    ),
    (
        ("should",),
        r"\b(?:tone|style|format|language|voice|outputs?|answers?|replies|responses?|reports?|headings?|"
        r"titles?|"
        r"dates?|comments?|summar(?:y|ies)|e-?mails?|texts?|copy|length|layout|wording)\s+should\s+(?:be|use|"
        r"follow|sound|stay|have)\b",
    ),
    (
        ("must", "should", "may not", "cannot"),
        r"^(?:(?:and|also|but|please),?\s+)?(?:(?!(?:I|we|he|she|it|they|there|you|that|this|"
        r"what)\b)[\w'’-]+\s+)"
        r"{1,4}(?:must\s+(?:be|have|use|stay|remain|contain|follow|start|end|go|pass|include|match|return|"
        r"never|always|not)|should\s+not|shouldn['’]?t|must\s+not|mustn['’]?t|(?-i:may)\s+not)\s+\w",
    ),
    (
        ("essential", "crucial", "vital", "imperative", "critical"),
        r"\bit(?:['’]s|\s+is)\s+(?:\w+\s+)?(?:essential|crucial|vital|imperative|critical)\s+(?:that|to)\b",
    ),
    (
        ("here on", "now on", "today on", "point on"),
        r"^(?!.*\b(?:we|they|he|she)\b).*\bfrom\s+(?:here|now|today|this\s+point)\s+on(?:wards?)?\b",
    ),
    (
        ("only",),
        r"^(?:in\s+)?(?!(?:I|we|you|it|he|she|they|there|this|that|if|not)\b)[\w'’ .-]{2,40}\sonly"
        r"(?:,?\s+please)?[.!]?$",
    ),
    ((", not ",), _NO_ANSWER + r"[\w'’.-]+(?:\s[\w'’.-]+){0,2},\s+not\s+[\w'’.-]+(?:\s[\w'’.-]+){0,2}[.!]?$"),
    (
        ("no ",),
        r"^(?:(?:and|also|please|but),?\s+)?no\s+(?!such|more\b|idea|one\b|doubt|wonder|way\b|need|matter|"
        r"luck|clue|problem|errors|results|matches|changes|problems|worries|"
        r"thanks|objections?|hurry|rush|preferences?|surprises?|[\w-]+\s+(?:applied|found|made)\b|issues|"
        r"questions|comments|plans|tests|files)(?:[\w-]+\s+){0,3}[\w-]+s(?:,?\s+please)?[.!]?$",
    ),
    (
        ("needed", "required"),
        r"\b(?:is|are)\s+(?:needed|required)\s+(?:for|before|on|in|to)\s+(?:every|each|all|any|merge|"
        r"release)\b",
    ),
    (
        ("untouched", "unchanged", "private", "confidential", "as it is", "as they are"),
        rf"\b{_THING}\b[^.!?]{{1,40}}\b(?:stays?|remains?)\s+(?:untouched|unchanged|private|confidential|"
        r"as\s+(?:it\s+is|they\s+are))\b",
    ),
    (
        ("more than", "less than", "fewer than", "longer than"),
        r"^(?:(?:and|also|please|but),?\s+)?(?:spend|pay|use|take|add|change|allow|send|make|order|book|"
        r"write|invite|"
        r"ask|wait|charge|call|show|try)\b[^.!?]{0,20}\b(?:no|not)\s+(?:more|fewer|less|longer)\s+than\b",
    ),
    (
        ("allowed", "permitted", "supposed"),
        r"\byou(?:['’]re|\s+are)\s+(?:not|only)\s+(?:allowed|permitted|supposed)\b",
    ),
    (
        ("whenever",),
        r"^(?:please,?\s+|and\s+|also,?\s+)?whenever\b[^.!?]{3,80},\s+(?!I\b|we\b|he\b|she\b|it\b)\w",
    ),
    (
        ("refer to", "hands off", "stay ", "assume "),
        r"^(?:please,?\s+|kindly\s+)?(?:refer\s+to\b[^.!?]{2,60}\b(?:as|by)\s|hands\s+off\s|"
        r"stay\s+(?:under|below|"
        r"within|away\s+from|out\s+of|off|clear)\s|assume\s+(?:that\s+)?(?:all|every|the|any|no)\b)",
    ),
    (
        ("banned", "not permitted", "off the table", "taboo"),
        r"\b(?:is|are)\s+(?:strictly\s+)?(?:banned|not\s+permitted|off\s+the\s+table|taboo)\b",
    ),
    (
        ("by ",),
        r"\b(?:gets?|is|are|be)\s+(?:reviewed|approved|checked|signed)\s+by\b[^.!?]{1,40}\bfirst\b",
    ),
    (
        ("every", "each"),
        r"^(?:(?:and|also|please),?\s+)?(?:double-?\s?check|verify|review|validate|proofread|"
        r"sign)\s+(?:every|each)\b",
    ),
    (
        ("whatever", "no matter", "in any case", "at all costs"),
        r"^(?:whatever|no\s+matter|in\s+any\s+case|at\s+all\s+costs)(?:\s[\w ]{2,20})?,\s+"
        r"(?:do\s+not|don['’]?t|never|always|leave|keep|use|avoid|make\s+sure)\b",
    ),
    (
        ("only after", "only when", "only if", "only once", "only with"),
        r"^(?:please,?\s+)?(?!(?:I|we|you|it|he|she|they|there|this|that|who)\b)[\w'’ -]{3,60}?\sonly\s+"
        r"(?:after|when|if|once|with)\s+(?:I|you|my|our|the|all|it|we|\w+\s+(?:has|have|is|are|says?|"
        r"signs?))\b",
    ),
    (
        ("wait for", "wait until", "wait till", "hold off"),
        r"^(?:please,?\s+)?(?:wait\s+(?:for|until|till)|hold\s+off)\b[^.!?]{2,60}"
        r"\b(?:before|until|till|with)\s+\w",
    ),
    (
        ("we only",),
        r"^we\s+only\s+(?:ship|deploy|release|merge|push|commit|publish|order|pay|buy|send|"
        r"use|write|test|log|store|accept|work|deliver|bill|charge|invoice)\s",
    ),
    (
        ("should",),
        r"^(?:(?:and|also|but|please),?\s+)?(?:(?!(?:I|we|he|she|it|they|there|you|that|this|"
        r"what)\b)[\w'’-]+\s+)"
        r"{1,4}should\s+(?:always\s+)?(?:(?:start|begin|end)\s+with|follow|use|match|never)\s",
    ),
    (
        ("forbidden", "prohibited", "not allowed", "not permitted"),
        r"\bit(?:['’]s|\s+is)\s+(?:strictly\s+|absolutely\s+)?"
        r"(?:forbidden|prohibited|not\s+(?:allowed|permitted))\s+to\b",
    ),
    (
        ("before",),
        r"^(?:please,?\s+)?(?:always\s+)?(?:check|talk|speak|confirm|clear\s+it|consult|coordinate|agree)\s+"
        r"(?:it\s+)?(?:with\s+)?[^.!?]{2,40}?\sbefore\s+(?:you\b|any|every|each|\w+ing\b)",
    ),
    (
        ("cap ",),
        r"^(?:please,?\s+)?cap\s+[^.!?]{2,40}?\s(?:at|to)\s+\S*\d",
    ),
    (
        ("kindly",),
        r"^kindly\s+(?:use|avoid|keep|do\s+not|don['’]?t|refrain|answer|reply|respond|always|never)\b",
    ),
    (
        ("before",),
        r"^(?:please,?\s+)?(?:show|send|give|tell|ask|let|run)\b[^.!?]{0,12}?\bme\b[^.!?]{0,80}?\bbefore\b",
    ),
)
_ENGLISH = tuple((cues, re.compile(pattern, re.IGNORECASE)) for cues, pattern in _FORMS)
_LEAST = 8
_LEAST_UNSPACED = 4


def states_rule(sentence: str) -> bool:
    """True for a sentence in one of these forms, or in one of another language."""
    low = " ".join(sentence.lower().split())
    for cues, pattern in _ENGLISH:
        for cue in cues:
            if cue in low:
                if pattern.search(sentence):
                    return True
                break
    return orders_elsewhere(sentence, low)


def long_enough(sentence: str) -> bool:
    """Eight letters; a rule in Chinese needs fewer characters."""
    return len(sentence) >= _LEAST or (len(sentence) >= _LEAST_UNSPACED and is_unspaced_rule(sentence))
