"""What a prompt still holds of everything that was said, by kind, and how much of its front is unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from compact.chat.conversation import Conversation
from compact.core.view import Item, apply_entries
from compact.evidence.holder import Holder
from compact.evidence.ledger import VALUES, WORDS, extract
from compact.evidence.said import SHOWN
from compact.formats import by_name, decode_all
from compact.functions import count_tokens
from compact.model.message import Message, ToolCall, ToolResult
from compact.model.record import Record
from compact.model.sections import SectionKind
from compact.model.summary import Evidence, EvidenceKind
from compact.server.studio import schemas
from compact.wiring.adapters import redactor_for

_TITLES = {
    "words": "Your words",
    "conclusions": "Conclusions",
    "done": "Done",
    "paths": "Paths and URLs",
    "ids": "Ids and names",
    "commands": "Commands",
    "numbers": "Numbers and dates",
    "errors": "Errors",
}
_VALUE_KINDS = {
    EvidenceKind.PATH: "paths",
    EvidenceKind.URL: "paths",
    EvidenceKind.ID: "ids",
    EvidenceKind.SYMBOL: "ids",
    EvidenceKind.NAME: "ids",
    EvidenceKind.COMMAND: "commands",
    EvidenceKind.NUMBER: "numbers",
    EvidenceKind.DATE: "numbers",
    EvidenceKind.ERROR: "errors",
}
_SPOKEN = ("words", "conclusions", "done")
"""Kinds that are sentences; the others are values."""
_MOST_VALUES = 400
"""The best of a session, as everywhere that survival is counted: nobody misses the thousandth name."""
_SHOWN_MISSING = 5


class PromptContents:
    """A conversation's originals and what they say, read once for any number of prompts."""

    def __init__(self, conversation: Conversation) -> None:
        self._config = conversation.manager.config
        self._originals = decode_all(conversation.turns, by_name("openai-chat"))

    def items(self, record: Record | None, reached: int | None = None) -> list[Item]:
        """The prompt's messages with this record in force, without system; up to `reached` originals."""
        end = len(self._originals) if reached is None else min(reached, len(self._originals))
        start = record.source_length if record is not None else 0
        replaced = apply_entries(record, self._original, self._size) if record is not None else []
        rest = [
            Item(message, self._size(message), position)
            for position, message in enumerate(self._originals[start:end], start)
        ]
        return [*(replaced or ()), *rest]

    def kinds(self, items: Sequence[Item], reached: int | None = None) -> list[schemas.KindSurvival]:
        """How much of each kind these messages contain, of what was said in the first `reached` originals."""
        text = "\n".join(_text(item.message) for item in items)
        held = Holder(text).among([unit for _, unit in self._units])
        sent = {item.position for item in items}
        found: dict[str, tuple[list[Evidence], list[Evidence]]] = {kind: ([], []) for kind in _TITLES}
        for number, (kind, unit) in enumerate(self._units):
            if reached is None or unit.message < reached:
                # What was done is in the prompt as the call itself, whose words differ from the ledger's.
                called = kind == "done" and not sent.isdisjoint(self._done_at[unit.value])
                found[kind][called or number in held].append(unit)
        return [
            schemas.KindSurvival(
                kind=kind,
                title=_TITLES[kind],
                kept=len(kept),
                total=len(kept) + len(lost),
                missing=[
                    schemas.Gone(text=unit.value, position=unit.message)
                    for unit in sorted(lost, key=lambda one: -one.rank)[:_SHOWN_MISSING]
                ],
                missing_count=len(lost),
            )
            for kind, (lost, kept) in found.items()
        ]

    def _original(self, position: int) -> Message | None:
        return self._originals[position] if position < len(self._originals) else None

    def _size(self, message: Message) -> int:
        return count_tokens(_text(message), self._config.model, counter=self._config.counter) + 4

    @cached_property
    def _ledger(self) -> Sequence[Evidence]:
        redactor = redactor_for(self._config)
        # A secret is never listed, not even as something missing.
        return extract(self._originals, redactor=redactor)

    @cached_property
    def _done_at(self) -> Mapping[str, set[int]]:
        """In which messages each thing was done."""
        found: defaultdict[str, set[int]] = defaultdict(set)
        for unit in self._ledger:
            if _kind_of(unit) is SectionKind.DONE:
                found[unit.value].add(unit.message)
        return found

    @cached_property
    def _units(self) -> list[tuple[str, Evidence]]:
        units = self._ledger
        values = sorted((unit for unit in units if _counts_as_value(unit)), key=lambda one: -one.rank)
        spoken = ((_kind_of(unit), unit) for unit in units if unit.kind not in VALUES)
        prose = [(kind.value, unit) for kind, unit in spoken if kind is not SectionKind.OTHER]
        # What was said twice counts once, where it was said first.
        once = {(kind, unit.value): (kind, unit) for kind, unit in reversed(prose)}
        return [*once.values(), *((_VALUE_KINDS[unit.kind], unit) for unit in values[:_MOST_VALUES])]


def _kind_of(unit: Evidence) -> SectionKind:
    if unit.kind in WORDS:
        return SectionKind.WORDS if unit.context != SHOWN else SectionKind.OTHER
    if unit.kind is EvidenceKind.CONCLUDED:
        return SectionKind.CONCLUSIONS
    return SectionKind.DONE if unit.kind is EvidenceKind.DONE else SectionKind.VALUES


def survived(kinds: Sequence[schemas.KindSurvival]) -> schemas.Survived:
    """The same in three: words, conclusions, and all kinds of values together."""

    def counted(*names: str) -> schemas.Counted | None:
        chosen = [one for one in kinds if one.kind in names]
        total = sum(one.total for one in chosen)
        return schemas.Counted(kept=sum(one.kept for one in chosen), total=total) if total else None

    values = [one.kind for one in kinds if one.kind not in _SPOKEN]
    return schemas.Survived(
        words=counted("words"), conclusions=counted("conclusions"), values=counted(*values)
    )


def unchanged_tokens(before: Sequence[Item], after: Sequence[Item]) -> int:
    """The size of the messages that both prompts begin with: what the provider still has cached."""
    total = 0
    for old, new in zip(before, after, strict=False):
        if old.message.digest != new.message.digest:
            break
        total += old.tokens
    return total


def _counts_as_value(unit: Evidence) -> bool:
    return unit.kind in VALUES and not unit.untrusted


def _text(message: Message) -> str:
    parts = [message.text]
    for part in message.parts:
        if isinstance(part, ToolCall):
            parts.append(f"{part.name} {part.arguments}")
        elif isinstance(part, ToolResult):
            parts.append(part.text)
    return "\n".join(filter(None, parts))
