"""How much of the user's words and the assistant's conclusions is in the prompt after many compactions.

    python benchmarks/words_survival.py [--statements FILE ...] [--conclusions FILE ...] [--only words,...]

FILE is a JSON list of {"id", "message", "key": [strings], "lang", "kind", "corrects"?}; without one, those in
benchmarks/data. Statements are said in passing, thirty a session, between requests, answers and tool output;
then the session goes on until enough compactions ran. A statement survives if the prompt holds all of its
keys. A correction fails if the older statement is there and the newer is not. Conclusions are stated once
each in a run of one task and 120 tool steps of 1,500 to 6,000 tokens (at 128k, as many as give seven
compactions); what a provider's cache would have had of its prompts is printed beside. `--only loop` runs
`tool_loop.py`: the same steps without conclusions, with a long system prompt and with large outputs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tool_loop import WORDS, Message, manager_for, print_loops, run_loop, text_of, tool_step

from compact import CompactManager
from compact.model.record import RecordKind

DATA = Path(__file__).with_name("data")
PER_SESSION = 30
KINDS = ("coding", "support", "chat")
MOST_TURNS = 6_000

Item = dict[str, Any]


def load(paths: Sequence[Path]) -> list[Item]:
    return [item for path in paths for item in json.loads(path.read_text(encoding="utf-8"))]


def sessions(statements: Sequence[Item]) -> list[list[Item]]:
    """About thirty a session, languages and kinds mixed; a correction stands behind what it corrects."""
    count = -(-len(statements) // PER_SESSION)
    made: list[list[Item]] = [[] for _ in range(count)]
    home: dict[str, int] = {}
    number = 0
    for item in statements:
        at = home.get(item.get("corrects", ""))
        if at is None:
            at, number = number % count, number + 1
        home[item["id"]] = at
        made[at].append(item)
    return made


def prose(rng: random.Random, sentences: int) -> str:
    forms = (
        "The {} reads the {} and hands it to the {}.",
        "In the {} there is a {} beside the {}.",
        "Each {} of the {} goes through the {} first.",
        "The {} keeps a {} for every {}.",
    )
    return " ".join(rng.choice(forms).format(*rng.sample(WORDS, 3)) for _ in range(sentences))


def turn(rng: random.Random, number: int, said: str, kind: str) -> list[Message]:
    """A user's turn with its answer; in coding sessions a tool step stands between them."""
    made: list[Message] = [{"role": "user", "content": said}]
    if kind == "coding":
        look = f"Let me look at the {rng.choice(WORDS)} first."
        made += tool_step(rng, number, look, rng.randrange(300, 900))
    answer = prose(rng, rng.randrange(3, 9) if kind != "chat" else rng.randrange(10, 25))
    return [*made, {"role": "assistant", "content": answer}]


def request(rng: random.Random, number: int) -> str:
    forms = (
        "Go on with the {} now.",
        "What does the {} do with the {}?",
        "Check the {} next.",
        "And the {}?",
    )
    return rng.choice(forms).format(*rng.sample(WORDS, 2)) + f" (part {number})"


def scripted(request: Any) -> str:
    """A model that reports in its own words and repeats nobody's."""
    line = "The work on the modules goes on. The files were read and the open parts were looked at in turn. "
    return (line * 400)[: int(request.max_tokens * 3)].rpartition(".")[0] + "."


def held(item: Item, sent: str) -> bool:
    flat = " ".join(sent.split())
    return all(" ".join(key.split()) in flat for key in item["key"])


def summaries(manager: CompactManager) -> int:
    return sum(record.kind is not RecordKind.PRUNE for record in manager.records("s"))


def run_words(
    statements: Sequence[Item], kind: str, manager: CompactManager, rounds: Sequence[int], seed: int
) -> dict[int, str]:
    """The prompt after each of these numbers of compactions since the last statement was said."""
    rng = random.Random(seed)
    waiting, messages = list(statements), []
    found: dict[int, str] = {}
    since = None
    for number in range(1, MOST_TURNS):
        said = waiting.pop(0)["message"] if waiting and number % 2 else request(rng, number)
        if not waiting and since is None:
            since = summaries(manager)
        messages += turn(rng, number, said, kind)
        prompt = manager.preflight("s", [*messages, {"role": "user", "content": f"Next, part {number}."}])
        for wanted in rounds if since is not None else ():
            if wanted not in found and summaries(manager) >= since + wanted:
                found[wanted] = text_of(prompt)
        if len(found) == len(rounds):
            return found
    raise SystemExit("no compaction comes")


