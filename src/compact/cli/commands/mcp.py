"""`compact mcp`: an MCP server with tools to compact, plan, recall and restore."""

from __future__ import annotations

from argparse import ArgumentParser

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.stored import add_store, opened


def add_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("mcp")
    group.add_argument(
        "--http", action="store_true", help="serve over HTTP at /mcp instead of standard input and output"
    )
    group.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="with --http (default: 127.0.0.1)"
    )
    group.add_argument("--port", type=int, default=8766, metavar="N", help="with --http (default: 8766)")
    add_store(parser)


def run(context: Context) -> ExitCode:
    from compact.integrations.mcp import server_for
    from compact.manager import CompactManager

    args = context.args
    with opened(context, create=True) as store, CompactManager(context.config(), store=store) as manager:
        server = server_for(manager)
        if args.http:
            context.note(f"MCP server at http://{args.host}:{args.port}/mcp; Ctrl-C ends it.")
            server.run("streamable-http", host=args.host, port=args.port)
        else:
            server.run("stdio")
    return ExitCode.OK
