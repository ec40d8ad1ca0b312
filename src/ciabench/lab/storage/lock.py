"""A lock that allows one run at a time on a store; it is released when its process ends, however that happens."""

import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from ciabench.errors import StoreError


class Lock:
    """A lock on a store, held from construction until `release` or the end of the process.

    Parameters
    ----------
    store : Path
        File to lock; the lock itself is a file beside it.
    """

    def __init__(self, store: Path) -> None:
        self._file = Path(f"{store}.lock").open("a+b", buffering=0)  # noqa: SIM115 - the open file holds the lock
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read()
            self._file.close()
            raise StoreError(
                f"{store}: another run holds it ({_described(holder)}); wait for it, or stop it."
            ) from None
        self._file.truncate(0)
        self._file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}).encode())

    def release(self) -> None:
        """Release the lock."""
        self._file.truncate(0)
        self._file.close()


def _described(holder: bytes) -> str:
    """Describe the holder of a lock from what it wrote into the file."""
    try:
        return "process {pid} on {host}, since {since}".format_map(json.loads(holder))
    except (ValueError, KeyError, TypeError):
        return "it has just started"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
