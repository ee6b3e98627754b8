"""The service itself: health, presets, models, settings."""

from __future__ import annotations

from typing import Any, Literal

from compact.server.studio.schemas.base import Answer


class Health(Answer):
    status: Literal["ok"] = "ok"
    service: str = "compact-studio"
    version: str


class Ready(Answer):
    ready: bool
    checks: dict[str, str]


class PresetInfo(Answer):
    name: str
    title: str
    description: str
    trigger_pct: float
    policy: dict[str, Any]


class ModelInfo(Answer):
    id: str
    label: str
    note: str
    default: bool
    window: int


class Settings(Answer):
    version: str
    presets: list[PresetInfo]
    models: list[ModelInfo]
    default_preset: str
    demo: bool
    token_required: bool
    tenant: str
