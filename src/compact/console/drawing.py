"""A plan as a picture: one line per message, and how full the window is before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from compact.console.terminal import Screen, one_line
from compact.core.measure import PRIMING
from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
)
from compact.model.outcome import ContextUsage
from compact.model.plan import Action, Limits, Mode, Plan, PlanStep

_COLORS = {
    Action.KEEP: "green",
    Action.PIN: "cyan",
    Action.CLEAR: "yellow",
    Action.SUMMARIZE: "magenta",
    Action.DROP: "red",
    Action.INJECT: "blue",
    Action.WARN: "yellow",
}
# Number, role, tokens, action, and the blanks between them.
_FIXED_CELLS = 6 + 10 + 8 + 11 + 2
# A run of one action is worth folding from this length on; its first rows and its last one stay.
_LONG_RUN, _RUN_HEAD = 8, 3


@dataclass(frozen=True)
class Row:
    number: str
    """`m3`, as summaries and recall cite the message; empty where nothing cites it."""
    role: str
    tokens: int
    action: Action
    text: str
    tool: str = ""
    """The tool that a result came from."""
    index: int | None = None
    """The position in the caller's list; None for what is not in it."""


def rows(
    plan: Plan, head: Sequence[Message] = (), head_tokens: Sequence[int] = (), skipped: int | None = None
) -> Iterator[Row]:
    """The fixed part, then the view; injected messages are listed where they will be in the prompt.

    Citations do not count the system prompt: neither do the numbers. `skipped` is how many objects of the
    caller's list that is; without it, the view is taken for the whole conversation.
    """
    for message, tokens in zip(head, head_tokens, strict=True):
        index = message.origin.index if message.origin is not None else None
        yield Row("", message.role.value, tokens, Action.PIN, snippet(message), index=index)
    injected = [step for step in plan.steps if step.action is Action.INJECT]
    recent = set(plan.recent)
    tools = {call.call_id: call.name for message in plan.messages for call in message.calls}
    for step in plan.steps:
        if step.index is None:
            continue
        if step.index in recent:
            yield from (_injected(plan, other) for other in injected)
            injected = []
        message = plan.messages[step.index]
        names = dict.fromkeys(tools.get(result.call_id, "") for result in message.results)
        index = message.origin.index if message.origin is not None else None
        position = step.index if skipped is None or index is None else index - skipped
        yield Row(
            f"m{position}" if index is not None else "+",
            message.role.value,
            step.tokens,
            step.action,
            snippet(message),
            ", ".join(filter(None, names)),
            index,
        )
    yield from (_injected(plan, other) for other in injected)


def as_provider_counts(plan: Plan, usage: ContextUsage) -> Plan:
    """The plan in the model's own tokens; ours may be counted differently."""
    real = plan.limits.real
    limits = Limits(
        usage.window,
        usage.budget,
        usage.trigger,
        real(plan.limits.fixed - PRIMING) + PRIMING,
        real(plan.limits.summary),
    )
    steps = tuple(replace(step, tokens=real(step.tokens), saves=real(step.saves)) for step in plan.steps)
    return replace(plan, limits=limits, steps=steps, before=real(plan.before), after=real(plan.after))


def _injected(plan: Plan, step: PlanStep) -> Row:
    role, text = {
        "marker": ("user", "a marker in place of what was dropped"),
        "bridge line": ("user", "a line that says the conversation was shortened"),
        "earlier summary": ("summary", "the earlier summary stays"),
    }.get(step.detail, ("summary", f"{plan.strategy} summary, at most this long"))
    return Row("+", role, step.tokens, Action.INJECT, text)


def snippet(message: Message) -> str:
    """One line by which a reader recognizes the message."""
    return one_line(" ".join(filter(None, (_part_text(part) for part in message.parts))))


def _part_text(part: Part) -> str:
    match part:
        case Text(text=text) | ToolResult(text=text):
            return text[:1_000]
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments_text(arguments)[:1_000]}"
        case Reasoning(text=text):
            return f"(thinking) {text[:1_000]}"
        case CompactionMarker(summary=summary):
            return f"(summary) {summary[:1_000]}"
        case Image():
            return "(image)"
        case File(name=name):
            return f"(file {name})" if name else "(file)"
        case Opaque(type=kind):
            return f"({kind})"
        case StepStart():
            return ""


