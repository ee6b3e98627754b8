"""Records the picture of the terminal chat: a real run on the local model, its screen drawn as SVG.

python docs/images/record_chat.py docs/images/chat.svg
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import pyte
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[2]
COLUMNS, ROWS = 84, 28
OPTIONS = ("--model", "local", "--window", "3400", "--set", "policy.hard_cap_buffer=400")
QUESTION = "Thank you. Please wish us a good trip, in one sentence."
_NAMES = {"brown": "yellow", "default": "default"}


def main(target: Path) -> None:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]
    from try_chat import seed

    from support.terminal import chatting

    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        seed()
        with chatting(Path(name), *OPTIONS, columns=COLUMNS, rows=ROWS) as terminal:
            terminal.say("/resume demo")
            terminal.enter(QUESTION)
            terminal.prompted()
            terminal.say("/stats")
            target.write_text(drawn(terminal.screen), encoding="utf-8")


def drawn(screen: pyte.Screen) -> str:
    console = Console(record=True, width=screen.columns, file=io.StringIO(), color_system="truecolor")
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        line = Text()
        for (name, bold, underlined), run in groupby(
            cells, lambda cell: (cell.fg, cell.bold, cell.underscore)
        ):
            style = Style(color=color(name), bold=bold, underline=underlined)
            line.append("".join(cell.data for cell in run), style)
        line.rstrip()
        console.print(line, no_wrap=True)
    # The reader's own font: a picture should load nothing from elsewhere.
    plain = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="compact chat", theme=MONOKAI, code_format=plain) + "\n"


def color(name: str) -> str:
    if len(name) == 6 and all(letter in "0123456789abcdef" for letter in name):
        return f"#{name}"
    name = _NAMES.get(name, name)
    return name.replace("bright", "bright_") if name.startswith("bright") else name


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
