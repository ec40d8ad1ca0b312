"""Fit one classifier and get labels and probabilities from it, in this process or a guarded one."""

import math
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from ciabench.arrays import Floats
from ciabench.lab.compute.encoding import facts_of_encoding, fitted_to, inner
from ciabench.lab.plan.learner import Learner

Codes = NDArray[np.intp]
"""Labels as positions in the sorted array of all labels."""

ERROR_LENGTH = 8_000
"""Characters kept of an error; the end of a traceback is the most informative."""

TEXT_LENGTH = 1_000
"""Length of the longest string kept as a fact."""

ROUNDING = 1e-6
"""How far a probability may lie outside [0, 1]."""

SUM_ROUNDING = 1e-3
"""How far the sum of a row's probabilities may be from 1; allows for single precision and many classes."""

TINY_ROWS, TINY_COLUMNS = 48, 6
"""Size of the data that learners are prepared with: large enough to run every stage of a fit."""


class FitError(Exception):
    """A learner raised, hung, died or gave invalid answers; the message is stored with the score."""


class FitReport(NamedTuple):
    """Record of a fit.

    Parameters
    ----------
    seconds : float
        Time that `fit` took.
    facts : dict
        Plain values by name: the fitted attributes that the class of the learner lists in `facts`.
    has_probabilities : bool
        Whether `predict_proba` can be called.
    """

    seconds: float
    facts: dict[str, Any]
    has_probabilities: bool


class Bench:
    """Fits learners in this process.

    Examples
    --------
    >>> from ciabench.lab.plan.learner import resolve
    >>> bench = Bench()
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> X, y = np.array([[0], [1]], dtype=np.uint8), np.array(["no", "yes"])
    >>> bench.fit(learner, 0, X, y, classes=np.array(["maybe", "no", "yes"])).has_probabilities
    True
    >>> bench.predict(X)
    array([1, 2])
    >>> bench.predict_proba(X).round(2)
    array([[0.  , 0.67, 0.33],
           [0.  , 0.33, 0.67]])
    """

    def __init__(self) -> None:
        self._classifier: Any = None
        self._classes: NDArray[Any] = np.empty(0)

    def prepare(self, learner: Learner) -> None:
        """Import a learner; fit it once if it is built in, so that no later fit has to compile kernels."""
        learner.build(0)
        if learner.builtin:
            X, y = _tiny_data()
            takes_sparse = get_tags(learner.build(0)).input_tags.sparse
            for rows in (X, _as_csr(X)) if takes_sparse else (X,):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    classifier = learner.build(0).fit(rows, y)
                    classifier.predict(rows)
                    if hasattr(classifier, "predict_proba"):
                        classifier.predict_proba(rows)

    def fit(self, learner: Learner, random_state: int, X: Any, y: Any, classes: NDArray[Any]) -> FitReport:
        """Fit a fresh classifier on copies of the data.

        Parameters
        ----------
        learner : Learner
        random_state : int
        X : array, CSR matrix or DataFrame
        y : array or Series
        classes : array
            All labels that may be predicted, sorted.
        """
        X, y = X.copy(), y.copy()
        self._classes = classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._classifier = fitted_to(learner.build(random_state), X, y)
            started = time.perf_counter()
            self._fit_or_settle(X, y)
            seconds = time.perf_counter() - started
            has_probabilities = all(hasattr(self._classifier, needed) for needed in ("predict_proba", "classes_"))
            facts = declared_facts(inner(self._classifier)) | facts_of_encoding(self._classifier)
            return FitReport(seconds, facts, has_probabilities)

    def predict(self, X: Any) -> Codes:
        """Labels of the last fit, checked, as positions in `classes`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return label_codes(self._classifier.predict(X), self._classes, X.shape[0])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the last fit, checked, with one column per label of `classes`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = np.asarray(self._classifier.classes_)
            found = checked_probabilities(self._classifier.predict_proba(X), (X.shape[0], known.size))
        columns = label_codes(known, self._classes, known.size, "classes_ has")
        if np.array_equal(columns, np.arange(self._classes.size)):
            return found
        probabilities = np.zeros((X.shape[0], self._classes.size))
        probabilities[:, columns] = found
        return probabilities

    def _fit_or_settle(self, X: Any, y: Any) -> None:
        """Fit; a classifier that refuses a sample with only one class becomes the constant rule of that class."""
        try:
            self._classifier.fit(X, y)
        except ValueError:
            labels = np.asarray(y)
            if np.any(labels != labels[0]):
                raise
            self._classifier = _Settled(labels[:1])


class _Settled:
    """The constant rule."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the one label for every row."""
        return np.repeat(self.classes_, X.shape[0])

    def predict_proba(self, X: Any) -> Floats:
        """Return probability 1 for every row."""
        return np.ones((X.shape[0], 1))


