"""Configuration: file, variables, defaults, and errors that name the setting."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from compact.config import CompactConfig, ConfigWarning
from compact.errors import ConfigError
from compact.model.policy import Policy, Rest
from compact.policies import PRESETS, preset


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(
    settings: Any = None, environ: dict[str, str] | None = None, name: str = "compact.yaml"
) -> CompactConfig:
    path = None
    if settings is not None:
        path = Path(name)
        path.write_text(settings if isinstance(settings, str) else yaml.safe_dump(settings))
    return CompactConfig.load(path, environ or {})


def refusal(settings: Any, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(settings, environ)
    return caught.value


@pytest.mark.spec("S4.16")
def test_defaults() -> None:
    config = load()
    assert config == CompactConfig()
    assert config.enabled and config.preset == "budget" and config.counter == "auto"
    assert config.redaction.enabled and config.archive.adapter == "fs"
    policy = config.policy
    assert policy.trigger_pct == 0.85
    assert policy.hard_cap_buffer == 1_500
    assert policy.keep_recent_turns == 6
    assert policy.keep_tool_io_pairs == 4
    assert [role.value for role in policy.roles_never_prune] == ["system", "developer"]
    assert policy.strategy == "task_state"


@pytest.mark.spec("S4.16")
@pytest.mark.parametrize("name", ["compact.yaml", "compact.yml", "compact.json", "settings.conf"])
def test_yaml_and_json_files_say_the_same(name: str) -> None:
    settings = {
        "model": "claude-sonnet-4-5",
        "max_context_tokens": 64_000,
        "preset": "agent",
        "policy": {"trigger_pct": 0.7},
        "summarizer": {"name": "openai", "base_url": "http://127.0.0.1:8080/v1"},
        "models": {"acme/large": {"window": 32_000, "max_output": 2_000}},
    }
    text = json.dumps(settings) if name.endswith("json") else yaml.safe_dump(settings)
    config = load(text, name=name)
    assert config.max_context_tokens == 64_000
    assert config.policy == preset("agent").model_copy(update={"trigger_pct": 0.7})
    assert config.summarizer.name == "openai"
    assert config.models["acme/large"].window == 32_000


@pytest.mark.spec("S4.16")
def test_variables_win_over_the_file() -> None:
    settings = {"policy": {"trigger_pct": 0.85}, "model": "gpt-4o", "summarizer": {"timeout": 5}}
    config = load(
        settings,
        {
            "COMPACT_TRIGGER_PCT": "0.9",
            "COMPACT_MODEL": "gpt-4.1",
            "COMPACT_MAX_CONTEXT_TOKENS": "32000",
            "COMPACT_PRESET": "agent",
            "COMPACT_ENABLED": "false",
            "COMPACT_SUMMARIZER__MODEL": "small",
            "COMPACT_POLICY__STRATEGY": "brief",
            "COMPACT_REST": "discard",
            "COMPACT_ROLES_NEVER_PRUNE": "system, developer, user",
            "COMPACT_KEEP_RECENT_TURNS": "none",
            "COMPACT_ARCHIVE__ADAPTER": "none",
            "COMPACT_REDACTION__PATTERNS": '["a,b", "c"]',
            "COMPACT_MODELS": '{"acme": {"window": 1234}}',
            "UNRELATED": "x",
        },
    )
    assert config.policy.trigger_pct == 0.9
    assert config.policy.prune, "the preset that the variable names"
    assert (config.model, config.max_context_tokens, config.enabled) == ("gpt-4.1", 32_000, False)
    assert (config.summarizer.model, config.summarizer.timeout) == ("small", 5.0)
    assert config.policy.strategy == "brief"
    assert config.policy.rest is Rest.DISCARD
    assert len(config.policy.roles_never_prune) == 3
    assert config.policy.keep_recent_turns is None
    assert config.archive.adapter == "none"
    assert config.redaction.patterns == ("a,b", "c")
    assert config.models["acme"].window == 1234


@pytest.mark.spec("S4.16")
@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        (
            {"policy": {"trigger_pct": 1.5}},
            "policy.trigger_pct",
            "policy.trigger_pct must be 0.0-1.0 (got 1.5 in compact.yaml)",
        ),
        ({"policy": {"trigger_pc": 0.5}}, "policy.trigger_pc", "Did you mean policy.trigger_pct?"),
        ({"trigger_pct": 0.5}, "trigger_pct", "Did you mean policy.trigger_pct?"),
        ({"modle": "gpt-4o"}, "modle", "Did you mean model?"),
        ({"summariser": {}}, "summariser", "Did you mean summarizer?"),
        ({"zzz": 1}, "zzz", "zzz is not a known setting (in compact.yaml)."),
        ({"policy": {"foo": 1}}, "policy.foo", "policy.foo is not a known setting (in compact.yaml)."),
        ({"counter": "exact"}, "counter", "must be one of auto, tiktoken, estimate, chars4 (got 'exact'"),
        ({"policy": {"rest": "burn"}}, "policy.rest", "must be one of summarize, discard (got 'burn'"),
        ({"max_context_tokens": "many"}, "max_context_tokens", "must be a whole number (got 'many'"),
        ({"max_context_tokens": 0}, "max_context_tokens", "must be more than 0 (got 0"),
        ({"enabled": "perhaps"}, "enabled", "must be true or false (got 'perhaps'"),
        ({"policy": [1]}, "policy", "policy must be a mapping with fields such as name (got [1]"),
        ({"storage": "sqlite:///s.db"}, "storage", "storage must be a mapping with fields such as url (got"),
        ({"archive": {"adapter": "s3"}}, "archive.bucket", "archive.bucket must be set"),
        ({"tracing": {"ariadne_timeout": 3}}, "tracing.ariadne_timeout", "more than 0.0 and at most 2.0"),
        ({"models": {"acme": {}}}, "models.acme.window", "models.acme.window must be set"),
        ({"models": {"acme": {"window": -1}}}, "models.acme.window", "must be more than 0 (got -1"),
        ({"redaction": {"pii": ["iris"]}}, "redaction.pii.0", "must be one of email, phone, card"),
        ({"preset": "bugdet"}, "preset", "Did you mean 'budget'?"),
        ({"models": {"acme/l": {"windw": 5}}}, "models.acme/l.window", "Did you mean models.acme/l.window?"),
        ({"tenant": ""}, "tenant", "tenant must be text, and not empty (got ''"),
        ({"policy": {"summary_max_tokens": 20}}, "policy.summary_max_tokens", "must be at least 64 (got 20"),
        ({"preset": 7}, "preset", "preset must be text (got 7"),
    ],
)
def test_an_error_names_the_field_and_what_it_must_be(
    settings: dict[str, Any], path: str, message: str
) -> None:
    error = refusal(settings)
    assert error.path == path
    assert str(error).startswith(path)
    assert message in str(error)


@pytest.mark.spec("S4.16")
def test_an_error_names_the_variable_it_came_from() -> None:
    error = refusal({"policy": {"trigger_pct": 0.5}}, {"COMPACT_TRIGGER_PCT": "1.5"})
    assert str(error) == "policy.trigger_pct must be 0.0-1.0 (got 1.5 from COMPACT_TRIGGER_PCT)"
    assert "COMPACT_MODELS must hold JSON" in str(refusal({}, {"COMPACT_MODELS": "acme"}))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("anthropic", ["anthropic"]),
        (" anthropic ", ["anthropic"]),
        ('"anthropic"', ["anthropic"]),
        ('{"name": "anthropic"}', ["anthropic"]),
        ("openai, extractive", ["openai", "extractive"]),
        ('["openai", {"name": "extractive"}]', ["openai", "extractive"]),
    ],
)
@pytest.mark.parametrize("more", [{}, {"COMPACT_SUMMARIZER__MODEL": "small"}])
def test_a_variable_names_the_summarizer_as_a_file_does(
    text: str, names: list[str], more: dict[str, str]
) -> None:
    found = load({}, {"COMPACT_SUMMARIZER": text, **more}).summarizer
    assert [found.name, *(link.name for link in found.fallbacks)] == names
    assert found.model == ("small" if more else None)


def test_a_name_in_a_variable_replaces_the_summarizer_of_the_file() -> None:
    file = {"summarizer": {"name": "openai", "model": "gpt-4o-mini"}}
    found = load(file, {"COMPACT_SUMMARIZER": "anthropic"}).summarizer
    assert (found.name, found.model) == ("anthropic", None)


def test_a_wrong_name_in_a_variable_is_told_with_the_variable() -> None:
    error = refusal({}, {"COMPACT_SUMMARIZER": "antropic"})
    assert error.path == "summarizer.name" and "from COMPACT_SUMMARIZER" in str(error)
    for text in ("", "{name: anthropic}"):
        assert "COMPACT_SUMMARIZER must hold JSON" in str(refusal({}, {"COMPACT_SUMMARIZER": text}))


def test_all_findings_are_told_at_once() -> None:
    error = refusal({"counter": "exact", "policy": {"trigger_pct": 2, "prune_protect": -1}})
    assert [line.split()[0] for line in str(error).splitlines()] == [
        "policy.trigger_pct",
        "policy.prune_protect",
        "counter",
    ]


def test_findings_of_our_own_are_told_beside_pydantic_s() -> None:
    error = refusal(
        {
            "preset": "bugdet",
            "counter": "exact",
            "archive": {"adapter": "s3"},
        }
    )
    assert [line.split()[0] for line in str(error).splitlines()] == [
        "preset",
        "counter",
        "archive.bucket",
    ]
    assert error.path == "preset"


def test_a_long_value_is_cut_in_the_error() -> None:
    assert len(str(refusal({"counter": "x" * 5_000}))) < 250


@pytest.mark.spec("S4.16")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("COMPACT_TRIGER_PCT", "COMPACT_TRIGGER_PCT"),
        ("COMPACT_SUMMARIZER__MODLE", "COMPACT_SUMMARIZER__MODEL"),
        ("COMPACT_ARCHIVE_ADAPTER", "COMPACT_ARCHIVE__ADAPTER"),
    ],
)
def test_an_unknown_variable_is_warned_of_with_the_nearest(name: str, near: str) -> None:
    with pytest.warns(ConfigWarning, match=f"{name} sets nothing. Did you mean {near}?"):
        assert load({}, {name: "0.5"}) == CompactConfig()


@pytest.mark.parametrize("name", ["COMPACT_X", "COMPACT_FOO", "COMPACT_DEBUG"])
def test_the_prefix_alone_makes_no_variable_near(name: str) -> None:
    with pytest.warns(ConfigWarning, match=f"{name} sets nothing. It is not a known setting."):
        load({}, {name: "1"})


def test_a_variable_cannot_reach_into_the_model_table() -> None:
    with pytest.warns(ConfigWarning, match="COMPACT_MODELS__ACME__WINDOW sets nothing"):
        assert load({}, {"COMPACT_MODELS__ACME__WINDOW": "5"}).models == {}


def test_known_variables_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load({}, {"COMPACT_TRIGGER_PCT": "0.5", "COMPACT_SUMMARIZER__MODEL": "x"})


@pytest.mark.spec("S4.16")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy:\n  trigger_pct: 0.5\n  trigger_pct: 0.6\n", "line 3: the key 'trigger_pct' appears twice"),
        ("policy: [1\n", "line 2, column 1"),
        ("- a\n- b\n", "must hold a mapping of settings (got array)"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(text: str, message: str) -> None:
    error = refusal(text)
    assert str(error).startswith("compact.yaml") and message in str(error)


def test_broken_json_is_refused_with_the_place() -> None:
    with pytest.raises(ConfigError, match=r"compact.json could not be parsed: .*line 1 column 2"):
        load("{", name="compact.json")
    with pytest.raises(ConfigError, match="the key 'model' appears twice"):
        load('{"model": "a", "model": "b"}', name="compact.json")


def test_a_missing_or_unreadable_file_is_told() -> None:
    with pytest.raises(ConfigError, match=r"nowhere.yaml could not be read: No such file"):
        CompactConfig.load("nowhere.yaml", {})
    Path("binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        CompactConfig.load("binary.yaml", {})


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"path must be the path of a file, not int"):
        CompactConfig.load(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["compact.yaml", "compact.json"])
def test_an_empty_file_means_the_defaults(name: str) -> None:
    assert load("", name=name) == CompactConfig()


def test_without_a_path_the_working_directory_is_looked_at() -> None:
    Path("compact.json").write_text('{"model": "from-json"}')
    assert CompactConfig.load(environ={}).model == "from-json"
    Path("compact.yaml").write_text("model: from-yaml")
    assert CompactConfig.load(environ={}).model == "from-yaml"
    Path("other.yaml").write_text("model: named")
    assert CompactConfig.load(environ={"COMPACT_CONFIG": "other.yaml"}).model == "named"


def test_without_a_mapping_the_process_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPACT_MODEL", "from-environment")
    assert CompactConfig.load().model == "from-environment"


def test_overrides_win_over_everything() -> None:
    Path("compact.yaml").write_text("model: a\npolicy: {trigger_pct: 0.5, keep_recent_turns: 3}")
    config = CompactConfig.load(None, {"COMPACT_MODEL": "b"}, {"model": "c", "policy": {"trigger_pct": 0.6}})
    assert (config.model, config.policy.trigger_pct, config.policy.keep_recent_turns) == ("c", 0.6, 3)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_the_policy_when_none_is_given(name: str) -> None:
    assert CompactConfig(preset=name).policy == preset(name)


def test_a_policy_object_stands_for_itself() -> None:
    policy = Policy(name="mine", keep_recent_turns=1)
    assert CompactConfig(preset="chat", policy=policy).policy is policy


def test_the_constructor_raises_the_same_errors() -> None:
    with pytest.raises(ConfigError, match=r"^policy.trigger_pct must be 0.0-1.0 \(got 1.5\)$"):
        CompactConfig(policy={"trigger_pct": 1.5})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"modl is not a known setting. Did you mean model?"):
        CompactConfig(modl="x")  # type: ignore[call-arg]


@pytest.mark.spec("S4.16")
def test_a_policy_of_its_own_raises_the_same_errors() -> None:
    with pytest.raises(ConfigError, match=r"^policy.trigger_pct must be 0.0-1.0 \(got 2\)$") as caught:
        Policy(trigger_pct=2)
    assert caught.value.path == "policy.trigger_pct"
    with pytest.raises(ConfigError, match=r"^policy.trigger_pc is .* Did you mean policy.trigger_pct\?$"):
        Policy(trigger_pc=0.5)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"policy.rest must be one of summarize, discard"):
        Policy.model_validate({"rest": "burn"})


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(Exception, match="frozen"):
        CompactConfig().model = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("of", "update", "problem"),
    [
        (preset("agent"), {"triger_pct": 0.7}, "policy.triger_pct is not a known setting"),
        (preset("agent"), {"trigger_pct": 7}, "policy.trigger_pct must be 0.0-1.0 (got 7)"),
        (CompactConfig(), {"max_context_tokens": "8k"}, "max_context_tokens must be a whole number"),
        (CompactConfig(), {"modle": "gpt-4o"}, "Did you mean model?"),
    ],
)
def test_a_copy_with_changes_is_checked_too(of: Any, update: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        of.model_copy(update=update)


def test_a_copy_has_the_changes_and_keeps_the_rest() -> None:
    config = CompactConfig(model="gpt-4.1", policy={"trigger_pct": 0.5}, models={"m": {"window": 5}})
    assert config.model_copy() == config == config.model_copy(update={}, deep=True)
    changed = config.model_copy(update={"tenant": "t"})
    assert (changed.tenant, changed.model, changed.policy) == ("t", "gpt-4.1", config.policy)
    assert changed.models == config.models


def test_a_copy_for_another_preset_has_its_policy() -> None:
    config = CompactConfig(policy={"trigger_pct": 0.5})
    assert config.model_copy(update={"preset": "agent"}).policy == preset("agent")
    changes = {"preset": "agent", "policy": {"trigger_pct": 0.6}}
    assert config.model_copy(update=changes).policy == preset("agent").model_copy(update={"trigger_pct": 0.6})


def test_one_summarizer_may_be_given_by_name_as_in_a_list() -> None:
    assert load({"summarizer": "extractive"}) == load({"summarizer": ["extractive"]})


@pytest.mark.parametrize("given", [lambda request: "", ["extractive", lambda request: ""]])
def test_a_summarizer_that_is_code_is_sent_to_the_manager(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"CompactManager\(config, summarizer=…\)") as refused:
        CompactConfig(summarizer=given)
    assert refused.value.path == "summarizer"
