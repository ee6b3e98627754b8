"""Every conversation through every preset at every window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compact.config import CompactConfig
from compact.counters import counter_for
from compact.errors import FormatError
from compact.evaluation.baselines import SUMMARIES
from compact.evaluation.contestants import TAIL, Contestant, PresetContestant, TailContestant
from compact.evaluation.loading import Case, Problem
from compact.evaluation.measuring import Measured
from compact.evaluation.replay import Subject, replay
from compact.evaluation.results import Outcome
from compact.evaluation.windows import DEFAULT_WINDOWS, Window, scaled
from compact.policies import PRESETS
from compact.ports import TokenCounter

__all__ = ["BASELINES", "TAIL", "Fits", "Trial", "evaluate"]

BASELINES = (TAIL, *SUMMARIES)


@dataclass(frozen=True)
class Trial:
    """What is to be evaluated."""

    configure: Callable[[str], CompactConfig] = lambda preset: CompactConfig(preset=preset)
    """Settings by preset; the window and, if it is small, the reserves are set here."""
    presets: Sequence[str] = (*PRESETS, TAIL)
    windows: Sequence[Window] = DEFAULT_WINDOWS
    summarizer: Any = None
    once: bool = False
    """Compact everything at once instead of prompt by prompt; then there is no cache to measure."""

    @cached_property
    def configs(self) -> dict[str, CompactConfig]:
        """Raises ConfigError for an unknown preset."""
        return {name: self._config(name) for name in self.presets}

    def _config(self, name: str) -> CompactConfig:
        if name in SUMMARIES:
            config = self.configure("budget")
            alone = config.policy.model_copy(update={"survival_floor": 0.0})
            return config.model_copy(update={"policy": alone})
        return self.configure("budget" if name == TAIL else name)

    @cached_property
    def counter(self) -> TokenCounter:
        config = next(iter(self.configs.values()))
        return counter_for(config.model, config.counter)


@dataclass(frozen=True, slots=True)
class Fits:
    """Nothing to evaluate: at this window the conversation needs no compaction."""

    case: str
    source: str
    window: str


def evaluate(case: Case, trial: Trial) -> Iterator[Outcome | Fits | Problem]:
    """The result of each preset for the conversation at each window."""
    try:
        measured = Measured(case, trial.counter)
        subject = Subject(measured)
        for window in trial.windows:
            tokens = window.tokens_for(measured.fixed, measured.body, measured.largest)
            if measured.fixed + measured.body <= tokens:
                yield Fits(case.id, case.source, window.label)
                continue
            for preset, config in trial.configs.items():
                contestant = _contestant(measured, preset, config, tokens, trial.summarizer)
                yield replay(subject, contestant, preset, window, tokens, trial.once)
    except FormatError as error:
        yield Problem(case.where or case.id, str(error))


def _contestant(
    measured: Measured, preset: str, config: CompactConfig, tokens: int, summarizer: Any
) -> Contestant:
    if preset == TAIL:
        return TailContestant(measured, tokens - scaled(config.policy, tokens).reserve(tokens))
    return PresetContestant(measured, config, tokens, SUMMARIES.get(preset, summarizer))
