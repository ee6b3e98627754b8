"""The chat at a terminal: prompt, reply, prompt again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.terminal import one_line, plural
from compact.repl.background import Opening
from compact.repl.commands import is_command, run
from compact.repl.driving import drive, no_echo
from compact.repl.marks import Mark, left_behind
from compact.repl.prompt import Prompt
from compact.repl.saying import Happening, Leave, Reopened
from compact.repl.screen import TerminalVoice, status_line, warm

if TYPE_CHECKING:
    from compact.repl.chat import Chat

_SET_ASIDE = "You typed ahead; press Up to get back the message that was not answered."


def converse(context: Context) -> int:
    voice = TerminalVoice(context.out)
    opening = Opening(context, warm)
    prompt = Prompt(
        status=lambda: _status(opening),
        sessions=lambda: _sessions(opening),
        models=lambda: _models(context),
        on_shown=opening.start,
    )
    opening.on_done = lambda: prompt.end() if opening.failed else prompt.refresh()
    mark = Mark()
    _greet(context)
    draft = ""
    try:
        if context.args.session or context.args.last:
            chat = opening.result()
            draft = chat.conversation.draft
            _reopened(chat, context, voice)
        while True:
            if draft and prompt.typed_ahead():
                # Joined in one line they would be a message that nobody wrote.
                prompt.set_aside(draft)
                draft = ""
                context.out.line(context.out.styled(_SET_ASIDE, "cyan"))
            try:
                text = prompt.ask(draft)
            except KeyboardInterrupt:
                draft = ""
                continue
            except EOFError:
                opening.result()  # Raises what ended it, unless the user did.
                break
            draft = ""
            if not text.strip():
                continue
            try:
                chat = _opened(opening, context)
            except KeyboardInterrupt:
                draft = text
                context.out.line(context.out.styled("Stopped; nothing was added.", "cyan"))
                continue
            if chat.conversation.turns or not is_command(text):
                mark.set(chat.conversation.id, chat.conversation.title)
            try:
                draft = _handle(chat, text, voice)
            except Leave:
                break
            if chat.conversation.turns:
                mark.set(chat.conversation.id, chat.conversation.title)
        _farewell(opening.chat, context)
        # Only a regular exit removes it: after a crash the session is offered too.
        mark.remove()
        return ExitCode.OK
    finally:
        opening.close()


def _opened(opening: Opening, context: Context) -> Chat:
    """The chat, which may still be loading when the first message is sent."""
    if opening.chat is None and not opening.failed:
        context.out.line(context.out.styled("starting …", "dim"))
    with no_echo():
        return opening.result()


def _handle(chat: Chat, text: str, voice: TerminalVoice) -> str:
    """Handle one line of the user's; returns the text for the next prompt."""
    from compact.repl.exchange import say

    commanded = is_command(text)
    happenings = run(chat, text.strip(), voice.canvas) if commanded else say(chat, text)
    draft = ""

    def show(happening: Happening) -> None:
        nonlocal draft
        if isinstance(happening, Reopened):
            draft = happening.draft
        voice.show(happening)

    drive(happenings, show)
    voice.settle()
    return draft if commanded else chat.conversation.draft


def _greet(context: Context) -> None:
    out = context.out
    out.line(f"{out.styled('compact chat', 'bold')}{out.dot}/help lists the commands, Ctrl-D leaves")
    # A user who names a session gets that one; the offer waits for another start.
    left = None if context.args.session or context.args.last else left_behind()
    if left is not None:
        title = f" “{one_line(left.title)}”" if left.title else ""
        name = one_line(left.session_id)
        out.line(
            out.styled(f"Session {name}{title} was not closed. ", "yellow")
            + f"/resume {name} goes on with it."
        )


def _reopened(chat: Chat, context: Context, voice: TerminalVoice) -> None:
    from compact.chat.turns import is_said
    from compact.repl.chat import said

    turns = sum(map(is_said, chat.conversation.current))
    if turns:
        title = f" “{one_line(chat.conversation.title)}”" if chat.conversation.title else ""
        name = one_line(chat.conversation.id)
        context.out.line(context.out.styled(f"Session {name}{title}: {plural(turns, 'turn')}.", "cyan"))
    # Before anything is sent: perhaps another model would answer than the one remembered.
    for notice in chat.conversation.warnings():
        voice.show(said(notice))


def _farewell(chat: Chat | None, context: Context) -> None:
    if chat is not None and chat.conversation.turns:
        context.out.line(context.out.styled(f"Stored as {one_line(chat.conversation.id)}.", "dim"))


def _status(opening: Opening) -> tuple[str, bool]:
    chat = opening.chat
    if chat is None:
        return "starting …", False
    status = chat.conversation.status
    return status_line(status), status.tokens >= 0.8 * status.window


def _sessions(opening: Opening) -> Sequence[str]:
    chat = opening.chat
    return [thread.session_id for thread in chat.store.sessions(200)] if chat is not None else ()


def _models(context: Context) -> Sequence[str]:
    from compact.models.choose import available

    return available(context.environ)
