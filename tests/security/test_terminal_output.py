"""Whatever a transcript holds, no command lets it drive the reader's terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from compact.cli import main
from compact.console.context import to_json
from compact.console.terminal import Screen

OSC = "\x1b]52;c;c3RvbGVu\x07"  # writes the clipboard
C1 = "\x9d52;c;c3RvbGVu\x9c"
DIRECTION = "\u202edetrevni\u202c \u2066isolated\u2069 \u200f\u061c"
NASTY = f"Deploy the blue build {OSC}{C1}{DIRECTION}\x1b[2J\x1b[31mto Ulm on Friday."
DANGER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    said = [
        {"role": "user", "content": NASTY},
        {"role": "assistant", "content": f"I will deploy it. {NASTY}"},
    ] * 6
    path = tmp_path / "said.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in said))
    return path


def ran(*argv: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    main(list(argv), stdin=io.StringIO(), stdout=out, stderr=err, environ={})
    return out.getvalue() + err.getvalue()


@pytest.mark.parametrize("color", ["never", "always"])
def test_no_command_prints_what_drives_a_terminal(transcript: Path, color: str) -> None:
    ran("import", str(transcript), "talk")
    name = str(transcript)
    commands = [
        ["summarize", name, "--max-tokens", "300"],
        ["plan", name, "--window", "2000"],
        ["count", name],
        ["lint", name],
        ["recall", "talk", "deploy"],
        ["history"],
        ["history", "talk"],
    ]
    shown = {" ".join(command[:1]): ran(*command, "--color", color) for command in commands}
    for command, text in shown.items():
        bare = re.sub(r"\x1b\[[0-9;]*m", "", text) if color == "always" else text
        assert not DANGER.search(bare), (command, bare)
    assert "Ulm on Friday" in shown["recall"] and "Ulm on Friday" in shown["summarize"]


def test_data_for_programs_stays_what_it_was_and_is_as_harmless(transcript: Path) -> None:
    ran("import", str(transcript), "talk")
    for command in (["export", "talk"], ["run", str(transcript), "--window", "100000"]):
        text = ran(*command)
        first = json.loads(text.splitlines()[0])
        assert first["content"] == NASTY and not DANGER.search(text.replace("\n", ""))
    assert json.loads(to_json({"a": NASTY + "\u2028"})) == {"a": NASTY + "\u2028"}


def test_a_screen_keeps_its_own_styles_only() -> None:
    out = io.StringIO()
    screen = Screen(out, color=True)
    screen.line(screen.styled(f"red {OSC}alert\x1b[5;7m\x1b[8m", "red", "bold"))
    assert out.getvalue() == "\x1b[31;1mred ]52;c;c3RvbGVualert[5;7m[8m\x1b[0m\n"
