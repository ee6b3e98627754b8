"""What is evaluated: a preset through its manager, or the baseline that keeps only the newest messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from compact.archives.memory import MemoryArchive
from compact.config import CompactConfig
from compact.core.boundaries import groups
from compact.errors import InsufficientBudget
from compact.evaluation.measuring import Measured
from compact.evaluation.windows import scaled
from compact.manager import CompactManager
from compact.model.message import Message
from compact.model.record import RecordKind
from compact.stores.memory import MemoryStore

TAIL = "tail"


class Contestant(Protocol):
    """Decides for one conversation what is sent for these messages."""

    @property
    def compactions(self) -> int:
        """How often the beginning of the prompt has been rewritten so far."""
        ...

    def prompt(self, messages: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        """The messages and tools to send; raises CompactError if they cannot be sent."""
        ...


class PresetContestant:
    """Its own manager, all in memory: nothing is stored, nothing is archived on disk."""

    def __init__(
        self, measured: Measured, config: CompactConfig, window: int, summarizer: Any = None
    ) -> None:
        policy = scaled(config.policy, window)
        config = config.model_copy(update={"policy": policy, "max_context_tokens": window})
        self._case = measured.case
        self._manager = CompactManager(
            config,
            summarizer=summarizer,
            store=MemoryStore(),
            archive=MemoryArchive(),
            format=measured.format.name,
        )

    @property
    def compactions(self) -> int:
        records = self._manager.records(self._case.id)
        return sum(record.kind is not RecordKind.RESTORE for record in records)

    def prompt(self, messages: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        prepared = self._manager.prepare(self._case.id, messages, self._case.tools, self._case.system)
        return prepared.messages, prepared.tools


class TailContestant:
    """Instructions, then as many of the newest messages as fit; calls and their results stay together."""

    def __init__(self, measured: Measured, budget: int) -> None:
        self._measured = measured
        self._room = budget - measured.fixed
        self._start = measured.head
        self.compactions = 0

    def prompt(self, messages: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        head = self._measured.head
        needed = self._size(messages[self._start :])
        if needed > self._room:
            start = self._newest_that_fit(messages)
            self.compactions += start > self._start
            self._start = start
            needed = self._size(messages[start:])
        if needed > self._room:
            raise InsufficientBudget(
                f"the newest messages alone need {needed:,} tokens, and there is room for {self._room:,}.",
                needed=needed,
                budget=self._room,
                arithmetic={"newest": needed},
            )
        return [*messages[:head], *messages[self._start :]], self._measured.case.tools

    def _newest_that_fit(self, messages: Sequence[Any]) -> int:
        chosen, used, stop = self._start, 0, len(messages)
        for start in reversed(self._legal_starts(messages)):
            used += self._size(messages[start:stop])
            if used > self._room and stop < len(messages):
                break
            chosen = stop = start
        return max(chosen, self._start)

    def _size(self, messages: Sequence[Any]) -> int:
        return sum(map(self._measured.size, messages))

    def _legal_starts(self, messages: Sequence[Any]) -> list[int]:
        """Indexes of objects with which a prompt may continue after the instructions."""
        decoded: list[Message] = []
        first_of: dict[int, int] = {}
        for index in range(self._measured.head, len(messages)):
            first_of[len(decoded)] = index
            decoded += self._measured.decoded(messages[index], index)
        return [first_of[group.start] for group in groups(decoded) if group.start in first_of]
