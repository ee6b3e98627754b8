"""The `compact` command."""

from __future__ import annotations

from compact.cli.app import main

__all__ = ["main"]
