"""What a conversation reports to its user: warnings of the engine, compactions, a window that fills up."""

from __future__ import annotations

from collections.abc import Iterator

from compact.chat.events import Notice, Severity, Topic
from compact.chat.window import WARNINGS, Level, landed, trimmed
from compact.model.event import Event, EventName
from compact.model.outcome import ContextUsage

_ADVICE = "Save with /save, start fresh with /clear, or shrink it now with /compact."
_SUMMARIZES = "The turns between are dropped. /preset chat would summarize them instead."


class Notices:
    """Collects what happens until the door asks for it."""

    def __init__(self) -> None:
        self.window = trimmed()
        """Which warnings were given since the last compaction."""
        self.completed = 0
        """Compactions that the engine completed."""
        self.waiting: list[Notice] = []
        """Not reported yet, such as how the conversation was opened."""
        self._engine_warnings: list[str] = []
        self._compaction_words = ""
        """What the last compaction has to say, in the engine's words (S1.11)."""

    def hear(self, event: Event) -> None:
        """Handle an event of the engine."""
        self.completed += event.name is EventName.COMPLETE
        if event.name is EventName.START:
            self._compaction_words = ""  # those of an earlier one that nobody reported
        if event.name is not EventName.WARNING:
            return
        message = str(event.data.get("message"))
        if event.step:
            # It belongs to a compaction, and is reported with it.
            self._compaction_words = message
        elif message not in self._engine_warnings:
            self._engine_warnings.append(message)

    def compacted(self, before: int, after: int, is_first_trim: bool) -> list[Notice]:
        """For a compaction that was just made: the engine's own words if it has any (S1.11)."""
        words = self._compaction_words or f"Context compacted: {before:,} → {after:,} tokens."
        self._compaction_words = ""
        data = {"tokens_before": before, "tokens_after": after}
        notices = [Notice(Severity.INFO, Topic.COMPACTED, words, data)]
        if is_first_trim:
            notices.append(Notice(Severity.INFO, Topic.COMPACTED, _SUMMARIZES))
        return notices

    def warnings(self, usage: ContextUsage, trims: bool) -> Iterator[Notice]:
        """The warnings that the current context calls for, once per crossing, and those of the engine."""
        while self.waiting:
            yield self.waiting.pop(0)
        self.window, level = landed(self.window, usage.tokens, usage.window)
        data = {"percent": int(level), "tokens": usage.tokens, "window": usage.window}
        if level is Level.EIGHTY:
            yield Notice(Severity.WARNING, Topic.CAPACITY, WARNINGS[level], data)
        elif level is Level.NINETY:
            text = WARNINGS[level] if trims else WARNINGS[level].replace("trimming", "compacting")
            yield Notice(Severity.ALERT, Topic.CAPACITY, text, {**data, "action": _ADVICE})
            yield Notice(Severity.ALERT, Topic.CAPACITY, _ADVICE)
        while self._engine_warnings:
            yield Notice(Severity.WARNING, Topic.ENGINE, self._engine_warnings.pop(0))
