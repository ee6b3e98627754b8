"""What a command gets: arguments, streams and settings."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from compact.console.terminal import UNSAFE, Screen
from compact.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.console.files import Transcript

_UNSAFE = re.compile(f"{UNSAFE.pattern}|[\u2028\u2029]")


@dataclass(frozen=True)
class Context:
    """Only results go to `out`; notes, warnings and progress go to `err`."""

    args: Namespace
    stdin: TextIO
    out: Screen
    err: Screen
    environ: Mapping[str, str]

    def note(self, text: str) -> None:
        if not self.args.quiet:
            self.err.line(text)

    def warn(self, text: str) -> None:
        self.err.line(self.err.styled(f"warning: {text}", "yellow"))

    def print_json(self, value: Any) -> None:
        self.out.write(to_json(value, indent=2) + "\n")

    def token(self) -> str | None:
        """The token of a server, out of the variable that `--token-env` names."""
        name = self.args.token_env
        if name is None:
            return None
        value = self.environ.get(name, "").strip()
        if not value:
            raise ConfigError(f"The variable {name} is not set or empty. Nothing was started.", "token-env")
        return value

    def transcript(self) -> Transcript:
        """The conversations in the named file or on standard input."""
        from compact.console.files import read

        path = self.args.file
        if path is None and self.stdin.isatty():
            raise FormatError(
                f"No FILE was given and nothing is piped in. Try: compact {self.args.command} FILE"
            )
        transcript = read(path or "-", self.stdin)
        return transcript.picked(self.args.pick) if self.args.pick else transcript

    def config(self, transcript: Transcript | None = None) -> CompactConfig:
        """Settings from the file, the variables, the model in a request body, and the command line.

        Later sources win.
        """
        from compact.console.options import load_config

        config, noticed = load_config(self, transcript.model if transcript is not None else None)
        for warning in noticed:
            self.warn(warning)
        return config


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that any stream accepts: lone surrogates, which are not valid UTF-8, are escaped.

    So are terminal control characters and characters that some readers treat as line breaks.
    """
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent, separators=separators, default=str)
    # Line breaks only separate values; inside strings, JSON has already escaped them.
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
