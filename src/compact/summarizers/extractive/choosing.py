"""Which units to keep: those that tell the most new words for the room."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cache

from compact.summarizers.extractive.sentences import Unit
from compact.summarizers.extractive.weighing import Weights

_REPEAT = 0.35
"""What a word is worth each time it is told again."""
_LEAST_ROOM = 20
_LENGTH_POWER = 0.6
_FRAGMENT = 14
"""Added to every length, or shreds would look cheap."""
_LITTLE = 170
"""In so little room few of many units can fit."""


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
        self._costs = [len(unit.text) + overhead for unit in units]
        self._left = dict(weights)
        self._chosen: list[Unit] = []
        self._used = 0
        self._left_out: list[tuple[float, int]] = []
        self._heap = [
            (-unit.gain * unit.weight / _price(cost), number)
            for number, (unit, cost) in enumerate(zip(units, self._costs, strict=True))
            if unit.weight
        ]

    def choose(self, room: int) -> list[Unit]:
        """Units for `room` characters, best first."""
        if self._used > room:
            return self._prefix(room)
        heap, units, costs, left = self._heap, self._units, self._costs, self._left
        heap += self._left_out
        heapq.heapify(heap)
        self._left_out = []
        while heap and room - self._used > _LEAST_ROOM:
            stale, number = heap[0]
            unit = units[number]
            cost = costs[number]
            fresh = -(sum(map(left.__getitem__, unit.words)) * unit.weight / _price(cost))
            if fresh > stale + 1e-12:
                heapq.heapreplace(heap, (fresh, number))
            elif cost > room - self._used:
                self._leave_out(room - self._used)
            else:
                heapq.heappop(heap)
                self._used += cost
                self._chosen.append(unit)
                for word in unit.words:
                    left[word] *= _REPEAT
        return list(self._chosen)

    def _leave_out(self, room: int) -> None:
        """Set the best unit aside, which does not fit; in little room, all that do not."""
        if room > _LITTLE:
            self._left_out.append(heapq.heappop(self._heap))
            return
        costs = self._costs
        self._left_out += [entry for entry in self._heap if costs[entry[1]] > room]
        self._heap[:] = [entry for entry in self._heap if costs[entry[1]] <= room]
        heapq.heapify(self._heap)

    def _prefix(self, room: int) -> list[Unit]:
        taken: list[Unit] = []
        for unit in self._chosen:
            room -= len(unit.text) + self._overhead
            if room < 0:
                break
            taken.append(unit)
        return taken
