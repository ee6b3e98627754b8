"""`compact restore`: undo a compaction, and those built on it."""

from __future__ import annotations

from argparse import ArgumentParser

from compact.cli.context import Context
from compact.cli.exits import ExitCode
from compact.cli.stored import add_store, known, manager_on, opened
from compact.cli.terminal import plural


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument(
        "step", type=int, metavar="STEP", help="number of the compaction, as `compact history` shows it"
    )
    add_store(parser)


def run(context: Context) -> ExitCode:
    with opened(context) as store:
        session = known(store, context.args.session)
        originals = manager_on(context, store).restore(session, context.args.step)
    if context.args.json:
        context.print_json({"session": session, "step": context.args.step, "messages": len(originals)})
    else:
        context.out.line(
            f"Compaction {context.args.step} of {session} and all built on it are undone: "
            f"{plural(len(originals), 'message')} go out as they were."
        )
    return ExitCode.OK
