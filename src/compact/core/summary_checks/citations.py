"""Citations such as [m12], [m3, m7] and [m4-m9]: which messages a summary rests on."""

from __future__ import annotations

import re
from collections.abc import Collection

_LINK = r"\s*(?:[,;/&+]|-|–|—|\.\.+|…|and|to)\s*(?:and\s+)?"
_M = r"(?:[#^]?m|msg\.?|messages?|nachricht)"
_LABELS = rf"{_M}\s?\d+(?:(?:{_LINK}{_M}?|\s+{_M})\s?\d+)*"
# In parentheses only bare labels count, and not m² or m³, which are units.
_CITATION = re.compile(
    rf"[ \t]?(?:[\[【［](?:(?:see|cf\.?|from|sources?)[: ]+)?({_LABELS})\b([^\[\]【】\n]{{0,80}})[\]】］]"
    rf"|\((?!m[23]\))({_LABELS})\)|[\[【]\^?m-\d+[\]】]())",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\bm\s?(\d+)\b", re.IGNORECASE)
# Leftovers of a dropped citation: the word that led to it, the "and" between two.
_GONE = "\x00"
_AND = r"(?:,|;|/|&|\+|and|or|und|oder|et|ou|y|e|en|och)"
_DANGLING = (
    (re.compile(rf"[ \t]?`\s*{_GONE}\s*`"), _GONE),
    (re.compile(rf"{_GONE}(?:\s*{_AND})?\s*(?={_GONE})", re.IGNORECASE), ""),
    (re.compile(rf"(?<=[\])】])\s*{_AND}\s*{_GONE}", re.IGNORECASE), ""),
    (re.compile(rf"{_GONE}\s*{_AND}(?=\s*[\[(【])", re.IGNORECASE), ""),
    (re.compile(rf"\s*\b(?:see(?: also)?|cf\.|in|from|per|as of|according to)\s*{_GONE}", re.IGNORECASE), ""),
    (re.compile(_GONE), ""),
)
_DIGITS = re.compile(r"\d+")
_RANGE = re.compile(r"\d\s*(?:-|–|—|\.\.+|…|to)\s*m?\s?\d", re.IGNORECASE)
_LONGEST_RANGE = 10_000
_LEDGER_LINE = re.compile(r"^\s*(?:[-*]\s+)?\[m(\d+)[^\]]*\]")


def cited_positions(text: str) -> set[int]:
    """Every position that `text` cites; for a range, its two ends."""
    return {number for match in _CITATION.finditer(text) for number in _numbers(match)}


def cited_span(text: str) -> set[int]:
    """Every position that `text` cites; for a range, everything between its ends."""
    cited: set[int] = set()
    for match in _CITATION.finditer(text):
        numbers = _numbers(match)
        cited.update(numbers)
        if _RANGE.search(match.group()) and numbers:
            cited.update(range(min(numbers), min(max(numbers), min(numbers) + _LONGEST_RANGE) + 1))
    return cited


def drop_false_citations(text: str, valid_positions: Collection[int]) -> str:
    """`text` without the citations of messages that do not exist; the claim itself stays."""

    def keep_valid(match: re.Match[str]) -> str:
        numbers = _numbers(match)
        if all(number in valid_positions for number in numbers):
            return match.group()
        left = ", ".join(f"m{number}" for number in numbers if number in valid_positions)
        # What a model wrote into the bracket next to the label belongs to the claim.
        note = _LABEL.sub("", match.group(2) or "").strip(" \t,;:?!.&/-–—")
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        kept = (f"({note})" if re.search(r"\w", note) else "", f"[{left}]" if left else "")
        return "".join(f"{lead}{part}" for part in kept if part) or f"{_GONE}"

    kept = _CITATION.sub(keep_valid, text.replace(_GONE, ""))
    if _GONE in kept:
        for left_over, instead in _DANGLING:
            kept = left_over.sub(instead, kept)
    return kept


def _numbers(match: re.Match[str]) -> list[int]:
    labels, note, alone, _ = match.groups()
    if labels is None and alone is None:
        return [-1]
    return [int(number) for number in _DIGITS.findall(labels or alone) + _LABEL.findall(note or "")]


def order_ledger(text: str) -> str:
    """`text` with each run of ledger lines (`[m12] …`) in the order of the messages they cite."""
    ordered: list[str] = []
    run: list[tuple[int, str]] = []

    def flush() -> None:
        ordered.extend(line for _, line in sorted(run, key=lambda entry: entry[0]))
        run.clear()

    for line in text.splitlines():
        match = _LEDGER_LINE.match(line)
        if match:
            run.append((int(match.group(1)), line))
        elif run and line[:1].isspace() and line.strip():
            run[-1] = (run[-1][0], f"{run[-1][1]}\n{line}")  # a wrapped line moves with its entry
        else:
            flush()
            ordered.append(line)
    flush()
    return "\n".join(ordered)
