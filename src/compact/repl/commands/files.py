"""/export /import"""

from __future__ import annotations

from collections.abc import Iterator

from compact.cli.terminal import plural
from compact.errors import CompactError
from compact.repl.chat import Chat, failed
from compact.repl.exporting import exported, imported, path_of, write
from compact.repl.saying import Canvas, Happening, error, info
from compact.repl.turns import is_said
from compact.wiring import redactor_for


def run_export(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    replace = argument.split(maxsplit=1)[:1] in (["-f"], ["--force"])
    name = (argument.split(maxsplit=1)[1:] or [""])[0] if replace else argument
    redactor = redactor_for(chat.config)
    try:
        path = path_of(name or f"{chat.conversation.id}.json")
        turns = [*chat.conversation.head, *chat.conversation.current]
        write(path, exported(turns, redactor.value), replace)
    except CompactError as problem:
        yield failed(problem)
        return
    said = sum(map(is_said, turns))
    how = "redacted" if redactor.enabled else "NOT redacted"
    yield info(f"{plural(said, 'turn')} written to {path}, {how}.", path=str(path), turns=said)


def run_import(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    if not argument:
        yield error("Which file? /import context.json", 2)
        return
    conversation = chat.conversation
    try:
        path = path_of(argument)
        head, turns = imported(str(path))
        chat.usage = conversation.take_in(head, turns, chat.agent, f"imported from {path.name}")
    except CompactError as problem:
        yield failed(problem)
        return
    said = sum(map(is_said, turns))
    percent = f"{chat.usage.tokens / chat.usage.window:.0%}"
    data = {"turns": said, "tokens": chat.usage.tokens, "window": chat.usage.window}
    yield info(f"{plural(said, 'turn')} imported; the context is {percent} full.", **data)
    yield from chat.warnings()
