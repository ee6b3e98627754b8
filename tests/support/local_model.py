"""The local chat model, started once for all tests that need a real one.

It is far too small for good answers or summaries; it proves wire, overflow and cache, never quality.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compact.models.local import LocalChatModel, missing


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalChatModel]:
    if problem := missing():
        pytest.skip(str(problem))
    with LocalChatModel() as model:
        model.wait()
        yield model
