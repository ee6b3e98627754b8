"""`compact restore`: undo a compaction and those built on it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.stored import add_store, holding, manager_on
from compact.console.terminal import plural
from compact.errors import NotFound
from compact.model.record import Record, standing


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument(
        "step", type=int, metavar="STEP", help="number of the compaction, as in `compact history`"
    )
    add_store(parser)


def run(context: Context) -> ExitCode:
    session, step = context.args.session, context.args.step
    with holding(context, session) as store:
        manager = manager_on(context, store)
        records = manager.records(session)
        stands = standing(records)
        if step in {record.step for record in records} - {record.step for record in stands}:
            raise NotFound(
                f"Compaction {step} of {session} was already undone; nothing was changed, "
                f"and {_in_force(stands) or 'no compaction is in force'}."
            )
        originals = manager.restore(session, step)
        stands = standing(manager.records(session))
    if context.args.json:
        report = {"session": session, "step": step, "messages": len(originals)}
        context.print_json({**report, "in_force": stands[-1].step if stands else None})
    else:
        rest = _in_force(stands) or f"{plural(len(originals), 'message')} go out as they were"
        context.out.line(f"Compaction {step} of {session} and all built on it are undone: {rest}.")
    return ExitCode.OK


def _in_force(stands: Sequence[Record]) -> str:
    return f"compaction {stands[-1].step} is in force" if stands else ""
