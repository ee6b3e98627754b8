"""What all clients of a model's API share."""

from __future__ import annotations

import pytest

from compact.errors import ConfigError
from compact.models._http import Trouble, check_address, host_of, is_this_machine, trouble_of


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:80/v1", True),
        ("http://localhost/v1", True),
        ("http://user:pass@[::1]:8000", True),
        ("http://localhost.example.com", False),
        ("http://127.example.com", False),
        ("http://10.0.0.1", False),
        ("nonsense", False),
        ("http://[::1/v1", False),
    ],
)
def test_this_machine_is_known_by_its_address(url: str, here: bool) -> None:
    assert is_this_machine(url) is here


def test_a_host_is_told_without_its_password() -> None:
    assert host_of("https://user:secret@box:8000/v1") == "box:8000"
    assert host_of("https://box:8000?key=secret/v1") == "box:8000"


@pytest.mark.parametrize(
    "url", ["http://box", "https://user:pass@box:8000/v1", "http://[::1]:80/v1", "HTTP://b"]
)
def test_an_address_with_scheme_and_host_is_taken(url: str) -> None:
    check_address(url, "It")


@pytest.mark.parametrize(
    ("url", "needs"),
    [
        ("notaurl", "with a host."),
        ("", "with a host."),
        ("localhost:8000/v1", "with a host."),
        ("http:///v1", "with a host."),
        ("http://[::1/v1", "with a host."),
        ("ftp://box/v1", "with a host, not 'ftp://box'."),
        ("http://h\n", "without blanks or line breaks, also at its end."),
        ("http://h\n/chat/completions", "without blanks or line breaks, also at its end."),
        ("http://x y/v1", "without blanks or line breaks, also at its end."),
        ("http://h:x/v1", "whose port is a number up to 65535."),
        ("http://h:70000/v1", "whose port is a number up to 65535."),
        (
            "http://user:12/ss@h",
            "without an @ after the host; write %2F for a slash in a password, and %40 for an @.",
        ),
    ],
)
def test_an_error_says_what_an_address_lacks(url: str, needs: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_address(url, "It")
    assert str(caught.value).startswith(f"It needs an http:// or https:// address {needs} Nothing was sent")


@pytest.mark.parametrize(
    "url",
    [
        "sk-proj-SECRET",
        "SECRET",
        "SECRET\n",
        "ftp://user:SECRET@host",
        "ftp://SECRET/x@host",
        "ftp://sk-proj-SECRET/v1",
        "http://user:SECRET/x@host:y",
        "http://user:12/SECRET@host",
        "http://user:12?SECRET@host",
        "http://SECRET#12@host/v1",
        "http://user:SECRET@host:y",
        "http://user:SECRET@host ",
        "http://host:SECRET",
        "http://[SECRET",
        "SECRET://",
        "user:SECRET@host",
        "//user:SECRET@host/v1",
    ],
)
def test_an_error_shows_no_key_and_no_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_address(url, "It")
    assert "secret" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("status", "detail", "trouble"),
    [
        (413, "", Trouble.TOO_LONG),
        (400, "context_length_exceeded", Trouble.TOO_LONG),
        (402, "insufficient credits", Trouble.NO_QUOTA),
        (429, "insufficient_quota", Trouble.NO_QUOTA),
        (429, "slow down", Trouble.BUSY),
        (401, "", Trouble.KEY),
        (404, "", Trouble.NOT_FOUND),
        (422, "no such field", Trouble.BAD_REQUEST),
        (418, "", Trouble.OTHER),
    ],
)
def test_what_a_status_means(status: int, detail: str, trouble: Trouble) -> None:
    assert trouble_of(status, detail) is trouble
