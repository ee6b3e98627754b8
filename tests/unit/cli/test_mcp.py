"""`compact mcp --http`: what it refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Compact


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "no token is set"),
        (["--host", "0.0.0.0", "--token-env", "MISSING"], "MISSING is not set"),
    ],
)
def test_another_host_needs_a_token(compact: Compact, tmp_path: Path, options: list[str], why: str) -> None:
    ended = compact("mcp", "--http", "--port", "0", *options)
    assert ended.code == 2 and why in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--port", "--host", "--token-env"])
def test_options_of_http_alone_do_not_wait_for_a_client(
    compact: Compact, tmp_path: Path, option: str
) -> None:
    ended = compact("mcp", option, "5")
    assert ended.code == 2 and f"{option} is for --http" in ended.err
    assert list(tmp_path.iterdir()) == []