def folded(all_rows: Sequence[Row]) -> Iterator[Row]:
    """The rows, with long runs of one action shortened to their beginning, a count and their end."""
    for action, run in groupby(all_rows, key=lambda row: row.action):
        same = list(run)
        if len(same) < _LONG_RUN:
            yield from same
            continue
        hidden = same[_RUN_HEAD:-1]
        yield from same[:_RUN_HEAD]
        tools = Counter(row.tool for row in hidden if row.tool)
        named = ", ".join(f"{tool} {count:,}" for tool, count in tools.most_common(4))
        text = f"{len(hidden):,} more{f' ({named})' if named else ''}"
        yield Row("…", "", sum(row.tokens for row in hidden), action, text)
        yield same[-1]


def draw_rows(screen: Screen, all_rows: Sequence[Row]) -> None:
    bar_cells = 8 if screen.width < 110 else 16
    text_cells = screen.width - _FIXED_CELLS - bar_cells
    most = max((row.tokens for row in all_rows if row.number != "…"), default=1) or 1
    header = f"{'#':>5} {'role':<9} {'tokens':>7}  {'':<{bar_cells}} {'what':<10} text"
    screen.line(screen.styled(header, "dim"))
    for row in all_rows:
        color = _COLORS[row.action]
        screen.line(
            f"{row.number:>5} {screen.fit(row.role, 9)} {row.tokens:>7,}  "
            f"{screen.styled(screen.bar(min(1.0, row.tokens / most), bar_cells), color)} "
            f"{screen.styled(f'{row.action.value:<10}', color)} "
            f"{screen.fit(f'{row.tool}: {row.text}' if row.tool else row.text, text_cells).rstrip()}"
        )


def draw_plan(screen: Screen, plan: Plan, all_rows: Sequence[Row], title: str, *, fold: bool = True) -> None:
    limits = plan.limits
    screen.line(screen.styled(title, "bold"))
    facts = [f"window {limits.window:,}", f"budget {limits.budget:,}", f"trigger {limits.trigger:,}"]
    screen.line(screen.dot.join([*facts, verdict(plan)]))
    draw_usage(screen, "before", plan.before, limits.window, limits.trigger)
    if plan.mode is not Mode.NONE:
        draw_usage(screen, "after", plan.after, limits.window, limits.trigger)
    screen.line()
    draw_rows(screen, list(folded(all_rows)) if fold else all_rows)
    screen.line()
    screen.paragraph("", totals(all_rows, plan), 0)


def draw_usage(screen: Screen, label: str, tokens: int, window: int, trigger: int) -> None:
    """A bar of the window; above 100% the bar is full and the percentage shows by how much."""
    share = tokens / window
    color = "red" if share >= 0.95 else "yellow" if tokens >= trigger else "green"
    room = min(60, screen.width - 30)
    bar = screen.styled(screen.bar(share, room), color)
    edge = "▕" if screen.blocks else "|"
    screen.line(f"{label:<7}{tokens:>9,} {bar}{edge} {share:>6.0%}")


def verdict(plan: Plan) -> str:
    """What would happen, and why."""
    reason = plan.reason.value
    if plan.insufficient is not None:
        return "does not fit, whatever is removed"
    words = {
        Mode.NONE: f"nothing to do ({reason})",
        Mode.PRUNE: f"clears old tool outputs ({reason})",
        Mode.SUMMARIZE: f"summarizes ({reason})",
        Mode.DISCARD: f"drops the middle ({reason})",
    }
    return words[plan.mode]


def totals(all_rows: Sequence[Row], plan: Plan) -> str:
    """Tokens and messages by action, and the fixed tokens outside the messages."""
    parts = []
    for action in Action:
        chosen = [row for row in all_rows if row.action is action]
        if chosen:
            parts.append(f"{action.value} {sum(row.tokens for row in chosen):,} ({len(chosen):,})")
    pinned_head = sum(row.tokens for row in all_rows) - sum(step.tokens for step in plan.steps)
    apart = plan.limits.fixed - pinned_head - PRIMING
    if apart > 0:
        parts.append(f"plus tools and system prompt {apart:,}")
    return "tokens (messages): " + (", ".join(parts) or "none")
