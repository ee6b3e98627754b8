"""/save /sessions /resume /recall"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches

from compact.chat.turns import Turn, is_said, text_of
from compact.console.terminal import Screen, cell_width, fit, one_line, plural
from compact.engine.queries import Recalled
from compact.errors import CompactError
from compact.ports import Thread
from compact.repl.chat import Chat, failed, said
from compact.repl.excerpt import excerpt
from compact.repl.saying import Canvas, Happening, Reopened, error, info, result

_TITLE_ROOM = 20
_MOST_RECALLED = 5


def run_save(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    try:
        conversation.save(argument)
    except CompactError as problem:
        yield failed(problem)
        return
    turns = sum(map(is_said, conversation.turns))
    title = f" “{conversation.title}”" if conversation.title else ""
    yield info(
        f"Saved: session {conversation.id}{title}, {plural(turns, 'turn')}.",
        session_id=conversation.id,
        title=conversation.title,
        turns=turns,
    )


def run_sessions(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    try:
        threads = chat.store.sessions(50)
    except CompactError as problem:
        yield failed(problem)
        return
    if not threads:
        yield info("No sessions yet; the first message makes one.")
        return

    def draw(screen: Screen) -> None:
        width = min(40, max(len(thread.session_id) for thread in threads))
        for thread in threads:
            mark = "*" if thread.session_id == chat.conversation.id else " "
            screen.line(session_line(thread, mark, width, screen.width))

    data = [
        {
            "session_id": t.session_id,
            "title": t.title,
            "messages": t.message_count,
            "updated_at": t.updated_at,
        }
        for t in threads
    ]
    yield result(canvas.drawn(draw), sessions=data)


def session_line(thread: Thread, mark: str, name_width: int, width: int) -> str:
    """A session in a list. Where there is little room, the title matters more than the figures."""
    name = f"{mark} {fit(one_line(thread.session_id), name_width)}"
    when = datetime.fromtimestamp(thread.updated_at).strftime("%Y-%m-%d %H:%M")
    counts = f"{plural(thread.message_count, 'message'):>14}"
    title = one_line(thread.title)
    room = min(cell_width(title), _TITLE_ROOM)
    for facts in ((when, counts), (when,), ()):
        line = "  ".join((name, *facts, title))
        if width - cell_width(line) + cell_width(title) >= room:
            break
    return fit(line, width).rstrip()


def run_resume(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    try:
        found = find(chat, argument)
        if found is None:
            near = get_close_matches(argument, [t.session_id for t in chat.store.sessions(200)], 1, 0.4)
            hint = f" Did you mean {near[0]}?" if near else ""
            yield error(f"There is no session {argument or 'to resume'}.{hint} /sessions lists them.", 2)
            return
        chat.open(found.session_id)
    except CompactError as problem:
        yield failed(problem)
        return
    conversation = chat.conversation
    turns = sum(map(is_said, conversation.current))
    title = f" “{conversation.title}”" if conversation.title else ""
    share = f"{conversation.usage.tokens / conversation.usage.window:.0%}"
    yield info(
        f"Session {conversation.id}{title}: {plural(turns, 'turn')}, the context is {share} full.",
        session_id=conversation.id,
        turns=turns,
    )
    yield Reopened(conversation.draft)
    yield from map(said, conversation.warnings())


def find(chat: Chat, wanted: str) -> Thread | None:
    """A session by id, by the beginning of its id, or by its title; the newest other one by default."""
    if wanted and (exact := chat.store.session(wanted)) is not None:
        return exact
    threads = chat.store.sessions(1_000)
    if not wanted:
        return next((t for t in threads if t.session_id != chat.conversation.id and t.message_count), None)
    low = wanted.casefold()
    starting = (t for t in threads if t.session_id.casefold().startswith(low))
    titled = (t for t in threads if low in t.title.casefold())
    return next(starting, None) or next(titled, None)


def _containing(turns: Sequence[Turn], text: str) -> list[Recalled]:
    """The newest turns that contain this text, even as part of a word, which the index cannot find."""
    low = text.casefold()
    found = [n for n in range(len(turns) - 1, -1, -1) if low in text_of(turns[n]).casefold()]
    return [Recalled(n, turns[n]["role"], text_of(turns[n]), (), 1.0) for n in found[:_MOST_RECALLED]]


def run_recall(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    if not argument:
        yield error("What shall be found? /recall words, or a handle such as r-0123456789", 2)
        return
    try:
        hits = chat.conversation.recall(argument)
    except CompactError as problem:
        yield failed(problem)
        return
    if not hits:
        hits = _containing(chat.conversation.turns, argument)
    if not hits:
        yield info("Nothing in this session matches. Try other words, or fewer.")
        return

    def draw(screen: Screen) -> None:
        for hit in hits:
            screen.line(screen.styled(f"— message {hit.position}, {hit.role}", "cyan"))
            found = excerpt(hit.text, argument)
            if found.before:
                screen.line(screen.styled(f"  … {plural(found.before, 'line')} before", "dim"))
            for line in found.lines:
                screen.paragraph("  ", line, 2)
            if found.after:
                screen.line(screen.styled(f"  … {plural(found.after, 'more line')}", "dim"))

    data = [{"position": hit.position, "role": hit.role, "text": hit.text} for hit in hits]
    yield result(canvas.drawn(draw), found=data)
