"""Documents that say what the code says: examples run, tables are complete, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from compact import CompactConfig, CompactManager, Policy
from compact.cli.registry import SUMMARIES
from compact.console.exits import ExitCode
from compact.model.fields import dotted_paths
from compact.policies import PRESETS
from support.agents_runs import TASK, reader, reading, scripted, traced_by
from support.documents import DOCUMENTS, ROOT


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(name), re.DOTALL)


def test_the_quick_start_is_short_and_runs() -> None:
    from openai.types.chat import ChatCompletionMessage

    source = blocks("README.md", "python")[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    sent: list[Any] = []

    def create(model: str, messages: list[Any]) -> Any:
        sent.append(messages)
        answer = ChatCompletionMessage(role="assistant", content="Because of the clock.")
        return SimpleNamespace(choices=[SimpleNamespace(message=answer)])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    names: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), names)
    names["ask"](client)
    names["messages"].append({"role": "user", "content": "Which clock?"})
    names["ask"](client)
    assert [len(prompt) for prompt in sent] == [1, 3]
    assert sent[1] == names["messages"][:3]


def test_the_readme_begins_with_what_a_clone_can_do() -> None:
    commands = re.findall(r"^    (\S.*)$", text_of("README.md"), re.M)
    assert commands[:2] == ["make run", "pip install '.[offline]'"]
    assert re.search(r"^run:", text_of("Makefile"), re.M)


@pytest.mark.spec("S2.14")
def test_cache_breakpoints_as_the_readme_sets_them() -> None:
    (source,) = (block for block in blocks("README.md", "python") if "with_cache_breakpoints" in block)
    names: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), names)
    client = SimpleNamespace(messages=SimpleNamespace(create=lambda **request: request))
    manager = CompactManager(CompactConfig(model="claude-sonnet-4-5"), format="anthropic")
    tool = {"name": "read", "input_schema": {"type": "object"}}
    asked = names["ask_claude"](
        client, manager, "s", [{"role": "user", "content": "Hi"}], [tool], "Be brief."
    )
    assert [str(asked[part]).count("cache_control") for part in ("system", "tools", "messages")] == [1, 1, 1]


def test_the_recall_tool_as_the_readme_offers_it() -> None:
    (source,) = (block for block in blocks("README.md", "python") if "recall_tool" in block)
    names: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), names)
    manager = CompactManager(CompactConfig(archive={"adapter": "none"}))
    manager.append("s", [{"role": "user", "content": "The staging server listens on port 4417."}])
    name = names["tools"][0]["function"]["name"]
    call = SimpleNamespace(function=SimpleNamespace(name=name, arguments='{"query": "staging server"}'))
    assert "4417" in names["answer"](manager, "s", call)


@pytest.mark.spec("S4.17")
async def test_the_agents_sdk_takes_fewer_than_ten_lines() -> None:
    source = blocks("README.md", "python")[1]
    assert len([line for line in source.splitlines() if line.strip()]) < 10
    names: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), names)
    model = scripted(reading(3))
    with traced_by():
        result = await names["work"](reader(model), TASK)
    assert result.final_output == "Keeper-119" and len(model.calls) == 4
    assert [event.name for event in names["manager"].events].count("compact.token_estimate") == 4


async def test_the_agents_guide_runs_from_its_first_block_to_its_last() -> None:
    from agents import set_trace_processors

    with traced_by():
        names: dict[str, Any] = {"agent": reader(scripted([*reading(2), *reading(2), *reading(2)]))}
        for source in blocks("docs/AGENTS_SDK.md", "python"):
            exec(compile(source, "docs/AGENTS_SDK.md", "exec"), names)
        set_trace_processors([])  # nothing is sent to where the guide would send it
        for step in ("work", "answer", "measured"):
            assert (await names[step](TASK)).final_output == "Keeper-119"
        assert len(await names["session"].original_items()) == 2 * 6
    names["exporter"].close()


def test_examples_of_policies_and_settings_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("README.md", "docs/policies.md", "docs/configuration.md"):
        for source in blocks(name, "yaml"):
            Path("compact.yaml").write_text(source, encoding="utf-8")
            config = CompactConfig.load(environ={})
            assert config != CompactConfig(preset=config.preset), f"{name}: {source}"
        for source in blocks(name, "python"):
            exec(compile(source, name, "exec"), {})


def test_both_ways_to_write_a_policy_give_the_same() -> None:
    research = next(source for source in blocks("docs/policies.md", "yaml") if "research" in source)
    names: dict[str, Any] = {}
    exec(next(source for source in blocks("docs/policies.md", "python") if "research" in source), names)
    assert CompactConfig(**yaml.safe_load(research)).policy == names["research"]
    assert isinstance(names["manager"], CompactManager)


def test_every_number_of_a_policy_is_explained_with_its_default() -> None:
    rows = {}
    for fields, default in re.findall(r"^\| (`.*?) \| (.*?) \|", text_of("docs/policies.md"), re.MULTILINE):
        names = re.findall(r"`(\w+)`", fields)
        rows |= dict(zip(names, default.split(", ") if len(names) > 1 else [default], strict=False))
    for name, field in Policy.model_fields.items():
        if name == "name":
            continue
        default = field.default
        if isinstance(default, tuple):
            shown = ", ".join(default)
        elif isinstance(default, bool):
            shown = str(default).lower()
        elif isinstance(default, float):
            assert float(rows[name]) == default, name
            continue
        else:
            shown = "–" if default is None else str(default)
        assert rows[name] == shown, name


def test_every_setting_command_preset_and_exit_code_is_explained() -> None:
    settings = text_of("docs/configuration.md")
    for path in dotted_paths(CompactConfig):
        section, _, name = path.rpartition(".")
        if section != "policy" and path not in ("summarizer", "archive", "storage", "redaction", "tracing"):
            assert f"`{path}`" in settings or f"`.{name}`" in settings, path
    commands = text_of("docs/CLI.md")
    for name in SUMMARIES:
        assert f"`compact {name}" in commands and f"\n## {name}\n" in commands
    for code in ExitCode:
        assert f"\n| {code.value} | " in commands
    for preset in PRESETS:
        assert f"\n| `{preset}`" in text_of("docs/policies.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target
