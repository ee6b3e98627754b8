"""`compact verify`: whether an archive is complete and unchanged."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import add_settings
from compact.console.terminal import plural


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="a transcript, a session's folder or an archive (default: archive.path)",
    )
    add_settings(parser)


def run(context: Context) -> ExitCode:
    from compact.archives.verify import verify

    path = context.args.path or context.config().archive.path
    if not context.args.path and not Path(path).exists():
        # The first compaction creates the default folder.
        if context.args.json:
            context.print_json({"path": str(path), "problems": []})
        context.note(f"{path}: nothing was archived yet")
        return ExitCode.OK
    problems = verify(path)
    if context.args.json:
        context.print_json({"path": str(path), "problems": [asdict(problem) for problem in problems]})
    for problem in problems if not context.args.json else ():
        line = f":{problem.line}" if problem.line is not None else ""
        context.out.line(f"{problem.path}{line}: {problem.what}")
    context.note(f"{path}: {plural(len(problems), 'problem')}" if problems else f"{path} is sound")
    return ExitCode.FINDINGS if problems else ExitCode.OK
