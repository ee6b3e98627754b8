"""Which probes a prompt can still answer: string checks only, so that every run gives the same score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compact.evaluation.loading import Identifier, Question


@dataclass(frozen=True, slots=True)
class Score:
    kept: int = 0
    of: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.kept + other.kept, self.of + other.of)

    @property
    def share(self) -> float | None:
        """None if there was nothing to keep."""
        return self.kept / self.of if self.of else None


def score_identifiers(probes: Iterable[Identifier], text: str) -> Score:
    """Identifiers must match exactly."""
    held = [probe.value in text for probe in probes]
    return Score(sum(held), len(held))


def score_questions(probes: Iterable[Question], text: str) -> Score:
    """A question counts if all its keys are there; case and line breaks are ignored."""
    read = loosened(text)
    held = [all(loosened(key) in read for key in probe.keys) for probe in probes]
    return Score(sum(held), len(held))


def answerable(probes: Iterable[Question], text: str) -> tuple[Question, ...]:
    """The questions that the whole conversation answers: only those can be lost."""
    read = loosened(text)
    return tuple(probe for probe in probes if all(loosened(key) in read for key in probe.keys))


def present(probes: Iterable[Identifier], text: str) -> tuple[Identifier, ...]:
    """The identifiers that the whole conversation contains."""
    return tuple(probe for probe in probes if probe.value in text)


def loosened(text: str) -> str:
    return " ".join(text.casefold().split())
