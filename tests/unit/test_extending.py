"""Each code block of docs/EXTENDING.md runs when pasted alone, and its contracts hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.policies import PRESETS, rule

SOURCE = (Path(__file__).parents[2] / "docs" / "EXTENDING.md").read_text(encoding="utf-8")


BLOCKS = re.findall(r"```python\n(.*?)```", SOURCE, re.DOTALL)


def pasted(block: str) -> dict[str, Any]:
    """What a block leaves behind when it is pasted alone."""
    names: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(block, "docs/EXTENDING.md", "exec"), names)
    return names


EACH = [pasted(block) for block in BLOCKS]
NAMES = {name: found for names in EACH for name, found in names.items()}


def checks() -> Iterator[Any]:
    for names in EACH:
        for name, found in names.items():
            if name.startswith("Test"):
                for method, _ in inspect.getmembers(found, inspect.isfunction):
                    if method.startswith("test_"):
                        yield pytest.param(found, method, id=f"{name}-{method}")


@pytest.mark.parametrize(("contract", "method"), list(checks()))
def test_the_contracts_of_the_examples_hold(contract: Any, method: str) -> None:
    getattr(contract(), method)()


def test_the_format_compacts_in_its_own_shape() -> None:
    config = CompactConfig(max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"})
    manager = CompactManager(config, format=NAMES["LogFormat"]())
    history = [{"who": ("me", "bot")[n % 2], "say": f"Line {n}. " * 20} for n in range(60)]
    history.append({"who": "me", "say": "And now?"})
    sent = manager.preflight("s", history)
    assert len(sent) < len(history) and all(item["who"] in ("me", "bot") for item in sent)


def test_a_session_in_the_store_goes_on_in_another_process(tmp_path: Path) -> None:
    """With originals and records from the file: the summary is reused, and the compaction can be undone."""
    config = CompactConfig(max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"})
    history = [{"role": ("user", "assistant")[n % 2], "content": f"Line {n}. " * 20} for n in range(61)]
    sent = [
        CompactManager(config, store=NAMES["LogStore"](f"{tmp_path}/s.log")).preflight("s", history)
        for _ in range(2)
    ]
    assert sent[0] == sent[1] and len(sent[0]) < len(history)
    again = CompactManager(config, store=NAMES["LogStore"](f"{tmp_path}/s.log"))
    assert len(again.records("s")) == 1 and again.restore("s", 1) == history


def test_every_path_of_the_table_exists() -> None:
    root = Path(__file__).parents[2] / "src" / "compact"
    written = {path for path in re.findall(r"[\w/]+\.(?:py|md|txt)\b", SOURCE) if "/" in path}
    for path in written - {"policies/support.py", "evidence/tongues/CODE.txt"}:
        if "NAME" not in path:
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
