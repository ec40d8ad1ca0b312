"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from ciabench.errors import StoreError


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
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(unfinished)
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written; {error.strerror or error}.") from error
    finally:
        _remove(unfinished)


def _remove(unfinished: Path) -> None:
    """Remove an unfinished file, and the journals beside it if it is a database."""
    for path in (unfinished, *unfinished.parent.glob(f"{escape(unfinished.name)}-*")):
        path.unlink(missing_ok=True)
