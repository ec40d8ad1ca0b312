"""Tables drawn from a mixture: what a table would look like if its fitted classes were the whole truth."""

import warnings
from typing import Any

import numpy as np

from ciabench.arrays import Coded
from ciabench.columns import Columns
from ciabench.errors import TableWarning
from ciabench.probability.product import Parameters, draw_like
from ciabench.seeds import Seed, digest
from ciabench.world.base import Task, World
from ciabench.world.table import Table


class DrawnTable(World):
    """Tables with the columns, the rows and the missing cells of a given one; each trial draws another and splits it.

    Parameters
    ----------
    columns : Columns
        The columns, the target among them.
    table : Coded
        The given table, which says which cells are missing.
    parameters : Parameters
        The mixture that rows are drawn from.
    target : str
        Column of the labels.
    test_share : float
        Share of the rows that a trial holds out.
    name : str
        Name of the world in results.

    Examples
    --------
    >>> import pandas as pd
    >>> from ciabench import LatentClass
    >>> from ciabench.tables import next_table
    >>> frame = pd.DataFrame({"age": range(40), "paid": ["no", "yes"] * 20})
    >>> lc = LatentClass(n_init=2, random_state=0).fit(frame)
    >>> world = DrawnTable(lc.columns_, next_table(lc, frame), lc.parameters_, "paid")
    >>> X, y = world.task(Seed(("any", 0))).training(100)
    >>> X.shape, np.unique(y).tolist()
    ((32, 1), ['no', 'yes'])
    """

    def __init__(
        self,
        columns: Columns,
        table: Coded,
        parameters: Parameters,
        target: str,
        test_share: float = 0.2,
        name: str = "drawn",
    ) -> None:
        self._columns, self._table, self._parameters = columns, table, parameters
        self._target, self._test_share, self._name = target, test_share, name

    @property
    def name(self) -> str:
        """Name of the world in results."""
        return self._name

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers of rows and hidden classes, and share of rows held out."""
        n_hidden = int(self._parameters.weights.size)
        return {"rows": self._table.n_rows, "hidden_classes": n_hidden, "test_share": self._test_share}

    @property
    def identity(self) -> dict[str, Any]:
        """Digest of the mixture and of the missing cells."""
        weights, tables, *numbers = self._parameters
        mixture = [weights.tolist(), [one.tolist() for one in tables], *(one.tolist() for one in numbers)]
        missing = [(self._table.codes == self._table.n_levels).tolist(), np.isnan(self._table.numbers).tolist()]
        levels = [[str(column.name), column.kind, list(map(str, column.levels))] for column in self._columns.columns]
        found = digest([mixture, missing, levels, self._target])
        return {"use": "DrawnTable", "digest": found, "test_share": self._test_share}

    def task(self, seed: Seed) -> Task:
        """Draw a table and split it."""
        drawn = draw_like(self._table, self._parameters, seed.rng("rows"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            table = Table(
                self._columns.decoded(drawn), target=self._target, test_share=self._test_share,
                kinds={name: kind for name, kind in self._columns.kinds.items() if name != self._target},
            )  # fmt: skip
        return table.task(seed)
