"""Each strategy is a table of sections; one routine shares the room among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compact.core.evidence.block import Coverage, build
from compact.core.render import UNTRUSTED_HEADING
from compact.model.message import Role
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive import blocks, decisions, ledgers, pending, steps
from compact.summarizers.extractive.material import Material

_CHAT_SHARE = 0.2
_AGENT_SHARE = (0.5, 0.78)
"""Share of the room that evidence takes: little in a chat; in an agent's run more, the less of it fits."""
_RULES_SHARES = ((0.25, 0.45, 0.76), (0.64, 0.76, 0.76))
"""Of little room and of more, how far likely, certain and standing rules may fill it: what holds for all
that follows outlasts what was done, and comes before any list of values."""
_LEFT_SHARE = 0.9
_SMALL = 2_000
_STEPS_SHARE = 0.5
"""Share of the story's room that steps take in an agent's run."""
_LEAST_PROSE = (0.12, 0.2)
"""The more of the evidence fits, the less it may crowd out what was done and why."""
_REPORTED_SHARE = 0.45
_REPORTED_EASE = 2.2
"""Where about all of the evidence would fit, reports get all of that share; where less does, soon less."""
_REPORTED_FROM = 3_000
_FORMED = frozenset({"decisions", "changes"})
_PROSE = ("decisions", "changes", "steps", "story")
_FORMED_SHARE = 0.7
"""A ledger or a list of changes is what was asked for; facts come second there."""
_GOAL_CHARS = 200
_SLIVER = 70
"""Fewer characters than this tell nothing."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    block: str
    """goal, rules, answers, story, steps, open, progress, questions, decisions, changes or facts."""
    wanted: frozenset[str] | None = None
    """Of a story: which categories of unit belong here."""


def _s(heading: str, block: str, *wanted: str) -> Section:
    return Section(f"## {heading}", block, frozenset(wanted) or None)


STRATEGIES: dict[str, tuple[Section, ...]] = {
    "task_state": (
        _s("Goals", "goal"),
        _s("Constraints", "rules"),
        _s("Decisions and facts", "story"),
        _s("User's answers", "answers"),
        _s("Done", "steps"),
        _s("Outstanding", "open"),
        _s("Key entities", "facts"),
    ),
    "decision_log": (
        _s("Rules", "rules"),
        _s("Decisions", "decisions"),
        _s("Key entities", "facts"),
    ),
    "code_delta": (
        _s("Goals", "goal"),
        _s("Constraints", "rules"),
        _s("Changes", "changes"),
        _s("Why, and what was found", "story", "decision", "fact"),
        _s("Follow-up", "open"),
        _s("Key entities", "facts"),
    ),
    "continuation": (
        _s("Goal", "goal"),
        _s("What was done", "steps"),
        _s("Current state", "story"),
        _s("Preferences", "rules"),
        _s("User's answers", "answers"),
        _s("Next", "open"),
        _s("Calls in progress", "progress"),
        _s("Ids, names and values", "facts"),
    ),
    "site_building": (
        _s("Site and goal", "goal"),
        _s("What was done", "steps"),
        _s("Current state", "story"),
        _s("Preferences", "rules"),
        _s("User's answers", "answers"),
        _s("Next", "open"),
        _s("Calls in progress", "progress"),
        _s("Ids, names and values", "facts"),
    ),
    "rolling": (
        _s("Goals and preferences", "goal"),
        _s("Decisions and constraints", "rules"),
        _s("User's answers", "answers"),
        _s("Facts and entities", "story", "fact", "decision", "preference"),
        _s("Open questions", "questions"),
        _s("Names and values", "facts"),
    ),
}


@dataclass(frozen=True, slots=True)
class Draft:
    trusted: str
    untrusted: str
    shown: tuple[Evidence, ...]

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.trusted, self.untrusted) if part)


def write(material: Material, strategy: str, room: int, evidence_share: float = 0.0) -> Draft:
    """A summary of at most about `room` characters; the caller counts tokens and asks again if need be.

    Evidence gets `evidence_share` of the room if that is more than it would get anyway.
    """
    material.told.clear()
    if strategy == "brief":
        return ledgers.brief(material, room)
    sections = STRATEGIES.get(strategy, STRATEGIES["task_state"])
    names = {section.block for section in sections}
    facts_heading = sections[-1].heading
    evidence_room = int(room * max(evidence_share, _evidence_share(material, room)))
    filled: dict[str, list[str]] = {}
    for name, writer, share in _SMALL_BLOCKS:
        if name == "goal" and room < _SMALL:
            # Without what was wanted the rest means nothing.
            share = max(share * 1.5, min(_GOAL_CHARS, room // 4) / room if room else 0.0)
        if name in names and room * share >= _SLIVER:
            filled[name] = writer(material, int(room * share))
    if "rules" in names:
        newest = filled["goal"][-1] if filled.get("goal") else ""
        unclaimed = int(room * _LEFT_SHARE) - _size(filled, sections)
        likely, certain, standing = (
            min(int(room * share), unclaimed) for share in _RULES_SHARES[room >= _SMALL]
        )
        rooms = (likely, certain, standing)
        filled["rules"] = blocks.rules(material, rooms, as_ledger=strategy == "decision_log", told=newest)
    formed = not names.isdisjoint(_FORMED)
    least = _FORMED_SHARE if formed else _between(_LEAST_PROSE, max(0.0, 2 * _ease(material, room) - 1))
    least = max(least, _reported_share(material, room))
    prose_room = max(int(room * least), room - evidence_room - _size(filled, sections))
    told = frozenset(material.told)
    for _ in range(2):
        material.told.intersection_update(told)
        _fill_prose(filled, material, sections, prose_room, reported=room >= _REPORTED_FROM)
        left = room - _size(filled, sections) - len(facts_heading) - len(UNTRUSTED_HEADING) - 2
        block = build(
            material.evidence,
            left,
            _coverage(filled),
            newest_from=_newest(material),
            whole=room,
            kinds=_KINDS,
        )
        spare = left - block.size
        if spare < max(_SLIVER, room // 25):
            break
        # Evidence ran out before its room did: the story gets the rest, beside what it took itself.
        prose_room = _prose_size(filled) + spare
    filled["facts"] = block.trusted
    trusted = [
        line
        for section in sections
        if filled.get(section.block)
        for line in (section.heading, *filled[section.block])
    ]
    untrusted = [UNTRUSTED_HEADING, *block.untrusted] if block.untrusted else []
    if not trusted and not untrusted:
        trusted = _plainly(material, sections, room)
    return Draft("\n".join(trusted), "\n".join(untrusted), tuple(block.shown))


def _plainly(material: Material, sections: Sequence[Section], room: int) -> list[str]:
    """Where nothing tells enough to be chosen: the newest of what was said, in the strategy's form."""
    ledger = any(section.block == "decisions" for section in sections)
    heading = next(section.heading for section in sections if section.block in ("decisions", "story"))
    lines = blocks.said_last(material, room - len(heading) - 1, as_ledger=ledger)
    return [heading, *lines] if lines else []


