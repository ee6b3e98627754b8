"""A manager for one run of a file command: it stores and archives nothing, and shows warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compact.console.context import Context
from compact.model.event import Event, EventName

if TYPE_CHECKING:
    from compact.console.files import Transcript
    from compact.manager import CompactManager


def manager_for(context: Context, transcript: Transcript | None = None) -> CompactManager:
    """The manager for these settings, with everything in memory: the file itself is the original."""
    from compact.archives.memory import MemoryArchive
    from compact.manager import CompactManager
    from compact.stores.memory import MemoryStore
    from compact.tracing.stream import Immediate

    seen: set[str] = set()

    def note(event: Event) -> None:
        if event.name is EventName.WARNING and event.data.get("message") not in seen:
            seen.add(event.data["message"])
            context.warn(event.data["message"])

    return CompactManager(
        context.config(transcript),
        store=MemoryStore(),
        archive=MemoryArchive(),
        exporters=(Immediate(note),),
        format=context.args.format,
    )
