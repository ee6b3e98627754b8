"""A compaction as text: what happened to each message, then what goes out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from compact import count_tokens
from compact.core.layers import CONTINUE_LINE, FIRST_LINE, RESUME_LINE, TRIGGER_LINE
from compact.core.view import CLEARED_TEXT
from support.raw import PRIMING, Desk, Raw

SHOWN = 4
"""A longer run of messages with the same fate shows its first and last two."""
LONG_RUN = 12
_BRIDGES = (FIRST_LINE, CONTINUE_LINE, RESUME_LINE, TRIGGER_LINE)


def tokens(message: Raw) -> int:
    return count_tokens([message], counter="chars4") - PRIMING


def draw(sentence: str, preset: str, desk: Desk, history: Sequence[Raw], prepared: Any) -> str:
    limits = desk.manager.plan("elsewhere", history).limits
    counts = prepared.tokens
    head = [
        sentence,
        f"preset {preset}; window {limits.window:,}, trigger {limits.trigger:,}, budget {limits.budget:,}; "
        f"summarizer calls {len(desk.summarizer.requests)}",
        f"{counts.before:,} → {counts.final:,} tokens: {_result(prepared)}",
    ]
    return "\n".join(
        [*head, "", "before", *_before(desk, history, prepared), "", "after", *_after(history, prepared), ""]
    )


def _result(prepared: Any) -> str:
    if prepared.was_compacted:
        return f"{prepared.debug.messages_compacted} messages replaced ({prepared.debug.reason})"
    if prepared.was_pruned:
        return f"{prepared.debug.outputs_cleared} outputs cleared"
    return f"unchanged ({prepared.debug.reason})"


def _before(desk: Desk, history: Sequence[Raw], prepared: Any) -> list[str]:
    names = _tool_names(history)
    fates = [_fate(message, desk, prepared.messages) for message in history]
    lines = []
    for key, run in groupby(range(len(history)), key=lambda n: _with_result(n, fates)):
        numbers = list(run)
        drawn = [_line(n, _kind(history[n], names), tokens(history[n]), fates[n]) for n in numbers]
        if len(drawn) > SHOWN + 1:
            hidden = numbers[2:-2]
            total = sum(tokens(history[n]) for n in hidden)
            alike = key if key == fates[numbers[0]] else "alike"
            drawn[2:-2] = [_line("⋮", f"{len(hidden)} more", total, alike)]
        lines += drawn
    return lines


def _with_result(number: int, fates: Sequence[str]) -> str:
    """A call is drawn with its result, so that a run of steps with cleared outputs is one run."""
    after = fates[number + 1] if number + 1 < len(fates) else ""
    return after if after == "cleared" else fates[number]


def _after(history: Sequence[Raw], prepared: Any) -> list[str]:
    names = _tool_names(history)
    sent = prepared.messages
    sources = [next((at for at, given in enumerate(history) if given is message), None) for message in sent]
    if sources == list(range(len(history))):
        return ["the same messages"]
    notes = [
        _made(message, history) if at is None else f"← {at:02d}"
        for message, at in zip(sent, sources, strict=True)
    ]
    lines = []
    # Messages that follow each other before and after make a run.
    for _, run in groupby(range(len(sent)), key=lambda n: _run_key(n, sources, notes)):
        numbers = list(run)
        drawn = [_line(n, _kind(sent[n], names), tokens(sent[n]), notes[n]) for n in numbers]
        if len(drawn) > LONG_RUN:
            hidden = numbers[3:-3]
            drawn[3:-3] = [_line("⋮", f"{len(hidden)} more", sum(tokens(sent[n]) for n in hidden), "alike")]
        lines += drawn
    return lines


def _run_key(number: int, sources: Sequence[int | None], notes: Sequence[str]) -> int | str:
    if "cleared" in notes[number] or "cleared" in "".join(notes[number + 1 : number + 2]):
        return "cleared"
    source = sources[number]
    return f"new {number}" if source is None else number - source


def _line(number: int | str, kind: str, size: int, note: str) -> str:
    shown = f"{number:02d}" if isinstance(number, int) else f" {number}"
    return f"{shown:<3} {kind:<44} {size:>6,}  {note}".rstrip()


def _fate(message: Raw, desk: Desk, sent: Sequence[Raw]) -> str:
    if any(message is other for other in sent):
        return "kept"
    if any(_same_result(message, other) for other in sent):
        return "cleared"
    for number, request in enumerate(desk.summarizer.requests, start=1):
        asked = [given.origin.source for given in request.messages if given.origin is not None]
        if number <= _summaries_made(desk) and message in asked:
            return f"summarized (v{number})"
    return "dropped"


def _summaries_made(desk: Desk) -> int:
    return max((record.version for record in desk.manager.records("s")), default=0)


def _made(message: Raw, history: Sequence[Raw]) -> str:
    source = next((n for n, given in enumerate(history) if _same_result(given, message)), None)
    if source is not None:
        return f"← {source:02d} cleared {tokens(history[source])}→{tokens(message)}"
    return "new"


def _same_result(given: Raw, other: Raw) -> bool:
    ids = _result_ids(given)
    return bool(ids) and ids == _result_ids(other)


def _blocks(message: Raw) -> list[Raw]:
    return message["content"] if isinstance(message["content"], list) else []


def _result_ids(message: Raw) -> list[str]:
    if message["role"] == "tool":
        return [message["tool_call_id"]]
    return [block["tool_use_id"] for block in _blocks(message) if block["type"] == "tool_result"]


def _tool_names(history: Sequence[Raw]) -> dict[str, str]:
    names = {}
    for message in history:
        names.update({call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()})
        names.update({b["id"]: b["name"] for b in _blocks(message) if b["type"] == "tool_use"})
    return names


def _kind(message: Raw, names: dict[str, str]) -> str:
    """Role and label; long or varying text is a placeholder."""
    mark = " (protected)" if message.get("meta", {}).get("protected") else ""
    if results := _result_ids(message):
        text = message["content"] if message["role"] == "tool" else _blocks(message)[0]["content"]
        cleared = " <cleared>" if text.startswith(CLEARED_TEXT) else ""
        return f"tool-result {' + '.join(names.get(r, r) for r in results)}{cleared}{mark}"
    thinking = "thinking + " if any(b["type"] == "thinking" for b in _blocks(message)) else ""
    calls = [call["function"]["name"] for call in message.get("tool_calls") or ()]
    calls += [block["name"] for block in _blocks(message) if block["type"] == "tool_use"]
    if calls:
        times = f" ×{len(calls)}" if len(calls) > 1 else ""
        return f"{thinking}tool-call {calls[0]}{times}{mark}"
    return f"{message['role']} {_label(str(message['content']))}{mark}"


def _label(text: str) -> str:
    if text.startswith("<COMPACT-SUMMARY"):
        return text.split("\n")[0] + " <summary>"
    if text in _BRIDGES:
        return f"“{text[:30]}…”"
    if text.startswith("["):
        return text if len(text) < 36 else text[:34] + "…]"
    return text.split(":")[0]
