"""One exchange: a message goes out, a reply comes in, and both become turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from compact.cli.exits import ExitCode
from compact.errors import CompactError, ContextOverflow, InsufficientBudget
from compact.model.chat import ReasoningPiece, ReplyEnd, TextPiece
from compact.model.message import Usage
from compact.model.outcome import Failed, Prepared
from compact.models.limits import limits_for
from compact.repl.chat import Chat, failed
from compact.repl.driving import undisturbed
from compact.repl.saying import Happening, Kind, Piece, Preparing, Said, error, info
from compact.repl.state import Sending, sending, trimmed
from compact.repl.turns import Turn, context_of, reply_turn

_SHORTEST_REPLY = 64


def say(chat: Chat, text: str) -> Iterator[Happening]:
    """Send a message and tell what comes. An interrupt thrown in keeps what came."""
    return _Exchange(chat, text).run()


class _Exchange:
    def __init__(self, chat: Chat, text: str) -> None:
        self.chat = chat
        self.conversation = chat.conversation
        self.text = text
        self.turn = self.conversation.ask(text, chat.agent)
        self.asked: list[Turn] = []
        self.state = chat.state
        """The state of the window once this is answered."""
        self.notices: list[Said] = []
        self.said = ""
        self.end: ReplyEnd | None = None
        self._stream: Any = None

    def run(self) -> Iterator[Happening]:
        problem: CompactError | None = None
        interrupted = False
        try:
            yield from self.chat.caught_up()
            self.asked = self.conversation.asked(self.turn)
            yield from self.chat.caught_up()
            self.state = self.chat.state
            yield Preparing(self.chat.model.label)
            yield from self._replied()
        except KeyboardInterrupt:
            interrupted = True
        except CompactError as met:
            problem = met
        finally:
            if self._stream is not None and hasattr(self._stream, "close"):
                with suppress(Exception):
                    self._stream.close()
        answer = self._answer(interrupted, problem)
        if answer is not None:
            yield from self._kept(answer)
        else:
            self._given_up()
        if interrupted:
            yield info("Stopped; what came is kept." if answer else "Stopped; nothing was added.")
        elif problem is not None:
            yield failed(problem)
        elif answer is None:
            yield info("The model said nothing; nothing was added.")
        yield from self.notices
        yield from self.chat.warnings()

    # -- out and in ----------------------------------------------------------------------------------------

    def _replied(self) -> Iterator[Happening]:
        prepared = self._prepared()
        try:
            yield from self._pieces(prepared)
        except ContextOverflow as overflow:
            if self.said or overflow.tokens is None:
                raise
            # The server counts more than was estimated: learn that, and compact by its count.
            manager = self.chat.manager
            manager.observe(self.conversation.id, self.asked, overflow.tokens)
            yield from self._pieces(self._noted(manager.prepare(self.conversation.id, self.asked)))

    def _prepared(self) -> Prepared:
        """What goes out with this message: a due trim runs now, or waits for its one further turn."""
        chat, manager, conversation = self.chat, self.chat.manager, self.conversation
        if chat.trims:
            with suppress(InsufficientBudget):
                view = manager.view(conversation.id, self.asked)
                usage = chat.usage
                self.state, how = sending(
                    chat.state, usage.tokens, view.tokens.final, usage.trigger, usage.budget
                )
                if how is not Sending.COMPACT:
                    return view
        return self._noted(manager.prepare(conversation.id, self.asked))

    def _noted(self, prepared: Prepared) -> Prepared:
        """Remember what preparing did, to be told after the reply."""
        if prepared.was_compacted or prepared.was_pruned:
            # It is so whatever becomes of the reply.
            self.chat.state = self.state = trimmed()
            self.chat.recount()
            self.notices = self.chat.compacted(prepared.tokens.before, prepared.tokens.final)
        elif isinstance(prepared.outcome, Failed):
            stage, cause = prepared.outcome.stage.value, prepared.outcome.cause
            text = f"The context could not be made smaller ({stage} failed: {cause})"
            self.notices = [Said(Kind.WARNING, f"{text.rstrip('.')}. It went out as it was.")]
        return prepared

    def _pieces(self, prepared: Prepared) -> Iterator[Happening]:
        chat = self.chat
        limits = limits_for(chat.config.model, chat.config.models)
        room = max(_SHORTEST_REPLY, chat.manager.window - prepared.tokens.final)
        self._stream = chat.model.stream(prepared.messages, max_tokens=min(limits.max_output, room))
        for piece in self._stream:
            if isinstance(piece, TextPiece):
                self.said += piece.text
                yield Piece(piece.text)
            elif isinstance(piece, ReasoningPiece):
                yield Piece(piece.text, thinking=True)
            elif isinstance(piece, ReplyEnd):
                self.end = piece

    # -- what becomes of it --------------------------------------------------------------------------------

    def _answer(self, interrupted: bool, problem: CompactError | None) -> Turn | None:
        """The reply as a turn; one with nothing in it is none (S2.11)."""
        end = self.end
        message = end.message if end is not None else {"role": "assistant", "content": self.said}
        if not (message.get("content") or "").strip() and not message.get("tool_calls"):
            return None
        usage = end.usage if end is not None else None
        finish = "interrupted" if interrupted else end.reason.value if end is not None else None
        return reply_turn(
            message,
            self.chat.clock(),
            self.conversation.id,
            self.chat.agent,
            usage,
            finish_reason=finish,
            error=str(problem) if problem is not None else None,
            cost=_price(self.chat.agent, usage),
        )

    def _given_up(self) -> None:
        """A message without a reply is no turn: it goes back into the prompt; the session is as it was."""
        conversation = self.conversation
        conversation.draft = self.text
        with suppress(CompactError):
            self.chat.refresh()
            # The question is stored, and the session listed: by what was asked.
            if not conversation.title and self.asked:
                conversation.name(self.text)

    def _kept(self, answer: Turn) -> Iterator[Happening]:
        """Both turns become part of the session, on the disk too."""
        chat = self.chat
        chat.state = self.state
        chat.cost += answer.get("cost") or 0.0
        yield from self._stored(answer)
        chat.sizes.append(context_of(answer) or chat.usage.tokens)
        told = {name: answer.get(name) for name in ("role", "content", "finish_reason", "usage")}
        told |= {name: answer[name] for name in ("session_id", "agent", "timestamp")}
        context = {"tokens": chat.usage.tokens, "window": chat.usage.window}
        yield Said(Kind.REPLY, answer.get("content") or "", {**told, "context": context})

    def _stored(self, answer: Turn) -> list[Said]:
        chat, conversation = self.chat, self.conversation
        told: list[Said] = []
        # An interrupt that comes as the reply ends must not lose it.
        with undisturbed():
            # Another chat may have been answered meanwhile: these turns come after its, not in their place.
            told += chat.caught_up()
            conversation.draft = ""
            try:
                if "usage" in answer and not told:
                    chat.manager.observe(conversation.id, self.asked, answer["usage"])
                chat.usage = conversation.keep([self.turn, answer])
                told += chat.caught_up()
                if not conversation.title:
                    conversation.name(self.text)
            except CompactError as problem:
                text = f"{problem} The turn is kept in memory; /export writes it to a file."
                told.append(error(text, ExitCode.FAILED))
        return told


def _price(model: str, usage: Usage | None) -> float | None:
    if usage is None:
        return None
    from compact.models.prices import cost

    return float(cost(model, usage) or 0) or None
