"""/stats /clear /compact /plan /summary /undo /pin"""

from __future__ import annotations

from collections.abc import Iterator

from compact.chat.turns import is_pinned, text_of
from compact.console.drawing import as_provider_counts, draw_plan, rows
from compact.console.terminal import Screen, clean, one_line, plural
from compact.errors import CompactError
from compact.model.plan import Mode
from compact.model.record import RecordKind
from compact.repl.chat import Chat, failed, said
from compact.repl.plot import plot
from compact.repl.saying import Canvas, Happening, Kind, Said, error, info, result

_SUMMARY_TOKENS = 400
_NO_FOCUS = (
    "The preset {} drops turns and writes no summary, so there was nothing to focus on. /undo, then "
    "/preset chat and /compact with the same words would summarize."
)


def run_stats(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    # The running total after the last turn: nothing is counted again.
    conversation = chat.conversation
    usage, sizes = conversation.usage, conversation.sizes
    turns = len(conversation.turns) - conversation.start
    shares = {name: tokens for name, tokens in usage.breakdown.items() if tokens or name == "messages"}
    due = usage.trigger - usage.tokens
    what = "trim" if conversation.trims else "compaction"
    policy = conversation.manager.config.policy
    turn_limit = f"after {policy.keep_recent_turns} turns, or " if policy.fold_on_turns else ""

    def draw(screen: Screen) -> None:
        percent = f"{usage.tokens / usage.window:.1%}"
        counted = "counted" if usage.exact else "estimated"
        screen.line(f"Context: {usage.tokens:,} of {usage.window:,} tokens ({percent}), {counted}.")
        cells = min(50, screen.width - 30)
        for name, tokens in shares.items():
            bar = screen.bar(tokens / usage.window, cells)
            screen.line(
                f"  {name:<10} {tokens:>9,}  {screen.styled(bar, 'dim' if name == 'free' else 'green')}"
            )
        when = f"{due:,} tokens from now" if due > 0 else "due when the next message is sent"
        share = f"{usage.trigger / usage.window:.0%}"
        screen.line(f"Next {what} {turn_limit}at {usage.trigger:,} tokens ({share}), {when}.")
        done = plural(conversation.compactions, what)
        since = " since /clear" if conversation.start else ""
        cost = f", ${conversation.cost:.4f}" if conversation.cost else ""
        screen.line(f"Session {conversation.id}: {plural(turns, 'message')}{since}, {done}{cost}.")
        if sizes:
            top = screen.styled(" window", "dim")
            for number, row in enumerate(plot(sizes, usage.window, screen.width - 12, screen.blocks)):
                screen.line(f"  │{screen.styled(row, 'cyan')}{top if number == 0 else ''}")
            replies = "the reply" if len(sizes) == 1 else f"each of {len(sizes):,} replies"
            screen.line(f"  └ context after {replies}")

    yield result(
        canvas.drawn(draw),
        tokens=usage.tokens,
        window=usage.window,
        percent=usage.percent,
        breakdown=dict(usage.breakdown),
        trigger=usage.trigger,
        budget=usage.budget,
        messages=turns,
        compactions=conversation.compactions,
        cost=conversation.cost,
        sizes=list(sizes[-1_000:]),
    )


def run_clear(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    try:
        record = conversation.clear()
    except CompactError as problem:
        yield failed(problem)
        return
    if record is None:
        yield info("There is nothing to clear.")
        return
    gone = plural(record.messages_replaced, "message")
    text = f"Saved and cleared: {gone} are no longer sent. /undo brings them back."
    yield info(text, session_id=conversation.id, messages=record.messages_replaced)


def run_compact(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    try:
        record, before = conversation.compact(argument)
    except CompactError as problem:
        yield failed(problem)
        return
    if record is None:
        yield info("Nothing was compacted: what is not always kept would hardly get smaller.")
        return
    yield from map(said, conversation.compacted(before, conversation.usage.tokens))
    if argument and conversation.trims:
        yield Said(Kind.WARNING, _NO_FOCUS.format(conversation.manager.config.policy.name))
    if record.summary:
        yield result(clean(record.summary), summary=record.summary)


def run_plan(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    try:
        planned = conversation.manager.plan(conversation.id, conversation.history)
        plan = as_provider_counts(planned, conversation.refresh())
    except CompactError as problem:
        yield failed(problem)
        return
    # Numbered as in summaries and /recall: without the system prompt.
    shown = list(rows(plan, skipped=len(conversation.history) - len(conversation.turns)))
    title = f"{conversation.id} · {conversation.manager.config.policy.name} · {conversation.model.label}"

    def draw(screen: Screen) -> None:
        draw_plan(screen, plan, shown, title)

    sizes = {"before": plan.before, "after": plan.after, "window": plan.limits.window}
    yield result(canvas.drawn(draw), mode=plan.mode.value, reason=plan.reason.value, **sizes)
    if plan.mode is Mode.NONE:
        yield info("/compact compacts now, whatever the usage.")


def run_summary(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    try:
        records = conversation.log.standing_records()
        summary = records[-1].summary if records else ""
        if summary:
            yield result(clean(summary), summary=summary, in_use=True)
            return
        if not conversation.current:
            yield info("Nothing has been said yet.")
            return
        from compact.summarizers.api import summarize

        made = summarize(conversation.current, _SUMMARY_TOKENS, "brief")
    except CompactError as problem:
        yield failed(problem)
        return
    if made.text:
        yield info("No summary is in use; this one is of the conversation so far, and changes nothing:")
        yield result(clean(made.text), summary=made.text, in_use=False)
    else:
        yield info("No summary is in use, and too little was said for one.")


def run_undo(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    step = None
    try:
        if conversation.last_import is not None:
            done = f"the import of {plural(conversation.undo_import(), 'message')}"
        else:
            record = conversation.undo()
            if record is None:
                yield info("There is nothing to undo: no compaction, no /clear and no /import just before.")
                return
            step = record.step
            done = "/clear" if record.kind is RecordKind.CLEAR else f"{record.kind.value} {step}"
    except CompactError as problem:
        yield failed(problem)
        return
    tokens = conversation.usage.tokens
    yield info(f"Undone: {done}. The context is {tokens:,} tokens again.", step=step, tokens=tokens)
    yield from map(said, conversation.warnings())


def run_pin(chat: Chat, argument: str, canvas: Canvas) -> Iterator[Happening]:
    conversation = chat.conversation
    turns, start = conversation.turns, conversation.start
    number = argument.removeprefix("m")  # As /plan and summaries write it.
    position = int(number) if number.isdigit() else None
    if not argument:
        asked = [n for n in range(start, len(turns)) if turns[n].get("role") == "user"]
        position = asked[-1] if asked else None
    if position is None or not start <= position < len(turns):
        last = f"{start} to {len(turns) - 1}" if len(turns) > start else "none yet"
        text = "/pin protects your last message, /pin N message N as /plan and /recall number them"
        yield error(f"Which message? {text} ({last}).", 2)
        return
    pinned = not is_pinned(turns[position])
    try:
        conversation.pin(position, pinned)
    except CompactError as problem:
        yield failed(problem)
        return
    text = one_line(text_of(conversation.turns[position]), 60)
    done = "Pinned, it will never be trimmed" if pinned else "No longer pinned"
    yield info(f"{done}: message {position}, {text}", message=position, pinned=pinned)
