"""The command line of the trace service: starts it, or follows one with `--tail`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import amount
from compact.errors import ConfigError
from compact.server.traces.settings import DEFAULT_DATABASE, PORT, Retention, TraceSettings

if TYPE_CHECKING:
    from compact.config.settings import RedactionSettings

_KEEP = Retention()


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--token-env", metavar="NAME", help="environment variable that holds the token, if there is one"
    )
    service = parser.add_argument_group("service")
    service.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0 picks a free one"
    )
    service.add_argument(
        "--host", default="127.0.0.1", help="address to bind to (default: 127.0.0.1; others need a token)"
    )
    service.add_argument(
        "--db", type=Path, default=DEFAULT_DATABASE, metavar="PATH", help=f"default: {DEFAULT_DATABASE}"
    )
    service.add_argument(
        "--retention-days",
        type=amount,
        default=_KEEP.days,
        metavar="N",
        help=f"delete traces inactive for longer (default: {_KEEP.days:g}; 0: never)",
    )
    service.add_argument(
        "--max-traces", type=int, default=_KEEP.traces, metavar="N", help=f"default: {_KEEP.traces}; 0: any"
    )
    service.add_argument(
        "--max-mb",
        type=amount,
        default=_KEEP.megabytes,
        metavar="N",
        help=f"size of the database (default: {_KEEP.megabytes:g}; 0: any)",
    )
    service.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="another host name to answer to"
    )
    service.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="a page that may use the service"
    )
    service.add_argument(
        "--config", metavar="PATH", help="file with redaction settings (default: compact.yaml, if it exists)"
    )
    service.add_argument("--no-redaction", action="store_true", help="store secrets unredacted")
    tail = parser.add_argument_group("tail")
    tail.add_argument("--tail", action="store_true", help="show what a running service receives, live")
    tail.add_argument("--url", help=f"URL of the service (default: http://127.0.0.1:{PORT})")
    tail.add_argument("--trace", metavar="ID", help="only this trace")
    tail.add_argument("--kinds", metavar="A,B", help="only spans of these kinds")
    tail.add_argument("--since", metavar="TIME", help="start there: a time, or 90s, 10m, 2h, 1d ago")


def enter(context: Context) -> ExitCode:
    if context.args.tail:
        from compact.server.traces.tail.showing import tail

        return tail(context, context.token())
    for option in ("url", "trace", "kinds", "since"):
        if getattr(context.args, option) is not None:
            raise ConfigError(f"--{option} is for --tail, which is not given. Nothing was started.", option)
    return _serve(context)


def _serve(context: Context) -> ExitCode:
    from compact.server.traces import require

    args = context.args
    if args.db != DEFAULT_DATABASE and not args.db.absolute().parent.is_dir():
        raise ConfigError(
            f"--db: the folder {args.db.parent} does not exist. Nothing was started; create it first.",
            "db",
        )
    redaction = _redaction(context)
    settings = TraceSettings(
        database=args.db,
        host=args.host,
        port=args.port,
        token=context.token(),
        allowed_hosts=args.allow_host,
        allowed_origins=args.allow_origin,
        redact=redaction.enabled and not args.no_redaction,
        patterns=redaction.patterns,
        pii=redaction.pii,
        retention=Retention(days=args.retention_days, traces=args.max_traces, megabytes=args.max_mb),
    )
    require()
    from compact.server.traces.running import serve

    if not settings.redact:
        context.warn("redaction is off: what is sent here is stored with its secrets in clear text.")
    serve(settings, lambda url: _greet(context, settings, url))
    context.note(f"stopped; what it received is in {settings.database}")
    return ExitCode.OK


def _redaction(context: Context) -> RedactionSettings:
    """Uses the same redaction settings as the sessions of this folder."""
    import warnings

    from compact.config import CompactConfig

    with warnings.catch_warnings():
        # Variables that set nothing, such as the one that holds the token, are no matter of this command.
        warnings.simplefilter("ignore")
        return CompactConfig.load(context.args.config, context.environ).redaction


def _greet(context: Context, settings: TraceSettings, url: str) -> None:
    out, where = context.out, settings.database.absolute()
    if context.args.json:
        from compact.console.context import to_json

        facts = {
            "url": url,
            "database": str(where),
            "token": bool(settings.token),
            "redaction": settings.redact,
        }
        out.line(to_json(facts))
        out.stream.flush()
        return
    keep = settings.retention
    limits = [
        f"{keep.days:g} days" if keep.days else "",
        f"{keep.traces:,} traces" if keep.traces else "",
        f"{keep.megabytes:,.0f} MB" if keep.megabytes else "",
    ]
    kept = ", ".join(limit for limit in limits if limit) or "everything, for ever"
    local = url == f"http://127.0.0.1:{PORT}"
    named = context.args.token_env if settings.token else None
    # The SDK's exporter sends nothing without a key; without a token here any will do.
    key = f'os.environ["{named}"]' if named else '"none"'
    lines = {
        "Compact": f"COMPACT_TRACING__ARIADNE_URL={url}"
        + (f" COMPACT_TRACING__ARIADNE_TOKEN_ENV={named}" if named else ""),
        "Agents SDK": f'BackendSpanExporter(api_key={key}, endpoint="{url}/v1/traces/ingest")',
        "OpenTelemetry": f"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={url}/v1/traces",
        "watch": "compact traces --tail"
        + ("" if local else f" --url {url}")
        + (f" --token-env {named}" if named else ""),
        "stored in": str(where),
        "kept": f"{kept}{out.dot}{'redacted' if settings.redact else 'not redacted'}",
    }
    out.line(f"{out.styled('Traces', 'bold')} at {out.styled(url, 'cyan')}")
    for name, text in lines.items():
        if len(text) <= out.width - 16:
            out.line(f"  {out.styled(f'{name:<14}', 'dim')}{text}")
            continue
        # To be copied: a break in the middle of an address would be copied with it.
        out.line(f"  {out.styled(name, 'dim')}")
        for piece in text.replace(", endpoint", ",\nendpoint").splitlines():
            out.line(f"    {piece}")
    if settings.token:
        out.line("  " + out.styled(f"{'token':<14}", "dim") + "every request needs Authorization: Bearer …")
    out.line(out.styled("Ctrl-C stops it.", "dim"))
    out.stream.flush()
