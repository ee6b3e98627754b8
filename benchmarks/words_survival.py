"""What of the user's words and the assistant's conclusions is still in the prompt after many compactions.

    python benchmarks/words_survival.py [--statements FILE ...] [--conclusions FILE ...] [--quick] [--show N]

FILE is a JSON list of {"message", "key": [strings], "lang", "kind"}; without one, those in benchmarks/data.
Statements are said in passing, thirty a session, between requests, answers and tool output; then the session
goes on until so many compactions ran. A statement survives if the prompt holds all of its keys. Conclusions
are stated once each in a run of one task and 120 tool steps of 1,500 to 6,000 tokens.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from compact import CompactConfig, CompactManager
from compact.model.record import RecordKind

DATA = Path(__file__).with_name("data")
WORDS = (
    "batch worker queue parser importer ledger report invoice schema buffer cursor widget handler record "
    "stream column filter bucket socket thread packet header footer module branch commit index vector "
    "matrix kernel driver window editor folder marker router bridge signal sensor canvas"
).split()
PER_SESSION = 30


def load(paths: Sequence[Path]) -> list[dict[str, Any]]:
    return [item for path in paths for item in json.loads(path.read_text(encoding="utf-8"))]


def output(rng: random.Random, tokens: int) -> str:
    """Tool output of about so many tokens: a listing with names, numbers and codes."""
    lines, size = [], 0
    while size < tokens * 3.4:
        words = " ".join(rng.choices(WORDS, k=6))
        path = f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{rng.randrange(99)}.py"
        line = f"{rng.randrange(1, 900):>4}  {path}: "
        line += f"{words} = {rng.choice(WORDS)}_{rng.randrange(10_000):04x}({rng.random():.4f})"
        lines.append(line)
        size += len(line)
    return "\n".join(lines)


def prose(rng: random.Random, sentences: int) -> str:
    forms = (
        "The {} reads the {} and hands it to the {}.",
        "In the {} there is a {} beside the {}.",
        "Each {} of the {} goes through the {} first.",
        "The {} keeps a {} for every {}.",
    )
    return " ".join(rng.choice(forms).format(*rng.sample(WORDS, 3)) for _ in range(sentences))


def tool_step(rng: random.Random, number: int, said: str, tokens: int) -> list[dict[str, Any]]:
    path = f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{number}.py"
    call = {"id": f"call_{number}", "type": "function"}
    call_ = {**call, "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call_]},
        {"role": "tool", "tool_call_id": call["id"], "content": output(rng, tokens)},
    ]


def talk(rng: random.Random, number: int, said: str, kind: str) -> list[dict[str, Any]]:
    """A user's turn with its answer; in coding sessions a tool step stands between them."""
    turn: list[dict[str, Any]] = [{"role": "user", "content": said}]
    if kind == "coding":
        turn += tool_step(
            rng, number, f"Let me look at the {rng.choice(WORDS)} first.", rng.randrange(300, 900)
        )
    answer = prose(rng, rng.randrange(3, 9) if kind != "chat" else rng.randrange(10, 25))
    return [*turn, {"role": "assistant", "content": answer}]


def request(rng: random.Random, number: int) -> str:
    forms = (
        "Go on with the {} now.",
        "What does the {} do with the {}?",
        "Check the {} next.",
        "And the {}?",
    )
    return rng.choice(forms).format(*rng.sample(WORDS, 2)) + f" (part {number})"


def scripted(request: Any) -> str:
    """A model that tells the story in its own words and repeats nobody's."""
    told = "The work on the modules goes on. The files were read and the open parts were looked at in turn. "
    return (told * 400)[: int(request.max_tokens * 3)].rpartition(".")[0] + "."


def manager_for(preset: str, window: int, model: bool = False, **policy: Any) -> CompactManager:
    config = CompactConfig(
        model="gpt-4o",
        preset=preset,
        max_context_tokens=window,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
        policy=policy,
    )
    return CompactManager(config, summarizer=scripted if model else None)


def texts_of(prompt: Sequence[dict[str, Any]]) -> str:
    return "\n".join(str(message.get("content") or "") for message in prompt)


def held(item: dict[str, Any], sent: str) -> bool:
    flat = " ".join(sent.split())
    return all(" ".join(key.split()) in flat for key in item["key"])


def compactions(manager: CompactManager) -> int:
    return sum(record.kind is not RecordKind.PRUNE for record in manager.records("s"))


