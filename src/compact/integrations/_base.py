"""What all integrations do in the same way, using public names only.

The session's id, waiting for another compaction of it, failing open, reporting usage, ending a turn, and
recognizing a provider's overflow error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from compact import (
    CompactManager,
    ConfigError,
    InsufficientBudget,
    Prepared,
    SessionBusy,
    count_tokens,
    says_too_long,
)

SessionId = str | Callable[[Any], str] | None
"""The id itself, a function from the framework's context to it, or None: see `session_of`."""

PATIENCE = 120.0
"""Seconds to wait for another compaction of the same session: longer than a slow summary or a dead lease."""

_NEEDED = ("prepare", "aprepare", "for_model", "usage", "observe", "warn")
"""Methods that make something a manager: a proxy that adds logging or metrics need not inherit from ours."""

_SESSIONS_KEPT = 1_024
_SMALLEST = 512
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d{3,8}\b")


class Fitted(NamedTuple):
    """What to send: the messages and tools, and the messages after which a cache breakpoint pays off."""

    messages: list[Any]
    tools: Any = None
    stable: tuple[int, ...] = ()
    compacted: bool = False


def session_of(given: SessionId, context: Any = None, messages: Sequence[Any] = (), owner: str = "") -> str:
    """The given id, else the context's `session_id`, else a name derived from the first message.

    The system prompt does not count as the first message: all users of an application share it. `owner`, if
    known, separates users who begin with the same words. Prompts do not depend on the name: a compaction is
    found again by what it replaced. Archives, events and recall do depend on it.
    """
    found = given(context) if callable(given) else given
    if not found:
        is_mapping = isinstance(context, Mapping)
        found = context.get("session_id") if is_mapping else getattr(context, "session_id", None)
    if isinstance(found, str) and found:
        return found
    spoken = (message for message in messages if _role(message) not in ("system", "developer"))
    first = next(map(_text, chain(spoken, messages[:1])), "") + owner
    return f"run-{blake2b(first.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _role(message: Any) -> str:
    """Whose message it is, in the terms of its framework."""
    if isinstance(message, Mapping):
        return str(message.get("role"))
    found = getattr(message, "role", None) or getattr(message, "type", None)
    return str(getattr(found, "value", found))


def checked(manager: Any) -> CompactManager:
    """The manager, or what stands for one; now, not at the first call of a model, the error if it is none."""
    is_manager = not isinstance(manager, type) and all(callable(getattr(manager, n, None)) for n in _NEEDED)
    if not is_manager:
        raise ConfigError(
            f"manager must be a CompactManager, not {_kind(manager)}. Settings go into one with "
            "CompactManager(CompactConfig(…)); a session id is an argument of its own, session_id.",
            "manager",
        )
    found: CompactManager = manager
    return found


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def speaking(manager: CompactManager, format: str, model: str | None = None) -> CompactManager:
    """A light sibling of the manager for messages in this format, and for `model` if given.

    A window that the settings name holds for every model.
    """
    siblings = _siblings.setdefault(checked(manager), {})
    key = (format, model or "")
    if key not in siblings:
        window, named = manager.config.max_context_tokens, model or manager.config.model
        siblings[key] = manager.for_model(named, max_context_tokens=window, format=format)
    return siblings[key]


def fit(
    manager: CompactManager, session: str, messages: Sequence[Any], tools: Any = None, system: Any = None
) -> Fitted:
    """What fits, compacted if needed.

    A store that is down or an unreadable message does not stop a call that needs no compaction.
    """
    known = _fixed.setdefault(manager, _Fixed()).known(session, tools, system)
    try:
        return _fitted(manager.prepare(session, messages, *known, wait=PATIENCE))
    except (InsufficientBudget, SessionBusy):
        raise
    except Exception as error:
        return _as_it_is(manager, session, messages, *known, error)


async def afit(
    manager: CompactManager, session: str, messages: Sequence[Any], tools: Any = None, system: Any = None
) -> Fitted:
    known = _fixed.setdefault(manager, _Fixed()).known(session, tools, system)
    try:
        return _fitted(await manager.aprepare(session, messages, *known, wait=PATIENCE))
    except (InsufficientBudget, SessionBusy):
        raise
    except Exception as error:
        return _as_it_is(manager, session, messages, *known, error)


