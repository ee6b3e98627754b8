"""Configuration: settings with their defaults, read from a file and `COMPACT_*` variables."""

from __future__ import annotations

from compact.config.loading import ConfigWarning
from compact.config.settings import (
    ArchiveSettings,
    CompactConfig,
    ModelLimits,
    RedactionSettings,
    StorageSettings,
    SummarizerSettings,
    TracingSettings,
)

__all__ = [
    "ArchiveSettings",
    "CompactConfig",
    "ConfigWarning",
    "ModelLimits",
    "RedactionSettings",
    "StorageSettings",
    "SummarizerSettings",
    "TracingSettings",
]
