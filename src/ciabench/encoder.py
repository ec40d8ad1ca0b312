"""Any table as bits, for learners that take nothing else."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Bits, Coded, Floats
from ciabench.columns import Column
from ciabench.errors import DataError, check_integer
from ciabench.tables import next_table, training_table

MOST_BITS = 2**31
"""Most bits of a table, each of which takes a byte."""


class BitEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into bits.

    A binary column becomes one bit, which is 1 for its second level; a categorical one has a bit per level; a numeric
    one has a bit per cut, which is 1 above it. A column with missing cells in training has a further bit for these;
    the other bits of a missing cell are 0.

    Parameters
    ----------
    n_bins : int
        Intervals of a numeric column, cut at its quantiles; 2 cuts at the median.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.

    Attributes
    ----------
    kinds_ : dict
        Kind of every column.
    cuts_ : list of arrays
        Cuts of the numeric columns.
    n_features_in_ : int
        Number of columns of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from ciabench import Winnow
    >>> from sklearn.pipeline import make_pipeline
    >>> table = pd.DataFrame({"age": [31.5, 40, None, 25], "paid": ["yes", "no", "no", "yes"], "rate": [1, 5, 3, 1]})
    >>> encoder = BitEncoder().set_output(transform="pandas").fit(table)
    >>> encoder.transform(table)
       age > 31.5  age missing  paid = yes  rate = 1  rate = 3  rate = 5
    0           0            0           1         1         0         0
    1           1            0           0         0         0         1
    2           0            1           0         0         1         0
    3           0            0           1         1         0         0
    >>> make_pipeline(BitEncoder(), Winnow(random_state=0)).fit(table, [1, 0, 0, 1]).predict(table).tolist()
    [1, 0, 0, 1]
    """

    def __init__(self, *, n_bins: int = 2, kinds: Any = None) -> None:
        self.n_bins = n_bins
        self.kinds = kinds

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn levels and cuts from X (s, n); y is ignored."""
        check_integer("n_bins", self.n_bins, 2)
        coded = training_table(self, X, self.kinds)
        self.cuts_ = [self._cuts(numbers[~np.isnan(numbers)]) for numbers in coded.numbers.T]
        missing_codes, missing_numbers = coded.codes == coded.n_levels, np.isnan(coded.numbers)
        self._has_missing = np.concatenate([missing_codes.any(axis=0), missing_numbers.any(axis=0)])
        return self

    def transform(self, X: ArrayLike) -> Bits:
        """Bits (s, bits) of the rows of X (s, n)."""
        check_is_fitted(self)
        coded = next_table(self, X)
        n_bits = len(self.get_feature_names_out())
        if coded.n_rows * n_bits > MOST_BITS:
            raise DataError(
                f"{coded.n_rows} rows of {n_bits} bits are more than the limit of {MOST_BITS} bits; leave out columns "
                "with many levels."
            )
        blocks = [bits for _, bits in self._blocks(coded)]
        empty: Bits = np.empty((coded.n_rows, 0), dtype=np.uint8)
        return np.concatenate([empty, *blocks], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name of every bit."""
        check_is_fitted(self)
        nothing = Coded(
            np.empty((0, len(self.columns_.discrete)), np.uint8), np.empty(0, np.int64), np.empty((0, len(self.cuts_)))
        )
        return np.array([name for names, _ in self._blocks(nothing) for name in names], dtype=object)

    def _cuts(self, observed: Floats) -> Floats:
        """Distinct quantiles below the maximum, so that every bit can be 1."""
        cuts = np.unique(np.quantile(observed, np.arange(1, self.n_bins) / self.n_bins, method="lower"))
        below: Floats = cuts[cuts < observed.max()]
        return below

    def _blocks(self, coded: Coded) -> list[tuple[list[str], Bits]]:
        """Names and bits of every column in turn."""
        blocks, next_code, next_number = [], 0, 0
        for column in self.columns_.columns:
            if column.is_numeric:
                position = len(self.columns_.discrete) + next_number
                cells, levels = coded.numbers[:, next_number], self.cuts_[next_number]
                names, bits, missing = [f"> {cut:g}" for cut in levels], cells[:, None] > levels, np.isnan(cells)
                next_number += 1
            else:
                position, codes = next_code, coded.codes[:, next_code]
                names, bits, missing = _level_bits(column, codes)
                next_code += 1
            if self._has_missing[position]:
                names, bits = [*names, "missing"], np.column_stack([bits, missing])
            blocks.append(([f"{column.name} {name}" for name in names], bits.astype(np.uint8)))
        return blocks


def _level_bits(column: Column, codes: NDArray[Any]) -> tuple[list[str], NDArray[np.bool_], NDArray[np.bool_]]:
    """Names and bits of the levels of a column, and which of its cells are missing."""
    shown = range(1, 2) if len(column.levels) == 2 else range(len(column.levels))
    names = [f"= {column.levels[code]}" for code in shown]
    return names, codes[:, None] == np.array(shown, dtype=np.intp), codes == max(1, len(column.levels))
