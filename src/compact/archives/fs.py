"""The archive on disk: writes whole files or nothing, overwrites nothing, and never leaves its folder.

Every step uses open directory handles and never follows a link, so neither a session id nor a link planted
in the folder can redirect a write. POSIX only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from compact.archives.base import FileArchive
from compact.archives.chaining import HEADS, end_of, head_text, line_digest, linked
from compact.archives.lines import TAIL_BYTES
from compact.archives.naming import EVENTS, aside_name, safe_name
from compact.errors import ArchiveError
from compact.ports import Redacts

DEFAULT_ROOT = ".compact/archive"
_TEMPORARY = ".tmp-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_BUFFER = 1 << 20
_MOST_CLEANED = 1_000


class FsArchive(FileArchive):
    """Writes `{root}/{session}/transcript-pre-compact-{step}.jsonl`, its summary and `events.jsonl`."""

    name = "fs"

    def __init__(
        self, root: str | os.PathLike[str] = DEFAULT_ROOT, *, redactor: Redacts, chained: bool = True
    ) -> None:
        """`chained` links each event's line to the previous one; a spool keeps lines as they will be sent."""
        super().__init__(redactor)
        self.root = Path(root)
        self._chained = chained
        self._cleaned: set[str] = set()
        """Folders that this archive has opened before; forgotten when they are many."""

    @property
    def target(self) -> str:
        return f"fs:{self.root.absolute()}"

    def put(self, folder: str, name: str, chunks: Iterable[bytes]) -> str:
        with self._opened(folder, name) as (_, directory):
            with _temporary(directory, "writing") as (temporary, handle):
                digest = _write_new(handle, chunks)
                _adopt(directory, temporary, name, digest)
            os.fsync(directory)
        return str(self.root / folder / name)

    def tail(self, folder: str, name: str) -> bytes | None:
        with self._opened(folder, name) as (_, directory):
            try:
                handle = os.open(name, _READ, dir_fd=directory)
            except FileNotFoundError:
                return None
            try:
                size = _regular(handle, name).st_size
                return os.pread(handle, TAIL_BYTES, max(0, size - TAIL_BYTES))
            finally:
                os.close(handle)

    def append(self, folder: str, line: bytes) -> None:
        with self._opened(folder, EVENTS) as (root, directory):
            handle = os.open(EVENTS, _APPEND, 0o600, dir_fd=directory)
            try:
                size = _regular(handle, EVENTS).st_size
                # Remove the partial line of a writer that died: readers parse every line.
                end, number, digest = end_of(handle, size)
                if end < size:
                    os.ftruncate(handle, end)
                if self._chained:
                    line = linked(line, number + 1, digest)
                try:
                    _write_all(handle, line)
                except OSError:
                    os.ftruncate(handle, end)
                    raise
                if self._chained:
                    _note_head(root, folder, head_text(number + 1, line_digest(line)))
            finally:
                os.close(handle)

    @contextlib.contextmanager
    def _opened(self, folder: str, name: str) -> Iterator[tuple[int, int]]:
        """The root and the session's locked folder, created if needed; OSErrors become ArchiveErrors."""
        handles: list[int] = []
        try:
            root = self._open_root()
            handles.append(root)
            directory = _locked_folder(folder, root, handles)
            if folder not in self._cleaned:
                self._clean(folder, directory)
            yield root, directory
        except OSError as problem:
            raise self._failed(problem, folder, name) from problem
        finally:
            for handle in reversed(handles):
                os.close(handle)

    def _clean(self, folder: str, directory: int) -> None:
        """Remove what writers left that died before temporary files had one name. The lock is held."""
        for name in os.listdir(directory):
            if name.startswith(_TEMPORARY):
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=directory)
        if len(self._cleaned) >= _MOST_CLEANED:
            self._cleaned.clear()
        self._cleaned.add(folder)

    def _open_root(self) -> int:
        parts = self.root.parts
        if self.root.is_absolute():
            # Links above an absolute root belong to the administrator; the root itself must be a real folder.
            self.root.parent.mkdir(parents=True, exist_ok=True)
            handle, rest = os.open(self.root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), parts[-1:]
        else:
            # A relative root is in a working copy that others may have filled: no part of it may be a link.
            handle, rest = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), parts
        for part in rest:
            try:
                _make_folder(part, handle)
                below = os.open(part, _FOLDER, dir_fd=handle)
            finally:
                os.close(handle)
            handle = below
        with contextlib.suppress(FileExistsError):
            ignore = os.open(".gitignore", _NEW, 0o600, dir_fd=handle)
            try:
                os.write(ignore, b"*\n")
            finally:
                os.close(ignore)
        return handle

    def _failed(self, problem: OSError, folder: str, name: str) -> ArchiveError:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            what = "a part of this path is a symbolic link or no folder; links are refused"
            advice = "Remove it or choose another archive folder"
        elif problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            what = f"there is no room ({problem.strerror})"
            advice = "Free some space"
        else:
            what = problem.strerror or str(problem)
            advice = "Make the folder writable"
        missing = "An event is missing there, and no partial line was left"
        unchanged = "Nothing was compacted, and no partial file was left there"
        what = f"The archive {self.root / folder / name} could not be written: {what}."
        return ArchiveError(
            f"{what} {missing if name == EVENTS else unchanged}. "
            f'{advice}, or set archive.on_failure to "queue".',
            what=what,
        )


