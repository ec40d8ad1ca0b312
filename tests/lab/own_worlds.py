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
