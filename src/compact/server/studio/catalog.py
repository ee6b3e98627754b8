"""The models to choose from, and how to reach each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compact.chat.tools import Toolbox, ToolRunner
from compact.models import demo, local
from compact.models.choose import available, chat_model
from compact.ports import ChatModel
from compact.server.studio.demo_tools import demo_tools
from compact.server.studio.settings import StudioSettings
from compact.server.studio.upstreams import GuardedModel

_NOTES = {
    local.NAME: "A small model on this machine. It answers simple questions and invents much.",
    demo.NAME: "No model: it answers from this conversation alone, so that you can watch the context.",
}
_LIMITED_AS = {local.NAME: local.MODEL, demo.NAME: demo.MODEL}


@dataclass(frozen=True)
class Offered:
    id: str
    label: str
    note: str = ""

    @property
    def model(self) -> str:
        """The id that its limits are known by."""
        return _LIMITED_AS.get(self.id, self.id)


@dataclass(frozen=True)
class Catalog:
    """`make` returns the model for an offered name."""

    offered: Sequence[Offered]
    default: str
    make: Callable[[str], ChatModel]
    tools: ToolRunner = field(default_factory=Toolbox)
    summarizer: Any = None
    """None: what the configuration names."""
    close: Callable[[], None] = lambda: None

    def model(self, name: str) -> ChatModel:
        if name not in {one.id for one in self.offered}:
            # A session may remember a model that is no longer offered.
            name = self.default
        return self.make(name)


def catalog_for(settings: StudioSettings, environ: Mapping[str, str] = os.environ) -> Catalog:
    """What the settings and the environment offer; the demo assistant comes last and is always there."""
    named = [settings.model] if settings.model else []
    offered = [_offered(name) for name in dict.fromkeys([*named, *available(environ)])]
    first = named[0] if named else (demo.NAME if settings.demo else offered[0].id)

    def make(name: str) -> ChatModel:
        own = name == settings.model and settings.base_url is not None
        model = chat_model(
            name,
            environ,
            base_url=settings.base_url if own else None,
            api_key_env=settings.api_key_env if own else None,
        )
        start = getattr(model, "start", None)
        if callable(start):
            start()
        return GuardedModel(model, settings) if hasattr(model, "base_url") else model

    return Catalog(offered, first, make, Toolbox(demo_tools()) if settings.demo else Toolbox())


def _offered(name: str) -> Offered:
    source = name.split("/")[0]
    label = demo.LABEL if name == demo.NAME else name
    return Offered(name, label, _NOTES.get(source, ""))
