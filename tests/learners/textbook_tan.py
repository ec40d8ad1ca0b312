"""Tree-augmented naive Bayes as in Friedman, Geiger & Goldszmidt (1997), written plainly, without the library."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin


class TextbookTAN(ClassifierMixin, BaseEstimator):
    """Every value of a column is a level, and so is a missing cell; numbers with more than ten values become fifths.

    Probabilities by Laplace's rule. A value that training did not have is a further level.
    """

    def fit(self, X, y):
        table = pd.DataFrame(X)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.columns = [self._levels(table[name]) for name in table.columns]
        rows = self._codes(table)
        n, k = rows.shape[1], len(self.classes_)
        sizes = [len(levels) for _, levels in self.columns]
        information = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                counts = np.zeros((k, sizes[i] + 1, sizes[j] + 1))
                np.add.at(counts, (labels, rows[:, i], rows[:, j]), 1)
                information[i, j] = information[j, i] = self._information(counts)
        self.parent, inside = {0: None}, [0]
        while len(inside) < n:
            outside = [j for j in range(n) if j not in inside]
            best = max(((i, j) for i in inside for j in outside), key=lambda pair: information[pair])
            self.parent[best[1]] = best[0]
            inside.append(best[1])
        self.log_prior = np.log((np.bincount(labels, minlength=k) + 1) / (len(labels) + k))
        self.log_tables = {}
        for column, parent in self.parent.items():
            above = np.zeros(len(rows), dtype=int) if parent is None else rows[:, parent]
            counts = np.zeros((k, 1 if parent is None else sizes[parent] + 1, sizes[column] + 1))
            np.add.at(counts, (labels, above, rows[:, column]), 1)
            self.log_tables[column] = np.log((counts + 1) / (counts.sum(axis=2, keepdims=True) + sizes[column]))
        return self

    def _information(self, counts):
        """I(x_i; x_j | y) from counts (class, x_i, x_j)."""
        total = 0.0
        for of_class in counts:
            expected = np.outer(of_class.sum(axis=1), of_class.sum(axis=0)) / max(of_class.sum(), 1)
            seen = of_class > 0
            total += (of_class[seen] * np.log(of_class[seen] / expected[seen])).sum()
        return total / counts.sum()

    def _levels(self, values):
        """Cuts of a column of numbers, or None; and the levels of the column."""
        cuts = None
        if values.dtype.kind in "if" and values.nunique() > 10:
            cuts = np.quantile(values.dropna(), [0.2, 0.4, 0.6, 0.8], method="inverted_cdf")
        return cuts, sorted(set(self._named(values, cuts)))

    def _named(self, values, cuts):
        if cuts is not None:
            return [str(np.searchsorted(cuts, value)) if value == value else "?" for value in values]
        return ["?" if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]

    def _codes(self, table):
        codes = []
        for name, (cuts, levels) in zip(table.columns, self.columns, strict=True):
            place = {level: position for position, level in enumerate(levels)}
            codes.append([place.get(value, len(levels)) for value in self._named(table[name], cuts)])
        return np.array(codes).T

    def log_joint(self, X):
        """Log P(y, x), rows by classes."""
        rows = self._codes(pd.DataFrame(X))
        scores = np.tile(self.log_prior, (len(rows), 1))
        for column, parent in self.parent.items():
            above = 0 if parent is None else rows[:, parent]
            scores += self.log_tables[column][:, above, rows[:, column]].T
        return scores

    def predict(self, X):
        return self.classes_[self.log_joint(X).argmax(axis=1)]
