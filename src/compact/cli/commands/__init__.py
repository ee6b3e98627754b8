"""One file per command: `add_arguments(parser)` and `run(context) -> ExitCode`.

A new command is a file here and a line in `compact.cli.registry`.
"""
