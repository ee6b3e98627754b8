"""`compact traces` before anything is started: what it refuses, in which words."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from support.cli import Compact


def test_strangers_need_a_token(compact: Compact) -> None:
    ended = compact("traces", "--host", "0.0.0.0")
    assert ended.code == 2 and "--token-env" in ended.err and not Path(".compact").exists()
    ended = compact("traces", "--host", "0.0.0.0", "--token-env", "MISSING")
    assert ended.code == 2 and "MISSING is not set" in ended.err


def test_a_port_that_is_taken_is_told(compact: Compact) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = compact("traces", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2 and "Nothing was started" in ended.err and "--port" in ended.err
    assert not Path(".compact").exists()


def test_settings_of_the_folder_are_checked(compact: Compact) -> None:
    Path("compact.yaml").write_text("redaction:\n  pii: [shoe-size]\n")
    ended = compact("traces", "--port", "0")
    assert ended.code == 2 and "redaction.pii" in ended.err
    Path("compact.yaml").write_text("redaction:\n  patterns: ['(']\n")
    ended = compact("traces", "--port", "0")
    assert ended.code == 2 and "redaction.patterns[0]" in ended.err


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_is_none_is_told(compact: Compact, port: str) -> None:
    assert compact("traces", "--port", port).code == 2


def test_a_file_that_is_no_database_is_told(compact: Compact, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are my notes " * 100)
    ended = compact("traces", "--port", "0", "--db", "notes.txt")
    assert ended.code == 4 and "notes.txt" in ended.err and "Traceback" not in ended.err
    assert (tmp_path / "notes.txt").read_text().startswith("these are my notes")


@pytest.mark.parametrize("amount", ["-1", "x", "inf", "nan"])
def test_amounts_are_checked(compact: Compact, amount: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        compact("traces", "--retention-days", amount)
    assert ended.value.code == 2 and "not an amount" in capsys.readouterr().err
