"""Events for people: one line each, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TextIO

from compact.model.event import Event, EventName

_BAR = 20
_TEXT = 160

Line = tuple[str, str]
"""A style and a text; the style is "" (plain), "dim", "green", "yellow", "red" or "bold"."""


class ConsoleExporter:
    """In color if the stream is a terminal and `rich` is installed, else plain."""

    def __init__(self, stream: TextIO | None = None, clean: Callable[[str], str] = str) -> None:
        self._stream = stream
        self._clean = clean
        self._rich: Any = None
        self._asked_for: Any = None

    def export(self, event: Event) -> None:
        stream = self._stream or sys.stderr
        if stream is None:
            return  # A daemon has no standard error.
        style, said = line_of(event)
        # Two fields may be harmless separately but form a secret side by side.
        said = self._clean(_printable(said))
        at = datetime.fromtimestamp(event.at).strftime("%H:%M:%S")
        who = self._clean(_printable(event.session_id))[:24] or "compact"
        console = self._console(stream)
        if console is None:
            stream.write(f"{at}  {who}  {said}\n")
            return
        from rich.text import Text

        text = Text.assemble((f"{at}  ", "dim"), (who, "cyan"), "  ", (said, style))
        console.print(text, soft_wrap=True)

    def flush(self) -> None:
        stream = self._stream or sys.stderr
        if stream is not None:
            stream.flush()

    def _console(self, stream: TextIO) -> Any:
        if stream is not self._asked_for:
            self._asked_for, self._rich = stream, None
            if stream.isatty():
                try:
                    from rich.console import Console
                except ImportError:
                    return None
                self._rich = Console(file=stream, highlight=False)
        return self._rich


def line_of(event: Event) -> Line:
    data = event.data
    number = f"#{event.step}" if event.step else ""
    match event.name:
        case EventName.TOKEN_ESTIMATE:
            return _estimate(data)
        case EventName.TRIGGER_DECISION:
            return _decision(data)
        case EventName.LEASE:
            return "dim", "may compact" if data["granted"] else "another worker compacts this session"
        case EventName.START:
            why = "asked for" if data["reason"] == "manual" else "the prompt grew too large"
            return "bold", f"compaction {number} begins: {why}, {data['tokensBefore']:,} tokens"
        case EventName.SUMMARIZE:
            return "", f"  summarizing {_count(data['messagesCount'], 'message')}"
        case EventName.PROGRESS:
            return "dim", f"  summarized in pieces: {data['done']} of {data['total']}"
        case EventName.CHECK:
            return "dim", f"  checking: {data['tokensAfter']:,} tokens would be left"
        case EventName.SUMMARY_CREATED:
            return "", _created(data) + _took(event)
        case EventName.PRUNE:
            tools = ", ".join(map(str, data["prunedTools"]))
            saved = f"{data['tokensSaved']:,} tokens saved"
            return "", f"  cleared {_count(data['outputsPruned'], 'tool output')} ({tools}), {saved}"
        case EventName.PRUNED_MESSAGES:
            layers = f"{data['pinned']} pinned, {data['summary']} summary, {data['recent']} recent"
            return "", f"  the prompt is now {layers}"
        case EventName.ARCHIVAL:
            where = data.get("file_path") or data.get("s3_key")
            return "dim", f"  archived to {where}" + _took(event)
        case EventName.COMPLETE:
            return "green", f"compaction {number} done: {_saving(data)}" + _took(event)
        case EventName.FAILED:
            return "red", f"compaction {number} ended without a result: {_short(data['error'])}" + _took(
                event
            )
        case EventName.ERROR:
            problem = f"{data['error_type']}: {_short(data['message']).rstrip('.')}"
            instead = "" if data["fallback"] == "none" else f"; instead: {data['fallback']}"
            return "red", f"  {problem}{instead}" + _took(event)
        case EventName.OVERFLOW:
            used = f"{data['currentTokens']:,} of {data['limit']:,} tokens"
            return "red", f"does not fit: {used} ({data['percentUsed']}%)"
        case EventName.WARNING:
            return "red" if data["severity"] == "high" else "yellow", f"warning: {_short(data['message'])}"
        case EventName.FLOOR:
            return "yellow", f"what can never be removed: {data['sum']}"
        case EventName.RESTORED:
            return "", f"compaction #{data['step']} was undone"
        case EventName.RECALL:
            return "", f"recalled {_count(len(data['found']), 'message')} for {_short(data['query'])!r}"
        case EventName.TITLE:
            return "dim", f"session {_short(data['title'])!r}"
        case _:
            return "dim", event.name.value


def _estimate(data: Mapping[str, Any]) -> Line:
    share = data["usage_pct"]
    filled = min(_BAR, round(_BAR * share / 100))
    style = "red" if share > 95 else "yellow" if share >= 80 else "dim"
    bar = "█" * filled + "░" * (_BAR - filled)
    return style, f"{bar} {share:5.1f}%  {data['t_est']:,} of {data['max_tokens']:,} tokens"


def _decision(data: Mapping[str, Any]) -> Line:
    note = f" ({_short(data['note'])})" if data.get("note") else ""
    if not data["triggered"]:
        return "dim", f"no compaction: {data['reason']}{note}"
    kept = data["kept"]
    turns, pairs = _count(kept["recent_turns"], "turn"), _count(kept["tool_pairs"], "tool step")
    goes = _count(data["pruned_count"], "message")
    return "bold", f"to be compacted: {data['reason']}{note}; {turns} and {pairs} stay, {goes} to go"


def _created(data: Mapping[str, Any]) -> str:
    survival = data["survival"].get("all")
    survived = "" if survival is None else f", {survival:.0%} of the evidence survives"
    tokens = f"{data['summary_tokens']:,} tokens for {data['input_messages']:,} messages"
    return f"  summary ({data['strategy']}, {data['model']}): {tokens}{survived}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _saving(data: Mapping[str, Any]) -> str:
    before, after = data["tokensBefore"], data["tokensAfter"]
    if after >= before:
        return f"nothing got smaller, {before:,} tokens"
    return f"{before:,} → {after:,} tokens, {1 - after / before:.0%} saved"


def _took(event: Event) -> str:
    if event.duration is None:
        return ""
    return f", {event.duration:.1f} s" if event.duration >= 1 else f", {event.duration * 1000:.0f} ms"


def _short(text: str) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= _TEXT else flat[: _TEXT - 1] + "…"


def _printable(text: str) -> str:
    """Without terminal control characters: the text comes from tools and people."""
    return "".join(c if c.isprintable() else "�" for c in text)
