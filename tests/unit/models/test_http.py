"""What all clients of a model's API share."""

from __future__ import annotations

import pytest

from compact.models._http import Trouble, host_of, is_this_machine, trouble_of


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
