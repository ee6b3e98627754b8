"""`compact recall`: find what was said in a stored session, even if it was cleared or summarized."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import at_least_one
from compact.console.stored import add_store, holding, manager_on
from compact.errors import FormatError
from compact.recall import MARK, handle_recall


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument(
        "query", metavar="QUERY", help="a recall handle (r-… of an output, s-… of a summary) or words"
    )
    parser.add_argument(
        "--limit", type=at_least_one, default=5, metavar="N", help="at most this many messages (default: 5)"
    )
    parser.add_argument(
        "--tokens",
        type=at_least_one,
        default=2_000,
        metavar="N",
        help="at most this many tokens, 100 or more (default: 2000)",
    )
    parser.add_argument("--after", type=int, default=-1, metavar="N", help="only messages after this number")
    add_store(parser)


def run(context: Context) -> ExitCode:
    args = context.args
    if not args.query.strip():
        raise FormatError("QUERY is empty: give a recall handle (r-… or s-…), or words to look for.")
    session = args.session
    with holding(context, session) as store:
        manager = manager_on(context, store)
        if args.json:
            hits = manager.recall(session, args.query, args.limit, after=args.after)
            found = [asdict(hit) for hit in hits]
            # Infinity, the score of a handle, is not valid JSON.
            context.print_json({"found": [{**hit, "score": min(hit["score"], 1e9)} for hit in found]})
            return ExitCode.OK if found else ExitCode.FINDINGS
        asked = {"query": args.query, "limit": args.limit, "after": max(-1, args.after)}
        answer = handle_recall(manager, session, asked, max(100, args.tokens))
    if not answer.startswith(MARK):
        context.warn(answer.strip("[]"))
        return ExitCode.FINDINGS
    context.out.line(answer)
    return ExitCode.OK
