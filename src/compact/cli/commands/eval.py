"""`compact eval`: how much each preset keeps of real conversations, and at what cost."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import add_settings, at_least_one
from compact.console.terminal import Screen, plural
from compact.errors import ConfigError, FormatError, StoreError

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.evaluation import Case, Outcome, Problem, Row, Trial


_CUT = "probe_cut_index, else three quarters of the conversation"
_CUT_ONCE = "probe_cut_index; with --once there is no other"
_PHRASES = {"words": "user", "concl": "assistant"}
"""The columns that are measured without probes, and who said what they count."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="JSONL files (one conversation a line) or folders of them, or a JSON file with a conversation; "
        "also gzipped. Without probes, `all`, `hard` and `quest` stay empty",
    )
    group = parser.add_argument_group("eval")
    group.add_argument(
        "--presets",
        metavar="NAMES",
        type=_names,
        default=[],
        help="such as budget,agent,tail,lexrank (default: all, and tail)",
    )
    group.add_argument(
        "--windows",
        metavar="SIZES",
        help="shares of each conversation, or tokens: 10%%,20%% or 8k,32k (default: 10%%,20%%,40%%)",
    )
    group.add_argument(
        "--sources", metavar="NAMES", type=_names, default=[], help="only these sources, by file name"
    )
    group.add_argument(
        "--limit", metavar="N", type=at_least_one, help="at most N conversations from each source"
    )
    group.add_argument(
        "--once", action="store_true", help="compact each conversation once, instead of prompt by prompt"
    )
    group.add_argument("--picture", metavar="FILE", help="draw survival against tokens kept, as SVG")
    add_settings(parser)
    # Every text is counted again for each preset and window: exact counting would take most of the time.
    parser.set_defaults(counter="estimate")


@dataclass
class Found:
    """What there is to report, even if the run was stopped halfway."""

    outcomes: list[Outcome] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    fitting: dict[str, int] = field(default_factory=dict)
    """Conversations skipped at a window because they fit it."""
    conversations: int = 0
    interrupted: bool = False


def run(context: Context) -> ExitCode:
    from compact.evaluation import load_cases

    args = context.args
    picture = _picture_file(args.picture)
    trial = _trial(context)
    cases, problems = load_cases(args.paths, args.sources, args.limit)
    if not cases and (args.sources or not problems):
        _nothing_found(args.paths, args.sources, problems)
    found = Found(problems=problems)
    try:
        for case in _tracked(cases, context.err, args.quiet):
            _evaluate(case, trial, found)
    except KeyboardInterrupt:
        found.interrupted = True
        context.err.line()
    _report(found, trial, context)
    if picture is not None:
        _draw(picture, found, trial, context)
    for problem in found.problems:
        context.warn(f"{problem.where}: {problem.message}; skipped")
    if found.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FINDINGS if found.problems else ExitCode.OK


def _nothing_found(paths: Sequence[str], sources: Sequence[str], problems: Sequence[Problem]) -> None:
    from compact.evaluation import load_cases

    known = ", ".join(sorted({case.source for case in load_cases(paths)[0]}))
    if known:
        raise ConfigError(f"No source is named {' or '.join(sources)}; there is: {known}.", "sources")
    if not problems:
        raise FormatError(f"{', '.join(paths)}: no conversation was found; nothing was evaluated.")


def _trial(context: Context) -> Trial:
    from compact.evaluation import BASELINES, DEFAULT_WINDOWS, TAIL, Trial, parse_windows
    from compact.policies import PRESETS

    args, known = context.args, (*PRESETS, *BASELINES)
    for name in args.presets:
        if name not in known:
            raise ConfigError(f"--presets must be among {', '.join(known)} (got {name!r}).", "presets")
    asked = args.windows or (str(args.window) if args.window is not None else "")
    trial = Trial(
        configure=lambda preset: _config(context, preset),
        presets=args.presets or ([args.preset, TAIL] if args.preset else (*PRESETS, TAIL)),
        windows=parse_windows(asked) if asked else DEFAULT_WINDOWS,
        once=args.once,
    )
    # Built now, so that a wrong setting ends the run before it begins.
    assert trial.configs and trial.counter
    return trial


def _config(context: Context, preset: str) -> CompactConfig:
    """The settings with this preset. No model is called unless the settings name one."""
    from compact.console.options import load_config

    args = Namespace(**{**vars(context.args), "preset": preset, "window": None})
    config, _ = load_config(replace(context, args=args))
    if config.summarizer.name == "auto":
        embedded = config.summarizer.model_copy(update={"name": "extractive"})
        config = config.model_copy(update={"summarizer": embedded})
    return config


def _evaluate(case: Case, trial: Trial, found: Found) -> None:
    from compact.evaluation import Fits, Outcome, evaluate

    outcomes = []
    for result in evaluate(case, trial):
        if isinstance(result, Outcome):
            outcomes.append(result)
        elif isinstance(result, Fits):
            found.fitting[result.window] = found.fitting.get(result.window, 0) + 1
        else:
            found.problems.append(result)
            return
    # Added as a whole: after an interruption, all presets have seen the same conversations.
    found.outcomes += outcomes
    found.conversations += 1


