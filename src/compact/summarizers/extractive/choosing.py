"""Which units to keep: those that tell the most new words for the room."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cache

from compact.summarizers.extractive.sentences import Unit, Weights

_REPEAT = 0.35
"""What a word is worth each time it is told again."""
_LEAST_ROOM = 20
_LENGTH_POWER = 0.6
_FRAGMENT = 14
"""Added to every length, or shreds would look cheap."""


@cache
def _price(length: int) -> float:
    return float((length + _FRAGMENT) ** _LENGTH_POWER)


class Chooser:
    """Picks the units that tell the most new words for the room.

    Greedy with lazy updates: a unit's worth only falls as its words get told, so a stale top of the heap
    is weighed again and nothing else needs to be. Asked again for more room it goes on where it stopped.
    """

    def __init__(self, units: Sequence[Unit], weights: Weights, overhead: int) -> None:
        self._units = units
        self._overhead = overhead
        self._left = dict(weights)
        self._chosen: list[Unit] = []
        self._used = 0
        self._left_out: list[tuple[float, int]] = []
        self._heap = [
            (-unit.gain * unit.weight / _price(len(unit.text) + overhead), number)
            for number, unit in enumerate(units)
            if unit.weight
        ]
        heapq.heapify(self._heap)

    def choose(self, room: int) -> list[Unit]:
        """Units for `room` characters, best first."""
        if self._used > room:
            return self._prefix(room)
        heap, units, overhead = self._heap, self._units, self._overhead
        for entry in self._left_out:
            heapq.heappush(heap, entry)
        self._left_out = []
        while heap and room - self._used > _LEAST_ROOM:
            stale, number = heap[0]
            unit = units[number]
            fresh = -self._worth(unit)
            if fresh > stale + 1e-12:
                heapq.heapreplace(heap, (fresh, number))
                continue
            heapq.heappop(heap)
            cost = len(unit.text) + overhead
            if cost > room - self._used:
                self._left_out.append((fresh, number))
                continue
            self._used += cost
            self._chosen.append(unit)
            for word in unit.words:
                self._left[word] *= _REPEAT
        return list(self._chosen)

    def _worth(self, unit: Unit) -> float:
        gain = sum(map(self._left.__getitem__, unit.words))
        return gain * unit.weight / _price(len(unit.text) + self._overhead)

    def _prefix(self, room: int) -> list[Unit]:
        taken: list[Unit] = []
        for unit in self._chosen:
            room -= len(unit.text) + self._overhead
            if room < 0:
                break
            taken.append(unit)
        return taken
