"""What `import compact` costs, as a ratio to `import pydantic`, and which vendor packages it loads.

    python benchmarks/import_cost.py [--runs 9] [--check]

Each run is a fresh interpreter; the two imports alternate so that a busy machine slows both alike. With
`--check` the exit code is 1 if a vendor package is loaded or the ratio is 2 or more.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

VENDORS = (
    "agents", "anthropic", "boto3", "genai_prices", "httpx", "openai", "re2", "rich", "sqlalchemy",
    "tiktoken", "typer", "yaml",
)  # fmt: skip
TIMED_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
LOADED = f"import sys, compact; print(*[name for name in {VENDORS!r} if name in sys.modules])"
MOST = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of importing compact.")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"pydantic": [], "compact": []}
    for _ in range(options.runs + 1):
        for name, measured in seconds.items():
            measured.append(float(_python(TIMED_IMPORT.format(name))))
    # The first round fills the disk cache and writes bytecode.
    medians = {name: statistics.median(measured[1:]) for name, measured in seconds.items()}
    ratio = medians["compact"] / medians["pydantic"]
    loaded = _python(LOADED).split()
    for name, median in medians.items():
        print(f"import {name:<9} {median * 1000:7.1f} ms")
    print(f"ratio            {ratio:7.2f}   (at most {MOST})")
    print(f"vendor packages loaded: {', '.join(loaded) or 'none'}")
    if options.check and (loaded or ratio >= MOST):
        raise SystemExit(1)


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
