"""`compact mcp`: run an MCP server with tools to compact, plan, recall and restore."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.stored import add_store, created
from compact.server.http.settings import TENANT, GuardSettings


def add_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("mcp")
    group.add_argument(
        "--http", action="store_true", help="serve over HTTP at /mcp instead of standard input and output"
    )
    group.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="with --http: address to bind to (default: 127.0.0.1; others need a token)",
    )
    group.add_argument(
        "--port", type=int, default=8766, metavar="N", help="with --http: port (default: 8766)"
    )
    group.add_argument(
        "--token-env", metavar="NAME", help="with --http: environment variable that holds the token"
    )
    add_store(parser, creates=True)


def run(context: Context) -> ExitCode:
    # Checked before anything is created.
    token = context.token()
    tokens = {token: TENANT} if token is not None else {}
    guard = GuardSettings(host=context.args.host, tokens=tokens, can_allow_origins=False)
    from compact.integrations.mcp import server_for
    from compact.manager import CompactManager

    with created(context) as store, CompactManager(context.config(), store=store) as manager:
        server = server_for(manager)
        if context.args.http:
            _serve(context, server, guard)
        else:
            server.run("stdio")
    return ExitCode.OK


def _serve(context: Context, server: Any, settings: GuardSettings) -> None:
    from compact.server.http.guard import Guard
    from compact.server.http.running import Service, bound

    app = Guard(server.streamable_http_app(host=settings.host), settings)
    greet = lambda url: context.note(f"MCP server at {url}/mcp; Ctrl-C ends it.")  # noqa: E731
    with bound(settings.host, context.args.port) as listening, suppress(KeyboardInterrupt):
        Service(app, settings.host, ready=greet).run(sockets=[listening])
