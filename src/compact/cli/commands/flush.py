"""`compact flush`: send what is queued for an unreachable archive now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import add_settings
from compact.console.terminal import plural
from compact.errors import ArchiveError, ConfigError


def add_arguments(parser: ArgumentParser) -> None:
    add_settings(parser)


def run(context: Context) -> ExitCode:
    from compact.archives.queue import QueuedArchive
    from compact.wiring.adapters import archive_for, redactor_for

    config = context.config()
    # The queue is sent even if the setting has changed since.
    settings = config.archive.model_copy(update={"on_failure": "queue"})
    archive = archive_for(config.model_copy(update={"archive": settings}), redactor_for(config))
    if not isinstance(archive, QueuedArchive):
        raise ConfigError("archive.adapter is none: there is no archive to send to. Nothing was sent.")
    where = f"s3://{settings.bucket}/{settings.prefix}" if settings.adapter == "s3" else settings.path
    before, sent, problem = len(archive.pending()), 0, ""
    try:
        for name in archive.send():
            sent += 1
            context.note(f"sent {name}")
    except (ArchiveError, OSError) as error:
        problem = error.what if isinstance(error, ArchiveError) else str(error)
    waiting = len(archive.pending())
    # Files of other archives wait in the same spool; they are only counted.
    others = sum(path.is_file() for path in Path(settings.spool).glob("*/[!.]*/[!.]*")) - waiting
    if context.args.json:
        report = {
            "archive": where,
            "sent": sent,
            "waiting": waiting,
            "of_other_archives": others,
        }
        context.print_json(report | ({"problem": problem} if problem else {}))
    else:
        context.out.line(f"{plural(sent, 'file')} sent to {where}" if before else "nothing to send")
    if others:
        context.warn(
            f"{plural(others, 'file')} of other archives stay in {settings.spool}; name theirs to send"
        )
    if problem:
        context.warn(
            f"still queued in {settings.spool}: {plural(waiting, 'file')}. {problem.rstrip('.')}. Correct it "
            "and run `compact flush` again; the next compaction that reaches the archive sends them, too."
        )
    return ExitCode.FAILED if problem else ExitCode.OK
