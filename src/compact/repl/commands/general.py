"""/help /preset /model /trace /quit"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from importlib import import_module

from compact.chat.chats import stop
from compact.console.terminal import Screen, fit, one_line
from compact.errors import CompactError
from compact.model.event import Event
from compact.policies import PRESETS
from compact.repl.chat import Chat, failed, said
from compact.repl.commands import COMMANDS, unknown
from compact.repl.saying import Canvas, Happening, Leave, info, result
from compact.tracing.redacting import redacted_data
from compact.wiring.adapters import redactor_for

KEYS = (
    ("Enter", "send"),
    ("Alt-Enter", "new line (or Esc, then Enter)"),
    ("Up, Down", "earlier messages"),
    ("Tab", "complete commands, files, sessions"),
    ("Ctrl-C", "stop a reply and keep what arrived; clear the line"),
    ("Ctrl-D", "leave"),
)


def run_help(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    if argument:
        command = COMMANDS.get(argument.removeprefix("/"))
        if command is None:
            yield unknown(argument.removeprefix("/"))
        else:
            yield result(f"{command.usage}: {command.help}")
        return

    def draw(screen: Screen) -> None:
        width = max(len(command.usage) for command in COMMANDS.values())
        for command in COMMANDS.values():
            screen.paragraph(
                f"  {screen.styled(command.usage.ljust(width), 'cyan')}  ", command.help, width + 4
            )
        screen.line()
        for key, does in KEYS:
            screen.line(f"  {screen.styled(key.ljust(width), 'cyan')}  {does}")

    commands = {command.name: command.help for command in COMMANDS.values()}
    yield result(canvas.drawn(draw), commands=commands)


def run_preset(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    now = conversation.manager.config.policy.name
    if not argument:

        def draw(screen: Screen) -> None:
            for name in PRESETS:
                rule = " ".join((import_module(f"compact.policies.{name}").__doc__ or "").split())
                mark = "*" if name == now else " "
                screen.paragraph(f"{mark} {screen.styled(name.ljust(8), 'cyan')} ", rule, 11)

        yield result(canvas.drawn(draw), preset=now, presets=list(PRESETS))
        return
    try:
        conversation.use(preset=argument)
    except CompactError as problem:
        yield failed(problem)
        return
    yield info(f"Preset {argument} from now on; the session stays.", preset=argument)
    yield from map(said, conversation.warnings())


def run_model(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation, manager = chat.conversation, chat.conversation.manager
    if not argument:
        text = f"{conversation.model.label} ({conversation.agent}), window {manager.window:,} tokens"
        yield result(text, model=conversation.agent, window=manager.window)
        return
    before = conversation.model
    try:
        conversation.use(model=argument)
        if before is not conversation.model:
            stop(before)  # It restarts with the next request.
    except CompactError as problem:
        yield failed(problem)
        return
    window = conversation.manager.window
    text = f"{conversation.model.label} answers from now on; window {window:,} tokens."
    yield info(text, model=conversation.agent, window=window)
    yield from map(said, conversation.warnings())


def run_trace(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    count = int(argument) if argument.isdigit() else 20
    conversation = chat.conversation
    own = [event for event in conversation.manager.events if event.session_id in ("", conversation.id)]
    redactor = redactor_for(chat.chats.config)
    events = [replace(event, data=redacted_data(event.data, redactor)) for event in own[-count:]]
    if not events:
        yield info("No events yet; they come with the first message.")
        return

    def draw(screen: Screen) -> None:
        for event in events:
            screen.line(fit(_event_line(event), screen.width).rstrip())

    data = [{"name": event.name.value, "at": event.at, "data": dict(event.data)} for event in events]
    yield result(canvas.drawn(draw), events=data)


def _event_line(event: Event) -> str:
    when = datetime.fromtimestamp(event.at).strftime("%H:%M:%S")
    fields = " ".join(f"{name}={one_line(str(value), 60)}" for name, value in event.data.items())
    return f"{when} {event.name.value:<26} {fields}"


def run_quit(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    raise Leave
