"""Learners that are not ours run in a process of their own: a hang, a crash or a print costs one score, not the run.

Parent and child exchange length-prefixed pickles over pipes. The child is `python -m ciabench.lab.compute.guard`; it serves
one fit after another, and is started anew after it died or was killed. Its memory is limited to `MEMORY_LIMIT`.
"""

import os
import pickle  # only between this process and its own child, never in a file  # nosec B403
import resource
import signal
import struct
import subprocess  # starts this same Python, without a shell  # nosec B404
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, TypeVar, cast

from ciabench.arrays import Bits
from ciabench.lab.compute.fitting import Bench, Fit, FitError, traceback_text
from ciabench.lab.plan.learner import Learner

Answer = TypeVar("Answer")

LENGTH = struct.Struct("!Q")

START_LIMIT = 120.0
"""Seconds for starting a child, and for importing and preparing a learner in it."""

ORPHAN_SECONDS = 10.0
"""A child whose parent died does not outlive its time limit by more than this."""

MEMORY_LIMIT = 4 << 30
"""Bytes of data that a child may hold; a fit that needs more has failed."""

OUT_OF_MEMORY = 77
"""Exit code of a child that met the limit: it may have too little left to say so."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class FitMemoryError(FitError):
    """A learner that met the memory limit."""


class Guard:
    """Fits learners in a child process, each call within a time limit.

    Parameters
    ----------
    time_limit : float
        Seconds that a fit, or one call of predict, may take.

    Examples
    --------
    >>> import numpy as np
    >>> from ciabench.lab.plan.learner import resolve
    >>> X, y = np.array([[0], [1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8)
    >>> with Guard(time_limit=60) as guard:
    ...     fit = guard.fit(resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {}), 0, X, y)
    ...     guard.predict(X)
    array([0, 1], dtype=uint8)
    """

    def __init__(self, time_limit: float) -> None:
        self.time_limit = time_limit
        self._child: subprocess.Popen[bytes] | None = None
        self._ready: set[str] = set()
        self._expired = False
        self._last: tuple[Learner, int, Any, Bits]

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def fit(self, learner: Learner, random_state: int, X: Any, y: Bits) -> Fit:
        """Fit in the child; starting it and importing the learner are not part of the learner's time."""
        self._last = (learner, random_state, X, y)
        return self._with_own_memory(lambda: self._fit(*self._last))

    def predict(self, X: Any) -> Bits:
        """Labels of the last fit."""
        return self._with_own_memory(lambda: self._predict(X))

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._kill()
            self._child.communicate()
            self._child = None

    def _with_own_memory(self, attempt: Callable[[], Answer]) -> Answer:
        """Try again in a fresh child if memory ran out of which another learner may not have given some back."""
        is_shared = bool(self._ready - {self._last[0].use})
        try:
            return attempt()
        except FitMemoryError:
            if not is_shared:
                raise
            return attempt()

    def _fit(self, learner: Learner, random_state: int, X: Any, y: Bits) -> Fit:
        """Fit in the child that there is, or in a new one."""
        if self._child is None:
            self._child, self._ready = _start_child(), set()
            self._call(START_LIMIT, list(sys.path))
        if learner.use not in self._ready:
            self._ask(START_LIMIT, "prepare", learner)
            self._ready.add(learner.use)
        fit: Fit = self._ask(self.time_limit, "fit", learner, random_state, X, y)
        return fit

    def _predict(self, X: Any) -> Bits:
        """Labels of the last fit, which is repeated in a new child."""
        if self._child is None:
            self._fit(*self._last)
        labels: Bits = self._ask(self.time_limit, "predict", X)
        return labels

    def _ask(self, time_limit: float, action: str, *arguments: Any) -> Any:
        """Have the child's bench do something."""
        return self._call(time_limit, (action, time_limit, arguments))

    def _call(self, time_limit: float, request: Any) -> Any:
        """Send a request and wait for its reply, for as long as the limit allows."""
        assert self._child is not None
        requests, replies = cast("IO[bytes]", self._child.stdin), cast("IO[bytes]", self._child.stdout)
        self._expired = False
        watch = threading.Timer(time_limit, self._expire)
        watch.start()
        try:
            send(requests, request)
            succeeded, reply = receive(replies)
        except (EOFError, OSError):
            raise self._epitaph(time_limit) from None
        except Exception as error:
            self.close()
            raise FitError(f"its process answered nonsense; {type(error).__name__}.") from None
        finally:
            watch.cancel()
            watch.join()
        if self._expired:
            raise self._epitaph(time_limit)
        if not succeeded:
            raise FitError(reply)
        return reply

    def _expire(self) -> None:
        self._expired = True
        self._kill()

    def _kill(self) -> None:
        """Kill the child with all that it started."""
        if self._child is not None and self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)

    def _epitaph(self, time_limit: float) -> FitError:
        """Bury the dead child and say what it died of."""
        assert self._child is not None
        code = self._child.wait()
        self.close()
        if self._expired:
            return FitError(f"exceeded the time limit of {time_limit:g} s.")
        if code == OUT_OF_MEMORY:
            return FitMemoryError(f"exceeded the memory limit of {MEMORY_LIMIT / (1 << 30):g} GB.")
        if code < 0:
            return FitError(f"its process was killed by {signal.Signals(-code).name}.")
        return FitError(f"its process ended with exit code {code}.")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; EOFError when the other side is gone."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    data = stream.read(*LENGTH.unpack(header))
    return pickle.loads(data)  # from the pipe of this process's own child  # nosec B301


def _start_child() -> subprocess.Popen[bytes]:
    """Start a child with one thread and a process group of its own."""
    return subprocess.Popen(  # a fixed command  # nosec B603
        [sys.executable, "-P", "-m", "ciabench.lab.compute.guard"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
        start_new_session=True,
    )


def main() -> None:
    """Serve fits until the parent is gone."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    sys.path[:] = receive(requests)
    send(replies, (True, None))
    bench = Bench()
    while True:
        try:
            action, time_limit, arguments = receive(requests)
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, time_limit + ORPHAN_SECONDS)
        send(replies, _answer(bench, action, arguments))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(bench: Bench, action: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Reply of the bench, or the error as text."""
    try:
        return True, getattr(bench, action)(*arguments)
    except FitError as failure:
        return False, str(failure)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException:
        return False, traceback_text()


if __name__ == "__main__":
    main()
