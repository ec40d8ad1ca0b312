"""Worlds and learners of a user's own, as a file on the path; imported by name, also by worker processes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from ciabench import HeldOut, Task, World


@dataclass(frozen=True)
class Coins(World):
    """A world of DataFrames with three text labels, decided by a column of colours."""

    rows: int = 200

    def task(self, seed):
        rng = seed.rng("rows")
        table = pd.DataFrame({"colour": pd.Categorical(rng.choice(["red", "green", "blue"], self.rows)), "x": 0.0})
        y = np.where(rng.random(self.rows) < 0.9, table["colour"].map({"red": "a", "green": "b", "blue": "c"}), "a")
        return Task(
            training=lambda size: (table.iloc[: min(size, 100)], y[: min(size, 100)]),
            judge=HeldOut(table.iloc[100:], y[100:], constant_label="a"),
            classes=["a", "b", "c"],
        )


class ByColour(ClassifierMixin, BaseEstimator):
    """Predicts the commonest label of a colour; needs a DataFrame."""

    def fit(self, X, y):
        counts = pd.crosstab(X["colour"], y)
        self.classes_, self.shares_ = counts.columns.to_numpy(), counts.div(counts.sum(axis=1), axis=0)
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return self.shares_.reindex(X["colour"]).fillna(1 / len(self.classes_)).to_numpy()


@dataclass(frozen=True)
class Shops(World):
    """A world of mixed tables with missing cells, whose labels are hidden classes."""

    labels: int = 3

    def task(self, seed):
        rng = seed.rng("rows")
        y = rng.integers(0, self.labels, 400)
        table = pd.DataFrame(
            {
                "age": rng.normal(30 + 15 * y, 6),
                "town": np.array(["Bath", "York", "Hull"])[np.where(rng.random(400) < 0.8, y, 0)],
                "member": rng.random(400) < 0.2 + 0.3 * y,
            }
        )
        table = table.mask(rng.random(table.shape) < 0.1)
        named = np.array(["low", "mid", "top"])[y]
        return Task(
            training=lambda size: (table.iloc[:size], named[:size]),
            judge=HeldOut(table.iloc[200:], named[200:], constant_label="low"),
            classes=np.array(["low", "mid", "top"])[: self.labels],
        )
