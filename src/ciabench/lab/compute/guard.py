"""Foreign learners run in a separate process, so that a hang or a crash costs one score, not the run.

Parent and child communicate over a `multiprocessing` connection. The child is `python -m ciabench.lab.compute.guard`;
it serves one fit after another, and is restarted after it dies or is killed. Its memory is limited to `MEMORY_LIMIT`.
Anything that a learner itself writes to the connection is at worst an invalid reply: the length of a message is limited
by the request, and a message that stalls halfway is abandoned after `STALL_LIMIT`.
"""

import os
import pickle  # only between this process and its own child, never in a file  # nosec B403
import resource
import signal
import socket
import struct
import subprocess  # starts this same Python, without a shell  # nosec B404
import sys
import time
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.lab.compute.fitting import Bench, Codes, FitError, FitReport, traceback_text
from ciabench.lab.plan.imports import import_without_trial, kill_session, signal_name
from ciabench.lab.plan.learner import Learner

Answer = TypeVar("Answer")

START_LIMIT = 120.0
"""Seconds for starting a child, and for importing and preparing a learner in it."""

STALL_LIMIT = 20.0
"""Seconds for which a message may stall halfway."""

ORPHAN_SECONDS = 10.0
"""A child whose parent died does not outlive its time limit by more than this."""

BURIAL_SECONDS = 5.0
"""Seconds that a child which closed the connection has to exit, so that its exit code is known."""

MEMORY_LIMIT = 4 << 30
"""Bytes of data that a child may hold; a fit that needs more fails."""

OUT_OF_MEMORY = 77
"""Exit code of a child that reached the limit: it may not have enough memory left to reply."""

