"""Citations such as [m12], [m3, m7] and [m4-m9]: which messages a summary rests on."""

from __future__ import annotations

import re
from collections.abc import Collection

_LINK = r"\s*(?:[,;/&+]|-|–|—|\.\.+|…|and|to)\s*(?:and\s+)?"
_LABELS = rf"m\s?\d+(?:(?:{_LINK}m?|\s+m)\s?\d+)*"
# In round brackets only labels alone, and neither m² nor m³, which are units.
_CITATION = re.compile(
    rf"[ \t]?(?:\[(?:(?:see|cf\.?|from|sources?)[: ]+)?({_LABELS})\b([^\[\]\n]{{0,80}})\]"
    rf"|\((?!m[23]\))({_LABELS})\))",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\bm\s?(\d+)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_RANGE = re.compile(r"\d\s*(?:-|–|—|\.\.+|…|to)\s*m?\s?\d", re.IGNORECASE)
_LONGEST_RANGE = 10_000
_LEDGER_LINE = re.compile(r"^\s*(?:[-*]\s+)?\[m(\d+)[^\]]*\]")


def cited_positions(text: str) -> set[int]:
    """Every position that `text` cites; of a range, its two ends."""
    return {number for match in _CITATION.finditer(text) for number in _numbers(match)}


def cited_span(text: str) -> set[int]:
    """Every position that `text` cites; of a range, all that lies between its ends."""
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
        # What a model wrote into the bracket beside the label belongs to the claim.
        note = _LABEL.sub("", match.group(2) or "").strip(" \t,;:?!.&/-–—")
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        kept = (f"({note})" if re.search(r"\w", note) else "", f"[{left}]" if left else "")
        return "".join(f"{lead}{part}" for part in kept if part)

    return _CITATION.sub(keep_valid, text)


def _numbers(match: re.Match[str]) -> list[int]:
    labels, note, alone = match.groups()
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
