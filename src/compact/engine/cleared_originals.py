"""The originals of outputs that an earlier compaction cleared or shortened, for the next summary.

Nobody has summarized them yet. A caller that sends the full history still has them in its list; for one that
continues with the returned list they are read from the store, once, and only if a summary is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from compact.core.view import Item, handle, handles_of
from compact.engine.state.caller_list import Originals
from compact.errors import StoreError
from compact.model.message import Message
from compact.model.record import Cleared
from compact.ports import Store

_GAP = 16
"""Outputs this close together are read in one go, with what is between them."""


class ClearedOriginals:
    def __init__(self, store: Store, session_id: str, originals: Originals, items: Sequence[Item]) -> None:
        self._store = store
        self._session_id = session_id
        self._originals = originals
        self._items = items

    def in_full(self, item: Item) -> Message:
        """The message as it was before outputs of it were cleared or shortened, if that is still known."""
        if item.cleared is None:
            return item.message
        position = item.cleared.position
        if position < self._originals.first:
            original = self._stored.get(position)
        else:
            original = self._originals.at(position)
        return item.message if original is None else original

    @cached_property
    def _stored(self) -> dict[int, Message]:
        wanted = {item.cleared.position: item.cleared for item in self._items if item.cleared is not None}
        missing = (position for position in wanted if position < self._originals.first)
        found: dict[int, Message] = {}
        try:
            for start, stop in _runs(missing):
                read = enumerate(self._store.originals(self._session_id, start, stop), start)
                found.update((at, one) for at, one in read if at in wanted and _is_behind(wanted[at], one))
        except StoreError:
            pass  # What is left of them has to do; if the store is really down, the commit reports it.
        return found


def _runs(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ranges that hold these positions and little else."""
    start = stop = -1
    for position in sorted(positions):
        if stop >= 0 and position - stop > _GAP:
            yield start, stop
            start = -1
        start, stop = position if start < 0 else start, position + 1
    if stop >= 0:
        yield start, stop


def _is_behind(entry: Cleared, message: Message) -> bool:
    """Whether these are the outputs that were cleared: the session may have been rewound since."""
    outputs = {result.call_id: handle(result) for result in message.results}
    return handles_of(entry).items() <= outputs.items()
