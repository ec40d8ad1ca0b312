"""Files that are read within limits, and written whole or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from ciabench.errors import StoreError

MOST_BYTES = 2**32
"""Largest file that is read."""


def content_of(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Content of a regular file of at most so many bytes; anything else is refused by an OSError that says why.

    Examples
    --------
    >>> content_of("/dev/zero")
    Traceback (most recent call last):
    OSError: [Errno 22] it is a pipe or a device; save its content to a file first: '/dev/zero'
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device; save its content to a file first", str(path))
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"it has {status.st_size} bytes, more than the limit of {most}", str(path))
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe to which nobody writes is opened at once."""
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` on success; the folder is created if it is missing.

    What an earlier process left at the temporary path when it was killed is removed first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "table.csv") as unfinished:
    ...         _ = unfinished.write_text("whole")
    ...     (Path(folder) / "table.csv").read_text()
    'whole'
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "there is something else of that name, such as a folder or a device")
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(unfinished)
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written; {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            _remove(unfinished)


def _remove(unfinished: Path) -> None:
    """Remove an unfinished file, and the journals beside it if it is a database."""
    for path in (unfinished, *unfinished.parent.glob(f"{escape(unfinished.name)}-*")):
        path.unlink(missing_ok=True)
