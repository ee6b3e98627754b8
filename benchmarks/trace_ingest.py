"""Send events to the trace service while readers follow: is one lost or seen twice, is memory bounded?

    python benchmarks/trace_ingest.py [--events 100000] [--readers 10] [--slow 1] [--senders 2]

Service, senders and readers are separate processes on loopback; the database is a temporary file. The slow
readers pause after every piece they get. The exit code is 1 if a reader misses an event, sees one twice or
out of order, or if the service's memory at the end is more than twice (plus 64 MB) that before the load.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.trace_load import reader_process, report, send, service_process

ALLOWED = 64.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Ingest while readers follow.")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--slow", type=int, default=1, help="how many of the readers are slow")
    parser.add_argument("--senders", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600, help="a reader gives up after that")
    options = parser.parse_args()
    share = options.events // options.senders
    count = share * options.senders
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "traces.db"
        with service_process(database) as service:
            send_one(service.url, 0, 0)
            before = service.memory()
            readers = [
                reader_process(service.url, count, options.seconds, 0.02 if number < options.slow else 0.0)
                for number in range(options.readers)
            ]
            start = time.perf_counter()
            with ProcessPoolExecutor(options.senders) as pool:
                sent = sum(
                    pool.map(
                        send_one,
                        [service.url] * options.senders,
                        [share] * options.senders,
                        [number * share for number in range(options.senders)],
                    )
                )
            ingest_seconds = time.perf_counter() - start
            seen = [report(reader) for reader in readers]
            all_seconds = time.perf_counter() - start
            after, peak, cpu = service.memory(), service.memory("VmHWM"), service.processor_seconds()
        size = database.stat().st_size / 1e6
    print(
        f"{sent:,} of {count:,} events acknowledged in {ingest_seconds:.1f} s:"
        f" {sent / ingest_seconds:,.0f} a second, {cpu / count * 1e6:.0f} µs of the service's processor each"
    )
    print(f"read by all {options.readers} after {all_seconds:.1f} s; database {size:.0f} MB")
    print(f"memory of the service: {before:.0f} MB before, {after:.0f} MB after, {peak:.0f} MB at most")
    print(f"\n{'reader':<10}{'events':>10}{'missing':>10}{'twice':>10}{'out of order':>15}")
    for number, one in enumerate(seen):
        name = f"{number + 1}{' slow' if number < options.slow else ''}"
        print(f"{name:<10}{one['total']:>10,}{one['missing']:>10}{one['twice']:>10}{one['disorder']:>15}")
    whole = all(one["total"] == count and not one["missing"] + one["twice"] + one["disorder"] for one in seen)
    bounded = peak <= before * 2 + ALLOWED
    verdicts = {"none lost, none twice": whole and sent == count, "memory bounded": bounded}
    print("\n" + "; ".join(f"{name}: {'yes' if holds else 'NO'}" for name, holds in verdicts.items()))
    sys.exit(0 if all(verdicts.values()) else 1)


def send_one(url: str, count: int, first: int) -> int:
    return send(url, count, first)


if __name__ == "__main__":
    main()
