"""Every error survives a copy and the way between processes, with its message and its fields."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

import compact.chat.imports  # noqa: F401  (another kind of error)
from compact import errors
from compact.errors import CompactError
from compact.models import _address, _http
from compact.summarizers import _http as summarizers_http

MADE: dict[type[CompactError], CompactError] = {
    made.__class__: made
    for made in (
        errors.ConfigError("wrong", "policy.trigger_pct"),
        errors.MalformedMessage(3, "no content"),
        errors.InsufficientBudget("too much", needed=5, budget=2, arithmetic={"newest turn": 5}),
        errors.SummarizerError("down", retryable=True),
        errors.ChatError("down", retryable=True),
        errors.ContextOverflow("too long", tokens=9, window=8),
        errors.SummaryRefused("empty", "it is empty"),
        errors.SessionBusy("s"),
        errors.HistoryGone("s", 4),
        errors.MissingExtra("boto3", "s3"),
        _http.BadRequest("rejected", "no such field"),
        _address.NotTaken("rejected", "no such field"),
        summarizers_http.NotTaken("rejected", "no such field"),
    )
}


def kinds(base: type[CompactError] = CompactError) -> Iterator[type[CompactError]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


@pytest.mark.parametrize("kind", sorted(set(kinds()), key=lambda kind: kind.__qualname__))
def test_an_error_is_the_same_after_a_copy_and_in_another_process(kind: type[CompactError]) -> None:
    error = MADE.get(kind) or kind("what happened")
    error.add_note("and a note")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_a_missing_extra_is_an_import_error_to_programs_that_can_do_without() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"boto3 is not installed\. Install it with: pip install"):
        raise errors.MissingExtra("boto3", "s3")
