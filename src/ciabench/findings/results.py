"""Results of experiments for display: rows, counts, and a table of mean T."""

from html import escape

import pandas as pd

from ciabench.findings.curves import CURVE, learning_curves
from ciabench.lab.storage.rows import Source, read
from ciabench.lab.storage.view import WORLD


class Results:
    """Results of an experiment.

    Parameters
    ----------
    source : path or DataFrame
        A store (`.db`), an exported table (`.csv`, `.csv.gz`), or the rows of `learning_curve`.

    Examples
    --------
    >>> from ciabench import CIAFamily, NaiveBayes, learning_curve
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"NB": NaiveBayes()}, sizes=[10, 1000], trials=20, random_state=0
    ... )
    >>> Results(rows)
    <Results: 1 world, 20 trials, 40 rows of NB>
    """

    def __init__(self, source: Source) -> None:
        self._rows = read(source).rows

    def __repr__(self) -> str:
        return f"<Results: {self._summary()}>"

    def _repr_html_(self) -> str:
        """Table of mean T for notebooks: one row per world and learner, one column per size."""
        curves = learning_curves(self._rows)
        order = pd.MultiIndex.from_frame(curves[CURVE].drop_duplicates())
        table = curves.pivot(index=CURVE, columns="size", values="t").reindex(order)
        return f"<p>{escape(self._summary())}; mean T:</p>{table.to_html(float_format='{:.2f}'.format, na_rep='')}"

    def _summary(self) -> str:
        """Count worlds, trials and rows, and name the learners."""
        worlds, trials = self._rows[WORLD].nunique(), self._rows["trial"].nunique()
        names = ", ".join(sorted(self._rows["learner"].unique())) or "no learner"
        counts = [(worlds, "world"), (trials, "trial"), (len(self._rows), "row")]
        return ", ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in counts) + f" of {names}"

    def rows(self) -> pd.DataFrame:
        """Copy of the rows: one per world, trial, size and learner."""
        return self._rows.copy()
