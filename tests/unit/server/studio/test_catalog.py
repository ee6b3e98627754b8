"""The models that the studio offers."""

from __future__ import annotations

from compact.models import demo, local
from compact.models.limits import limits_for
from compact.server.studio.catalog import catalog_for
from compact.server.studio.settings import StudioSettings


def test_a_model_known_by_another_name_has_its_own_window() -> None:
    """The settings page showed 16,000 tokens where a session had 20,000."""
    offered = catalog_for(StudioSettings(store="sqlite://", model=local.NAME), {}).offered
    windows = {one.id: limits_for(one.model).window for one in offered}
    assert windows[demo.NAME] == limits_for(demo.MODEL).window == 20_000
    assert windows[local.NAME] == limits_for(local.MODEL).window == 8_192
