"""Import foreign modules, first in a separate process, so that a hang or a crash becomes a one-sentence error."""

import importlib
import json
import os
import signal
import subprocess  # starts this same Python, without a shell  # nosec B404
import sys
from contextlib import suppress
from functools import cache
from types import ModuleType

from ciabench.errors import ExperimentError

TRUSTED = ("ciabench", "sklearn")
"""Packages that every run imports anyway."""

FINISHED = 86
"""Exit code of a trial import that finished, with or without an exception."""

_is_tried_elsewhere = False

TRIAL = """
import importlib, json, os, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    importlib.import_module(sys.argv[2])
finally:
    os._exit(int(sys.argv[3]))
"""


def import_foreign(module_name: str, time_limit: float = 60.0) -> ModuleType:
    """Import a module after a trial import in a separate process.

    Parameters
    ----------
    module_name : str
        Dotted name.
    time_limit : float
        Seconds that the trial import may take.

    Returns
    -------
    module

    Raises
    ------
    ExperimentError
        If the trial import did not finish in time, or its process died. Exceptions raised by the module propagate.

    Examples
    --------
    >>> import_foreign("sklearn.naive_bayes").__name__
    'sklearn.naive_bayes'
    """
    is_trusted = _is_tried_elsewhere or module_name in sys.modules or module_name.partition(".")[0] in TRUSTED
    if not is_trusted:
        _try_import(module_name, tuple(entry for entry in sys.path if isinstance(entry, str)), time_limit)
    return importlib.import_module(module_name)


def import_without_trial() -> None:
    """Skip trial imports in this process: a worker or guarded process, whose driver has already made them."""
    global _is_tried_elsewhere
    _is_tried_elsewhere = True


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own session, together with its descendants, and wait for it to end."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def signal_name(number: int) -> str:
    """Name of a signal; real-time signals, which have none, are shown by number.

    Examples
    --------
    >>> signal_name(9)
    'SIGKILL'
    """
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


@cache
def _try_import(module_name: str, path: tuple[str, ...], time_limit: float) -> None:
    """Import a module in a child process; raise unless the import finishes, even if with an exception."""
    process = subprocess.Popen(  # a fixed command  # nosec B603
        [sys.executable, "-P", "-c", TRIAL, json.dumps(path), module_name, str(FINISHED)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(time_limit)
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"importing {module_name!r} did not finish within {time_limit:g} s.") from None
    finally:
        kill_session(process)
    if code < 0:
        raise ExperimentError(f"importing {module_name!r} kills its process by {signal_name(-code)}.")
    if code != FINISHED:
        raise ExperimentError(f"importing {module_name!r} ends its process with exit code {code}.")
