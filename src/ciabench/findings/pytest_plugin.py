"""Regression-testing T curves: a pytest plug-in with the fixture `t_curve_regression`.

Only pytest is imported at first, so that the plug-in costs nothing in a project without T curves.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pandas as pd

    from ciabench.findings.regression import Comparison

FOLDER = "t_curves"
OPTION = "--t-curves-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    parser.getgroup("ciabench").addoption(
        OPTION,
        dest="t_curves_update",
        action="store_true",
        help="Write baselines of T curves instead of checking them.",
    )


@pytest.fixture
def t_curve_regression(request: pytest.FixtureRequest) -> "TCurveRegression":
    """Check T curves against baselines in the folder `t_curves` beside the test file."""
    return TCurveRegression(request.path.parent / FOLDER, request.config.getoption("t_curves_update"))


class TCurveRegression:
    """Baselines in a folder.

    Parameters
    ----------
    folder : Path
        Holds one CSV file per baseline.
    is_updating : bool
        Whether to write baselines instead of checking them.

    Examples
    --------
    A test requests it by the name of the fixture:

    >>> def test_my_learner(t_curve_regression):
    ...     rows = learning_curve(family, {"mine": Mine()}, sizes=[100, 1000], trials=100, random_state=0)
    ...     t_curve_regression.check(rows, "mine")
    """

    def __init__(self, folder: Path, is_updating: bool) -> None:
        self.folder = folder
        self.is_updating = is_updating

    def check(self, rows: "pd.DataFrame", name: str, *, exact: bool = False) -> None:
        """Fail the test if the T curves of `rows` differ from the baseline; warn if there is not enough data.

        Parameters
        ----------
        rows : DataFrame
            As returned by `learning_curve`. Give it a `random_state`: comparing trials on the same models is far more
            sensitive.
        name : str
            Name of the baseline.
        exact : bool
            Whether the rows of both must be bit-identical; for the platform that wrote the baseline.
        """
        __tracebackhide__ = True
        path = self.folder / f"{name}.csv"
        if self.is_updating:
            _write(rows, path)
            return
        if not path.exists():
            pytest.fail(f"there is no baseline {path}; to write it, run pytest {OPTION}.", pytrace=False)
        _judge(rows, path, exact)


def _write(rows: "pd.DataFrame", path: Path) -> None:
    """Write a baseline without timings; equal results give equal bytes, whatever their order."""
    from ciabench.files import written_whole
    from ciabench.findings.regression import distinct_rows
    from ciabench.lab.storage.rows import read
    from ciabench.lab.storage.view import LABELS, MEASURES, WORLD

    distinct_rows(rows)
    table = read(rows).rows
    parameters = sorted(set(table.columns) - {*LABELS, *MEASURES})
    table = table[[WORLD, *parameters, *LABELS[1:], *MEASURES[:-1]]].sort_values(LABELS)
    with written_whole(path) as unfinished:
        table.to_csv(unfinished, index=False, lineterminator="\n", encoding="utf-8")


def _judge(rows: "pd.DataFrame", path: Path, exact: bool) -> None:
    """Compare with a baseline, and fail or warn."""
    __tracebackhide__ = True
    comparison = _compared(rows, path, exact)
    is_incomplete = bool(comparison.unmatched) or (exact and comparison.rows_of_one_set > 0)
    if comparison.verdict == "changed" or is_incomplete:
        pytest.fail(f"{path}: {comparison.report()}\nIf this is intended, run pytest {OPTION}.", pytrace=False)
    if comparison.verdict == "not enough data":
        warnings.warn(f"{path}: {comparison.report()}", UserWarning, stacklevel=3)


def _compared(rows: "pd.DataFrame", path: Path, exact: bool) -> "Comparison":
    """Compare with a baseline; an unusable baseline fails the test with one line."""
    __tracebackhide__ = True
    from ciabench.errors import StoreError
    from ciabench.findings.regression import compare, distinct_rows

    distinct_rows(rows)  # An error in the rows must not be blamed on the baseline.
    try:
        return compare(rows, path, exact=exact)
    except StoreError as error:
        reason = str(error).removeprefix(f"{path}: ")
        pytest.fail(f"{path}: {reason} To renew it, run pytest {OPTION}.", pytrace=False)
