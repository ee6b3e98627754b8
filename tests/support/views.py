"""Views, limits and sizes for tests of the deciding functions: one token per character, no overhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.core.select import Layout
from compact.core.shorten import Sizes
from compact.core.trigger import policy_limits
from compact.core.view import Item
from compact.model.message import Message, MessageKind, Role, arguments_text, make
from compact.model.plan import Limits
from compact.model.policy import Policy
from compact.policies import preset
from support.conversations import assistant, call, result, user

FRAME = 40


def size(message: Message) -> int:
    prose = len(message.text)
    calls = sum(len(c.name) + len(arguments_text(c.arguments)) for c in message.calls)
    return prose + calls + sum(len(r.text) for r in message.results)


SIZES = Sizes(
    of_text=len, of_results=lambda m: [len(r.text) for r in m.results], of_message=size, frame=FRAME
)


def view(messages: Sequence[Message]) -> list[Item]:
    """Originals are numbered from 0; our own messages have no position."""
    items = []
    position = 0
    for message in messages:
        if message.is_ours:
            items.append(Item(message, size(message)))
        else:
            items.append(Item(message, size(message), position))
            position += 1
    return items


def policy(name: str = "budget", **changes: Any) -> Policy:
    return preset(name).model_copy(update=changes)


def layout(messages: Sequence[Message], name: str = "budget", **changes: Any) -> Layout:
    return Layout(view(messages), policy(name, **changes))


def limits(window: int, name: str = "budget", fixed: int = 0, **changes: Any) -> Limits:
    return policy_limits(policy(name, **{"hard_cap_buffer": 0, "output_reserve": 0} | changes), window, fixed)


def summary(text: str = "<COMPACT-SUMMARY v1>\nearlier work\n</COMPACT-SUMMARY>") -> Message:
    return make(MessageKind.SUMMARY, Role.ASSISTANT, text)


def step(number: int, output: str = "x" * 100) -> list[Message]:
    return [call(f"c{number}", "read", f'{{"n":{number}}}'), result(f"c{number}", output)]


def turn(number: int, *inside: Message) -> list[Message]:
    return [user(f"question {number}"), *inside, assistant(f"answer {number}")]


def turns(count: int) -> list[Message]:
    return [message for number in range(1, count + 1) for message in turn(number)]