def _tracked(cases: Sequence[Case], screen: Screen, quiet: bool) -> Iterator[Case]:
    """The conversations, with a progress bar on a terminal; a long one counts more than a short one."""
    shown = screen.terminal and not quiet
    total, done, width = sum(case.weight for case in cases), 0, screen.width - 1
    for number, case in enumerate(cases, start=1):
        if shown:
            bar = screen.bar(done / total, 30)
            line = f"Evaluating {bar} {number:,}/{len(cases):,} {case.source}"
            screen.write("\r" + screen.fit(line, width))
            screen.stream.flush()
        yield case
        done += case.weight
    if shown:
        screen.write("\r" + " " * width + "\r")
        screen.stream.flush()


def _report(found: Found, trial: Trial, context: Context) -> None:
    from compact.evaluation import rows_of
    from compact.evaluation.table import table_lines

    rows = rows_of(found.outcomes)
    if context.args.json:
        context.print_json(
            {
                **_facts(trial),
                "conversations": found.conversations,
                "interrupted": found.interrupted,
                "left_out": [{"window": window, "fit": count} for window, count in found.fitting.items()],
                "rows": [row.as_json() for row in rows],
                "problems": [{"where": each.where, "message": each.message} for each in found.problems],
            }
        )
        return
    for line, heading in table_lines(rows):
        context.out.line(context.out.styled(line, "bold") if heading else line)
    if rows:
        context.out.line()
    for line in (_scope(found, trial, context.out.dot), *_remarks(found), *_measured_on(rows, trial)):
        context.out.line(context.out.styled(line, "dim"))


def _facts(trial: Trial) -> dict[str, Any]:
    config = next(iter(trial.configs.values()))
    return {
        "model": config.model,
        "counter": trial.counter.name,
        "summarizer": config.summarizer.name,
        "once": trial.once,
        "presets": list(trial.presets),
        "windows": [window.label for window in trial.windows],
    }


def _scope(found: Found, trial: Trial, dot: str) -> str:
    facts = _facts(trial)
    said = [
        plural(found.conversations, "conversation"),
        f"{facts['summarizer']} summaries",
        f"tokens by {facts['counter']}",
    ]
    return dot.join([*said, "interrupted"] if found.interrupted else said)


def _remarks(found: Found) -> Iterator[str]:
    """Why a window counts fewer conversations, or the same as another."""
    for window, count in found.fitting.items():
        yield f"{window}: {plural(count, 'conversation')} skipped, because the whole of it fits this window."
    for (smaller, larger), count in _alike(found.outcomes).items():
        yield (
            f"{smaller}: for {plural(count, 'short conversation')} the window is the same as at {larger}; "
            "no window is smaller than 2,000 tokens or twice the largest message."
        )


def _measured_on(rows: Sequence[Row], trial: Trial) -> Iterator[str]:
    """How much stands behind the shares: a share of one phrase, or a column that is left out, says little."""
    from compact.evaluation.table import SCORES, unmeasured

    if not rows:
        return
    gone = unmeasured(rows)
    if unprobed := [name for name in gone if name not in _PHRASES]:
        yield f"No column for {', '.join(unprobed)}: there are no such probes (docs/EVALUATION.md)."
    for name, who in _PHRASES.items():
        if name in gone:
            yield f"No column for {name}: no phrase of the {who} comes up again after the cut."
            continue
        counts: dict[str, int] = {}
        for row in rows:
            counts[row.source] = max(counts.get(row.source, 0), SCORES[name](row).of)
        found = ", ".join(f"{count:,} in {source}" for source, count in counts.items())
        yield f"{name}: share of the phrases of the {who} that come up again after the cut ({found})."
    yield f"The cut: {_CUT_ONCE if trial.once else _CUT}."


def _alike(outcomes: Sequence[Outcome]) -> Counter[tuple[str, str]]:
    """Conversations too short for two shares to result in different windows, by the two shares."""
    windows: dict[tuple[str, str], dict[str, int]] = {}
    for outcome in outcomes:
        windows.setdefault((outcome.source, outcome.case), {})[outcome.window] = outcome.window_tokens
    return Counter(
        (one, other)
        for by_label in windows.values()
        for (one, tokens), (other, more) in pairwise(by_label.items())
        if tokens == more
    )


def _picture_file(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    if path.suffix.lower() != ".svg":
        raise ConfigError(f"--picture writes SVG; the name must end in .svg (got {name!r}).", "picture")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"--picture: the folder {path.parent} does not exist.", "picture")
    if path.exists() and not _is_ours(path):
        raise ConfigError(
            f"{path} already exists and is not a picture of an evaluation. Nothing was evaluated and "
            "the file is unchanged; name another one.",
            "picture",
        )
    return path


def _is_ours(path: Path) -> bool:
    """Whether an earlier evaluation drew this picture, so that it may be overwritten."""
    from compact.evaluation.picture import TITLE

    try:
        with path.open("rb") as file:
            return TITLE.encode() in file.read(2_000)
    except OSError:
        return False


def _draw(path: Path, found: Found, trial: Trial, context: Context) -> None:
    from compact.evaluation.picture import draw, panels_of

    compacted = len({(outcome.source, outcome.case) for outcome in found.outcomes})
    subtitle = _scope(Found(conversations=compacted), trial, " · ")
    windows = ", ".join(window.label for window in trial.windows)
    try:
        path.write_text(draw(found.outcomes, f"{subtitle} · windows {windows}"), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror}.") from None
    empty = "" if panels_of(found.outcomes) else ", but empty: nothing that could be measured was compacted"
    context.note(f"drawn: {path}{empty}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
