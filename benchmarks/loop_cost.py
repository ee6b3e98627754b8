"""What compactions cost in a loop of tool steps, computed from a policy's numbers alone.

    python benchmarks/loop_cost.py [--runs 60]

No text and no engine: prompts are sizes. Each step adds its call and an output of random size. At the
trigger, old outputs are cleared if the preset does that and it leaves little enough; otherwise a summary of
full length and the newest steps stay, with outputs shortened toward the target. A provider reads from its
cache what comes before the first change. Prints compactions, the share read from the cache (mean, and the
range of nine runs in ten) and tokens per step, with a cached token counted as a tenth. "Nothing left" is
the ceiling: a compaction that leaves only the newest step. `words_survival.py` measures the same with the
engine.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, field
from statistics import mean

from compact.model.policy import Policy
from compact.policies import preset

TASK, CALL, CLEARED = 30, 75, 20
"""Tokens of the user's task, of a call with its words, and of what stands in place of a cleared output."""
LEAST_CAP = 8
SIZES = ((500, 2_000, 300), (1_500, 6_000, 120), (3_000, 12_000, 100))
"""Smallest and largest output, and the number of steps."""


@dataclass
class Loop:
    """The sizes of what would be sent, and what was sent so far."""

    policy: Policy
    window: int
    nothing_left: bool = False
    summary: int = 0
    cleared: int = 0
    outputs: list[float] = field(default_factory=list)
    sent: float = 0
    read_again: float = 0
    compactions: int = 0

    @property
    def size(self) -> float:
        return self.stable + len(self.outputs) * CALL + sum(self.outputs)

    @property
    def stable(self) -> int:
        return TASK + self.summary + self.cleared * (CALL + CLEARED)

    def step(self, output: int) -> None:
        before = self.size if self.outputs else 0
        self.outputs.append(output)
        if len(self.outputs) > 1 and self.size >= self.window * self.policy.trigger_pct:
            self.compactions += 1
            before = self.prune() or self.summarize()
        self.sent += self.size
        self.read_again += self.size - before

    def prune(self) -> int:
        """Clear what lies past the protected outputs; the stable size, or 0 where that is not enough."""
        policy, seen = self.policy, 0.0
        protect = min(policy.prune_protect, self.window * policy.prune_protect_pct)
        minimum = min(policy.prune_minimum, self.window * policy.prune_minimum_pct)
        if not policy.prune or self.nothing_left:
            return 0
        for at in range(len(self.outputs) - 1 - (policy.keep_tool_io_pairs or 1), -1, -1):
            seen += self.outputs[at]
            if seen > protect:
                saved = sum(self.outputs[: at + 1]) - CLEARED * (at + 1)
                if saved < minimum or self.size - saved > policy.prune_accept_pct * self.window:
                    return 0
                stable = self.stable
                self.cleared, self.outputs = self.cleared + at + 1, self.outputs[at + 1 :]
                return stable
        return 0

    def summarize(self) -> int:
        """Leave a summary and the newest steps; only the task before them is as it was."""
        policy, keep = self.policy, 1 if self.nothing_left else self.policy.keep_tool_io_pairs or 1
        self.summary = 0 if self.nothing_left else policy.summary_tokens(self.window)
        self.cleared = 0
        cap = self.window * policy.output_cap_pct
        *older, newest = self.outputs[-keep:]
        self.outputs = [*(min(size, cap) for size in older), newest]
        room = self.window * policy.target_pct - self.size + sum(self.outputs[:-1])
        fitting, left = cap, len(older)
        for size in sorted(self.outputs[:-1]):
            if size * left > room:
                fitting = max(room / left, cap / LEAST_CAP)
                break
            room, left = room - size, left - 1
        self.outputs = [*(min(size, fitting) for size in self.outputs[:-1]), newest]
        return TASK


def run(policy: Policy, window: int, sizes: tuple[int, int, int], seed: int, nothing_left: bool) -> Loop:
    smallest, largest, steps = sizes
    chance = random.Random(seed)
    loop = Loop(policy, window, nothing_left)
    for _ in range(steps):
        loop.step(chance.randrange(smallest, largest))
    return loop


def show(policy: Policy, window: int, sizes: tuple[int, int, int], runs: int, label: str) -> None:
    made = [run(policy, window, sizes, seed, label == "nothing left") for seed in range(runs)]
    hits = sorted(100 * (1 - loop.read_again / loop.sent) for loop in made)
    cost = mean(loop.read_again + (loop.sent - loop.read_again) / 10 for loop in made) / sizes[2]
    count = sorted(loop.compactions for loop in made)
    low, high = hits[runs // 20], hits[-1 - runs // 20]
    print(
        f"{policy.name:7s}{window // 1000:>4}k {sizes[0]:>5,}-{sizes[1]:<6,} {label:24s} "
        f"{count[0]}-{count[-1]} compactions, {mean(hits):.1f}% ({low:.1f}% to {high:.1f}%), "
        f"{cost:,.0f} per step"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=60)
    runs: int = parser.parse_args().runs
    for window in (32_000, 128_000):
        for sizes in SIZES:
            for name in ("budget", "agent"):
                policy = preset(name)
                show(policy, window, sizes, runs, "nothing left")
                for target in (0.35, 0.30, 0.25, 0.20):
                    changed = policy.model_copy(update={"target_pct": target})
                    show(changed, window, sizes, runs, f"target_pct {target:.2f}")
                for accept in (0.50, 0.40) if policy.prune else ():
                    changed = policy.model_copy(update={"prune_accept_pct": accept})
                    show(changed, window, sizes, runs, f"prune_accept_pct {accept:.2f}")


if __name__ == "__main__":
    main()
