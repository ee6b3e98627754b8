"""Citations such as [m12], [m3, m7] and [m4-m9]: which messages a summary rests on."""

from __future__ import annotations

import re
from collections.abc import Collection

_NUMBER = r"m?\d+"
_CITATION = re.compile(rf"[ \t]?\[(m\d+(?:\s*(?:[,;]|-|–|—|\.\.|and)\s*{_NUMBER})*)\]", re.IGNORECASE)
_LEDGER_LINE = re.compile(r"^\s*(?:[-*]\s+)?\[m(\d+)[^\]]*\]")


def cited_positions(text: str) -> set[int]:
    """Every position that `text` cites; of a range, its two ends."""
    return {
        int(number) for match in _CITATION.finditer(text) for number in re.findall(r"\d+", match.group(1))
    }


def drop_false_citations(text: str, valid_positions: Collection[int]) -> str:
    """`text` without the citations of messages that do not exist; the claim itself stays."""

    def keep_valid(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match.group(1))]
        if all(number in valid_positions for number in numbers):
            return match.group()
        left = [f"m{number}" for number in numbers if number in valid_positions]
        lead = match.group()[: match.group().index("[")]
        return f"{lead}[{', '.join(left)}]" if left else ""

    return _CITATION.sub(keep_valid, text)


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
