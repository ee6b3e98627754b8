"""Redaction: megabytes per second on ordinary and hostile text, and whether time grows only with length.

Run: python benchmarks/redaction_speed.py [--json]
The exit code is 1 if an ordinary text, whole or in chunks of 200 characters, is slower than 3 MB/s or a
hostile one slower than 1 MB/s, or if four times the text takes more than 6 times as long.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import sys
import time
from collections.abc import Callable

from compact.redaction import Redactor

MEGABYTE = 1_000_000
SIZES = (1.0, 2.0, 4.0)
STREAM_SIZES = (0.25, 0.5, 1.0)
FLOOR = 3.0
HOSTILE_FLOOR = 1.0
"""A hostile text may have a secret every ten bytes, and each costs some microseconds."""
GROWTH = 6.0
CHUNK = 200


def ordinary(kind: str) -> str:
    dice = random.Random(5)
    words = "the agent reads a file and runs tests token key password value path error line commit".split()
    if kind == "prose":
        return " ".join(dice.choice(words) for _ in range(20_000)) + ".\n"
    if kind == "code":
        rows = [
            f"    {dice.choice(words)}_{i} = call_{dice.choice(words)}(index={i})  # note"
            for i in range(2_000)
        ]
        return "\n".join(rows)
    if kind == "json":
        rows_ = [
            {"id": i, "name": dice.choice(words), "hash": f"{dice.getrandbits(160):040x}"} for i in range(900)
        ]
        return json.dumps(rows_)
    if kind == "base64":
        return "".join(dice.choice(string.ascii_letters + string.digits + "+/") for _ in range(60_000))
    return "\n".join(
        f"2024-05-17T08:15:{i % 60:02d}Z INFO https://host{i}:8080/a/b?x={i} ok" for i in range(1_500)
    )


HOSTILE = {
    "names": "password=",
    "names and values": "password=a ",
    "open quotes": 'token="',
    "mixed quotes": "token=\"secret='",
    "escaped quotes": 'token=\\"x ',
    "weak names": "token = secret = ",
    "white space": " \n\t",
    "key blocks": "-" * 5 + "BEGIN RSA PRIVATE KEY" + "-" * 5,
    "blocks and tokens": "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5 + "{" + "gh" + "p_0123456789ab ",
    "jwt starts": "eyJaaaaaaaa-" + "AK" + "IA0123456789ABCDEF-",
    "dotted": "eyJ.",
    "urls": "://a:b",
    "url ports": "://h:80/x@",
    "at signs": "://a:@@",
    "dashes": "sk-",
    "rejected keys": "sk-loading-",
    "letters": "a",
    "digits": "4",
    "curl": "curl -u ",
    "flags": " --a-b-password",
    "cookies": "cookie: a",
    "markup": "<password",
    "backslashes": "\\",
    "headers": "authorization: token ",
    "names and bars": "pass: |",
    "key ends": "ABCDEFGHIJ\n" + "-" * 5 + "END PRIVATE KEY" + "-" * 5 + "\n",
    "base64 lines": "ABCDEFGHIJKL\n",
    "commands": "ldapsearch -w ",
    "header lists": '"name":"token","value":"',
    "settings": "smtp_pass=",
    "quoted settings": "jwt_secret: '",
    "header names": "x-token:",
    "pipes": "echo a | ",
    "pipes and flags": "echo a | x --password-",
    "one-time codes": "otp=123456 ",
    "invisible characters": "pass\u200bword a\u200b",
    "escaped letters": "\\u0070\\u0061ss ",
    "colors": "\x1b[1mpass\x1b[0m ",
    "escaped colors": "\\x1b[31ma",
    "table rows": "a,password\nb,yes\n",
    "headers of tables": "password,\n",
    "rows of one table": "a,password\n" + "".join(f"{n},v{n}\n" for n in range(9_000)),
    "blocks": "password: |\n  $X\n",
    "nested blocks": "".join(f"{' ' * depth}token: |\n" for depth in range(120)),
    "long lines and blocks": "x" * 2_100 + " token: |\n",
    "calls": 'login("a", "',
    "options": "--client-secret a ",
    "clients": "mysql -u x ",
    "appliance lines": "set password x y\n",
    "sentences": "Passwort abc lautet ",
    "long sentences": "password for the big box is nothing ",
    "joined words": "密码是x ",
    "pins": "PIN for a door is 12 ",
    "mixed quotes and digits": "token=\"secret='" * 6 + "1",
}


def whole(redactor: Redactor, text: str) -> None:
    redactor.text(text)


def streamed(redactor: Redactor, text: str) -> None:
    stream = redactor.stream()
    for position in range(0, len(text), CHUNK):
        stream.feed(text[position : position + CHUNK])
    stream.close()


def seconds(work: Callable[[Redactor, str], None], text: str) -> float:
    best = float("inf")
    for _ in range(4):
        redactor = Redactor()  # A new one: each remembers what it found in a text.
        # Processor time, and the best of several: other programs on the machine must not change the figures.
        start = time.process_time()
        work(redactor, text)
        best = min(best, time.process_time() - start)
    return best


def filled(unit: str, megabytes: float) -> str:
    size = int(megabytes * MEGABYTE)
    return (unit * (size // len(unit) + 1))[:size]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--only", default="", help="texts whose name holds this")
    options = parser.parse_args()
    as_json = options.json
    Redactor().text("warm up: password=x")
    results = []
    texts = [(f"ordinary: {kind}", ordinary(kind)) for kind in ("prose", "code", "json", "base64", "log")]
    texts += [(f"hostile: {name}", unit) for name, unit in HOSTILE.items()]
    runs = [(name, unit, whole, SIZES) for name, unit in texts]
    runs += [(f"stream, {name}", unit, streamed, STREAM_SIZES) for name, unit in texts]
    runs = [run for run in runs if options.only in run[0]]
    failed = False
    for name, unit, work, sizes in runs:
        taken = [seconds(work, filled(unit, size)) for size in sizes]
        speed, growth = sizes[-1] / taken[-1], taken[-1] / max(taken[0], 0.02)
        bad = growth > GROWTH or speed < (HOSTILE_FLOOR if "hostile" in name else FLOOR)
        failed = failed or bad
        results.append({"text": name, "mb_per_s": round(speed, 1), "growth_4_fold": round(growth, 2)})
        if not as_json:
            times = "  ".join(
                f"{size:g} MB {value * 1000:7.0f} ms" for size, value in zip(sizes, taken, strict=True)
            )
            print(
                f"{name:38} {speed:8.1f} MB/s  x{growth:4.1f}  {times}{'  TOO SLOW' if bad else ''}",
                flush=True,
            )
    if as_json:
        print(
            json.dumps(
                {
                    "results": results,
                    "floor_mb_per_s": FLOOR,
                    "hostile_floor_mb_per_s": HOSTILE_FLOOR,
                    "failed": failed,
                }
            )
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
