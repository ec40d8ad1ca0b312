"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ciabench.errors import StoreError


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` on success; the folder is created if it is missing.

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
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written; {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
