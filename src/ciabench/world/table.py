"""A user's own rows as a world: each trial is a different split into training and test rows."""

import hashlib
import warnings
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.errors import DataError, ParameterError, TableWarning, check_between
from ciabench.seeds import Seed
from ciabench.world.base import Task, World
from ciabench.world.held_out import HeldOut, HeldOutByRow
from ciabench.world.splits import Rows, Split, Splitter, by_group, by_label, by_time
from ciabench.world.table_parts import (
    attributes,
    described,
    groups_of,
    labels_of,
    moments_of,
    rows_of,
    set_aside,
    taken,
)

SHOWN = 10
"""Classes that are left out and named in the warning."""


class Table(World):
    """Labelled rows; each trial holds some of them out and trains on the others.

    Test rows are drawn at random, stratified by label. If `groups` is given, whole groups are held out. If `time` is
    given, the test rows are those that follow a random moment, and all training rows are earlier.

    The accuracy of the best rule is unknown, so T is computed with S_best = 1: it is the share of the constant rule's
    errors that a learner avoids.

    The kinds and levels of a DataFrame's columns are found once, on all rows; learners receive categories, or floats
    for numbers and 0/1 columns. Arrays and sparse matrices of numbers are handed on as they are. Rows without a label,
    and classes with one row, are left out with a warning.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix (s, n)
    y : array-like (s,), optional
        Labels of any kind.
    target : hashable, optional
        Column of X that holds the labels, in place of y.
    groups : hashable, optional
        Column of X that says which rows belong together, such as those of one person; it is not an attribute.
    time : hashable, optional
        Column of X with numbers or dates that order the rows; it is not an attribute.
    leave_out : hashable or list
        Columns of X that are not attributes either, such as identifiers.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    name : str
        Name of the world in results.
    test_share : float
        Share of the rows that a trial holds out.

    Examples
    --------
    >>> world = Table(pd.DataFrame({"age": range(20), "paid": ["no", "yes"] * 10}), target="paid")
    >>> X, y = world.task(Seed(("any", 0))).training(5)
    >>> X.shape, world.parameters
    ((5, 1), {'rows': 20, 'columns': 1, 'classes': 2, 'left_out': 0, 'test_share': 0.2})
    """

    _judge: ClassVar[type[HeldOut]] = HeldOut

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        target: Any = None,
        groups: Any = None,
        time: Any = None,
        leave_out: Any = (),
        kinds: Any = None,
        name: str = "table",
        test_share: float = 0.2,
    ) -> None:
        check_between("test_share", test_share, 0, 1)
        if (y is None) == (target is None):
            raise ParameterError("give the labels either as y, or as target, the name of their column.")
        if groups is not None and time is not None:
            raise ParameterError("rows are split by groups or by time, not by both.")
        self._name, self._test_share = name, float(test_share)
        aside, rows = set_aside(rows_of(X), [target, groups, time], leave_out)
        what = "y" if target is None else f"the target {target!r}"
        labels = labels_of(y if target is None else aside[target], rows.shape[0], what)
        kept = self._kept(labels, what)
        self._left_out = labels.size - kept.size
        self._classes, self._codes = np.unique(np.array(labels[kept].tolist()), return_inverse=True)
        self._split_by = {key: one for key, one in (("groups", groups), ("time", time)) if one is not None}
        self._order = [_PLACES[key](aside[one].iloc[kept]) for key, one in self._split_by.items()]
        self._X = attributes(taken(rows, kept), kinds)
        self._split = self._splitter()

    @classmethod
    def from_file(cls, path: str | Path, target: str, **options: Any) -> "Table":
        r"""Make a table of a CSV, TSV or Parquet file, named after it; options are as for `Table`.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "my.csv"
        ...     _ = file.write_text("age,paid\n" + "31,yes\n45,no\n" * 10)
        ...     Table.from_file(file, target="paid").name
        'my.csv'
        """
        from ciabench.world.table_file import TableFile

        return TableFile(path, target, **options)

    @property
    def name(self) -> str:
        """Name of the world in results."""
        return self._name

    @property
    def attributes(self) -> Any:
        """Rows as learners receive them."""
        return self._X

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of these rows."""
        return self._classes[self._codes]

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers of rows, columns and classes, rows left out, share of rows held out, and column they are split by."""
        n_rows, n_columns = self._X.shape
        return {
            "rows": int(n_rows),
            "columns": int(n_columns),
            "classes": int(self._classes.size),
            "left_out": self._left_out,
            "test_share": self._test_share,
            **{key: str(column) for key, column in self._split_by.items()},
        }

    @property
    def most_examples(self) -> int:
        """Training rows of a split: about as many if rows are split by groups, at least as many if by time."""
        most = int(self._codes.size) - self._n_test
        return min(most, self._codes.size // 2) if "time" in self._split_by else most

    @cached_property
    def _digest(self) -> str:
        """Hexadecimal SHA-256 of attributes, labels, and what rows are split by."""
        found = hashlib.sha256()
        for part in (*described(self._X), repr(self._classes.tolist()).encode(), self._codes, *self._order):
            found.update(part)
        return found.hexdigest()

    @property
    def identity(self) -> dict[str, Any]:
        """Digest of the content; neither the name nor the file matters."""
        return {"use": "Table", "digest": self._digest, "split": list(self._split_by), "test_share": self._test_share}

    def split(self, seed: Seed) -> Split:
        """Training rows in random order and test rows of a trial, as positions among the rows that are not left out."""
        return self._split(seed.rng("split"))

    def task(self, seed: Seed) -> Task:
        """Split the rows; a size larger than the training part means all of it."""
        rows, test = self.split(seed)
        y = self.labels
        commonest = self._classes[np.bincount(self._codes[rows]).argmax()]
        return Task(
            training=lambda size: (taken(self._X, rows[:size]), y[rows[:size]]),
            judge=self._judge(taken(self._X, test), y[test], constant_label=commonest),
            classes=self._classes,
        )

    def _kept(self, labels: NDArray[Any], what: str) -> Rows:
        """Rows whose label another row has too; warns of the others, and refuses what is left with one class."""
        present = np.flatnonzero(~pd.isna(labels))
        classes, codes, counts = np.unique(labels[present], return_inverse=True, return_counts=True)
        kept: Rows = present[counts[codes] > 1]
        if present.size == 0:
            raise DataError(f"{what} has no labels." if labels.size else "there are no rows.")
        if (counts > 1).sum() < 2:
            few = "has one class only" if classes.size == 1 else "has fewer than two classes with at least two rows"
            raise DataError(f"{what} {few}, {classes.tolist()[counts.argmax()]!r}; two are needed, with two rows each.")
        if present.size < labels.size:
            self._warn(f"{labels.size - present.size} of {labels.size} rows are left out: {what} is missing there")
        if kept.size < present.size:
            rare = ", ".join(repr(one) for one in classes[counts == 1].tolist()[:SHOWN])
            more = ", …" if (counts == 1).sum() > SHOWN else ""
            self._warn(
                f"classes with one row are left out, because they cannot be in both training and test: {rare}{more}"
            )
        return kept

    def _warn(self, text: str) -> None:
        warnings.warn(f"{self._name}: {text}.", TableWarning, stacklevel=4)

    def _splitter(self) -> Splitter:
        """Function from a generator to a split, which workers can receive."""
        n_rows, n_classes = self._codes.size, self._classes.size
        n_test = self._n_test = max(round(self._test_share * n_rows), n_classes)
        if n_rows - n_test < n_classes:
            raise DataError(
                f"test_share = {self._test_share:g} holds out {n_test} of {n_rows} rows, which leaves too few to train "
                f"on {n_classes} classes; lower it."
            )
        if not self._split_by:
            return partial(by_label, labels=self._codes, n_test=n_test)
        ((key, column),) = self._split_by.items()
        if self._order[0].max() == 0:
            raise DataError(f"the column {column!r} has one value only, so rows cannot be split by it.")
        if key == "groups":
            return partial(by_group, labels=self._codes, n_test=n_test, groups=self._order[0])
        return partial(by_time, labels=self._codes, n_test=n_test, moments=self._order[0])


class TableByRow(Table):
    """A table whose scores state, as the fact "hits", which of the test rows of `split` were predicted right.

    Examples
    --------
    >>> world = TableByRow(np.arange(12)[:, None] % 4, [0, 1, 1, 0] * 3)
    >>> world.split(Seed(("any", 0))).test.size
    2
    """

    _judge: ClassVar[type[HeldOut]] = HeldOutByRow

    @property
    def identity(self) -> dict[str, Any]:
        """Digest of the content; rows of results that lack the fact are those of another world."""
        return {**super().identity, "facts": "hits"}


_PLACES = {"groups": groups_of, "time": moments_of}
