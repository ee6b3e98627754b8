"""The local chat model, started once for all tests that need a real one.

It is far too small for good answers or summaries: it tests wire format, overflow and cache, never quality.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from compact.models.local import LocalChatModel


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalChatModel]:
    # Imported only after coverage can measure it.
    from compact.models.local import LocalChatModel, missing

    if problem := missing():
        pytest.skip(str(problem))
    with LocalChatModel() as model:
        model.wait()
        yield model