@dataclass
class Tally:
    kept: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    lost: list[Item] = field(default_factory=list)
    stale: list[Item] = field(default_factory=list)
    """Corrections that are missing where what they correct is there."""

    def add(self, items: Sequence[Item], sent: str) -> None:
        there = {item["id"] for item in items if held(item, sent)}
        for item in items:
            for key in ("all", item["lang"]):
                self.kept[key] += item["id"] in there
                self.of[key] += 1
            if item["id"] not in there:
                self.lost.append(item)
                if item.get("corrects") in there:
                    self.stale.append(item)

    def __str__(self) -> str:
        shares = {key: 100 * self.kept[key] / count for key, count in self.of.items()}
        by = "  ".join(f"{key} {share:.0f}%" for key, share in sorted(shares.items()) if key != "all")
        stale = f"{len(self.stale)} stale"
        return f"{shares['all']:5.1f}% of {self.of['all']}, {stale}   {by}"


def measure_words(
    statements: Sequence[Item], preset: str, window: int, rounds: Sequence[int], model: bool
) -> dict[int, Tally]:
    found = {wanted: Tally() for wanted in rounds}
    for number, part in enumerate(sessions(statements)):
        manager = manager_for(preset, window, scripted if model else None)
        sent = run_words(part, KINDS[number % 3], manager, rounds, seed=number)
        for wanted in rounds:
            found[wanted].add(part, sent[wanted])
    return found


def print_words(statements: Sequence[Item], quick: bool, show: bool) -> None:
    settings: Iterator[tuple[int, tuple[int, ...]]] = iter(
        ((16_000, (3,)),) if quick else ((16_000, (3, 10)), (64_000, (3,)))
    )
    for window, rounds in settings:
        for preset in ("budget", "chat", "rolling"):
            for model in (False, True):
                by = "beside prose" if model else "embedded"
                for wanted, tally in measure_words(statements, preset, window, rounds, model).items():
                    print(
                        f"words {preset:8s}{window // 1000}k after {wanted:2d}, {by:13s}{tally}", flush=True
                    )
                    for item in tally.lost if show else ():
                        print(f"    lost {item['id']} {item['lang']}: {item['message'][:140]!r}")


def print_conclusions(conclusions: Sequence[Item], show: bool) -> None:
    for preset, window, steps in (
        ("budget", 32_000, 120),
        ("agent", 32_000, 120),
        ("budget", 128_000, 200),
        ("agent", 128_000, 200),
    ):
        tally, made = Tally(), []
        for start in range(0, len(conclusions), 24):
            part = conclusions[start : start + 24]
            places = {int((at + 0.5) * steps * 0.85 / len(part)): item for at, item in enumerate(part)}
            said_at = {step: item["message"] for step, item in places.items()}
            loop = run_loop(preset, window, steps, said_at=said_at)
            tally.add(part, loop.sent)
            made.append(f"{loop.compactions} compactions, {loop.cached:.1%} cached")
        print(f"conclusions {preset:8s}{window // 1000}k {tally}   {'; '.join(made)}", flush=True)
        for item in tally.lost if show else ():
            print(f"    lost {item['id']} {item['lang']}: {item['message'][:140]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--statements", nargs="*", type=Path, default=sorted(DATA.glob("statements*.json")))
    parser.add_argument("--conclusions", nargs="*", type=Path, default=sorted(DATA.glob("conclusions*.json")))
    parser.add_argument("--quick", action="store_true", help="words at 16k after three compactions only")
    parser.add_argument("--only", choices=("words", "conclusions", "loop"))
    parser.add_argument("--show", action="store_true", help="print what was lost")
    given = parser.parse_args()
    if given.only in (None, "words"):
        print_words(load(given.statements), given.quick, given.show)
    if given.only in (None, "conclusions"):
        print_conclusions(load(given.conclusions), given.show)
    if given.only == "loop":
        print_loops(seeds=3, steps=120)


if __name__ == "__main__":
    main()
