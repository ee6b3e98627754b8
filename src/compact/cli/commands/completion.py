"""`compact completion`: a script that completes commands and options in a shell."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

from compact.cli.registry import SUMMARIES, command
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import add_output

_INSTALL = {
    "bash": 'eval "$(compact completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(compact completion zsh)"    # in ~/.zshrc',
    "fish": "compact completion fish > ~/.config/fish/completions/compact.fish",
}

_BASH = """_compact() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="" each
    for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case " {names} " in *" $each "*) command="$each"; break;; esac
    done
    if [[ -z "$command" ]]; then COMPREPLY=($(compgen -W "{names}" -- "$word")); return; fi
    if [[ "$word" == -* ]]; then
        case "$command" in
{cases}
        esac
        return
    fi
    COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _compact compact"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_INSTALL), help="the shell to write the script for")


def run(context: Context) -> ExitCode:
    shell = context.args.shell
    context.out.line(f"# {_INSTALL[shell]}")
    if shell == "fish":
        for line in _fish():
            context.out.line(line)
        return ExitCode.OK
    if shell == "zsh":
        context.out.line("autoload -U +X bashcompinit && bashcompinit")
    cases = "\n".join(
        f'            {name}) COMPREPLY=($(compgen -W "{" ".join(options_of(name))}" -- "$word"));;'
        for name in SUMMARIES
    )
    context.out.line(_BASH.format(names=" ".join(SUMMARIES), cases=cases))
    return ExitCode.OK


def options_of(name: str) -> list[str]:
    """Every long option of a command, taken from its parser."""
    parser = ArgumentParser(add_help=True)
    command(name).add_arguments(parser)
    add_output(parser)
    return sorted(option for option in parser._option_string_actions if option.startswith("--"))


def _fish() -> Iterator[str]:
    fresh = f"not __fish_seen_subcommand_from {' '.join(SUMMARIES)}"
    for name, summary in SUMMARIES.items():
        described = summary.replace("'", "")
        yield f"complete -c compact -f -n '{fresh}' -a {name} -d '{described}'"
        for option in options_of(name):
            yield f"complete -c compact -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
