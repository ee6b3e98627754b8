"""The API's description is what the routes say."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/openapi.py"


def test_the_description_is_up_to_date() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert script["FILE"].read_text(encoding="utf-8") == script["generated"](), (
        "run: python scripts/openapi.py"
    )


def test_every_path_says_how_it_fails() -> None:
    script = runpy.run_path(str(SCRIPT))
    for path, methods in json.loads(script["generated"]())["paths"].items():
        for method, described in methods.items():
            problems = [
                answer
                for code, answer in described["responses"].items()
                if code[0] in "45" and "application/problem+json" in answer.get("content", {})
            ]
            assert problems, (method, path)
