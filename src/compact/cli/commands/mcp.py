"""`compact mcp`: run an MCP server with tools to compact, plan, recall and restore."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.stored import add_store, created
from compact.errors import ConfigError
from compact.server.http.settings import TENANT, GuardSettings

_HOST, _PORT = "127.0.0.1", 8766
_WAITING = (
    "Waiting for an MCP client on standard input; clients start this command themselves. "
    "--http serves at an address instead. Ctrl-D ends it."
)


def add_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("mcp")
    group.add_argument(
        "--http", action="store_true", help="serve over HTTP at /mcp instead of standard input and output"
    )
    group.add_argument(
        "--host",
        metavar="ADDRESS",
        help=f"with --http: address to bind to (default: {_HOST}; others need a token)",
    )
    group.add_argument("--port", type=int, metavar="N", help=f"with --http: port (default: {_PORT})")
    group.add_argument(
        "--token-env", metavar="NAME", help="with --http: environment variable that holds the token"
    )
    add_store(parser, creates=True)


def run(context: Context) -> ExitCode:
    # Checked before anything is created.
    args = context.args
    for option in ("host", "port", "token_env"):
        if not args.http and getattr(args, option) is not None:
            name = option.replace("_", "-")
            raise ConfigError(f"--{name} is for --http, which is not given. Nothing was started.", name)
    token = context.token()
    tokens = {token: TENANT} if token is not None else {}
    guard = GuardSettings(host=args.host or _HOST, tokens=tokens, can_allow_origins=False)
    from compact.integrations.mcp import server_for
    from compact.manager import CompactManager

    with created(context) as store, CompactManager(context.config(), store=store) as manager:
        server = server_for(manager)
        if args.http:
            _serve(context, server, guard)
        else:
            if context.stdin.isatty():
                context.note(_WAITING)
            server.run("stdio")
    return ExitCode.OK


def _serve(context: Context, server: Any, settings: GuardSettings) -> None:
    from compact.server.http.guard import Guard
    from compact.server.http.running import Service, bound

    app = Guard(server.streamable_http_app(host=settings.host), settings)
    greet = lambda url: context.note(f"MCP server at {url}/mcp; Ctrl-C ends it.")  # noqa: E731
    port = _PORT if context.args.port is None else context.args.port
    with bound(settings.host, port) as listening, suppress(KeyboardInterrupt):
        Service(app, settings.host, ready=greet).run(sockets=[listening])