def delete_unused(root: Path, before: float, session_ids: Iterable[str]) -> set[str]:
    """Delete the folders of these sessions, except those written to since; returns whose were.

    One that cannot be deleted does not stop the others. Raises ArchiveError after them.
    """
    used: set[str] = set()
    problems: list[OSError] = []
    try:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return used
    except OSError as problem:
        raise ArchiveError(
            f"The archive {root} could not be read: {problem}. Nothing was deleted."
        ) from problem
    try:
        for session_id in session_ids:
            try:
                if not _delete_unused(handle, safe_name(session_id), before):
                    used.add(session_id)
            except (FileNotFoundError, NotADirectoryError):
                continue  # It has none, or another process deletes it, too.
            except OSError as problem:
                problems.append(problem)
    finally:
        os.close(handle)
    if problems:
        raise ArchiveError(
            f"{len(problems)} old folder(s) in the archive {root} could not be deleted: {problems[0]}. The "
            "others were deleted. Make the folder writable."
        ) from problems[0]
    return used


def _delete_unused(root: int, folder: str, before: float) -> bool:
    directory = os.open(folder, _FOLDER, dir_fd=root)
    try:
        _lock(directory)
        names = os.listdir(directory)
        times = [os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime for name in names]
        if max(times, default=os.fstat(directory).st_mtime) >= before:
            return False
        for name in names:
            os.unlink(name, dir_fd=directory)
        os.rmdir(folder, dir_fd=root)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{HEADS}/{folder}", dir_fd=root)
        return True
    finally:
        os.close(directory)


def _locked_folder(folder: str, root: int, handles: list[int]) -> int:
    """The session's folder, created if needed, with nobody else writing to it; `handles` are closed later."""
    while True:
        created = _make_folder(folder, root)
        directory = os.open(folder, _FOLDER, dir_fd=root)
        handles.append(directory)
        if created:
            os.fsync(root)
        _lock(directory)
        # It may have been deleted as unused in the meantime.
        if os.fstat(directory).st_nlink:
            return directory


def _lock(directory: int) -> None:
    import fcntl

    fcntl.flock(directory, fcntl.LOCK_EX)


def _make_folder(name: str, parent: int) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return False
    return True


@contextlib.contextmanager
def _temporary(directory: int, name: str) -> Iterator[tuple[str, int]]:
    """A new file that is either renamed or deleted, and its handle.

    The session's lock is held, so one that is already there belongs to a writer that died.
    """
    name = f"{_TEMPORARY}{name}"
    try:
        handle = os.open(name, _NEW, 0o600, dir_fd=directory)
    except FileExistsError:
        os.unlink(name, dir_fd=directory)
        handle = os.open(name, _NEW, 0o600, dir_fd=directory)
    try:
        yield name, handle
    finally:
        os.close(handle)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)


def _note_head(root: int, folder: str, content: bytes) -> None:
    """Record the newest line, atomically; not worth waiting for the disk."""
    _make_folder(HEADS, root)
    heads = os.open(HEADS, _FOLDER, dir_fd=root)
    try:
        with _temporary(heads, folder) as (temporary, handle):
            _write_all(handle, content)
            os.rename(temporary, folder, src_dir_fd=heads, dst_dir_fd=heads)
    finally:
        os.close(heads)


def _write_new(handle: int, chunks: Iterable[bytes]) -> str:
    """Write all chunks and sync them to disk; returns their hash."""
    hasher = sha256()
    waiting = bytearray()
    for chunk in chunks:
        hasher.update(chunk)
        waiting += chunk
        if len(waiting) >= _BUFFER:
            _write_all(handle, waiting)
            waiting = bytearray()
    _write_all(handle, waiting)
    os.fsync(handle)
    return hasher.hexdigest()


def _adopt(directory: int, temporary: str, name: str, digest: str) -> None:
    """Rename the new file; existing content under that name stays available under another."""
    before = _digest_of(directory, name)
    if before == digest:
        return
    if before is not None:
        aside = aside_name(name, before)
        try:
            os.link(name, aside, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        except FileExistsError:
            pass
        except OSError as problem:
            if problem.errno not in _NO_LINKS:
                raise
            os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)


def _digest_of(directory: int, name: str) -> str | None:
    try:
        handle = os.open(name, _READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    hasher = sha256()
    try:
        _regular(handle, name)
        while chunk := os.read(handle, _BUFFER):
            hasher.update(chunk)
    finally:
        os.close(handle)
    return hasher.hexdigest()


def _regular(handle: int, name: str) -> os.stat_result:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.ENOTDIR, f"{name} is not a regular file")
    return found


def _write_all(handle: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
