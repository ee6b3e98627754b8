"""The way in from the command line: `compact gateway --upstream URL`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.folders import made_data_folder
from compact.console.options import add_settings, amount, at_least_one
from compact.console.stored import shown_url, store_url
from compact.errors import ConfigError
from compact.server.gateway.settings import DAYS, MEMORY_BYTES, PORT, RATE, GatewaySettings
from compact.server.http.settings import MEGABYTE, is_loopback

if TYPE_CHECKING:
    from compact.config import CompactConfig


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--upstream", metavar="URL", required=True, help="the provider's base URL, such as https://host/v1"
    )
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0 picks a free one"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to bind to (default: 127.0.0.1; others need a token)"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="environment variable that holds the gateway's own token"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="another host name to answer to"
    )
    parser.add_argument(
        "--workers",
        type=at_least_one,
        default=1,
        metavar="N",
        help="number of processes; several need PostgreSQL",
    )
    parser.add_argument(
        "--requests-per-second",
        type=float,
        default=RATE,
        metavar="N",
        help=f"of one client (default: {RATE:g}; 0: any number)",
    )
    parser.add_argument(
        "--retention-days",
        type=amount,
        default=DAYS,
        metavar="N",
        help=f"delete conversations unused for longer (default: {DAYS:g}; 0: never)",
    )
    parser.add_argument(
        "--memory-mb",
        type=amount,
        default=MEMORY_BYTES / MEGABYTE,
        metavar="N",
        help=f"conversations held in memory by each process (default: {MEMORY_BYTES // MEGABYTE})",
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
        token=context.token(),
        allowed_hosts=args.allow_host,
        recall_tool=args.recall_tool,
        requests_per_second=args.requests_per_second,
        retention_days=args.retention_days,
        memory_bytes=int(args.memory_mb * MEGABYTE),
    )
    require()
    from compact.server.gateway.running import serve_all

    config = _config(context)
    asked = _summarizers(context, config, settings)
    url = _store_url(context, config)
    serve_all(settings, config, url, args.workers, lambda at: _greet(context, settings, at, url, asked))
    context.note("stopped")
    return ExitCode.OK


def _config(context: Context) -> CompactConfig:
    """The settings; our own fields in a message never go to a provider."""
    config = context.config()
    changes: dict[str, Any] = {"strip_meta": True}
    if "path" not in config.archive.model_fields_set and config.archive.adapter == "fs":
        folder = made_data_folder(context.environ)
        changes["archive"] = config.archive.model_copy(update={"path": str(folder / "gateway-archive")})
    if config.summarizer.name == "auto" and not config.summarizer.base_url:
        # The user named one address for these conversations. A key in the environment names no other.
        changes["summarizer"] = config.summarizer.model_copy(update={"name": "extractive"})
    return config.model_copy(update=changes)


def _summarizers(context: Context, config: CompactConfig, settings: GatewaySettings) -> list[str]:
    """Which summarizers are used, and where, in order; ConfigError if one is this gateway."""
    from compact.wiring.vendors import summarizer_address, summarizing_model, vendor_of

    shown = []
    for one in (config.summarizer, *config.summarizer.fallbacks):
        model = summarizing_model(config.model_copy(update={"summarizer": one}), context.environ)
        if model is None:
            shown.append("embedded summarizer, here")
            continue
        vendor = vendor_of(one, config.preset, context.environ)
        address = summarizer_address(one, vendor, context.environ)
        if _is_here(address, settings):
            raise ConfigError(
                f"The summarizer would ask this gateway itself ({shown_url(address)}). Nothing was started: "
                "set summarizer.base_url to the provider, or unset the base URL in the environment.",
                "summarizer.base_url",
            )
        shown.append(f"{model} at {shown_url(address)}")
    return shown


def _is_here(address: str, settings: GatewaySettings) -> bool:
    parts = urlsplit(address)
    name = parts.hostname or ""
    return parts.port == settings.port and (name == settings.host or is_loopback(name))


def _store_url(context: Context, config: CompactConfig) -> str:
    if context.args.store is not None or config.storage.url:
        return store_url(context, config)
    return f"sqlite:///{made_data_folder(context.environ) / 'gateway.db'}"


def _greet(context: Context, settings: GatewaySettings, url: str, store: str, summarizers: list[str]) -> None:
    from compact.models.limits import DEFAULT_WINDOW

    out, window = context.out, context.config().max_context_tokens
    by_model = f"that of each request's model; {DEFAULT_WINDOW:,} tokens for one not known (--window)"
    if context.args.json:
        facts = {"url": url, "upstream": settings.upstream, "token": bool(settings.token)}
        out.line(to_json({**facts, "summarizers": summarizers}))
        out.stream.flush()
        return
    lines = {
        "OpenAI": f"OPENAI_BASE_URL={url}/v1",
        "Anthropic": f"ANTHROPIC_BASE_URL={url}",
        "passes on to": settings.upstream,
        "window": f"{window:,} tokens" if window else by_model,
        "summaries by": ", else ".join(summarizers),
        "stored in": shown_url(store),
    }
    out.line(f"{out.styled('Gateway', 'bold')} at {out.styled(url, 'cyan')}")
    for name, text in lines.items():
        out.line(f"  {out.styled(f'{name:<14}', 'dim')}{text}")
    out.line(out.styled("Ctrl-C stops it.", "dim"))
    out.stream.flush()
