"""Defects in the log: nothing of a secret, neither in the error nor in what failed."""

from __future__ import annotations

import logging

import pytest

from compact.config import CompactConfig
from compact.server.defects import log_defect


def test_a_defect_is_logged_without_the_secrets_of_its_path_and_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "sk-ant-api03-Zx81kQpLmW27vTnRb5Yc9HdJ"
    with caplog.at_level(logging.ERROR, "compact"):
        log_defect(f"GET /api/sessions/{secret} failed", RuntimeError(f"no {secret}"), CompactConfig())
    assert "GET /api/sessions/<REDACTED> failed\n" in caplog.text and "RuntimeError" in caplog.text
    assert secret[10:] not in caplog.text
