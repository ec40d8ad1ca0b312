"""The compiled kernels that numba keeps on disk: drop those that are out of date or damaged.

Numba compiles a kernel when it is first called and keeps it for later processes: an index (`*.nbi`) per kernel, and a
file (`*.nbc`) per kernel and types of its arguments. Two cases it does not handle. It compiles a kernel again when the
file changes in which the kernel is defined, but kernels also contain functions from other files. And a file that was
cut short, by a full disk or a power failure, makes it fail with an error of `pickle`.

Every public function that leads to a kernel calls `prepare_kernels` first. Importing this module does nothing.
"""

import hashlib
import logging
import os
import pickletools  # parses pickles, executes nothing  # nosec B403
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numba
from numba.misc import appdirs

PACKAGE = Path(__file__).parent

KERNEL = re.compile(rb"^@njit\b", re.MULTILINE)

PICKLES = {".nbi": 2, ".nbc": 1}
"""Pickles in a file of numba: an index is its version, then the source's stamp and the names of the data files."""

logger = logging.getLogger("ciabench")


@cache
def prepare_kernels() -> None:
    """Drop compiled kernels that are out of date or damaged, once per process; announce a first compilation.

    The announcement is one line of the logger `ciabench`, which Python writes to stderr unless logging is set up.
    """
    folders = rooms()
    caches = [cache_folder(folder) for folder in folders]
    drop_old_kernels(folders, caches)
    drop_damaged_kernels(caches)
    if not any(files(folder, ".nbi") for folder in caches):
        logger.warning("compiling kernels, once; this takes up to a minute")


def rooms() -> list[Path]:
    """Folders of the package that contain kernels."""
    return sorted({source.parent for source in PACKAGE.rglob("*.py") if KERNEL.search(source.read_bytes())})


def cache_folder(room: Path) -> Path:
    """Folder in which numba keeps the kernels of a room.

    It is inside NUMBA_CACHE_DIR if that is set, else beside the sources or, where these are read-only, inside the
    user's cache. If a later version of numba chooses another name, kernels there are neither checked nor dropped.
    """
    beside, chosen = room / "__pycache__", numba.config.CACHE_DIR  # type: ignore[attr-defined]
    if not chosen and os.access(beside if beside.exists() else room, os.W_OK):
        return beside
    name = f"{room.name}_{hashlib.sha1(str(room).encode(), usedforsecurity=False).hexdigest()}"
    return Path(chosen or appdirs.user_cache_dir("numba", False)) / name  # type: ignore[no-untyped-call]


def files(folder: Path, suffix: str) -> list[Path]:
    """Files of numba in a folder, which need not exist."""
    return list(folder.glob(f"*{suffix}"))


def drop_old_kernels(folders: list[Path], caches: list[Path]) -> None:
    """Delete kernels that are older than any source file of any of the folders; ignore times in the future.

    Data files without an index, of kernels that were deleted or have moved to another line, go with them.
    """
    now = time.time()
    changes = [source.stat().st_mtime for folder in folders for source in folder.glob("*.py")]
    newest = max((change for change in changes if change <= now), default=0.0)
    for index in (index for folder in caches for index in files(folder, ".nbi")):
        with suppress(OSError):  # another process may have deleted it
            if index.stat().st_mtime < newest:
                index.unlink()
    for data in (data for folder in caches for data in files(folder, ".nbc")):
        with suppress(OSError):
            if not data.with_suffix("").with_suffix(".nbi").exists():
                data.unlink()


def drop_damaged_kernels(caches: list[Path]) -> None:
    """Delete files of numba that are not complete pickles; numba replaces them.

    This finds files that were cut short, are empty or hold something else. Single bytes that changed inside the machine
    code go unnoticed: numba keeps no checksums.
    """
    for path in _damaged(caches):
        logger.warning("%s is damaged and was deleted; its kernel will be compiled again", path)
        with suppress(OSError):
            path.unlink()


def _damaged(caches: list[Path]) -> Iterator[Path]:
    for suffix, n_pickles in PICKLES.items():
        for path in (path for folder in caches for path in files(folder, suffix)):
            with suppress(OSError):
                if not _are_pickles(path.read_bytes(), n_pickles):
                    yield path


def _are_pickles(content: bytes, number: int) -> bool:
    """Whether the content begins with so many complete pickles; they are parsed, but nothing in them is executed."""
    for _ in range(number):
        if not content.startswith(b"\x80"):
            return False
        try:
            *_, (_, _, end) = pickletools.genops(content)
        except (ValueError, OverflowError):
            return False
        content = content[(end or 0) + 1 :]
    return True
