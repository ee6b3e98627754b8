"""docs/EXTENDING.md runs as pasted, block after block, and its contracts hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compact.policies import PRESETS, rule

SOURCE = (Path(__file__).parents[2] / "docs" / "EXTENDING.md").read_text(encoding="utf-8")


def pasted() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "pasted"}
    for block in re.findall(r"```python\n(.*?)```", SOURCE, re.DOTALL):
        exec(compile(block, "docs/EXTENDING.md", "exec"), names)
    return names


NAMES = pasted()


def checks() -> Iterator[Any]:
    for name, found in NAMES.items():
        if name.startswith("Test"):
            for method, _ in inspect.getmembers(found, inspect.isfunction):
                if method.startswith("test_"):
                    yield pytest.param(found, method, id=f"{name}-{method}")


@pytest.mark.parametrize(("contract", "method"), list(checks()))
def test_the_contracts_of_the_examples_hold(contract: Any, method: str) -> None:
    getattr(contract(), method)()


def test_the_format_compacts_in_its_own_shape() -> None:
    from compact import CompactConfig, CompactManager

    config = CompactConfig(max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"})
    manager = CompactManager(config, format=NAMES["LogFormat"]())
    history = [{"who": ("me", "bot")[n % 2], "say": f"Line {n}. " * 20} for n in range(60)]
    history.append({"who": "me", "say": "And now?"})
    sent = manager.preflight("s", history)
    assert len(sent) < len(history) and all(item["who"] in ("me", "bot") for item in sent)
    assert NAMES["sent"] == [{"who": "me", "say": "hello"}]


def test_the_exporter_hears_of_compactions() -> None:
    from compact import CompactConfig, CompactManager

    config = CompactConfig(max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"})
    log = NAMES["CompactionLog"]()
    with CompactManager(config, exporters=[log]) as manager:
        roles = ("user", "assistant")
        manager.preflight("s", [{"role": roles[n % 2], "content": f"Line {n}. " * 20} for n in range(61)])
        manager.flush()
    ((session, before, after),) = log.lines
    assert session == "s" and after < before


def test_every_path_of_the_table_exists() -> None:
    root = Path(__file__).parents[2] / "src" / "compact"
    for path in re.findall(r"`([a-z_/]+\.py)`", SOURCE):
        if "NAME" not in path and not path.endswith("support.py"):
            assert (root / path).exists() or (root.parents[1] / path).exists(), path


def test_presets_are_listed_in_one_place() -> None:
    """A line of code that names three of them would be a second list."""
    source = Path(__file__).parents[2] / "src" / "compact"
    for path in source.rglob("*.py"):
        if path.parent.name != "policies":
            for line in path.read_text(encoding="utf-8").splitlines():
                named = [name for name in PRESETS if re.search(rf"\b{name}\b", line)]
                assert len(named) < 3 or line.lstrip().startswith("#"), f"{path}: {line}"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_its_rule_in_one_sentence(name: str) -> None:
    assert rule(name).endswith(".") and len(rule(name)) <= 100
