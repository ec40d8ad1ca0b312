"""Learners and tasks from hell, and one good learner; imported by name, also by worker processes."""

import ctypes
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Majority(ClassifierMixin, BaseEstimator):
    """Predicts the more frequent class, unless told to misbehave."""

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


class AnswersNonsense(Majority):
    """Writes to every pipe that is open."""

    def fit(self, X, y):
        for descriptor in range(3, 10):
            with suppress(OSError):
                os.write(descriptor, b"\xff" * 64)
        return super().fit(X, y)


class CountsTooFar(Majority):
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
class Deadly:
    """A family one of whose trials kills its worker: once, or always."""

    family: Any
    once: Path | None

    @property
    def identity(self):
        return self.family.identity

    def task(self, *seed):
        if seed[2] == 3 and not (self.once and self.once.exists()):
            if self.once:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.family.task(*seed)
