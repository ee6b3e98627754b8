"""What `import compact` gives, and what it does not load."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import compact
from compact.model import outcome
from compact.model.summary import Summary
from support.raw import Desk, pairs, user

VENDORS = (
    "agents anthropic boto3 genai_prices httpx openai psycopg pydantic re2 requests sqlalchemy tiktoken yaml"
).split()


def loaded_by(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after running the code."""
    report = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_list_of_names_is_sorted_and_complete() -> None:
    assert compact.__all__ == sorted(compact.__all__)
    assert set(compact.__all__) == {
        "CompactConfig",
        "CompactError",
        "CompactManager",
        "Compacted",
        "ConfigError",
        "Failed",
        "Format",
        "FormatError",
        "InsufficientBudget",
        "MissingExtra",
        "Passed",
        "Policy",
        "Prepared",
        "Reason",
        "SessionBusy",
        "Unchanged",
        "count_tokens",
        "lint",
        "says_too_long",
        "summarize",
        "with_cache_breakpoints",
    }
    assert set(compact.__all__) <= set(dir(compact))


@pytest.mark.parametrize("name", compact.__all__)
def test_every_name_is_there(name: str) -> None:
    assert callable(getattr(compact, name))


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        compact.nothing  # noqa: B018


def test_importing_loads_no_vendor_package() -> None:
    assert loaded_by("import compact") & set(VENDORS) == set()


def test_a_manager_loads_no_package_of_a_provider() -> None:
    config = "compact.CompactConfig(counter='chars4', max_context_tokens=9000, archive={'adapter': 'none'})"
    code = f"import compact; compact.CompactManager({config})"
    # Settings are checked by pydantic; what leaves the process is redacted with re2.
    assert loaded_by(code) & set(VENDORS) <= {"pydantic", "re2"}


def test_errors_are_one_tree() -> None:
    assert issubclass(compact.InsufficientBudget, compact.CompactError)
    assert issubclass(compact.SessionBusy, compact.CompactError)


def test_every_public_class_and_function_says_what_it_is() -> None:
    for name in compact.__all__:
        found = getattr(compact, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            # A dataclass without a docstring gets its signature for one.
            assert found.__doc__ and not found.__doc__.startswith(f"{name}("), name


def test_every_method_and_result_of_a_manager_says_what_it_is() -> None:
    for name, member in vars(compact.CompactManager).items():
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            assert member.__doc__, name
    for result in (outcome.TokenCounts, outcome.Debug, outcome.OverflowCheck, outcome.ContextUsage, Summary):
        assert result.__doc__ and not result.__doc__.startswith(f"{result.__name__}("), result
    assert compact.CompactManager.aprepare.__doc__ == compact.CompactManager.prepare.__doc__


def test_a_result_can_be_read_at_a_prompt() -> None:
    desk = Desk(window=4_000)
    ready = desk.prepare([*pairs(60), user("new")])
    assert isinstance(ready.outcome, outcome.Compacted)
    summary = compact.summarize(pairs(60), 400)
    for shown in (ready.record, ready.outcome, summary):
        assert len(repr(shown)) < 1_500 + 2 * len(summary.text), type(shown)
    assert "step=1" in repr(ready.record)
