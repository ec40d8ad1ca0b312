"""The array types, defined once."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]


class Coded(NamedTuple):
    """A table of s rows with c discrete and m numeric columns.

    Parameters
    ----------
    codes : array (s, c) of unsigned integers, or CSR matrix (s, indicators)
        Position of every level, 0, 1, …; a missing cell has the number of levels. As a sparse matrix: the indicators of
        all levels but the first of every column, side by side.
    n_levels : array (c,)
        Number of levels of each discrete column, at least 1.
    numbers : array (s, m)
        Numeric cells; NaN where missing.
    """

    codes: Any
    n_levels: NDArray[np.int64]
    numbers: Floats

    def rows(self, chosen: Any) -> "Coded":
        """Some of the rows."""
        return self._replace(codes=self.codes[chosen], numbers=self.numbers[chosen])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[0])
