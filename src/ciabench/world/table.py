"""A user's own rows as a world: each trial is a different split into training and test rows."""

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from ciabench.errors import DataError, check_between
from ciabench.seeds import Seed
from ciabench.world.base import Task, World
from ciabench.world.held_out import HeldOut


class Table(World):
    """Labelled rows; each trial holds some of them out, stratified by label, and trains on the others.

    The accuracy of the best rule is unknown, so T is computed with S_best = 1.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame (s, n)
    y : array-like (s,)
        Labels of any kind; each must occur at least twice.
    name : str
        Name of the world in results.
    test_share : float
        Share of the rows that a trial holds out.

    Examples
    --------
    >>> world = Table([[0], [1]] * 10, ["no", "yes"] * 10)
    >>> X, y = world.task(Seed(("any", 0))).training(5)
    >>> X.shape, world.parameters
    ((5, 1), {'rows': 20, 'columns': 1, 'test_share': 0.2})
    """

    def __init__(self, X: Any, y: Any, *, name: str = "table", test_share: float = 0.2) -> None:
        check_between("test_share", test_share, 0, 1)
        self._X, self._y = _rows(X), _labels(y)
        self._name, self._test_share = name, float(test_share)
        if self._y.ndim != 1 or self._X.shape[0] != self._y.size:
            raise DataError(f"y must have one label per row of X, {self._X.shape[0]}; its shape is {self._y.shape}.")
        self._classes, counts = np.unique(self._y, return_counts=True)
        if self._classes.size < 2:
            raise DataError("y must hold at least two different labels.")
        if counts.min() < 2:
            rare = self._classes.tolist()[counts.argmin()]
            raise DataError(f"the label {rare!r} is on one row only; every label needs two, to train and to test.")
        self._n_test = max(round(self._test_share * self._y.size), self._classes.size)
        if self._y.size - self._n_test < self._classes.size:
            raise DataError(
                f"test_share = {test_share:g} holds out {self._n_test} of {self._y.size} rows, which leaves too few to "
                f"train on {self._classes.size} labels; lower it."
            )

    @property
    def name(self) -> str:
        """Name of the world in results."""
        return self._name

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers of rows and columns, and the share of rows held out."""
        n_rows, n_columns = self._X.shape
        return {"rows": int(n_rows), "columns": int(n_columns), "test_share": self._test_share}

    @cached_property
    def _digest(self) -> str:
        return _digest(self._X, self._y)

    @property
    def identity(self) -> dict[str, Any]:
        """Digest of the content; the name does not matter."""
        return {"use": "Table", "digest": self._digest, "test_share": self._test_share}

    def task(self, seed: Seed) -> Task:
        """Split the rows; a size larger than the training part means all of it."""
        from sklearn.model_selection import train_test_split

        rng = seed.rng("split")
        rows, test = train_test_split(
            np.arange(self._y.size), test_size=self._n_test, stratify=self._y, random_state=int(rng.integers(2**31))
        )
        labels, counts = np.unique(self._y[rows], return_counts=True)
        return Task(
            training=lambda size: (_taken(self._X, rows[:size]), self._y[rows[:size]]),
            judge=HeldOut(_taken(self._X, test), self._y[test], constant_label=labels[counts.argmax()]),
            classes=self._classes,
        )


def _rows(X: Any) -> Any:
    """X as a DataFrame, CSR array or plain array, from which rows can be taken."""
    if isinstance(X, pd.DataFrame):
        return X
    if sparse.issparse(X):
        return sparse.csr_array(X)
    try:
        rows = np.asarray(X)
    except ValueError:
        raise DataError("the rows of X must have equal lengths.") from None
    if rows.ndim != 2:
        raise DataError(f"X must have shape (rows, columns); its shape is {rows.shape}.")
    return rows


def _labels(y: Any) -> NDArray[Any]:
    """Labels as an array, all of one kind and none missing."""
    labels = np.asarray(y)
    if pd.isna(labels).any():
        raise DataError("y has missing labels; leave these rows out.")
    if labels.dtype == object and len({type(label) for label in labels.ravel()}) > 1:
        raise DataError("y must hold labels of one kind, such as only strings or only integers.")
    return labels


def _taken(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _digest(X: Any, y: NDArray[Any]) -> str:
    """Hexadecimal SHA-256 of all values and of the column names."""
    found = hashlib.sha256()
    if not isinstance(X, pd.DataFrame):
        X = pd.DataFrame(X.toarray() if sparse.issparse(X) else X)
    found.update(repr([list(map(str, X.columns)), X.shape]).encode())
    found.update(pd.util.hash_pandas_object(X, index=False).to_numpy().tobytes())
    found.update(pd.util.hash_array(pd.Series(y).to_numpy(), categorize=False).tobytes())
    return found.hexdigest()
