"""Health, readiness, metrics, settings."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from compact.server.studio import schemas
from compact.server.studio.routes.common import Here, TheStudio, problems

router = APIRouter(tags=["service"])


@router.get("/api/health", responses=problems())
async def health(studio: TheStudio) -> schemas.Health:
    """The process answers."""
    return schemas.Health(version=studio.version)


@router.get("/api/ready", response_model=schemas.Ready, responses=problems())
async def ready(studio: TheStudio) -> Response:
    """The store answers too; 503 where it does not, or where the server is about to stop."""
    found = await studio.ready()
    return JSONResponse(found.model_dump(), 200 if found.ready else 503)


@router.get("/metrics", response_class=PlainTextResponse, responses=problems())
async def metrics(studio: TheStudio) -> str:
    """Prometheus' text format; each worker process counts for itself."""
    return studio.metrics_text()


@router.get("/api/settings", responses=problems())
async def settings(studio: TheStudio, request: Request, here: Here) -> schemas.Settings:
    """What can be chosen: presets and models."""
    return await studio.settings_shown(here.tenant)