def run_words(
    statements: Sequence[dict[str, Any]], kind: str, manager: CompactManager, rounds: int, seed: int
) -> str:
    """The prompt after so many compactions since the last statement was said."""
    rng = random.Random(seed)
    waiting, messages, prompt = list(statements), [], []
    number, since = 0, None
    while since is None or compactions(manager) < since + rounds:
        number += 1
        said = waiting.pop(0)["message"] if waiting and number % 2 else request(rng, number)
        if not waiting and since is None:
            since = compactions(manager) if number > 3 else None
        messages += talk(rng, number, said, kind)
        prompt = manager.preflight("s", [*messages, {"role": "user", "content": f"Next, part {number}."}])
        if number > 4_000:
            raise SystemExit("no compaction comes")
    return texts_of(prompt)


def measure_words(
    statements: Sequence[dict[str, Any]], preset: str, window: int, rounds: int, model: bool, show: int
) -> dict[str, tuple[int, int]]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for start in range(0, len(statements), PER_SESSION):
        part = statements[start : start + PER_SESSION]
        kind = ("coding", "support", "chat")[start // PER_SESSION % 3]
        sent = run_words(part, kind, manager_for(preset, window, model), rounds, seed=start)
        for item in part:
            kept = held(item, sent)
            for key in ("all", item["lang"]):
                found[key][0] += kept
                found[key][1] += 1
            if not kept and show > 0:
                show -= 1
                print(f"    lost [{item['lang']}]: {item['message'][:120]!r} {item['key']}")
    return {key: (kept, total) for key, (kept, total) in found.items()}


def run_conclusions(
    conclusions: Sequence[dict[str, Any]], preset: str, window: int, steps: int = 120, seed: int = 5
) -> tuple[str, CompactManager]:
    rng = random.Random(seed)
    manager = manager_for(preset, window)
    task = "Find out why the nightly import of the ledger is slow, and make it fast. Do not touch the schema."
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    places = {int((at + 0.5) * steps * 0.85 / len(conclusions)): item for at, item in enumerate(conclusions)}
    prompt: Sequence[Any] = messages
    for step in range(steps):
        said = places[step]["message"] if step in places else f"Let me look at the {rng.choice(WORDS)} next."
        messages += tool_step(rng, step, said, rng.randrange(1_500, 6_000))
        prompt = manager.preflight("s", messages)
    return texts_of(prompt), manager


def shares(found: dict[str, tuple[int, int]]) -> str:
    total, count = found["all"]
    by = "  ".join(f"{key} {100 * kept / n:.0f}" for key, (kept, n) in sorted(found.items()) if key != "all")
    return f"{100 * total / count:5.1f} % of {count}   {by}"


def settings(quick: bool) -> Iterator[tuple[str, int, int, bool]]:
    for preset in ("budget", "chat", "rolling"):
        for model in (False, True):
            yield preset, 16_000, 3, model
            if not quick:
                yield preset, 16_000, 10, model
                yield preset, 64_000, 3, model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--statements", nargs="*", type=Path, default=sorted(DATA.glob("statements*.json")))
    parser.add_argument("--conclusions", nargs="*", type=Path, default=sorted(DATA.glob("conclusions*.json")))
    parser.add_argument("--quick", action="store_true", help="16k and three compactions only")
    parser.add_argument("--show", type=int, default=0, help="print so many of what was lost")
    given = parser.parse_args()
    statements, conclusions = load(given.statements), load(given.conclusions)
    for preset, window, rounds, model in settings(given.quick):
        found = measure_words(statements, preset, window, rounds, model, given.show)
        by = "model's prose" if model else "embedded"
        print(f"words {preset:8s} {window // 1000}k after {rounds:2d}, {by:13s} {shares(found)}", flush=True)
    for preset, window in (("budget", 32_000), ("agent", 32_000), ("budget", 128_000), ("agent", 128_000)):
        count = kept = 0
        made = []
        for start in range(0, len(conclusions), 24):
            part = conclusions[start : start + 24]
            sent, manager = run_conclusions(part, preset, window)
            count, kept = count + len(part), kept + sum(held(item, sent) for item in part)
            made.append(len(manager.records("s")))
            for item in part if given.show else ():
                if not held(item, sent):
                    print(f"    lost [{item['lang']}]: {item['message'][:140]!r}")
        print(f"conclusions {preset:8s} {window // 1000}k {100 * kept / count:5.1f} % of {count}, {made}")


if __name__ == "__main__":
    main()
