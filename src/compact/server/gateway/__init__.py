"""The gateway: an OpenAI- and Anthropic-compatible proxy that keeps every request inside the window."""

from __future__ import annotations

from compact.errors import MissingExtra


def require() -> None:
    """Raise MissingExtra if the packages that the gateway needs are not installed."""
    for package in ("uvicorn", "httpx2", "sqlalchemy"):
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtra(package, "gateway") from error
