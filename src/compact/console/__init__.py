"""What every command that runs in a terminal shares: arguments, streams, settings, files, exit codes."""
