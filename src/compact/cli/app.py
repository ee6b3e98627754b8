"""Parses the command line, runs one command, and turns errors into messages and exit codes."""

from __future__ import annotations

import logging
import os
import re
import sys
from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NoReturn, TextIO

from compact.cli.registry import SUMMARIES, command
from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.options import add_output, whole_number
from compact.console.terminal import screen
from compact.errors import CompactError, ConfigError, FormatError, InsufficientBudget, NotFound

_EPILOG = """exit codes:
  0  done
  1  done, but something needs attention: lint violations, a failing check,
     nothing to summarize or recall
  2  wrong command line, configuration or input; nothing was done
  3  the messages that must stay do not fit the window
  4  something outside failed: summarizer, store, archive, a missing extra
  130  interrupted from the keyboard

`compact COMMAND --help` shows the options of a command."""


def run(
    argv: Sequence[str] | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run one command and return its exit code; streams and environment default to those of the process."""
    argv = list(sys.argv[1:] if argv is None else argv)
    # Commands report warnings themselves; Python would print them a second time.
    logging.getLogger("compact").addHandler(logging.NullHandler())
    environ = os.environ if environ is None else environ
    out, err = stdout or sys.stdout, stderr or sys.stderr
    parser = _parser(argv, out)
    if not argv:
        parser.print_help(err)
        return ExitCode.USAGE
    args = _parsed(parser, argv)
    context = Context(
        args=args,
        stdin=stdin or sys.stdin,
        out=screen(out, environ, args.color),
        err=screen(err, environ, args.color),
        environ=environ,
    )
    try:
        code = command(args.command).run(context)
        out.flush()
        return code
    except CompactError as error:
        return _report(error, context)
    except BrokenPipeError:
        # The reader (`head`, a pager) has closed the pipe. The unwritten rest must not fail again at exit.
        _discard_rest(out)
        return ExitCode.OK
    except OSError as problem:
        where = problem.filename or "the output cannot be written"
        err.write(f"compact: {where}: {problem.strerror or problem}\n")
        _discard_rest(out)
        return ExitCode.FAILED
    except UnicodeEncodeError as problem:
        odd = problem.object[problem.start]
        err.write(
            f"compact: the output cannot be written: its encoding, {problem.encoding}, has no {odd!a}. "
            "Set PYTHONIOENCODING=utf-8 and run it again.\n"
        )
        _discard_rest(out)
        return ExitCode.FAILED


def _discard_rest(out: TextIO) -> None:
    """Keep the process from writing the rest again, and failing again, when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except (OSError, ValueError):
        return


class _Parser(ArgumentParser):
    """Also reports a wrong command line on `json_to`, for callers that read JSON."""

    json_to: TextIO | None = None
    commands: Mapping[str, ArgumentParser] = MappingProxyType({})

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # Python's own error names its types: "invalid int value".
        self.register("type", int, whole_number)

    def error(self, message: str) -> NoReturn:
        if self.json_to is not None:
            self.json_to.write(to_json(_error_json("UsageError", message, ExitCode.USAGE), indent=2) + "\n")
        super().error(message)


def _parsed(parser: _Parser, argv: Sequence[str]) -> Namespace:
    """The arguments; an error suggests what was meant and shows the usage of its command."""
    name = argv[0]
    if not name.startswith("-") and name not in parser.commands:
        meant = _meant(name, parser.commands) or "; `compact` alone shows them all"
        parser.error(f"there is no command {name!r}{meant}")
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        used = parser.commands[args.command]
        options = re.findall(r"(?<!\S)--[a-z][a-z-]+", used.format_help())
        used.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown[0], options)}")
    return args


def _meant(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word.partition("=")[0], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _parser(argv: Sequence[str], out: TextIO) -> _Parser:
    json_to = out if "--json" in argv else None
    parser = _Parser(
        prog="compact",
        description="Keeps long LLM conversations inside the model's window.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.json_to = json_to
    parser.add_argument("-V", "--version", action=_ShowVersion, nargs=0, help="show the version and exit")
    add_output(parser, command=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in argv if word in SUMMARIES), None)
    for name, summary in SUMMARIES.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        sub.json_to = json_to
        if name == wanted:
            command(name).add_arguments(sub)
            add_output(sub)
    parser.commands = commands.choices
    return parser


class _ShowVersion(Action):
    """Reads the version only on request, because that searches the installed packages."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"compact {version('compact-context')}")
        parser.exit()


def _report(error: CompactError, context: Context) -> ExitCode:
    if isinstance(error, InsufficientBudget):
        code = ExitCode.INSUFFICIENT_BUDGET
    elif isinstance(error, ConfigError | FormatError | NotFound):
        code = ExitCode.USAGE
    else:
        code = ExitCode.FAILED
    if context.args.json:
        data = _error_json(type(error).__name__, str(error), code)
        if isinstance(error, InsufficientBudget):
            data["error"] |= {
                "needed": error.needed,
                "budget": error.budget,
                "arithmetic": error.arithmetic,
            }
        context.print_json(data)
    context.err.line(context.err.styled(f"compact: {error}", "red"))
    return code


def _error_json(kind: str, message: str, code: ExitCode) -> dict[str, dict[str, Any]]:
    return {"error": {"type": kind, "message": message, "exit_code": int(code)}}
