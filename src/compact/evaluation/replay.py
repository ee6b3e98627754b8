"""Replays one conversation, prompt by prompt, for one contestant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from time import perf_counter
from typing import Any

from compact.core.lint import Provider, lint_messages
from compact.errors import CompactError, FormatError
from compact.evaluation.cache import PromptCache
from compact.evaluation.contestants import Contestant
from compact.evaluation.loading import Identifier, Question
from compact.evaluation.measuring import Measured
from compact.evaluation.phrases import Phrase, said_again, score_phrases
from compact.evaluation.results import Outcome
from compact.evaluation.scoring import Score, answerable, present, score_identifiers, score_questions
from compact.evaluation.windows import Window
from compact.model.message import Role


class Subject:
    """A conversation and those of its probes that can be lost, because it contains them."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self.case = measured.case

    @cached_property
    def identifiers(self) -> tuple[Identifier, ...]:
        return present(self.case.identifiers, self.measured.text(self.case.messages[: self.case.cut]))

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        return answerable(self.case.questions, self.measured.text(self.case.messages))

    @cached_property
    def phrase_cut(self) -> int:
        """Where words and conclusions are measured: the cut, or without one the last call in the first three
        quarters. There a prompt is made anyway, so that measuring it changes no other figure."""
        if self.case.cut < len(self.case.messages):
            return self.case.cut
        return max((end for end in self.calls if end <= self.case.cut * 3 // 4), default=self.case.cut)

    def said_again(self, role: Role) -> frozenset[Phrase]:
        if role not in self._again:
            decoded, cut = self.measured.decoded, self.phrase_cut
            messages = [decoded(one, index) for index, one in enumerate(self.case.messages)]
            before, after = chain.from_iterable(messages[:cut]), chain.from_iterable(messages[cut:])
            self._again[role] = said_again(list(before), list(after), role)
        return self._again[role]

    @cached_property
    def _again(self) -> dict[Role, frozenset[Phrase]]:
        return {}

    @cached_property
    def calls(self) -> list[int]:
        """The number of messages at each model call, that is, before each assistant message."""
        case, decoded = self.case, self.measured.decoded
        return [
            index
            for index in range(1, case.horizon)
            if any(message.role is Role.ASSISTANT for message in decoded(case.messages[index], index)[:1])
        ]


def replay(
    subject: Subject, contestant: Contestant, preset: str, window: Window, tokens: int, once: bool = False
) -> Outcome:
    """Request every prompt up to the horizon (`once`: only the scored ones), then score, count and check."""
    case, measured = subject.case, subject.measured
    scored = {case.cut, case.horizon}
    cache = PromptCache(measured)
    texts: dict[int, str] = {}
    ends = sorted(scored if once else scored.union(subject.calls))
    seconds, violations, checked, after, error = 0.0, 0, -1, 0, ""
    for end in ends:
        given = case.messages[:end]
        began = perf_counter()
        try:
            prompt, tools = contestant.prompt(given)
            error = ""
        except FormatError:
            raise
        except CompactError as problem:
            error = f"{type(problem).__name__}: {problem}"
        seconds += perf_counter() - began
        if error:
            continue
        cache.send(prompt, tools)
        # Between two compactions, a prompt grows only by what the caller appends.
        if contestant.compactions != checked or end == case.horizon:
            checked = contestant.compactions
            violations += new_violations(measured, prompt, given)
        if end in scored or end == subject.phrase_cut:
            texts[end] = measured.text(prompt)
            after = measured.body_size(prompt)
    at_cut = texts.get(case.cut, "")
    spoken = {
        role: score_phrases(subject.said_again(role), texts.get(subject.phrase_cut, ""))
        for role in (Role.USER, Role.ASSISTANT)
        if subject.phrase_cut in ends
    }
    return Outcome(
        case=case.id,
        source=case.source,
        preset=preset,
        window=window.label,
        window_tokens=tokens,
        tokens_before=measured.body,
        tokens_after=after,
        identifiers=score_identifiers(subject.identifiers, at_cut),
        hard=score_identifiers([probe for probe in subject.identifiers if probe.hard], at_cut),
        questions=score_questions(subject.questions, texts.get(case.horizon, "")),
        words=spoken.get(Role.USER, Score()),
        conclusions=spoken.get(Role.ASSISTANT, Score()),
        prompts=len(ends),
        prompt_tokens=cache.tokens,
        cached_tokens=cache.cached,
        compactions=contestant.compactions,
        violations=violations,
        seconds=seconds,
        error=error,
    )


def new_violations(measured: Measured, prompt: Sequence[Any], given: Sequence[Any]) -> int:
    """Problems that a provider would reject in the prompt, of kinds that were not in the input."""
    count = 0
    messages = measured.prompt_messages(prompt)
    for provider in Provider:
        if found := lint_messages(messages, provider):
            before = {
                violation.code for violation in lint_messages(measured.prompt_messages(given), provider)
            }
            count += sum(violation.code not in before for violation in found)
    return count