def _fitted(prepared: Prepared) -> Fitted:
    compacted = prepared.was_compacted or prepared.was_pruned
    return Fitted(list(prepared.messages), prepared.tools, prepared.stable, compacted)


def _as_it_is(
    manager: CompactManager, session: str, messages: Sequence[Any], tools: Any, system: Any, error: Exception
) -> Fitted:
    text = _text([list(messages), tools, system])
    tokens = count_tokens(text, manager.config.model, counter=manager.config.counter)
    if tokens > manager.window - manager.config.policy.reserve(manager.window):
        raise error
    problem = f"{type(error).__name__}: {error}"
    manager.warn(session, f"Not compacted, sent unchanged ({tokens:,} tokens): {problem}")
    return Fitted(list(messages), tools)


def compact_hard(
    manager: CompactManager,
    session: str,
    messages: Sequence[Any],
    tools: Any,
    system: Any,
    error: BaseException,
) -> Fitted:
    """Compact to what the provider accepts, after it has rejected the prompt for its length."""
    tokens = manager.usage(session, messages, tools, system).tokens
    smaller = _smaller(manager, error, tokens)
    return _fitted(smaller.prepare(session, messages, tools, system, wait=PATIENCE))


async def acompact_hard(
    manager: CompactManager,
    session: str,
    messages: Sequence[Any],
    tools: Any,
    system: Any,
    error: BaseException,
) -> Fitted:
    tokens = (await manager.ausage(session, messages, tools, system)).tokens
    smaller = _smaller(manager, error, tokens)
    return _fitted(await smaller.aprepare(session, messages, tools, system, wait=PATIENCE))


def _smaller(manager: CompactManager, error: BaseException, tokens: int) -> CompactManager:
    """A sibling with the window from the provider's error, or with three quarters of what was sent."""
    named = [int(found.replace(",", "")) for found in _NUMBER.findall(str(error))]
    limit = max((one for one in named if _SMALLEST <= one < tokens), default=tokens * 3 // 4)
    return manager.for_model(manager.config.model, max_context_tokens=max(limit, _SMALLEST))


def is_overflow(error: BaseException) -> bool:
    """Whether a provider rejected the prompt for its length."""
    status = getattr(error, "status_code", None)
    if status not in (None, 400, 413, 422):
        return False
    named = f"{type(error).__name__} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"
    return status == 413 or says_too_long(f"{named} {error}")


def observe(
    manager: CompactManager, session: str, messages: Sequence[Any], usage: Any, system: Any = None
) -> None:
    """Correct the estimate with the provider's count; never raises."""
    try:
        manager.observe(session, messages, usage, system=system)
    except Exception as error:
        manager.warn(session, f"The reported usage was not taken: {type(error).__name__}: {error}")


async def aobserve(
    manager: CompactManager, session: str, messages: Sequence[Any], usage: Any, system: Any = None
) -> None:
    try:
        await manager.aobserve(session, messages, usage, system=system)
    except Exception as error:
        manager.warn(session, f"The reported usage was not taken: {type(error).__name__}: {error}")


async def aend_turn(manager: CompactManager, session: str, messages: Sequence[Any]) -> None:
    """Clear old tool outputs if that pays off, after a turn that ended or failed; never raises."""
    try:
        await manager.aend_turn(session, messages)
    except Exception as error:
        manager.warn(session, f"The end of the turn was not processed: {type(error).__name__}: {error}")


class _Fixed:
    """Tools and system prompt of each session as last seen: not every hook of a framework shows them."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Any, Any]] = {}

    def known(self, session: str, tools: Any, system: Any) -> tuple[Any, Any]:
        before = self._seen.pop(session, (None, None))
        now = (before[0] if tools is None else tools, before[1] if system is None else system)
        self._seen[session] = now
        while len(self._seen) > _SESSIONS_KEPT:
            del self._seen[next(iter(self._seen))]
        return now


_siblings: WeakKeyDictionary[CompactManager, dict[tuple[str, str], CompactManager]] = WeakKeyDictionary()
_fixed: WeakKeyDictionary[CompactManager, _Fixed] = WeakKeyDictionary()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
