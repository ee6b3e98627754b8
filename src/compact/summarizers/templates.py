"""Strategies as templates: packaged ones by name, a user's own by path."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from compact.core.render import frame, neutralize, render_transcript, request_positions
from compact.errors import ConfigError
from compact.model.summary import SummaryRequest

_RULES = "_rules"
_WORDS_PER_TOKEN = 0.6
"""Models count words better than tokens. Fewer than fit, so that the limit does not fall in mid-sentence."""


@dataclass(frozen=True, slots=True)
class Template:
    """Instructions with the placeholders {rules}, {max_tokens}, {max_words} and {focus}."""

    name: str
    text: str


def template_names() -> list[str]:
    """The strategies that ship with the package."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    names = (Path(item.name) for item in _folder().iterdir() if item.name.endswith(".md"))
    return tuple(sorted(name.stem for name in names if not name.stem.startswith("_")))


def load_template(name_or_path: str | Path) -> Template:
    """A packaged strategy by its name, or a user's own file; ConfigError if there is neither."""
    given = str(name_or_path)
    if given in template_names():
        return Template(given, _read(given))
    path = Path(name_or_path).expanduser()
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"The template {given} cannot be read ({error}). It must be a UTF-8 text file.",
                "policy.strategy",
            ) from error
        if not text.strip():
            raise ConfigError(
                f"The template {given} is empty. Write the instructions into it.", "policy.strategy"
            )
        return Template(path.stem, text)
    raise ConfigError(_unknown(given), "policy.strategy")


def check_strategy(name: str) -> None:
    """Raise ConfigError now if the policy's strategy could not be loaded in the middle of a compaction."""
    try:
        load_template(name)
    except ConfigError as error:
        raise ConfigError(f"policy.strategy: {error}", "policy.strategy") from None


def render_prompt(template: Template, request: SummaryRequest) -> str:
    """The instructions for this request.

    If a template has no {rules} of its own, the rules that treat the transcript as data and tool output as
    untrusted come first.
    """
    text = template.text if "{rules}" in template.text else "{rules}\n\n" + template.text
    focus = " ".join(neutralize(request.focus).split())
    values = {
        "{rules}": _read(_RULES).strip(),
        "{max_tokens}": str(request.max_tokens),
        "{max_words}": str(max(1, int(request.max_tokens * _WORDS_PER_TOKEN))),
        "{focus}": f"- Above all keep this in view, the user asked for it: {focus}" if focus else "",
    }
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text.strip()


def instructions_for(request: SummaryRequest) -> str:
    """The template of the request's strategy, filled.

    Only who sends it fills it: on the way there, the limit is lowered to what is left for the prose, or to
    the size of a piece.
    """
    return render_prompt(load_template(request.strategy), request)


def prefix_instructions_for(request: SummaryRequest) -> str:
    """The instructions as the last message of a conversation that the provider has cached."""
    return _read("_prefix").strip().replace("{instructions}", instructions_for(request))


def input_for(request: SummaryRequest) -> str:
    """What to summarize, framed as data: the earlier summary and the transcript."""
    framed = frame("transcript", render_transcript(request.messages, request_positions(request)))
    if request.previous_summary:
        framed = frame("previous-summary", neutralize(request.previous_summary.strip())) + "\n" + framed
    return framed


def _unknown(given: str) -> str:
    names = template_names()
    near = get_close_matches(given, names, n=1)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    return (
        f'There is no strategy and no file named "{given}". {hint}'
        f"Strategies: {', '.join(names)}; or give the path of your own template."
    )


def _folder() -> Traversable:
    return files("compact").joinpath("prompts")


@cache
def _read(name: str) -> str:
    return _folder().joinpath(f"{name}.md").read_text(encoding="utf-8")
