"""Forecast what a session's next turns would cost, and when it compacts again, at its pace so far."""

from __future__ import annotations

import math

from compact.chat.conversation import Conversation
from compact.model.message import Usage
from compact.model.policy import Policy
from compact.model.value import value
from compact.models.prices import cost
from compact.server.studio.messages import turn_tokens

TURNS = 10


@value
class Pace:
    """What one turn adds on average, and how much of that is the reply."""

    model: str
    window: int
    turn: int
    reply: int


def pace_of(conversation: Conversation) -> Pace:
    sizes = turn_tokens(conversation)
    turns = sum(turn.get("role") == "user" for turn in conversation.turns)
    said = zip(sizes, conversation.turns, strict=True)
    replies = sum(size for size, turn in said if turn.get("role") == "assistant")
    each = max(1, turns)
    return Pace(conversation.agent, conversation.usage.window, sum(sizes) // each, replies // each)


def turns_until_next(pace: Pace, tokens: int, trigger: int, policy: Policy, compacted: bool) -> int | None:
    """None if nothing is known about the pace."""
    if not pace.turn:
        return None
    turns = max(1, math.ceil((trigger - tokens) / pace.turn))
    if policy.fold_on_turns and compacted:
        turns = min(turns, policy.fold_slack_turns + 1)
    return turns


def cost_of_turns(
    pace: Pace, tokens: int, cached: int, every: int | None, cost_each: float, turns: int = TURNS
) -> float | None:
    """The next turns, each with what the previous one left in the provider's cache.

    After each `every` turns a compaction brings the prompt back to `tokens`, leaves `cached` of it and costs
    `cost_each`. Without one, the prompt grows up to the window. None if no price is known.
    """
    spent, size = 0.0, tokens
    for turn in range(turns):
        if every is not None and turn and turn % every == 0:
            size, cached = tokens, min(cached, tokens)
            spent += cost_each
        price = cost(pace.model, Usage(input=size, output=pace.reply, cache_read=min(cached, size)))
        if price is None:
            return None
        spent += float(price)
        cached, size = size, min(pace.window, size + pace.turn)
    return round(spent, 6)


def prompt_price(model: str, tokens: int, cached: int) -> float | None:
    """What the next prompt costs, with this much of it in the provider's cache."""
    found = cost(model, Usage(input=tokens, output=0, cache_read=min(cached, tokens)))
    return float(found) if found is not None else None


def summary_price(model: str | None, read: int, written: int) -> float | None:
    """0 if no model is called."""
    if model is None:
        return 0.0
    found = cost(model, Usage(input=read, output=written))
    return float(found) if found is not None else None