SMALL_REPLY = 1 << 20
"""Bytes of the longest reply that does not grow with the data."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class FitMemoryError(FitError):
    """A learner reached the memory limit."""


class InvalidReplyError(Exception):
    """The bytes received are not a valid reply."""


class Guard:
    """Fits learners in a child process, with a time limit for each call.

    Parameters
    ----------
    time_limit : float
        Seconds that a fit, or one call of predict, may take.

    Examples
    --------
    >>> from ciabench.lab.plan.learner import resolve
    >>> X, y = np.array([[0], [1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8)
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> with Guard(time_limit=60) as guard:
    ...     report = guard.fit(learner, 0, X, y, classes=np.array([0, 1], dtype=np.uint8))
    ...     guard.predict(X)
    array([0, 1])
    """

    def __init__(self, time_limit: float) -> None:
        self.time_limit = time_limit
        self._child: Child | None = None
        self._ready: set[str] = set()
        self._last: tuple[Learner, int, Any, Any, NDArray[Any]]

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def fit(self, learner: Learner, random_state: int, X: Any, y: Any, classes: NDArray[Any]) -> FitReport:
        """Fit in the child; the time to start it and to import the learner does not count."""
        self._last = (learner, random_state, X, y, classes)
        return self._with_own_memory(lambda: self._fit(*self._last))

    def predict(self, X: Any) -> Codes:
        """Labels of the last fit, as positions in `classes`."""
        codes: NDArray[Any] = self._with_own_memory(lambda: self._ask_fitted("predict", X, 1))
        return codes.astype(np.intp)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the last fit, with one column per label of `classes`."""
        n_classes = self._last[4].size
        probabilities: Floats = self._with_own_memory(lambda: self._ask_fitted("predict_proba", X, n_classes))
        return probabilities

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _with_own_memory(self, attempt: Callable[[], Answer]) -> Answer:
        """Try again in a fresh child if memory ran out, because another learner may have been holding it."""
        is_shared = bool(self._ready - {self._last[0].use})
        try:
            return attempt()
        except FitMemoryError:
            if not is_shared:
                raise
            return attempt()

    def _fit(self, learner: Learner, random_state: int, X: Any, y: Any, classes: NDArray[Any]) -> FitReport:
        """Fit in the current child, or in a new one."""
        if self._child is None:
            self._child, self._ready = Child(), set()
            self._call(START_LIMIT, "set_path", list(sys.path))
        if learner.use not in self._ready:
            self._call(START_LIMIT, "prepare", learner)
            self._ready.add(learner.use)
        report: FitReport = self._call(self.time_limit, "fit", learner, random_state, X, y, classes)
        return report

    def _ask_fitted(self, action: str, X: Any, columns: int) -> Any:
        """Ask the last fit, which is repeated if the child has ended."""
        if self._child is None:
            self._fit(*self._last)
        return self._call(self.time_limit, action, X, longest=SMALL_REPLY + 8 * columns * X.shape[0])

    def _call(self, time_limit: float, action: str, *arguments: Any, longest: int = SMALL_REPLY) -> Any:
        """Send a request and wait for its reply; a child that is late, dies or sends an invalid reply is ended."""
        assert self._child is not None
        deadline = time.monotonic() + time_limit
        try:
            self._child.send((action, time_limit, arguments))
            succeeded, reply = self._child.receive(deadline, longest)
        except TimeoutError:
            self.close()
            raise FitError(f"exceeded the time limit of {time_limit:g} s.") from None
        except (EOFError, OSError):
            raise self._obituary() from None
        except InvalidReplyError as error:
            self.close()
            raise FitError(f"its process sent an invalid reply; {error}.") from None
        except BaseException:
            self.close()
            raise
        if not succeeded:
            raise FitError(reply)
        return reply

    def _obituary(self) -> FitError:
        """Clean up after a dead child and return the cause of its death."""
        assert self._child is not None
        code = self._child.exit_code()
        self.close()
        if code is None:
            return FitError("its process closed the connection.")
        if code == OUT_OF_MEMORY:
            return FitMemoryError(f"exceeded the memory limit of {MEMORY_LIMIT / (1 << 30):g} GB.")
        if code < 0:
            return FitError(f"its process was killed by {signal_name(-code)}.")
        return FitError(f"its process ended with exit code {code}.")


class Child:
    """A process with one thread and its own session, and the connection to it."""

    def __init__(self) -> None:
        self._connection, other_end = Pipe()
        _limit_stalls(self._connection)
        with other_end:
            self.process = subprocess.Popen(  # a fixed command  # nosec B603
                [sys.executable, "-P", "-m", "ciabench.lab.compute.guard", str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
                pass_fds=[other_end.fileno()],
                start_new_session=True,
            )

    def send(self, request: Any) -> None:
        """Send a request; raises TimeoutError if the child does not read it."""
        try:
            send(self._connection, request)
        except BlockingIOError:
            raise TimeoutError from None

    def receive(self, deadline: float, longest: int) -> tuple[bool, Any]:
        """Wait for a reply of at most `longest` bytes; raises TimeoutError if none begins before the deadline."""
        if not self._connection.poll(max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        try:
            data = self._connection.recv_bytes(longest)
        except BlockingIOError:
            raise InvalidReplyError("it stopped halfway") from None
        except OSError:
            if self._connection.readable:
                raise
            raise InvalidReplyError("it is too long") from None
        try:
            succeeded, reply = pickle.loads(data)  # from this process's own child  # nosec B301
        except Exception as error:
            raise InvalidReplyError(type(error).__name__) from None
        return bool(succeeded), reply

    def exit_code(self) -> int | None:
        """Exit code of a child that exits by itself; None if it does not."""
        try:
            return self.process.wait(BURIAL_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Kill the child and its descendants."""
        kill_session(self.process)
        self._connection.close()


def send(connection: Connection, message: Any) -> None:
    """Send a message with the newest pickle protocol, which, unlike `Connection.send`, does not copy arrays."""
    connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def _limit_stalls(connection: Connection) -> None:
    """Make reads and writes that stall raise BlockingIOError."""
    limit = struct.pack("ll", int(STALL_LIMIT), int(STALL_LIMIT % 1 * 1e6))
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def main() -> None:
    """Serve fits until the parent is gone."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    import_without_trial()
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    try:
        _serve(Connection(descriptor), Bench())
    except EOFError:
        return
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _serve(connection: Connection, bench: Bench) -> None:
    """Answer one request after another."""
    while True:
        action, time_limit, arguments = connection.recv()
        signal.setitimer(signal.ITIMER_REAL, time_limit + ORPHAN_SECONDS)
        send(connection, _answer(bench, action, arguments))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(bench: Bench, action: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Reply of the bench, or the error as text."""
    try:
        if action == "set_path":
            sys.path[:] = arguments[0]
            return True, None
        reply = getattr(bench, action)(*arguments)
        return True, _compact(reply) if action == "predict" else reply
    except FitError as failure:
        return False, str(failure)
    except MemoryError:
        raise
    except BaseException:
        return False, traceback_text()


def _compact(codes: Codes) -> NDArray[Any]:
    """The same codes in as few bytes as possible."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


if __name__ == "__main__":
    main()
