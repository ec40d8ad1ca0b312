"""Fit one classifier and ask it for labels, here or in a guarded process: the same few lines serve both."""

import time
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Bits
from ciabench.lab.plan.learner import Learner

ERROR_LENGTH = 8_000
"""Characters kept of an error; the end of a traceback says most."""


class FitError(Exception):
    """A learner that raised, hung, died or answered nonsense; its text is recorded with the score."""


class Fit(NamedTuple):
    """What a fit tells of itself."""

    seconds: float
    n_iter: int | None


class Bench:
    """Fits learners in this process.

    Examples
    --------
    >>> from ciabench.lab.plan.learner import resolve
    >>> bench = Bench()
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> X, y = np.array([[0], [1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8)
    >>> bench.fit(learner, 0, X, y).n_iter is None, bench.predict(X)
    (True, array([0, 1], dtype=uint8))
    """

    def __init__(self) -> None:
        self._classifier: Any = None

    def prepare(self, learner: Learner) -> None:
        """Import a learner, and have those of this package compile what they compile."""
        classifier = learner.build(0)
        if learner.builtin:
            classifier.fit(np.eye(2, dtype=np.uint8), np.arange(2, dtype=np.uint8)).predict(np.eye(2, dtype=np.uint8))

    def fit(self, learner: Learner, random_state: int, X: Any, y: Bits) -> Fit:
        """Fit on copies of the data."""
        X, y = X.copy(), y.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._classifier = learner.build(random_state)
            started = time.perf_counter()
            self._fit_or_settle(X, y)
            seconds = time.perf_counter() - started
        return Fit(seconds, _iterations(self._classifier))

    def predict(self, X: Any) -> Bits:
        """Labels of the last fit, checked."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checked_labels(self._classifier.predict(X), X.shape[0])

    def _fit_or_settle(self, X: Any, y: Bits) -> None:
        """Fit; a classifier may refuse a sample with one class only, and then stands for that class."""
        try:
            self._classifier.fit(X, y)
        except ValueError:
            if y.min() != y.max():
                raise
            self._classifier = _Settled(int(y[0]))


class _Settled:
    """A rule that always says the same."""

    def __init__(self, label: int) -> None:
        self.label = label

    def predict(self, X: Any) -> NDArray[np.uint8]:
        """Return the label for every row."""
        return np.full(X.shape[0], self.label, dtype=np.uint8)


def checked_labels(labels: Any, size: int) -> Bits:
    """Labels as an array of zeros and ones, or a failure that says what they were.

    Examples
    --------
    >>> checked_labels([1.0, 0.0], 2)
    array([1, 0], dtype=uint8)
    """
    values = np.asarray(labels)
    if values.shape != (size,):
        raise FitError(f"predict returned shape {values.shape} for {size} rows.")
    if values.dtype.kind not in "biuf":
        raise FitError(f"predict returned {values.dtype} values; expected the labels 0 and 1.")
    odd = values[(values != 0) & (values != 1)]
    if odd.size:
        raise FitError(f"predict returned {odd[0]!r}; expected the labels 0 and 1.")
    return values.astype(np.uint8)


def traceback_text() -> str:
    """End of the traceback of the error that is being handled, as text that can be stored and printed."""
    return traceback.format_exc()[-ERROR_LENGTH:].encode(errors="replace").decode()


def _iterations(classifier: Any) -> int | None:
    """Number of iterations, for classifiers that tell one."""
    told = np.asarray(getattr(classifier, "n_iter_", np.nan))
    return int(told.item()) if told.size == 1 and told.dtype.kind in "iu" and told.max() < 1 << 62 else None
