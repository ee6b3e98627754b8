"""`compact traces` before anything is started: what it refuses, in which words."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from compact.errors import ConfigError
from compact.server.traces.tail.client import TraceClient
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
    ended = compact("traces", "--port", port)
    assert ended.code == 2 and f"from 0 to 65535 (got {port})" in ended.err and "already" not in ended.err


def test_a_folder_that_is_not_there_is_told_and_not_made(compact: Compact, tmp_path: Path) -> None:
    ended = compact("traces", "--port", "0", "--db", "typo/traces.db")
    assert (
        ended.code == 2 and "the folder typo does not exist" in ended.err and not (tmp_path / "typo").exists()
    )


def test_an_address_that_is_none_is_told_instead_of_waited_for(compact: Compact) -> None:
    ended = compact("traces", "--tail", "--url", "foo")
    assert ended.code == 2 and "--url needs an http:// or https:// address with a host" in ended.err
    assert "http://127.0.0.1:5175" in ended.err and "variable" not in ended.err


def test_the_address_of_a_service_is_told_without_its_password() -> None:
    client = TraceClient("http://me:SECRET@127.0.0.1:9", None)
    assert client.url == "http://me:***@127.0.0.1:9"
    with pytest.raises(ConfigError) as caught:
        TraceClient("http://me:12/SECRET@127.0.0.1:9", None)
    assert "SECRET" not in str(caught.value) and caught.value.path == "url"


@pytest.mark.parametrize("option", ["--url", "--trace", "--kinds", "--since"])
def test_options_of_the_tail_alone_start_no_service(compact: Compact, option: str) -> None:
    ended = compact("traces", "--port", "0", option, "x")
    assert ended.code == 2 and f"{option} is for --tail" in ended.err


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
