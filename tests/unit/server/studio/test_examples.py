"""The description of the API: every request has an example, and it can be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from compact.server.studio import schemas
from compact.server.studio.examples import EXAMPLES

DOCUMENT: dict[str, Any] = json.loads(
    (Path(__file__).parents[4] / "docs/openapi.json").read_text(encoding="utf-8")
)


def test_every_request_has_an_example_that_is_valid() -> None:
    asked = set()
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for body in operation.get("requestBody", {}).get("content", {}).values():
                asked.add(body["schema"]["$ref"].rpartition("/")[2])
    assert asked <= EXAMPLES.keys(), asked - EXAMPLES.keys()
    for name, example in EXAMPLES.items():
        model: type[BaseModel] = getattr(schemas, name)
        assert model.model_validate(example)
        assert DOCUMENT["components"]["schemas"][name]["examples"] == [example]
