"""The way in from the command line: starts the chat server and opens the studio in a browser."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.folders import STUDIO_DATABASE, data_folder, made_data_folder
from compact.console.options import add_settings, at_least_one
from compact.console.stored import shown_url, store_url
from compact.errors import ConfigError, MissingExtra
from compact.server.http.settings import TENANT
from compact.server.studio.settings import PORT, StudioSettings


def add_arguments(parser: ArgumentParser) -> None:
    server = parser.add_argument_group("server")
    server.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0 picks a free one"
    )
    server.add_argument(
        "--host", default="127.0.0.1", help="address to bind to (default: 127.0.0.1; others need a token)"
    )
    server.add_argument("--token-env", metavar="NAME", help="variable that holds the token")
    server.add_argument(
        "--tokens", type=Path, metavar="FILE", help="for several tenants: one line `NAME TOKEN` each"
    )
    server.add_argument(
        "--store",
        metavar="URL",
        help="sqlite:/// or postgresql:// (default: a file in your data folder)",
    )
    server.add_argument(
        "--workers",
        type=at_least_one,
        default=1,
        metavar="N",
        help="number of processes; several need PostgreSQL",
    )
    server.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="another host name to answer to"
    )
    server.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="a page that may use the server"
    )
    server.add_argument("--no-browser", action="store_true", help="do not open the studio in a browser")
    server.add_argument("--demo", action="store_true", help="start with a long sample session")
    model = parser.add_argument_group("model")
    model.add_argument(
        "--base-url", metavar="URL", help="the model's server, in OpenAI's or Anthropic's wire format"
    )
    model.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds its API key")
    model.add_argument(
        "--allow-upstream",
        action="append",
        default=[],
        metavar="HOST",
        help="call models only at these hosts",
    )
    model.add_argument(
        "--allow-private-upstream",
        action="store_true",
        help="let model hosts resolve to private addresses",
    )
    add_settings(parser)


def enter(context: Context) -> int:
    """Serve until interrupted; returns the exit code."""
    for package, extra in (("fastapi", "studio"), ("uvicorn", "studio"), ("sqlalchemy", "studio")):
        if find_spec(package) is None:
            raise MissingExtra(package, extra)
    from compact.server.studio.running import serve_all

    settings = _settings(context)
    if context.args.demo:
        _fill(settings)
    serve_all(settings, context.args.workers, lambda url: _greet(context, settings, url))
    context.note("stopped; the sessions are kept")
    return ExitCode.OK


def _settings(context: Context) -> StudioSettings:
    from compact.server.studio.upstreams import allowed_summaries

    args, config = context.args, context.config()
    folder = data_folder(context.environ)
    named = "model" in config.model_fields_set
    config = allowed_summaries(config, args.base_url, args.allow_upstream, context.environ)
    if "archive" not in config.model_fields_set:
        # With the sessions, not wherever the command was typed.
        archive = {"path": str(folder / "archive"), "spool": str(folder / "spool")}
        config = config.model_copy(update={"archive": config.archive.model_copy(update=archive)})
    return StudioSettings(
        store=_store(context),
        host=args.host,
        port=args.port,
        tokens=_tokens(context),
        allowed_hosts=args.allow_host,
        allowed_origins=args.allow_origin,
        config=config,
        model=config.model if named else None,
        base_url=args.base_url,
        api_key_env=args.api_key_env,
        upstream_hosts=args.allow_upstream,
        private_upstreams=args.allow_private_upstream,
        demo=args.demo,
        # Traces are not divided by tenant: with tokens they stay a separate service.
        traces=None
        if _tokens(context) or args.workers > 1
        else made_data_folder(context.environ) / "traces.db",
    )


def _store(context: Context) -> str:
    config = context.config()
    if context.args.store is not None or config.storage.url is not None:
        return store_url(context, config)
    return f"sqlite:///{made_data_folder(context.environ) / STUDIO_DATABASE}"


def _tokens(context: Context) -> dict[str, str]:
    token, path = context.token(), context.args.tokens
    found = {token: TENANT} if token is not None else {}
    return found | _token_file(path) if path is not None else found


def _token_file(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"--tokens: {path} cannot be read: {why}. Nothing was started.", "tokens") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[1] in found:
            raise ConfigError(
                f"--tokens: line {number} of {path} must be a name and a token of its own. Nothing was "
                "started.",
                "tokens",
            )
        found[words[1]] = words[0]
    if not found:
        raise ConfigError(f"--tokens: {path} holds no token. Nothing was started.", "tokens")
    return found


def _fill(settings: StudioSettings) -> None:
    """The sample session, for every tenant that has none yet."""
    from compact.chat.imports import take_in
    from compact.chat.turn_log import TurnLog
    from compact.chat.turns import FORMAT
    from compact.manager import CompactManager
    from compact.server.studio.sample import SESSION, TITLE, sample_turns
    from compact.stores import open_store

    for tenant in dict.fromkeys(settings.tokens.values() or [TENANT]):
        with closing(open_store(settings.store, tenant)) as store:
            if store.session(SESSION) is None:
                with CompactManager(settings.config, store=store, format=FORMAT) as manager:
                    take_in(TurnLog(manager, store, SESSION), [], sample_turns(), "demo", TITLE)


def _greet(context: Context, settings: StudioSettings, url: str) -> None:
    out, token = context.out, next(iter(settings.tokens), None)
    # After the number sign it stays in the browser: no log and no proxy sees it.
    page = f"{url}/#token={quote(token)}" if token and len(settings.tokens) == 1 else url
    if context.args.json:
        out.line(to_json({"url": url, "store": shown_url(settings.store), "token": bool(token)}))
    else:
        out.line(f"{out.styled('Compact studio', 'bold')} at {out.styled(url, 'cyan')}")
        facts = {"sessions": shown_url(settings.store), "API": f"{url}/api/openapi.json"}
        if token:
            facts["token"] = "every request needs Authorization: Bearer …"
        for name, text in facts.items():
            out.line("  " + out.styled(f"{name:<10}", "dim") + text)
        out.line(out.styled("Ctrl-C stops it.", "dim"))
    out.stream.flush()
    if not context.args.no_browser and not context.args.json and out.stream.isatty():
        import webbrowser

        webbrowser.open(page)
