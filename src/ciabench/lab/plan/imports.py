"""Import modules that are not ours: first in a process of their own, so that a hang or a crash costs one sentence."""

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
"""Exit code of a trial import that came to its end, with or without an exception."""

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
    """Import a module, after a trial in a process of its own.

    Parameters
    ----------
    module_name : str
        Name with dots.
    time_limit : float
        Seconds that the trial may take.

    Returns
    -------
    module

    Raises
    ------
    ExperimentError
        If the trial did not finish in time, or its process died. Whatever else the module raises is raised here too.

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
    """Have no more trials in this process: a worker or a guarded process, whose driver has done them."""
    global _is_tried_elsewhere
    _is_tried_elsewhere = True


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own with all that it started, and wait for its end."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def signal_name(number: int) -> str:
    """Name of a signal; real-time signals have none.

    Examples
    --------
    >>> signal_name(9)
    'SIGKILL'
    """
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


@cache
def _try_import(module_name: str, path: tuple[str, ...], time_limit: float) -> None:
    """Import a module in a child process; raise unless that finishes, be it with an exception."""
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
