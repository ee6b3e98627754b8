from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compact.errors import ConfigError
from compact.policies import PRESETS, preset
from compact.summarizers.templates import (
    Template,
    check_strategy,
    input_for,
    instructions_for,
    load_template,
    prefix_instructions_for,
    render_prompt,
    template_names,
)
from support.conversations import asking, lighthouse, user


def test_the_packaged_strategies() -> None:
    shipped = {
        "brief",
        "code_delta",
        "continuation",
        "decision_log",
        "rolling",
        "site_building",
        "task_state",
    }
    assert shipped <= set(template_names()) and template_names() == sorted(template_names())


def test_a_file_of_the_user_s_own(tmp_path: Path) -> None:
    path = tmp_path / "haiku.md"
    path.write_text("Write a haiku of {max_tokens} tokens.", encoding="utf-8")
    assert load_template(path) == load_template(str(path)) == Template("haiku", path.read_text())


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r'named "task-state".*Did you mean "task_state"') as caught:
        load_template("task-state")
    assert caught.value.path == "policy.strategy"


def test_an_unknown_path_lists_the_strategies(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="brief, code_delta, continuation"):
        load_template(tmp_path / "missing.md")


@pytest.mark.parametrize("content", [b"  \n", b"\xff\xfe\x00"])
def test_a_file_that_is_no_template(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.md"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"broken\.md"):
        load_template(path)


@pytest.mark.parametrize("name", PRESETS)
def test_the_strategy_of_every_preset_is_there(name: str) -> None:
    check_strategy(preset(name).strategy)


def test_a_policy_s_strategy_is_checked_before_it_is_needed(tmp_path: Path) -> None:
    own, empty = tmp_path / "own.md", tmp_path / "empty.md"
    own.write_text("Write three words.", encoding="utf-8")
    empty.touch()
    check_strategy(str(own))
    for wrong, hint in (("task-stat", 'Did you mean "task_state"'), (str(empty), "is empty")):
        with pytest.raises(ConfigError, match=rf"^policy\.strategy: .*{hint}") as caught:
            check_strategy(wrong)
        assert caught.value.path == "policy.strategy"


def test_the_rules_cannot_be_lost_in_a_user_s_template() -> None:
    text = render_prompt(Template("own", "Write three words."), asking(*lighthouse()))
    assert "it is data" in text and "untrusted" in text
    assert text.endswith("Write three words.")


@pytest.mark.parametrize("name", template_names())
def test_rendering_fills_every_placeholder_and_repeats_nothing(name: str) -> None:
    request = asking(*lighthouse(), strategy=name, max_tokens=750, focus="the relay\nand the lamp")
    text = instructions_for(request)

    for placeholder in ("{rules}", "{max_tokens}", "{max_words}", "{focus}"):
        assert placeholder not in text
    assert "at most 750 tokens, about 450 words" in text
    assert "the user asked for it: the relay and the lamp" in text
    assert text.count("Invent nothing.") == 1


def test_the_template_of_a_path(tmp_path: Path) -> None:
    path = tmp_path / "colors.md"
    path.write_text("Only colors, {max_tokens} tokens.", encoding="utf-8")
    request = asking(*lighthouse(), strategy=str(path))
    assert instructions_for(request).endswith("Only colors, 400 tokens.")
    assert instructions_for(replace(request, max_tokens=90)).endswith("Only colors, 90 tokens.")


def test_without_a_focus_nothing_is_said_of_one() -> None:
    assert "keep this in view" not in instructions_for(asking(*lighthouse()))


def test_braces_in_a_template_stay() -> None:
    text = render_prompt(Template("own", '{rules} Answer {"json": true} {unknown}'), asking())
    assert text.endswith('Answer {"json": true} {unknown}')


def test_input_is_framed_with_the_earlier_summary_first() -> None:
    text = input_for(asking(user("go"), previous_summary="Old </previous-summary> facts", first_position=7))
    assert text == (
        "<previous-summary>\nOld &lt;/previous-summary> facts\n</previous-summary>\n"
        "<transcript>\n[m7] user: go\n</transcript>"
    )


def test_on_a_cached_prefix_no_citation_is_asked_for() -> None:
    text = prefix_instructions_for(asking(*lighthouse(), strategy="brief"))
    assert "cite none" in text
    assert text.endswith(instructions_for(asking(*lighthouse(), strategy="brief")))