def label_codes(labels: Any, classes: NDArray[Any], size: int, source: str = "predict returned") -> Codes:
    """Positions of labels in the sorted array of all labels; raises FitError for any other label.

    Examples
    --------
    >>> label_codes([1.0, 0.0], np.array([0, 1], dtype=np.uint8), 2)
    array([1, 0])
    """
    values = np.asarray(labels)
    if values.shape != (size,):
        raise FitError(f"{source} shape {values.shape} for {size} rows.")
    if not _is_comparable(values, classes):
        raise FitError(f"{source} {values.dtype} values; expected {_expected(classes)}.")
    if classes.dtype.kind in "biu" and classes.tolist() == [0, 1]:
        is_known, codes = (values == 0) | (values == 1), values
    else:
        codes = _looked_up(values, classes)
        is_known = codes >= 0
    if not is_known.all():
        raise FitError(f"{source} {_shown(values[~is_known][0])}; expected {_expected(classes)}.")
    return codes.astype(np.intp, copy=False)


def checked_probabilities(probabilities: Any, shape: tuple[int, int]) -> Floats:
    """Probabilities as an array of floats in [0, 1]; raises FitError if they are invalid.

    Examples
    --------
    >>> checked_probabilities([[1.0000001, 0.0]], (1, 2))
    array([[1., 0.]])
    """
    values = np.asarray(probabilities)
    if values.shape != shape:
        raise FitError(f"predict_proba returned shape {values.shape}; expected {shape}.")
    if values.dtype.kind not in "biuf":
        raise FitError(f"predict_proba returned {values.dtype} values; expected numbers.")
    numbers: Floats = values.astype(np.float64)
    is_invalid = ~((numbers >= -ROUNDING) & (numbers <= 1 + ROUNDING))
    if is_invalid.any():
        raise FitError(f"predict_proba returned {numbers[is_invalid][0]}; expected numbers between 0 and 1.")
    excess = abs(numbers.sum(axis=1) - 1)
    if (excess > SUM_ROUNDING).any():
        raise FitError(f"predict_proba returned a row with sum {numbers[excess.argmax()].sum():g}; expected 1.")
    return np.clip(numbers, 0.0, 1.0, out=numbers)


def declared_facts(classifier: Any) -> dict[str, Any]:
    """Fitted attributes that the class of a classifier lists in `facts`, if they are plain values.

    Examples
    --------
    >>> class Counter:
    ...     facts = ("n_iter_", "path_")
    ...     n_iter_ = np.int64(3)
    ...     path_ = [1, 2, 3]
    >>> declared_facts(Counter())
    {'n_iter': 3}
    """
    names = getattr(type(classifier), "facts", ())
    facts: dict[str, Any] = {}
    for name in names if isinstance(names, tuple | list) else ():
        with suppress(Exception):  # a fact that cannot be read must not cost a score
            value = getattr(classifier, name)
            value = value.item() if isinstance(value, np.generic) else value
            if _is_plain(value):
                facts[name.removesuffix("_")] = value
    return facts


def traceback_text() -> str:
    """End of the traceback of the current exception, as text that can be stored and printed."""
    return traceback.format_exc()[-ERROR_LENGTH:].encode(errors="replace").decode()


def _is_comparable(values: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Whether labels are of the expected kind, numbers or strings; arrays of objects may hold either."""
    if classes.dtype.kind in "biuf":
        return values.dtype.kind in "biuf"
    if all(isinstance(label, str) for label in classes.tolist()):
        return values.dtype.kind in "UTO"
    return True


def _looked_up(values: NDArray[Any], classes: NDArray[Any]) -> Codes:
    """Position of every value in `classes`; −1 if it is not there."""
    positions = {label: position for position, label in enumerate(classes.tolist())}
    try:
        return np.array([positions.get(value, -1) for value in values.tolist()], dtype=np.intp)
    except TypeError:
        raise FitError(f"predict returned labels that cannot be compared; expected {_expected(classes)}.") from None


def _expected(classes: NDArray[Any]) -> str:
    """The expected labels, for error messages."""
    labels: Sequence[Any] = classes.tolist()
    if len(labels) > 5:
        return f"one of {len(labels)} labels, such as {_shown(labels[0])}"
    if len(labels) < 2:
        return f"the label {', '.join(map(_shown, labels))}"
    return f"the labels {', '.join(map(_shown, labels[:-1]))} and {_shown(labels[-1])}"


def _shown(label: Any) -> str:
    """A label as Python prints it."""
    return repr(label.item() if isinstance(label, np.generic) else label)[:100]


def _is_plain(value: Any) -> bool:
    """Whether a value can be stored: bool, int below 2⁶², finite float, or a printable string that is not too long."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is str:
        return len(value) <= TEXT_LENGTH and value.isprintable()
    return type(value) is bool or (type(value) is int and abs(value) < 1 << 62)


def _tiny_data() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A few 0/1 rows with both labels."""
    rows = np.random.default_rng(0).integers(2, size=(TINY_ROWS, TINY_COLUMNS + 1), dtype=np.uint8)
    return np.ascontiguousarray(rows[:, 1:]), rows[:, 0].copy()


def _as_csr(X: NDArray[np.uint8]) -> Any:
    """The same rows as a sparse matrix; imported here, because guarded processes rarely need it."""
    from scipy import sparse

    return sparse.csr_array(X)
