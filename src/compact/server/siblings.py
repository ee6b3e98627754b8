"""Managers for requests that each name their own model, preset and format, all on one store."""

from __future__ import annotations

from collections import OrderedDict

from compact.manager import CompactManager

_KEPT = 200


class Siblings:
    """Lightweight siblings of one manager; the newest are kept."""

    def __init__(self, manager: CompactManager) -> None:
        self._manager = manager
        self._made: OrderedDict[tuple[str, str, str, int | None], CompactManager] = OrderedDict()

    def of(self, model: str, preset: str, format: str, window: int | None = None) -> CompactManager:
        """For this model; an empty preset and no window mean the manager's own settings."""
        key = (model, preset, format, window)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._manager.for_model(
                model,
                max_context_tokens=window or self._manager.config.max_context_tokens,
                preset=preset or None,
                format=format,
            )
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return found
