"""When the terminal warns and when a due trim runs (S1.9, S1.10): values in, values out.

A trim is due when a turn lands at the trigger, and runs when the next message is sent, so that commands typed
first can save or clear. A turn that lands at 90% or more postpones it by exactly one more turn, unless that
turn would not fit.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum, StrEnum

from compact.model.value import value


class Level(IntEnum):
    """How full the window is, in the steps that warnings report."""

    BELOW = 0
    EIGHTY = 80
    NINETY = 90


class Grace(StrEnum):
    """The one extra turn before a trim."""

    NONE = "none"
    OPEN = "open"
    SPENT = "spent"


class Sending(StrEnum):
    """What happens to the context when a message is sent."""

    AS_IT_IS = "as-it-is"
    TRIM_WAITS = "trim-waits"
    COMPACT = "compact"


@value
class WindowState:
    warned: Level = Level.BELOW
    """The highest warning since the last trim."""
    grace: Grace = Grace.NONE


def level_of(tokens: int, window: int) -> Level:
    if tokens * 100 >= window * Level.NINETY:
        return Level.NINETY
    return Level.EIGHTY if tokens * 100 >= window * Level.EIGHTY else Level.BELOW


def landed(state: WindowState, tokens: int, window: int) -> tuple[WindowState, Level]:
    """A turn left the view at this size: returns the new state, and the warning to show, if any."""
    level = level_of(tokens, window)
    warned = min(state.warned, level)
    grace = state.grace
    if level is Level.BELOW:
        grace = Grace.NONE
    elif level is Level.NINETY and grace is Grace.NONE:
        grace = Grace.OPEN
    return WindowState(level, grace), level if level > warned else Level.BELOW


def sending(
    state: WindowState, before: int, with_message: int, trigger: int, budget: int
) -> tuple[WindowState, Sending]:
    """Before a message is sent: `before` is what the last turn left, `budget` the window minus the reserve.

    A message that itself crosses the trigger is sent unchanged: the warning follows its reply, and the trim
    runs with the message after that.
    """
    if with_message > budget:
        return state, Sending.COMPACT
    if before < trigger:
        return state, Sending.AS_IT_IS
    if state.grace is Grace.OPEN:
        return replace(state, grace=Grace.SPENT), Sending.TRIM_WAITS
    return state, Sending.COMPACT


def trimmed() -> WindowState:
    """After a trim every warning may appear again."""
    return WindowState()


WARNINGS = {
    Level.EIGHTY: "Context at 80% capacity. Consider /clear or /save.",
    Level.NINETY: "Context at 90% capacity. Auto-trimming soon.",
}
