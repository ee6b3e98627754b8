"""The way in from the command line: `compact gateway --upstream URL`."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import closing
from typing import TYPE_CHECKING, Any

from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.options import add_settings
from compact.console.stored import store_url
from compact.errors import ConfigError
from compact.server.gateway.settings import PORT, GatewaySettings
from compact.server.http.folders import made_data_folder

if TYPE_CHECKING:
    from compact.config import CompactConfig


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", required=True, help="the provider, as https://host/v1")
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0: any free one"
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1; others need a token")
    parser.add_argument("--token-env", metavar="NAME", help="variable that holds the gateway's own token")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a further name to answer to"
    )
    parser.add_argument("--recall-tool", action="store_true", help="let the model look up what was compacted")
    parser.add_argument("--store", metavar="URL", help="database (default: gateway.db in your data folder)")
    add_settings(parser)


def enter(context: Context) -> ExitCode:
    from compact.server.gateway import require

    args = context.args
    settings = GatewaySettings(
        upstream=args.upstream,
        host=args.host,
        port=args.port,
        token=_token(context),
        allowed_hosts=args.allow_host,
        recall_tool=args.recall_tool,
    )
    require()
    from compact.manager import CompactManager
    from compact.server.gateway.running import serve
    from compact.stores import open_store

    config = _config(context)
    url = _store_url(context, config)
    with closing(open_store(url, config.tenant)) as store:
        manager = CompactManager(config, store=store)
        serve(settings, manager, lambda at: _greet(context, settings, at, url))
    context.note("stopped")
    return ExitCode.OK


def _config(context: Context) -> CompactConfig:
    """The settings; what is ours in a message never goes to a provider."""
    config = context.config()
    changes: dict[str, Any] = {"strip_meta": True}
    if "path" not in config.archive.model_fields_set and config.archive.adapter == "fs":
        folder = made_data_folder(context.environ)
        changes["archive"] = config.archive.model_copy(update={"path": str(folder / "gateway-archive")})
    return config.model_copy(update=changes)


def _store_url(context: Context, config: CompactConfig) -> str:
    if context.args.store is not None or config.storage.url:
        return store_url(context, config)
    return f"sqlite:///{made_data_folder(context.environ) / 'gateway.db'}"


def _token(context: Context) -> str | None:
    name = context.args.token_env
    if name is None:
        return None
    value = context.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"The variable {name} is not set or empty. Nothing was started.", "token-env")
    return value


def _greet(context: Context, settings: GatewaySettings, url: str, store: str) -> None:
    out = context.out
    shown = store.rpartition("@")[2] if "@" in store else store
    if context.args.json:
        out.line(to_json({"url": url, "upstream": settings.upstream, "token": bool(settings.token)}))
        out.stream.flush()
        return
    lines = {
        "OpenAI": f"OPENAI_BASE_URL={url}/v1",
        "Anthropic": f"ANTHROPIC_BASE_URL={url}",
        "passes on to": settings.upstream,
        "stored in": shown,
    }
    out.line(f"{out.styled('Gateway', 'bold')} at {out.styled(url, 'cyan')}")
    for name, text in lines.items():
        out.line(f"  {out.styled(f'{name:<14}', 'dim')}{text}")
    out.line(out.styled("Ctrl-C stops it.", "dim"))
    out.stream.flush()
