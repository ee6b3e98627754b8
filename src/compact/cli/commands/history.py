"""`compact history`: the stored sessions, or the compactions of one; redacted like all exports."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import at_least_one
from compact.console.stored import add_store, existing, holding, opened, redactor_of, shown_url
from compact.console.terminal import one_line, plural
from compact.errors import StoreError
from compact.model.record import Record, RecordKind

if TYPE_CHECKING:
    from compact.ports import DoorStore, Thread

Redact = Callable[[str], str]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="list its compactions; by default, list all sessions"
    )
    parser.add_argument(
        "--limit", type=at_least_one, default=20, metavar="N", help="at most this many sessions (default: 20)"
    )
    add_store(parser)


def run(context: Context) -> ExitCode:
    redact = redactor_of(context).text
    session = context.args.session
    if session is None:
        _sessions(context, redact)
        return ExitCode.OK
    with holding(context, session) as store:
        _compactions(context, store, session, redact)
    return ExitCode.OK


def _sessions(context: Context, redact: Redact) -> None:
    """The sessions of every store that is looked at, each under its place."""
    found: dict[str, list[Thread]] = {}
    places = existing(context)
    for url in places:
        try:
            found[url] = _threads(context, url, redact)
        except StoreError as problem:
            if len(places) == 1:
                raise
            context.note(str(problem))
    if context.args.json:
        context.print_json(
            {
                "sessions": [
                    {**asdict(thread), "store": shown_url(url)}
                    for url, threads in found.items()
                    for thread in threads
                ]
            }
        )
        return
    for url, threads in found.items():
        if len(found) > 1 or not threads:
            context.note(f"{'sessions' if threads else 'no sessions yet'} in {shown_url(url)}")
        _list(context, threads)


def _threads(context: Context, url: str, redact: Redact) -> list[Thread]:
    with opened(context, url) as store:
        return [
            replace(thread, title=redact(thread.title), summary=thread.summary and redact(thread.summary))
            for thread in store.sessions(context.args.limit)
        ]


def _list(context: Context, threads: Sequence[Thread]) -> None:
    for thread in threads:
        counts = f"{plural(thread.message_count, 'message')}, {plural(thread.compaction_count, 'compaction')}"
        title = f"  {one_line(thread.title)}" if thread.title else ""
        context.out.line(f"{_when(thread.updated_at)}  {one_line(thread.session_id)}  {counts}{title}")


def _compactions(context: Context, store: DoorStore, session_id: str, redact: Redact) -> None:
    records = [
        replace(record, note=redact(record.note), summary=redact(record.summary))
        for record in store.records(session_id)
    ]
    undone = {record.revokes for record in records}
    if context.args.json:
        context.print_json({"session": session_id, "compactions": [_as_json(r, undone) for r in records]})
        return
    for record in records:
        if record.kind is RecordKind.RESTORE:
            continue
        begins = f"{record.step:>3}  {_when(record.created_at)}  {record.kind.value:<10}  "
        context.out.paragraph(begins, _line(record, record.id in undone), len(begins))
    if records:
        context.note("tokens as counted here; the provider's own count, which the chat shows, may differ")
    else:
        context.note("this session was never compacted")


def _line(record: Record, undone: bool) -> str:
    parts = [f"{record.tokens_before:,} → {record.tokens_after:,} tokens"]
    if record.messages_replaced:
        parts.append(f"{plural(record.messages_replaced, 'message')} replaced")
    if record.outputs_cleared:
        parts.append(f"{plural(record.outputs_cleared, 'output')} cleared")
    return f"{', '.join(parts)} ({record.reason}){' (undone)' if undone else ''}"


def _as_json(record: Record, undone: set[str | None]) -> dict[str, Any]:
    names = (
        "id",
        "step",
        "version",
        "parent",
        "revokes",
        "reason",
        "note",
        "strategy",
        "summary",
        "created_at",
    )
    counts = ("tokens_before", "tokens_after", "messages_replaced", "outputs_cleared", "source_length")
    fields = {name: getattr(record, name) for name in (*names, *counts)}
    return {"kind": record.kind.value, **fields, "undone": record.id in undone}


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
