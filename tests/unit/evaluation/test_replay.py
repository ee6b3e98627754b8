"""Replaying: what survives is found, what is lost is missed, and the price is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact.counters import counter_for
from compact.errors import InsufficientBudget
from compact.evaluation import TAIL, Case, Fits, Outcome, Problem, Trial, evaluate, parse_windows
from compact.evaluation.cache import PromptCache, common_prefix
from compact.evaluation.contestants import TailContestant
from compact.evaluation.measuring import Measured
from compact.evaluation.replay import Subject, new_violations
from compact.evaluation.scoring import Score
from compact.policies import PRESETS

COUNTER = counter_for("gpt-4o", "chars4")


def outcomes(case: Case, trial: Trial) -> dict[str, Outcome]:
    found = {}
    for result in evaluate(case, trial):
        assert isinstance(result, Outcome), result
        found[result.preset] = result
    return found


def trial(configure: Any, *presets: str, windows: str = "25%", **fields: Any) -> Trial:
    return Trial(configure=configure, presets=presets, windows=parse_windows(windows), **fields)


def test_a_fact_survives_with_the_summary_that_keeps_it_and_not_with_another(
    harbor_case: Case, configure: Any, remembers: Any
) -> None:
    keeps = outcomes(harbor_case, trial(configure, "budget", "chat", TAIL, summarizer=remembers("old tar")))
    loses = outcomes(harbor_case, trial(configure, "budget", "chat", TAIL, summarizer=remembers("tide")))
    for preset in ("budget", "chat"):
        assert keeps[preset].hard == Score(1, 1), "a value that nobody said is no probe"
        assert keeps[preset].identifiers == Score(2, 2)
        assert loses[preset].hard == Score(0, 1)
        assert loses[preset].identifiers == Score(1, 2)
        assert keeps[preset].compactions > 1, "the fact went through several summaries"
    assert keeps[TAIL].hard == Score(0, 1)
    assert keeps[TAIL].identifiers == Score(1, 2)


def test_questions_need_all_their_keys_at_the_end(letters_case: Case, configure: Any, remembers: Any) -> None:
    both = outcomes(letters_case, trial(configure, "budget", summarizer=remembers("green house", "lake")))
    one = outcomes(letters_case, trial(configure, "budget", summarizer=remembers("green house")))
    assert both["budget"].questions == Score(1, 1)
    assert one["budget"].questions == Score(0, 1)


def test_every_preset_shrinks_and_stays_valid(harbor_case: Case, configure: Any, remembers: Any) -> None:
    found = outcomes(harbor_case, trial(configure, *PRESETS, summarizer=remembers("old tar")))
    assert set(found) == set(PRESETS)
    for outcome in found.values():
        assert not outcome.error
        assert 0 < outcome.tokens_after < outcome.tokens_before
        assert outcome.violations == 0
        assert outcome.compactions >= 1
        assert outcome.prompts == 24, "one for each answer, the last of which stands at the cut"
        assert 0 < outcome.cached_tokens < outcome.prompt_tokens


def test_seldom_rewriting_is_cached_and_sliding_is_not(
    harbor_case: Case, configure: Any, remembers: Any
) -> None:
    found = outcomes(harbor_case, trial(configure, "chat", TAIL, summarizer=remembers("old tar")))
    hits = {name: outcome.cached_tokens / outcome.prompt_tokens for name, outcome in found.items()}
    assert hits["chat"] > hits[TAIL]
    assert found[TAIL].compactions > found["chat"].compactions


def test_in_one_go_there_is_one_prompt_and_no_cache(
    harbor_case: Case, configure: Any, remembers: Any
) -> None:
    found = outcomes(harbor_case, trial(configure, "budget", once=True, summarizer=remembers("old tar")))
    assert (found["budget"].prompts, found["budget"].compactions) == (1, 1)
    assert found["budget"].prompt_tokens == 0
    assert found["budget"].hard == Score(1, 1)


def test_a_conversation_that_fits_is_left_out(harbor_case: Case, configure: Any) -> None:
    found = list(evaluate(harbor_case, trial(configure, "budget", windows="100k")))
    assert found == [Fits("harbor-1", "harbor", "100,000")]


def test_what_cannot_fit_is_a_failure_and_its_probes_are_lost(configure: Any, remembers: Any) -> None:
    from compact.evaluation.loading import Identifier

    task = {"role": "user", "content": "old tar " + "a very long task " * 800}
    case = Case("long", "harbor", [task], 1, identifiers=(Identifier("old tar", True),))
    found = outcomes(case, trial(configure, "budget", TAIL, windows="1000", summarizer=remembers()))
    for outcome in found.values():
        assert outcome.error.startswith("InsufficientBudget")
        assert outcome.hard == Score(0, 1)
        assert outcome.kept is None


def test_messages_in_no_format_are_a_problem(configure: Any) -> None:
    case = Case("odd", "harbor", [{"role": "pirate"}], 1, where="runs.jsonl:4")
    [problem] = evaluate(case, trial(configure, "budget"))
    assert isinstance(problem, Problem)
    assert problem.where == "runs.jsonl:4"


def tool_run(steps: int = 6) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Count the boats."}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": "boat " * 400})
    return messages


def test_the_tail_keeps_calls_and_results_together() -> None:
    messages = tool_run()
    measured = Measured(Case("boats", "harbor", messages, len(messages)), COUNTER)
    tail = TailContestant(measured, budget=1_200)
    kept, _ = tail.prompt(messages)
    assert kept == messages[-4:]
    assert tail.compactions == 1
    assert tail.prompt(messages)[0] == kept
    assert tail.compactions == 1, "asked again, nothing moves"
    with pytest.raises(InsufficientBudget, match="newest messages alone"):
        TailContestant(measured, budget=300).prompt(messages)


def test_only_violations_that_are_new_count() -> None:
    messages = tool_run(2)
    measured = Measured(Case("boats", "harbor", messages, len(messages)), COUNTER)
    orphaned = messages[2:]
    assert new_violations(measured, orphaned, messages) > 0
    assert new_violations(measured, orphaned, orphaned) == 0
    assert new_violations(measured, messages, messages) == 0


def test_the_cache_hits_as_far_as_the_prompts_agree() -> None:
    messages = [{"role": "user", "content": letter * 400} for letter in "abcd"]
    measured = Measured(Case("abcd", "letters", messages, 4), COUNTER)
    size = measured.size(messages[0])
    cache = PromptCache(measured)
    cache.send(messages[:2], None)
    assert (cache.tokens, cache.cached) == (0, 0), "nothing stands before the first"
    cache.send(messages[:3], None)
    assert (cache.tokens, cache.cached) == (3 * size + measured.apart, 2 * size + measured.apart)
    cache.send(messages[1:], None)
    assert cache.cached == 2 * size + 2 * measured.apart, "a changed beginning finds no message again"
    cache.send(messages[1:], [{"type": "function"}])
    assert cache.cached == 2 * size + 2 * measured.apart, "with other tools nothing is found"


def test_equal_messages_are_the_same_also_as_copies() -> None:
    first = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert common_prefix(first, json.loads(json.dumps(first))) == 2
    assert common_prefix(first, first[1:]) == 0


def test_the_text_of_a_prompt_has_unescaped_arguments() -> None:
    arguments = json.dumps({"path": 'C:\\boats\\"old"', "rows": [12]})
    call = {"id": "c1", "type": "function", "function": {"name": "open", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "Open it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    measured = Measured(Case("open", "harbor", messages, 3), COUNTER)
    text = measured.text(messages)
    assert 'C:\\boats\\"old"' in text
    assert arguments in text
    assert "done" in text


def test_prompts_stand_before_each_answer(harbor_case: Case) -> None:
    subject = Subject(Measured(harbor_case, COUNTER))
    assert subject.calls[:3] == [2, 4, 6]
    assert subject.measured.head == 1
