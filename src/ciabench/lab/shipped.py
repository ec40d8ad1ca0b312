"""What comes with the package: experiment files and reference rows.

Their home is `experiments/` and `results/reference/` of the repository. A wheel has them in `ciabench/shipped/`; an
editable installation finds them in the checkout.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import ciabench
from ciabench.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = Path(ciabench.__file__).parent
HOMES = {"experiments": Path("experiments"), "reference": Path("results") / "reference"}
"""Where the files are in a checkout."""


@cache
def experiments() -> dict[str, Path]:
    """Experiment files by name, in alphabetical order.

    Examples
    --------
    >>> "paper" in experiments()
    True
    """
    return {file.stem: file for file in sorted(_folder("experiments").glob("*.toml"))}


def reference_folder() -> Path:
    """Folder of the reference: rows, statistics, claims."""
    return _folder("reference")


def reference_tables() -> dict[str, Path]:
    """Tables of the reference rows by the name of the experiment."""
    return {table.name.partition(".")[0]: table for table in sorted(reference_folder().glob("*.csv.gz"))}


def reference_table(name: str) -> Path:
    """Table of the reference rows of an experiment."""
    tables = reference_tables()
    if name not in tables:
        raise StoreError(f"there are no reference rows of {name!r}, only of {', '.join(tables)}.")
    return tables[name]


def is_reference(table: Path) -> bool:
    """Whether a table is one of the reference rows."""
    return table.resolve().parent == reference_folder().resolve()


def reference(name: str) -> "pd.DataFrame":
    """Reference rows of an experiment that comes with ciabench.

    Parameters
    ----------
    name : str
        "paper", "omitted", "larger", "beyond", "spelling", "brown", "departures", "limit" or "averaging".

    Returns
    -------
    DataFrame
        One row per world, trial, size and learner, as `learning_curve` returns them.

    Examples
    --------
    >>> rows = reference("paper")
    >>> rows.query("n == 10 and k == 2 and size == 100").groupby("learner")["t"].mean().round(1).to_dict()
    {'COV': 0.6, 'EM': 0.7, 'Winnow': 0.5}
    """
    from ciabench.lab.storage.rows import read

    return read(reference_table(name)).rows


def _folder(kind: str) -> Path:
    """Folder in the installed package, or in the checkout that it is imported from."""
    inside = PACKAGE / "shipped" / kind
    return inside if inside.is_dir() else PACKAGE.parents[1] / HOMES[kind]
