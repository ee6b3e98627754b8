"""Runs the AI SDK, which comes with the studio's packages, in its own process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def ai_sdk(model_url: str, **asked: Any) -> dict[str, Any]:
    """What tests/wire/ai_sdk.cjs found: text, error, problems, compactions, usage of the last step."""
    if not (ROOT / "web/node_modules/@ai-sdk/openai-compatible").is_dir():
        pytest.fail("The AI SDK is not installed: run `make web`.")
    done = subprocess.run(
        ["node", str(ROOT / "tests/wire/ai_sdk.cjs"), model_url],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
