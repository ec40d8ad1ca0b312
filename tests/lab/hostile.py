"""Misbehaving learners and worlds, and one good learner; imported by name, also by worker processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ciabench.world.base import Score, Task, World


class Majority(ClassifierMixin, BaseEstimator):
    """Predicts the more frequent class; the others derive from it."""

    def __init__(self, random_state=None, least=0):
        self.random_state = random_state
        self.least = least

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.label_ = int(y.mean() >= 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


class Hangs(Majority):
    def fit(self, X, y):
        time.sleep(3600)


class HangsInC(Majority):
    def fit(self, X, y):
        ctypes.PyDLL(None).sleep(3600)


class Leaves(Majority):
    def fit(self, X, y):
        os._exit(3)


class Crashes(Majority):
    def fit(self, X, y):
        ctypes.string_at(0)


class Raises(Majority):
    def fit(self, X, y):
        raise ZeroDivisionError("on purpose")


class RaisesWhenLong(Majority):
    def fit(self, X, y):
        if len(y) > 10:
            raise ZeroDivisionError("on purpose")
        return super().fit(X, y)


class Prints(Majority):
    def fit(self, X, y):
        print("x" * 5_000_000)
        os.write(1, b"y" * 1_000_000)
        return super().fit(X, y)


class Mutates(Majority):
    def fit(self, X, y):
        super().fit(X, y)
        X[:], y[:] = 1 - X, 1 - y
        return self


class PredictsNan(Majority):
    def predict(self, X):
        return np.full(len(X), np.nan)


class PredictsText(Majority):
    def predict(self, X):
        return np.full(len(X), "1")


class PredictsTwo(Majority):
    def predict(self, X):
        return np.full(len(X), 2)


class PredictsShort(Majority):
    def predict(self, X):
        return np.zeros(len(X) - 1)


class Exits(Majority):
    def fit(self, X, y):
        raise SystemExit(0)


class RaisesOddly(Majority):
    def fit(self, X, y):
        raise RuntimeError("\x1b[31m\udcff")


def write_everywhere(data):
    """Write to every file and pipe that is open."""
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            os.write(descriptor, data)


class AnswersNonsense(Majority):
    """Writes what announces a message of many bytes."""

    def fit(self, X, y):
        write_everywhere(b"\xff" * 64)
        return super().fit(X, y)


class AnswersHalf(Majority):
    """Announces a message, and never ends it."""

    def fit(self, X, y):
        write_everywhere(b"\x00\x0f\x00\x00half")
        return super().fit(X, y)


class AnswersNothing(Majority):
    """Sends a message without content, or of negative length."""

    def __init__(self, random_state=None, least=0, length=0):
        super().__init__(random_state, least)
        self.length = length

    def fit(self, X, y):
        write_everywhere(self.length.to_bytes(4, "big", signed=True))
        return super().fit(X, y)


class ClosesAll(Majority):
    """Closes every file that is open, and stays."""

    def fit(self, X, y):
        os.closerange(3, 1000)
        time.sleep(3600)


class StopsReading(Majority):
    """Stops its whole process a moment after the fit."""

    def fit(self, X, y):
        command = f"import os, time; time.sleep(0.5); os.kill({os.getpid()}, {int(signal.SIGSTOP)})"
        subprocess.Popen([sys.executable, "-c", command])
        return super().fit(X, y)


class DiesBySignal35(Majority):
    def fit(self, X, y):
        os.kill(os.getpid(), 35)


class CountsTooFar(Majority):
    facts = ("n_iter_",)
    n_iter_ = np.uint64(2**64 - 1)


class Allocates(Majority):
    """Takes memory without end; to touch it as well would only cost time."""

    def fit(self, X, y):
        blocks = []
        while True:
            blocks.append(np.empty(1 << 28, np.uint8))


class Touches(Majority):
    """Takes memory without end and writes to it."""

    def fit(self, X, y):
        blocks = []
        while True:
            blocks.append(bytearray(1 << 27))


class KeepsMemory(Majority):
    """Takes all memory that there is, and goes on without giving it back."""

    kept: ClassVar[list] = []

    def fit(self, X, y):
        for size in (1 << 28, 1 << 20):
            with suppress(MemoryError):
                while True:
                    self.kept.append(np.empty(size, np.uint8))
        return super().fit(X, y)


class NeedsMemoryToPredict(Majority):
    def predict(self, X):
        np.empty(1 << 26, np.uint8)
        return super().predict(X)


class Random(Majority):
    """A rule that depends on its seed alone."""

    def fit(self, X, y):
        self.weights_ = np.random.default_rng(self.random_state).normal(size=X.shape[1])
        return self

    def predict(self, X):
        return (X @ self.weights_ > 0).astype(int)


class Flaky(Majority):
    """Fails for as long as the file named by an environment variable exists."""

    def fit(self, X, y):
        if os.path.exists(os.environ["FLAKY"]):
            raise RuntimeError("not today")
        return super().fit(X, y)


class Slow(Random):
    def fit(self, X, y):
        time.sleep(0.02)
        return super().fit(X, y)


@dataclass(frozen=True)
class Deadly(World):
    """A world one of whose trials kills its worker: once, or always."""

    world: World
    once: Path | None

    @property
    def name(self):
        return self.world.name

    @property
    def parameters(self):
        return self.world.parameters

    @property
    def identity(self):
        return self.world.identity

    def task(self, seed):
        _, _, trial = seed.content
        if trial == 3 and not (self.once and self.once.exists()):
            if self.once:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.world.task(seed)


@dataclass(frozen=True)
class Still(World):
    """A world that costs next to nothing: the same two rows in every trial."""

    number: int

    def task(self, seed):
        X, y = np.eye(2), np.array([0, 1])
        return Task(training=lambda size: (X[:size], y[:size]), judge=Still.Judge())

    class Judge:
        """Asks a rule for its answers and takes the share of ones for its success."""

        best, constant = 1.0, 0.0

        def score(self, rule):
            share = float(np.mean(rule.predict(np.eye(2))))
            return Score(share, share, 0.0)


class LearnedError(Exception):
    """Raised by a batch, for the driver to see."""


def sleepy_batch(plan, batch):
    """Return a batch as it is, a little later."""
    time.sleep(0.05)
    if batch == ["raise"]:
        raise LearnedError
    return batch
