"""What would be sent, with running totals: no message is counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.core.boundaries import is_beside_results, is_pinned
from compact.core.view import Item
from compact.model.message import MessageKind, Role

_USER = Role.USER


class PromptView:
    """Items in the order in which they are sent. `push` appends, `replace` starts over."""

    def __init__(self, pinned_roles: Sequence[Role]) -> None:
        self._pinned_roles = pinned_roles
        self.replace([])

    def replace(self, items: list[Item]) -> None:
        self.items = items
        self.total = sum(item.tokens for item in items)
        self.user_turns = 0
        """Turns that may still fold: pinned ones never do."""
        self.pinned_tokens = 0
        self.has_summary = False
        self.has_ours = False
        self.note: bytes | None = None
        """The digest of the newest working memory; one from a record is another object."""
        self.encoded: tuple[list[Any], int] | None = None
        """The prefix of the output that records determine, and the caller's index where the rest begins."""
        before: Item | None = None
        for item in items:
            self._count(item, before)
            before = item
        self.summaries = tuple(n for n, i in enumerate(items) if i.message.kind is MessageKind.SUMMARY)
        """Where summaries are: a cache breakpoint pays there."""
        self.summary_objects: list[int] | None = None
        """The same as objects of the list that is sent, once requested."""

    def push(self, item: Item) -> None:
        self._count(item, self.items[-1] if self.items else None)
        self.items.append(item)
        self.total += item.tokens

    def since(self, count: int) -> Sequence[Item]:
        return self.items[count:]

    def _count(self, item: Item, before: Item | None) -> None:
        message = item.message
        if not message.is_ours:
            if is_pinned(message, self._pinned_roles):
                self.pinned_tokens += item.tokens
            if message.role is _USER and not message.protected:
                self.user_turns += before is None or not is_beside_results(message, before.message)
            return
        self.has_ours = True
        if message.kind is MessageKind.SUMMARY:
            self.has_summary = True
        elif message.kind is MessageKind.CONTEXT:
            self.note = message.digest
