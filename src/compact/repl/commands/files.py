"""/export /import"""

from __future__ import annotations

from collections.abc import Iterator

from compact.chat.imports import AlreadyThere
from compact.chat.turns import is_said
from compact.console.terminal import plural
from compact.errors import CompactError, FormatError
from compact.repl.chat import Chat, failed, said
from compact.repl.exporting import exported, imported, path_of, write
from compact.repl.saying import Canvas, Happening, error, info
from compact.wiring.adapters import redactor_for


def run_export(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    replace = argument.split(maxsplit=1)[:1] in (["-f"], ["--force"])
    name = (argument.split(maxsplit=1)[1:] or [""])[0] if replace else argument
    redactor = redactor_for(chat.chats.config)
    try:
        path = path_of(name or f"{chat.conversation.id}.json")
        turns = [*chat.conversation.head, *chat.conversation.current]
        write(path, exported(turns, redactor.value), replace)
    except CompactError as problem:
        yield failed(problem)
        return
    count = sum(map(is_said, turns))
    how = "redacted" if redactor.enabled else "NOT redacted"
    yield info(f"{plural(count, 'turn')} written to {path}, {how}.", path=str(path), turns=count)


def run_import(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    again = argument.split(maxsplit=1)[:1] == ["--again"]
    argument = argument.removeprefix("--again").strip() if again else argument
    if not argument:
        yield error("Which file? /import context.json", 2)
        return
    conversation = chat.conversation
    try:
        path = path_of(argument)
        head, turns = imported(str(path))
        conversation.take_in(head, turns, f"imported from {path.name}", again)
    except AlreadyThere as problem:
        yield failed(FormatError(f"{problem} /import --again {argument} appends once more."))
        return
    except CompactError as problem:
        yield failed(problem)
        return
    count, usage = sum(map(is_said, turns)), conversation.usage
    data = {"turns": count, "tokens": usage.tokens, "window": usage.window}
    percent = f"{usage.tokens / usage.window:.0%}"
    yield info(
        f"{plural(count, 'turn')} imported; the context is {percent} full. /undo takes them out.", **data
    )
    yield from map(said, conversation.warnings())
