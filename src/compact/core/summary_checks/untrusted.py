"""Find the lines of a summary that rest on data: on tool output, or on text that the user only quotes.

Neither may gain the authority of a system message. A summarizer may say so itself (`Summary.untrusted`); this
checks what it did not say. If there was data, a line loses its authority if it repeats what data said first,
names a host or gives a command that neither a person nor the model brought up, gives an order most of whose
words nobody spoke, says something about the user that is not in the user's words, or cites messages that say
nothing of the kind: a model that was taken in may put an order into its own words, even as a plain statement.
It always loses it if it drops one of the user's negations.

Lines that consist of the user's words as the ledger has them are not checked (`sayings`): the ledger knows
whether they are the user's own, or may be a text that the user shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from compact.core.layers import TAG, SummaryText
from compact.core.summary_checks.addresses import addresses_in, command_words, commands_in, parent_addresses
from compact.core.summary_checks.citations import cited_positions, cited_span
from compact.core.summary_checks.listed_languages import is_listed
from compact.core.summary_checks.marks import RUN, WORD, Mark, marks_in, marks_of
from compact.core.summary_checks.negation import drops_negation, read_claims
from compact.core.summary_checks.quotes import APPROVES, NAMES_USER
from compact.core.summary_checks.sayings import NO_SAYINGS, Sayings
from compact.core.summary_checks.support import CITED, share_spoken, vocabulary
from compact.core.summary_checks.voices import voices_in
from compact.core.view import Item
from compact.evidence.ledger import WORDS
from compact.evidence.words import is_about
from compact.model.message import (
    Message,
    MessageKind,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
)
from compact.model.sections import is_our_heading
from compact.model.summary import Evidence, Summary

_SUPPORT = 0.6
"""Share of an order's words that must have been spoken."""
_HEADING = re.compile(r"(#{1,6}) ")
_OWN_WORDS = 0.3
"""Share of the words of a line about the user that must be a person's (for an approval, or the model's). For
any line, this share must have been spoken."""
_CITED_WORDS = 0.5
"""Share of a line's words that must be in what people and the model said in the messages it cites."""


class Voice(Enum):
    PERSON = "person"
    """The user, the system prompt, and what already had authority in an earlier summary."""
    MODEL = "model"
    UNSURE = "unsure"
    """What a user's message says but may only quote."""
    DATA = "data"
    """Tool output, and what a user quotes, pastes or forwards."""


_DOUBTED = frozenset({Voice.UNSURE, Voice.DATA})


def split_summary(summary: Summary, items: Sequence[Item]) -> SummaryText:
    """The summary by authority: by what its author says, what its ledger knows, what its source view shows.

    The ledger's doubts are marked, see `mark_doubtful`.
    """
    text = summary.text
    if summary.untrusted:
        text = text.replace(summary.untrusted, "").strip()
    # Data of spans that were folded before is no longer in the messages; the ledger has it. A user's message
    # that is still here shows better than a doubtful unit which words are the user's own.
    here = {item.position for item in items}
    folded = "\n".join(
        unit.value
        for unit in summary.evidence
        if unit.untrusted and not (unit.kind in WORDS and unit.message in here)
    )
    spoken_at = _spoken_at(items) if cited_positions(text) else {}
    parts = split_lines(text, [*_voices(items), (Voice.DATA, folded)], spoken_at, Sayings(summary.evidence))
    # These lines are still part of the story, so they come before the heading that begins tool data.
    return replace(parts, untrusted="\n".join(filter(None, (parts.untrusted, summary.untrusted.strip()))))


def split_lines(
    text: str,
    said: Sequence[tuple[Voice, str]],
    at: Mapping[int, str] | None = None,
    sayings: Sayings = NO_SAYINGS,
) -> SummaryText:
    """The text by authority, line by line.

    `said` is the conversation in its order; `at` has what people and the model said, by the positions that
    citations name. What a person said is theirs, whoever else says it. Between a tool and the model, whoever
    said it first counts: a model that repeats a tool makes nothing truer.
    """
    lines = text.splitlines()
    known = {number: found for number, line in enumerate(lines) if (found := sayings.read(line))}
    checked = [
        known[number].question if number in known else "" if is_our_heading(line) else line
        for number, line in enumerate(lines)
    ]
    claims = read_claims(text for voice, text in said if voice is Voice.PERSON)
    doubted = {
        number
        for number, line in enumerate(checked)
        if line and number not in known and drops_negation(line, claims)
    }
    doubted |= _resting_on_data(checked, said, at or {})
    kept, doubtful, untrusted = list[str](), list[str](), list[str]()
    for number, line in enumerate(lines):
        if number not in known:
            (untrusted if number in doubted else kept).append(line)
            continue
        (kept if known[number].is_own and number not in doubted else doubtful).append(line)
    if not (doubtful or untrusted):
        return SummaryText(text)
    return SummaryText(*("\n".join(part).strip() for part in (_filled(kept), untrusted, doubtful)))


