"""What is sent before each model call: the preflight, a trim that may wait, the response to an overflow."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compact.chat.events import Notice, Severity, Topic
from compact.chat.needs import Need, NeedPrepared, NeedWork
from compact.chat.turns import Turn
from compact.chat.window import Sending, sending, trimmed
from compact.errors import ContextOverflow, InsufficientBudget
from compact.model.outcome import Failed, Prepared

if TYPE_CHECKING:
    from compact.chat.conversation import Conversation

Tools = Sequence[Mapping[str, Any]] | None
Preparing = Generator[Need, Any, Prepared]


class Preflight:
    """The preflights of one exchange."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.state = conversation.notices.window
        """The state of the window once the exchange is over."""
        self.notices: list[Notice] = []
        """Notices to show after the reply."""
        self._waits = False
        """A due trim waits for the end of this turn (S1.10)."""

    def prepared(self, asked: Sequence[Turn], tools: Tools, *, first: bool) -> Preparing:
        """Run a due trim, or let it wait one more turn if the door wants that."""
        conversation = self._conversation
        if conversation.chats.delays_trim and conversation.trims and (first or self._waits):
            view: Prepared | None = yield NeedWork(lambda: self._waiting_view(asked, tools, first))
            if view is not None:
                return view
        self._waits = False
        prepared: Prepared = yield NeedPrepared(asked, tools)
        yield NeedWork(lambda: self._note(prepared, asked, tools))
        return prepared

    def _waiting_view(self, asked: Sequence[Turn], tools: Tools, first: bool) -> Prepared | None:
        """The unchanged prompt, if the due trim may wait."""
        conversation = self._conversation
        try:
            view = conversation.manager.view(conversation.id, asked, tools)
        except InsufficientBudget:
            return None
        usage = conversation.usage
        if first:
            self.state, how = sending(
                conversation.notices.window, usage.tokens, view.tokens.final, usage.trigger, usage.budget
            )
            self._waits = how is not Sending.COMPACT
        else:
            self._waits = view.tokens.final <= usage.budget
        return view if self._waits else None

    def compacted_hard(
        self, asked: Sequence[Turn], tools: Tools, before: Prepared, overflow: ContextOverflow
    ) -> Preparing:
        """A smaller prompt for a server that found this one too long; raises the overflow if there is
        none."""
        conversation = self._conversation
        if overflow.tokens is not None:
            tokens = overflow.tokens
            yield NeedWork(lambda: conversation.manager.observe(conversation.id, asked, tokens, tools))
            prepared: Prepared = yield NeedPrepared(asked, tools)
            if prepared.was_compacted or prepared.was_pruned:
                yield NeedWork(lambda: self._note(prepared, asked, tools))
                return prepared
        prepared = yield NeedPrepared(asked, tools, hard=True)
        if prepared.tokens.final >= before.tokens.final:
            raise overflow
        sizes = before.tokens.final, prepared.tokens.final
        yield NeedWork(lambda: self._note_compaction(sizes, asked, tools))
        return prepared

    def _note(self, prepared: Prepared, asked: Sequence[Turn], tools: Tools) -> None:
        if prepared.was_compacted or prepared.was_pruned:
            sizes = prepared.tokens.before, prepared.tokens.final
            self._note_compaction(sizes, asked, tools)
        elif isinstance(prepared.outcome, Failed):
            stage, cause = prepared.outcome.stage.value, prepared.outcome.cause
            text = f"The context could not be made smaller ({stage} failed: {cause})"
            text = f"{text.rstrip('.')}. The prompt was sent unchanged."
            self.notices.append(Notice(Severity.WARNING, Topic.NOT_COMPACTED, text))

    def _note_compaction(self, sizes: tuple[int, int], asked: Sequence[Turn], tools: Tools) -> None:
        conversation = self._conversation
        # This holds whatever happens to the reply.
        conversation.notices.window = self.state = trimmed()
        # Whoever looks while the reply is written sees the prompt that it answers.
        conversation.usage = conversation.manager.usage(conversation.id, asked, tools)
        conversation.log.compacted()
        conversation.recount()
        self.notices += conversation.compacted(*sizes)
