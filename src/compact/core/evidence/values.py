"""The values in a word: paths with their lines, ids, amounts, days, also where no blanks part the words."""

from __future__ import annotations

import re

from compact.core.evidence.lexicon import EASTERN, EASTERN_AMOUNT, EASTERN_DAY, RUN, SPACED, classify, trim
from compact.model.summary import EvidenceKind

_FOUND_IN = re.compile(r"(.+?\.\w+):(\d+)[:-](.+)", re.DOTALL)
"""A line of a search: path, number, and the text that stands there."""
_LINE_SUFFIX = re.compile(r":(\d+)(?:[:-](\d+))?$")
_BEFORE_FOLDER = re.compile(rf"^{EASTERN.pattern}(?=[A-Za-z][\w.-]*/)")
"""`请看docs/plan.md`: the words before a path that no blank parts from it."""
_SHORT_OPTION = re.compile(r"-[a-z]\d[\w-]*")
"""`-c1-80`, `-n5`: of a command line, not of the work."""
_PATH_PREFIX = re.compile(r"^(?:[ab]/(?=[\w.-]+/)|\./)")
"""The sides of a diff and the current folder say nothing of the file."""
_LONGEST_RUN = 300
"""Longer than any value; also the bound that keeps the patterns below linear."""
_PHONE_DIGITS = 9
"""Fewer are those of a date."""
_SENTENCE_MARKS = ".,;:!?\"'()*`"


def values_in(word: str) -> tuple[tuple[str, EvidenceKind, str], ...]:
    """The values in what stands between two blanks, with the lines that a path names."""
    if word[0] == "-" and _SHORT_OPTION.fullmatch(word):
        return ()
    bare = word.strip(_SENTENCE_MARKS)
    if bare.isalpha() and bare[1:].islower():
        return ()  # an ordinary word, by far the most common case
    if not word.isascii() and EASTERN.search(word):
        return _eastern_values(word)
    return tuple(
        found
        for run in RUN.findall(word)
        if not run.islower() or not run.isalpha()
        for found in _values_of(run)
    )


def spaced_values(text: str) -> tuple[str, list[tuple[str, EvidenceKind]]]:
    """The values of a text that have blanks in them, and the text without them."""
    found: list[tuple[str, EvidenceKind]] = []
    for match in SPACED.finditer(text):
        value = match.group()
        if value[0] not in "+0(":
            found.append((value, EvidenceKind.NUMBER))
        elif sum(map(str.isdigit, value)) >= (_PHONE_DIGITS - 1 if value[0] == "+" else _PHONE_DIGITS):
            found.append((value, EvidenceKind.ID))
    for value, _ in found:
        text = text.replace(value, " ")
    return text, found


def _eastern_values(word: str) -> tuple[tuple[str, EvidenceKind, str], ...]:
    """Where no blanks part the words: days, amounts, and what is written in other letters amid them."""
    found = [(day, EvidenceKind.DATE, "") for day in EASTERN_DAY.findall(word)]
    rest = EASTERN_DAY.sub(" ", word)
    found += [(amount, EvidenceKind.NUMBER, "") for amount in EASTERN_AMOUNT.findall(rest)]
    for run in RUN.findall(EASTERN_AMOUNT.sub(" ", rest)):
        run = _BEFORE_FOLDER.sub("", run)
        if not EASTERN.search(run) or classify(trim(run) or run) in (EvidenceKind.PATH, EvidenceKind.URL):
            found += _values_of(run)
        else:
            found += (value for piece in EASTERN.split(run) if piece for value in _values_of(piece))
    return tuple(found)


def _values_of(run: str) -> tuple[tuple[str, EvidenceKind, str], ...]:
    value = trim(run) if len(run) <= _LONGEST_RUN else ""
    if not value:
        return ()
    kind = classify(value)
    found_in = _FOUND_IN.fullmatch(value) if ":" in value and "://" not in value else None
    if found_in and "::" not in value and not found_in.group(3).isdigit():
        place = _values_of(f"{found_in.group(1)}:{found_in.group(2)}")
        return place + _values_of(found_in.group(3))
    if kind is EvidenceKind.PATH:
        if "$" in run:
            return ()  # what a shell makes of it is another path
        lines = _LINE_SUFFIX.search(value)
        path = _PATH_PREFIX.sub("", value[: lines.start()] if lines else value)
        return ((path, kind, lines.group()[1:] if lines else ""),) if classify(path) is kind else ()
    if kind is not None and (
        ":" not in value or kind is EvidenceKind.URL or "::" in value or kind is EvidenceKind.DATE
    ):
        return ((value, kind, ""),)
    if ":" in value:
        # "34:TOTAL_ROWS" is a line of a search, "id:4711" a label: what counts stands beside the colon.
        parts = ((part, classify(part)) for part in map(trim, filter(None, value.split(":"))) if part)
        return tuple((part, found, "") for part, found in parts if found is not None)
    return ()