def mark_doubtful(summary: Summary, items: Sequence[Item]) -> Summary:
    """The summary, with those of the user's words in its ledger marked that may be a text the user shows.

    Only now can their messages be read; once they are folded, the ledger has to know.
    """
    texts = {item.position: item.message.text for item in items if item.message.role is Role.USER}
    said: dict[int, set[str]] = {}
    for unit in (*summary.evidence, *summary.added):
        if unit.message in texts and unit.kind in WORDS and not unit.untrusted:
            said.setdefault(unit.message, set()).add(unit.value)
    doubtful = {(at, value) for at in said for value in _maybe_shown(sorted(said[at]), texts[at])}

    if not doubtful:
        return summary

    def marked(units: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        return tuple(
            [
                replace(unit, untrusted=True)
                if unit.message in said and (unit.message, unit.value) in doubtful and unit.kind in WORDS
                else unit
                for unit in units
            ]
        )

    return replace(summary, evidence=marked(summary.evidence), added=marked(summary.added))


def _maybe_shown(values: Sequence[str], text: str) -> Sequence[str]:
    """Those of the values that the user's message has, or may have, only in text that it shows."""
    by = voices_in(text)
    if len(by.own.split()) < RUN:
        # Too little is surely the user's own to vouch for values that only repeat the rest. Few values come
        # from one message, however long it is, so each may be compared with every line.
        lines = [line.split() for line in f"{by.unsure}\n{by.shown}".split("\n")]
        doubted = [f" {' '.join(words)} " for words in lines if len(words) >= RUN]
        if all(_repeats(value, doubted) for value in values):
            return values
    said = ((Voice.PERSON, by.own), (Voice.UNSURE, by.unsure), (Voice.DATA, by.shown))
    return [values[number] for number in _resting_on_data(values, said, {})]


def _repeats(value: str, lines: Sequence[str]) -> bool:
    """Whether a value is a part of one of the lines, or has all of one."""
    whole = f" {value} "
    is_run = value.count(" ") >= RUN - 1
    return any(line in whole or (is_run and whole in line) for line in lines)


def _filled(lines: Sequence[str]) -> list[str]:
    """Without the headings under which nothing is left."""
    kept: list[str] = []
    below = 0
    """The level of the heading that follows; 0 at the end, 7 if a line of text does."""
    for line in reversed(lines):
        heading = _HEADING.match(line)
        level = len(heading[1]) if heading else 7
        if heading and level >= below:
            continue
        if line.strip():
            below = level
        kept.append(line)
    return kept[::-1]


def _resting_on_data(
    lines: Sequence[str], said: Sequence[tuple[Voice, str]], at: Mapping[int, str]
) -> set[int]:
    if not any(WORD.search(text) for voice, text in said if voice in _DOUBTED):
        return set()
    found = _quoting(lines, said)
    rest = [number for number in range(len(lines)) if number not in found]
    if rest:
        others = [lines[number] for number in rest]
        found.update(rest[place] for place in _unvouched(others, said) | _unsupported(others, said, at))
    return found


def _quoting(lines: Sequence[str], said: Sequence[tuple[Voice, str]]) -> set[int]:
    """Lines that say what data said first and no person said."""
    marks = marks_of(lines)
    from_data = marks_in((text for voice, text in said if voice in _DOUBTED), set(marks))
    if from_data:
        from_data -= marks_in((text for voice, text in said if voice is Voice.PERSON), from_data)
    if any(voice is Voice.MODEL for voice, _ in said):
        from_data -= _held_first(said, from_data)
    return {number for mark in from_data for number in marks[mark]}


def _unvouched(lines: Sequence[str], said: Sequence[tuple[Voice, str]]) -> set[int]:
    """Lines with a host or command that no person named, nor the model before it was in the data."""
    hosts = {number: found for number, line in enumerate(lines) if (found := addresses_in(line))}
    commands = {number: set(given) for number, line in enumerate(lines) if (given := commands_in(line))}
    unseen_hosts: set[str] = set().union(*hosts.values())
    unseen_commands: set[Mark] = set().union(*commands.values())
    open_hosts, open_commands = set(unseen_hosts), set(unseen_commands)
    for voice, text in said:
        if not (unseen_hosts or unseen_commands):
            break
        named = unseen_hosts.intersection(parent_addresses(addresses_in(text))) if unseen_hosts else set()
        run = _commands_held(text, unseen_commands)
        if voice not in _DOUBTED:
            unseen_hosts -= named if voice is Voice.PERSON else named & open_hosts
            unseen_commands -= run if voice is Voice.PERSON else run & open_commands
        open_hosts -= named
        open_commands -= run
    return {number for number, found in hosts.items() if found & unseen_hosts} | {
        number for number, found in commands.items() if found & unseen_commands
    }


def _commands_held(text: str, commands: set[Mark]) -> set[Mark]:
    if not commands:
        return set()
    flat = f" {' '.join(command_words(text))} "
    return {command for command in commands if f" {' '.join(command)} " in flat}


def _unsupported(lines: Sequence[str], said: Sequence[tuple[Voice, str]], at: Mapping[int, str]) -> set[int]:
    """Lines that few of the spoken words support: orders, claims about the user, wrong citations."""
    with_data = any(WORD.search(text) for voice, text in said if voice is Voice.DATA)
    by_people = vocabulary(text for voice, text in said if voice is Voice.PERSON)
    spoken = by_people | vocabulary(text for voice, text in said if voice is Voice.MODEL)
    found: set[int] = set()
    for number, line in enumerate(lines):
        share = share_spoken(line, spoken)
        if _may_order(line) and share < _SUPPORT:
            found.add(number)
        if not with_data:
            continue
        unheard = not line.startswith("#") and (share < _OWN_WORDS or not _is_borne_out(line, at))
        if unheard or (
            NAMES_USER.search(line) is not None
            and share_spoken(line, by_people) < _OWN_WORDS
            and not (APPROVES.search(line) and share >= _SUPPORT)
        ):
            found.add(number)
    return found


def _is_borne_out(line: str, at: Mapping[int, str]) -> bool:
    """Whether the messages that a line cites are about what it says; those that are not here do not count."""
    cited = [at[position] for position in cited_span(line) if position in at] if at else []
    return not cited or share_spoken(line, vocabulary(cited)) >= _CITED_WORDS


def _spoken_at(items: Sequence[Item]) -> dict[int, str]:
    """What people and the model said in each message; a tool's message has none of it."""
    return {
        item.position: _own_text(message) if message.role is not Role.TOOL else ""
        for item in items
        if item.position is not None and (message := item.message).kind is MessageKind.ORIGINAL
    }


def _own_text(message: Message) -> str:
    own = voices_in(message.text).own if message.role is Role.USER else message.text
    return "\n".join((own, *(arguments_text(call.arguments) for call in message.calls)))


def _voices(items: Sequence[Item]) -> Iterator[tuple[Voice, str]]:
    late: list[str] = []
    for message in (item.message for item in items):
        if message.role is not Role.TOOL:
            yield from ((Voice.MODEL, text) for text in late)
            late = []
        if message.kind is MessageKind.SUMMARY:
            # An earlier summary, or the half of it that came from tools, is an assistant message.
            # Its delimiters are ours: a tool that spells them did not get them from a person.
            own = message.text.replace(TAG, "")
            yield Voice.DATA if message.role is Role.ASSISTANT else Voice.PERSON, own
        elif message.kind is MessageKind.ORIGINAL:
            called = False
            if message.role is Role.USER:
                # All parts together: a part on its own may be the document that the others ask about.
                by = voices_in(message.text)
                yield from ((Voice.PERSON, by.own), (Voice.UNSURE, by.unsure), (Voice.DATA, by.shown))
            for part in message.parts:
                match part:
                    case Text() if message.role is Role.USER:
                        pass
                    case Text(text=text) if called:
                        # Some formats have a step in one message: this was said when the result was there.
                        late.append(text)
                    case Text(text=text):
                        by_model = message.role in (Role.ASSISTANT, Role.TOOL)
                        yield Voice.MODEL if by_model else Voice.PERSON, text
                    case ToolCall(arguments=arguments):
                        called = True
                        yield Voice.MODEL, arguments_text(arguments)
                    case ToolResult(text=text):
                        yield Voice.DATA, text
                    case Opaque(text=text):
                        # An unknown part may be what a provider's own tool found, call and result in one.
                        called = True
                        yield Voice.DATA, text
    yield from ((Voice.MODEL, text) for text in late)


def _held_first(said: Sequence[tuple[Voice, str]], marks: set[Mark]) -> set[Mark]:
    """The marks that the model said before any tool did."""
    open_marks, found = set(marks), set[Mark]()
    for voice, text in said:
        if not open_marks:
            break
        if voice is not Voice.PERSON:
            held = marks_in((text,), open_marks)
            open_marks -= held
            if voice is Voice.MODEL:
                found |= held
    return found


def _may_order(line: str) -> bool:
    said = CITED.sub("", line)
    return is_about(said.split(), "orders") or not (line.startswith("#") or is_listed(said))