def _evidence_share(material: Material, room: int) -> float:
    low, high = _AGENT_SHARE
    agent = _between((high, low), _ease(material, room))
    return _CHAT_SHARE + (agent - _CHAT_SHARE) * min(1.0, 4 * material.tool_share)


def _reported_share(material: Material, room: int) -> float:
    """What the user asked for on the way and what the assistant reported is the story of an agent's run."""
    if not material.reports or room < _REPORTED_FROM:
        return 0.0
    telling = sum(
        len(unit.text)
        for unit in material.units
        if unit.weight and (unit.index in material.reports or unit.role is Role.USER)
    )
    fitting = min(1.0, _REPORTED_EASE * _ease(material, room)) ** 2
    return _REPORTED_SHARE * min(1.0, telling / room) * fitting


def _ease(material: Material, room: int) -> float:
    """From 0, when the evidence by far exceeds the room, to 1, when all of it would fit twice."""
    wanted = sum(len(item.value) + 2 for item in material.evidence if item.kind in _KINDS)
    return min(1.0, room / (2 * wanted + 1))


def _between(ends: tuple[float, float], at: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * at


_SMALL_BLOCKS = (
    ("goal", blocks.goal, 0.13),
    ("open", pending.open_items, 0.12),
    ("progress", pending.in_progress, 0.05),
    ("questions", pending.open_questions, 0.12),
    ("answers", pending.answers, 0.10),
)
_KINDS = frozenset(EvidenceKind) - {EvidenceKind.RULE, EvidenceKind.COMMAND, EvidenceKind.APPROVAL}


def _fill_prose(
    filled: dict[str, list[str]],
    material: Material,
    sections: Sequence[Section],
    room: int,
    *,
    reported: bool,
) -> None:
    for section in sections:
        if section.block == "decisions":
            filled["decisions"] = decisions.decisions(material, room)
        elif section.block == "changes":
            filled["changes"] = ledgers.changes(material, (room * 2) // 3)
            room -= sum(len(line) + 1 for line in filled["changes"])
    if any(section.block == "steps" for section in sections):
        share = _STEPS_SHARE * min(1.0, 4 * material.tool_share)
        if room * share < _SLIVER and share:
            share = 1.0
        filled["steps"] = steps.steps(material, int(room * share), reported=reported)
        room -= sum(len(line) + 1 for line in filled["steps"])
    for section in sections:
        if section.block == "story":
            filled["story"] = blocks.story(material, room, section.wanted)


def _size(filled: dict[str, list[str]], sections: Sequence[Section]) -> int:
    headings = sum(len(section.heading) + 1 for section in sections if filled.get(section.block))
    return headings + sum(len(line) + 1 for lines in filled.values() for line in lines)


def _prose_size(filled: dict[str, list[str]]) -> int:
    return sum(len(line) + 1 for block in _PROSE for line in filled.get(block, ()))


def _coverage(filled: dict[str, list[str]]) -> Coverage:
    return Coverage("\n".join(line for lines in filled.values() for line in lines))


def _newest(material: Material) -> int:
    return material.positions[0] if material.request.previous_evidence and material.positions else 0
