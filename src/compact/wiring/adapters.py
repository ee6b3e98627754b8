"""What the settings name on the outside: exporters, the redactor, the archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from compact.config import CompactConfig
from compact.ports import Archive
from compact.tracing.stream import AnyExporter

if TYPE_CHECKING:
    from compact.archives.base import FileArchive
    from compact.redaction import Redactor


def exporters_for(config: CompactConfig, redactor: Redactor, environ: Mapping[str, str]) -> list[AnyExporter]:
    """Where the settings send events."""
    settings = config.tracing
    exporters: list[AnyExporter] = []
    if settings.console:
        from compact.tracing.console import ConsoleExporter

        exporters.append(ConsoleExporter(clean=redactor.text))
    if settings.jsonl is not None:
        from compact.tracing.jsonl import JsonlExporter

        exporters.append(JsonlExporter(settings.jsonl))
    if settings.ariadne_url is not None:
        from compact.models._http import check_address
        from compact.tracing.ariadne import AriadneExporter

        check_address(settings.ariadne_url, "The trace service", "tracing.ariadne_url")
        token = environ.get(settings.ariadne_token_env) if settings.ariadne_token_env else None
        exporters.append(
            AriadneExporter(
                settings.ariadne_url,
                settings.ariadne_timeout,
                token=token,
                tenant=config.tenant,
                clean=redactor.text,
            )
        )
    if settings.otel or settings.otlp_endpoint is not None:
        from compact.tracing.otel import OtelExporter

        capture = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower() == "true"
        exporters.append(OtelExporter(settings.otlp_endpoint, capture_content=capture))
    return exporters


def redactor_for(config: CompactConfig) -> Redactor:
    from compact.redaction import Redactor

    settings = config.redaction
    return Redactor(settings.patterns, settings.pii, settings.enabled)


def archive_for(config: CompactConfig, redactor: Redactor) -> Archive:
    settings = config.archive
    if settings.adapter == "none":
        from compact.archives.none import NoArchive

        return NoArchive()
    if settings.adapter == "fs":
        from compact.archives.fs import FsArchive

        archive: FileArchive = FsArchive(settings.path, redactor=redactor)
    else:
        from compact.archives.s3 import S3Archive

        archive = S3Archive(
            settings.bucket or "",
            settings.prefix,
            redactor=redactor,
            kms=settings.kms_key is not None,
            kms_key_id=settings.kms_key,
            endpoint_url=settings.endpoint_url,
            region=settings.region,
        )
    if settings.on_failure == "abort":
        return archive
    from compact.archives.queue import QueuedArchive

    return QueuedArchive(archive, settings.spool)
