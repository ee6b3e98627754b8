"""The building blocks of a summary: goal, rules, steps, story, open items, each bounded by its room."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compact.core.evidence.ledger import RULE_RANK
from compact.core.evidence.numbered import numbered_leads
from compact.core.evidence.releases import said_later
from compact.core.evidence.rules import STANDING
from compact.core.render import neutralize
from compact.model.message import Role
from compact.model.summary import Evidence
from compact.summarizers.extractive.choosing import Chooser
from compact.summarizers.extractive.labels import DECIDED, OPEN
from compact.summarizers.extractive.material import Material
from compact.summarizers.extractive.sentences import SPEAKING, Unit, leans_on

_MIN_ROOM = 40
_FOR_GOOD = re.compile(r"\b(?:always|never|under no circumstances|immer|niemals?)\b", re.IGNORECASE)
_LINE_CHARS = 320
_NEWEST_REPORTS = 3
_SHORTEST_CUT = 12
_GOAL_CHARS = 900
_TELLING_WORDS = 4
_LEAST_LIST_ROOM = 600
_LIST_CHARS = 420
_ITEM_CHARS = 70
_REFERS = re.compile(
    r"\b(?:points?|items?|numbers?|options?|steps?) \d{1,2}\b(?:(?:,| and| or)* ?\d{1,2}\b)*|"
    r"(?<!\d)\b\d{1,2}(?:, ?\d{1,2})* (?:and|or) \d{1,2}\b(?= ?[.,;:(]|$)",
    re.IGNORECASE,
)


def one_line(text: str, limit: int = 0) -> str:
    flat = neutralize(" ".join(text.split()))
    return flat if not limit or len(flat) <= limit else clip(flat, limit)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a word where one is near."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    blank = cut.rfind(" ")
    return (cut[:blank] if blank > limit * 0.6 else cut).rstrip(" ,;:") + "…"


def take(lines: Iterable[str], room: int) -> list[str]:
    """Lines from the front while they fit."""
    taken: list[str] = []
    for line in lines:
        if len(line) + 1 > room:
            break
        taken.append(line)
        room -= len(line) + 1
    return taken


def rules(
    material: Material, rooms: tuple[int, int, int], *, as_ledger: bool = False, told: str = ""
) -> list[str]:
    """Rules word for word; of too many the standing ones stay, then the certain ones, then the newest.

    `rooms` is how far likely, certain and standing rules may fill up. Those of the moment that are `told` go.
    """
    form = "[m{0.message}] rule :: “{1}”{2} :: - :: -" if as_ledger else "- “{1}” [m{0.message}]{2}"
    wording = [(rule, one_line(rule.value), one_line(said_later(rule))) for rule in material.rules]
    lines = [
        (form.format(rule, words, later), _certainty(rule, words))
        for rule, words, later in wording
        if words not in told or later or STANDING.search(words)
    ]
    if sum(len(line) + 1 for line, _ in lines) <= rooms[0]:
        return [line for line, _ in lines]
    ranked = sorted(range(len(lines)), key=lambda at: (-lines[at][1], -at))
    kept: list[int] = []
    size = 0
    for at in ranked:
        line, certainty = lines[at]
        if size + len(line) + 1 <= rooms[min(certainty, 2)]:
            size += len(line) + 1
            kept.append(at)
    return [lines[at][0] for at in sorted(kept)]


def _certainty(rule: Evidence, words: str) -> int:
    """How surely a rule is one and holds for good."""
    if _FOR_GOOD.search(words):
        return 3
    return 2 if STANDING.search(words) else 1 if rule.rank >= RULE_RANK else 0


def goal(material: Material, room: int) -> list[str]:
    """What the user wants: the first request and the newest, and what an earlier summary had as goal."""
    whole = room
    lines = _earlier_goal(material, (room * 3) // 4)
    room -= sum(len(line) + 1 for line in lines)
    room = min(room, _GOAL_CHARS)
    asked = [unit for unit in material.units if unit.role is Role.USER]
    if not asked or material.is_dialogue:
        return lines
    first, last = asked[0].index, asked[-1].index
    wanted = {first, last}
    if (
        lines
        and first != last
        and all(len(unit.words) < _TELLING_WORDS for unit in asked if unit.index == first)
    ):
        wanted = {last}  # "Go on with item 57" is no goal beside the task that it belongs to
    # The newest request is what comes next: it gets its room first, and is told whole if that is enough.
    latest = [unit for unit in asked if unit.index == last]
    newest = _request_line(material, latest, room, whole=True)
    if first != last and material.positions[last] in {rule.message for rule in material.rules}:
        reading = material.ledger.reading
        cut = not reading or one_line(reading.texts[last]) not in newest
        if cut and not any(unit.weight for unit in latest):
            newest = ""  # what it asks for is quoted among the rules; the rest asks for nothing
    room -= len(newest) + 1
    if first in wanted and first != last:
        lines.append(_request_line(material, [unit for unit in asked if unit.index == first], room))
    return [line for line in (*lines, _meant_list(material, last, whole), newest) if line]


def _meant_list(material: Material, index: int, room: int) -> str:
    """The list that "build 3 and 5 of those" speaks of: without it the newest request means nothing."""
    reading = material.ledger.reading
    refers = _REFERS.search(reading.texts[index]) if reading else None
    if reading is None or refers is None or room < _LEAST_LIST_ROOM:
        return ""
    numbers = set(map(int, re.findall(r"\b\d{1,2}\b", refers.group())))
    for at in range(index - 1, -1, -1):
        if reading.messages[at].role is Role.ASSISTANT and "1." in reading.texts[at]:
            items = numbered_leads(reading.texts[at])
            if len(items) > 2 and numbers <= items.keys():
                named = "; ".join(f"{number}. {clip(lead, _ITEM_CHARS)}" for number, lead in items.items())
                return f"- [m{material.positions[at]}] the list: {one_line(named, _LIST_CHARS)}"
    return ""


def _earlier_goal(material: Material, room: int) -> list[str]:
    """The first task of all, shortened if need be, and of the later ones those that tell something."""
    if not material.earlier_goal or room < _MIN_ROOM:
        return []
    first, *later = material.earlier_goal
    # The dash comes first, or our own "[m3] User:" would be taken for a forged label.
    lines = [one_line(f"- {first}", room - 1)]
    telling = (one_line(f"- {line}") for line in later if len(line.split()) > 2 * _TELLING_WORDS)
    return lines + take(telling, room - len(lines[0]) - 1)


def _request_line(material: Material, units: Sequence[Unit], room: int, *, whole: bool = False) -> str:
    index = units[0].index
    head = f"- [m{material.positions[index]}] "
    room -= len(head) + 1
    if room < _MIN_ROOM:
        return ""
    hiding = material.ledger.hiding
    text = one_line(material.ledger.reading.texts[index]) if whole and material.ledger.reading else ""
    if text and len(text) <= (room * 2) // 3 and not (hiding and hiding.hides(text)):
        material.told.update(unit.number for unit in units)
        return head + text
    telling = [unit for unit in units if unit.weight] or list(units)
    # People say what they want first; what follows is detail that the story and the facts may pick up.
    taken: list[Unit] = []
    for unit in telling:
        if taken and sum(len(one.text) + 2 for one in (*taken, unit)) > room:
            break
        taken.append(unit)
        material.told.add(unit.number)
    return head + one_line(sentences(taken), room)


def story(material: Material, room: int, wanted: frozenset[str] | None = None) -> list[str]:
    """The telling units as minutes: `- [m10-m16] Nate: … Joanna: …`; earlier lines first."""
    earlier = take((one_line(f"- {line}") for line in material.earlier), room // 2)
    room -= sum(len(line) + 1 for line in earlier)
    key = ("story", wanted)
    chooser = material.choosers.get(key)
    if chooser is None:
        units = [unit for unit in material.units if unit.number not in material.told]
        if wanted is not None:
            units = [unit for unit in units if category(unit) in wanted]
        chooser = material.choosers[key] = Chooser(units, material.weights, 8 if material.is_dialogue else 11)
    newest = decided_last(material) or reported_last(material)
    kept = _fitting(newest, room // 2) or _fitting(newest[:1], room)
    numbers = {unit.number for unit in kept}
    numbers |= material.told  # a chooser of an earlier try does not know what is told since
    chosen = kept + [unit for unit in chooser.choose(room) if unit.number not in numbers]
    if newest and not kept:  # an older report alone would tell what is no more
        chosen = [unit for unit in chosen if unit.index not in material.reports]
    chosen, grounds = with_grounds(material, chosen)
    lines = _minutes(material, chosen)
    while chosen and (excess := sum(len(line) + 1 for line in lines) - room) > 0:
        while chosen and excess > 0:  # what was chosen last tells least
            excess -= len(chosen.pop().text) + 2
            while chosen and chosen[-1].number in grounds:
                excess -= len(chosen.pop().text) + 2
        lines = _minutes(material, chosen)
    return earlier + lines


def with_grounds(material: Material, chosen: Sequence[Unit]) -> tuple[list[Unit], set[int]]:
    """What was chosen; before each unit that leans on the one before it, that one, if no section tells it.

    Also the numbers of those that came in so: alone they are of no use.
    """
    told = {unit.number for unit in chosen} | material.told
    before: dict[int, Unit] = {}
    last: Unit | None = None
    for unit in material.units:
        if last is not None and last.number == unit.number - 1:
            before[unit.number] = last
        last = unit
    grounded: list[Unit] = []
    grounds: set[int] = set()
    for unit in chosen:
        needed = [unit]
        while (ground := before.get(needed[0].number)) and leans_on(needed[0], ground):
            if ground.number in told:
                break
            told.add(ground.number)
            grounds.add(ground.number)
            needed.insert(0, ground)
        grounded += needed
    return grounded, grounds


def said_last(material: Material, room: int, *, as_ledger: bool = False) -> list[str]:
    """The newest messages of user and assistant as they stand, as many as fit; one is cut if none does."""
    reading, hiding = material.ledger.reading, material.ledger.hiding
    lines: list[str] = []
    for index in range(len(material.messages) - 1, -1, -1):
        message = material.messages[index]
        text = one_line(reading.texts[index]) if reading and reading.is_original(index) else ""
        if not text or message.role not in SPEAKING or (hiding and hiding.hides(text)):
            continue
        who = "user" if message.role is Role.USER else "assistant"
        head = (
            f"[m{material.positions[index]}] "
            if as_ledger
            else f"- [m{material.positions[index]}] {who.title()}: "
        )
        tail = f" :: - :: said by {who} :: -" if as_ledger else ""
        left = room - len(head) - len(tail) - 1
        if left < len(text) and (lines or left < _SHORTEST_CUT):
            break
        lines.insert(0, f"{head}{clip(text, left)}{tail}")
        room -= len(lines[0]) + 1
    return lines


def decided_last(material: Material) -> list[Unit]:
    """What the newest list of decisions says: it holds, whatever was said before."""
    listed = [
        unit
        for unit in material.units
        if unit.label is DECIDED and unit.number not in material.told and not unit.text.endswith(":")
    ]
    newest = max((unit.index for unit in listed), default=-1)
    return [unit for unit in listed if unit.index == newest]


def reported_last(material: Material) -> list[Unit]:
    """The first words of each report, newest first: where things stand, whatever older ones say."""
    leads: dict[int, Unit] = {}
    for unit in material.units if material.reports else ():
        if unit.index not in material.reports or unit.index in leads or not unit.weight:
            continue
        if unit.label is not OPEN and unit.number not in material.told and not unit.offers:
            leads[unit.index] = unit
    return [leads[index] for index in sorted(leads, reverse=True)][:_NEWEST_REPORTS]


def _fitting(units: Sequence[Unit], room: int) -> list[Unit]:
    taken: list[Unit] = []
    for unit in units:
        room -= len(unit.text) + 11
        if room < 0:
            break
        taken.append(unit)
    return taken


def category(unit: Unit) -> str:
    """Which part of a summary a unit belongs to."""
    if unit.text.endswith("?"):
        return "question"
    if _PREFERENCE.search(unit.text) and unit.role is Role.USER:
        return "preference"
    return "decision" if _DECISION.search(unit.text) else "fact"


_PREFERENCE = re.compile(
    r"\b(?:prefer|like|love|hate|dislike|favou?rite|rather|want|wish|hope|goal|plan to|would like|"
    r"i['’]d like|don['’]t want|instead)\b",
    re.I,
)
_DECISION = re.compile(
    r"\b(?:decid\w*|chose|chosen|choose|agreed?|settled|because|so that|instead of|rather than|"
    r"the (?:issue|problem|bug|cause|fix|solution)|"
    r"root cause|fixed|resolved|confirmed|added|changed|moved|removed|replaced|implemented|created|updated|"
    r"cancell?ed|booked|switched|will use|must|cannot)\b",
    re.IGNORECASE,
)


def _minutes(material: Material, chosen: Sequence[Unit]) -> list[str]:
    units = sorted(chosen, key=lambda unit: unit.number)
    lines: list[str] = []
    body = speaker = ""
    first = last = before = -1
    people = material.is_dialogue
    # What was only proposed must not read as decided.
    offering = set() if people else {unit.index for unit in units if unit.offers}

    def flush() -> None:
        if body:
            start, end = material.positions[first], material.positions[last]
            cite = f"[m{start}]" if start == end else f"[m{start}-m{end}]"
            lines.append(f"- {cite} {body}")

    for unit in units:
        who = unit.speaker or ("User" if unit.role is Role.USER and not people else "")
        who = "Assistant" if unit.index in offering else who
        apart = not people and unit.index != last
        if body and (apart or len(body) + len(unit.text) > _LINE_CHARS):
            flush()
            body, speaker = "", ""
        if not body:
            first = unit.index
        if who and (who != speaker or not body):
            body += f"{' ' if body else ''}{who}:"
        speaker = who
        last = unit.index
        if body and unit.joint and unit.number == before + 1:
            body = f"{body.removesuffix('.')}{unit.joint}{_ended(neutralize(unit.text))}"
        else:
            body += f"{' ' if body else ''}{sentence(unit)}"
        before = unit.number
    flush()
    return lines


def sentence(unit: Unit) -> str:
    """A unit as a sentence of its own."""
    text = unit.told
    if unit.joint:
        text = text[:1].upper() + text[1:]
    return _ended(text)


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?…。！？:" else text + "."


def sentences(units: Sequence[Unit]) -> str:
    """Units as prose: clauses that followed each other are one sentence again."""
    said = ""
    before = -1
    for unit in units:
        if said and unit.joint and unit.number == before + 1:
            said = f"{said.removesuffix('.')}{unit.joint}{_ended(neutralize(unit.text))}"
        else:
            said += f"{' ' if said else ''}{sentence(unit)}"
        before = unit.number
    return said
