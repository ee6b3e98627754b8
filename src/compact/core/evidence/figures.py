"""What a text calls its figures and ids: the word before, or for a figure the words around it."""

from __future__ import annotations

import re

from compact.model.summary import EvidenceKind

_LABEL = re.compile(r"([^\W\d_]{4,})( (?:ID|id|number|no\.|of|is|was|are))?[\s:*`\"'(#]{1,4}$")
_WORDS_BEFORE = re.compile(r"(?:(?<![\w'’.-])[^\W\d_][\w'’-]* ){1,3}$")
_UNIT = re.compile(
    r" (euros?|dollars?|pounds?|kroner|cents?|EUR|USD|GBP|NOK|percent|per cent|[kcm]?m|k[gm]|[MGK]B|miles?|"
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|people|persons?|guests|beds|rooms|rows|lines|files|tests|"
    r"requests|orders|tokens|points|ms|[ap]m)\b",
)
_OTHERS_UNIT = re.compile(rf"^{_UNIT.pattern.lstrip()} ")
"""In "4,500 euros means 187" the euros belong to the figure before."""
_RANGE_AFTER = re.compile(r"(?: (?:to|or|bis)|[ %]?[-–]) ?[€$£]?\d[\d.,:]*\d|(?: (?:to|or|bis) |[-–])\d\b")
_RANGE_BEFORE = re.compile(r"[€$£]?\b\d[\d.,:]*(?: %)?(?: (?:to|or|bis) | ?[-–] ?)[€$£]?$")
_LOOK_BACK = 300
_SENTENCE_END = re.compile(r"[.!?…](?=[\s\"'”’)]|$)|\n")
_BENDING = re.compile(
    r"\b(?:if|unless|whether|once|when|until|till|suppos\w*|assum\w*|provided|in case|not|no|never|none|nor|"
    r"cannot|without|hardly|barely|or|then|otherwise|only|instead|i (?:think|guess|believe)|maybe|perhaps|"
    r"probably|possibly|might|would|could|should|claim\w*|heard|say|said|wenn|falls|nicht|kein\w*|nur|"
    r"vielleicht|si|pas|sauf)\b|n['’]t\b|['’]d\b",
    re.IGNORECASE,
)
"""In a sentence with one of these, three words of it beside a figure may claim what the sentence does not."""


_LINKS = frozenset(
    "the and for with from that this which was were are has have had about over under into your our his "
    "her its their than "
    "then there will would could should can may not but you they she him them who what when where all any "
    "some just only "
    "also more less most least very much many around between after before until since during like use used "
    "get got euro euros dollar dollars percent january february march april june july august september "
    "october november december monday tuesday wednesday thursday friday saturday sunday".split()
)

_QUANTITIES = frozenset("half full hour hours third quarter double twice nearly almost equal larger".split())
"""In "half of 165" the word says how much, not of what."""

_OPENERS = (_LINKS | frozenset("is be in to of at on an so it or".split())) - frozenset(
    "about around over under than more less most least between until since before after".split()
)
"""What a phrase around a figure may do without at its beginning; "about" and "over" change the figure."""


def label_beside(text: str, value: str, kind: EvidenceKind) -> str:
    """The word right before a value ("port 18977"), or for a figure the words around it, "…" in its place.

    A range is told whole. Of a sentence that denies, asks, guesses or sets a condition, no words are taken.
    """
    at = text.find(value)
    if at < 0:
        return ""
    before = text[max(0, at - 40) : at].rsplit("\n", 1)[-1]
    is_figure = kind is EvidenceKind.NUMBER
    first = _RANGE_BEFORE.search(before) if is_figure else None
    second = _RANGE_AFTER.match(text, at + len(value)) if is_figure else None
    unit = _UNIT.match(text, second.end() if second else at + len(value)) if is_figure else None
    found = _LABEL.search(before) if unit is None and second is None else None
    if found is not None and found.group(1).lower() not in _LINKS:
        linked = found.group(2) is not None or before[-1:] != " "
        if is_figure and not value.isdigit():
            linked = before.rstrip(" *`\"'")[-1:] in (":", "=") or before.endswith(" is ")
        # "leaves 2,050" and "roughly 855" label nothing; "port 18977" and "total of 855" do.
        quantity = found.group(1).lower() in _QUANTITIES
        if not quantity and (linked or (value.isalnum() and not found.group(1).endswith("ly"))):
            return found.group(1).lower()
    if not is_figure:
        return ""
    start = first.group() if first else ""
    words = _WORDS_BEFORE.search(before[: first.start()] if first else before)
    said = _OTHERS_UNIT.sub("", words.group()) if words else ""
    while said and said.split(" ", 1)[0].lower() in _OPENERS:  # "That is some 200 euros" is 200 euros
        said = said.split(" ", 1)[1]
    if said and _is_bent(text, at):
        said = ""
    if not said and not unit:
        return ""
    return f"{said}{start}…{second.group() if second else ''}{unit.group() if unit else ''}"


def _is_bent(text: str, at: int) -> bool:
    end = _SENTENCE_END.search(text, at)
    last = end.start() if end else len(text)
    if end and end.group() == "?":
        return True
    near = max(0, at - _LOOK_BACK)
    start = max((found.end() for found in _SENTENCE_END.finditer(text, near, at)), default=near)
    return _BENDING.search(text, start, min(last, at + _LOOK_BACK)) is not None
