"""Pytest plug-in: T-curves under regression.

Only pytest is imported here, so that a project without T-curves pays nothing for the plug-in.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "t_curves"
OPTION = "--t-curves-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    parser.getgroup("ciabench").addoption(
        OPTION, dest="t_curves_update", action="store_true", help="Write the baselines of T-curves instead of checking."
    )


@pytest.fixture
def t_curve_regression(request: pytest.FixtureRequest) -> "TCurveRegression":
    """Check T-curves against baselines in the folder `t_curves` beside the test file."""
    return TCurveRegression(request.path.parent / FOLDER, request.config.getoption("t_curves_update"))


class TCurveRegression:
    """Baselines in a folder.

    Parameters
    ----------
    folder : Path
        Holds one CSV file a baseline.
    is_updating : bool
        Whether to write baselines instead of checking.

    Examples
    --------
    A test asks for it by the name of the fixture:

    >>> def test_my_learner(t_curve_regression):
    ...     rows = learning_curve(family, {"mine": Mine()}, sizes=[100, 1000], trials=100, random_state=0)
    ...     t_curve_regression.check(rows, "mine")
    """

    def __init__(self, folder: Path, is_updating: bool) -> None:
        self.folder = folder
        self.is_updating = is_updating

    def check(self, rows: "pd.DataFrame", name: str, *, exact: bool = False) -> None:
        """Fail the test if the T-curves of `rows` changed against the baseline; warn if there is not enough data.

        Parameters
        ----------
        rows : DataFrame
            As of `learning_curve`; give it a `random_state`, for trials on the same models say far more.
        name : str
            Of the baseline.
        exact : bool
            Whether any number that differs in its last bit is a change; for the platform that wrote the baseline.
        """
        __tracebackhide__ = True
        path = self.folder / f"{name}.csv"
        if self.is_updating:
            _write(rows, path)
            return
        if not path.exists():
            pytest.fail(f"there is no baseline {path}; run pytest with {OPTION} to write it.")
        _judge(rows, path, exact)


def _write(rows: "pd.DataFrame", path: Path) -> None:
    """Write a baseline: equal results are equal bytes."""
    from ciabench.lab.storage.results import COLUMNS, LABELS, Results

    table = Results(rows).rows()[COLUMNS[:-1]].sort_values(LABELS)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def _judge(rows: "pd.DataFrame", path: Path, exact: bool) -> None:
    """Compare with a baseline, and fail or warn."""
    __tracebackhide__ = True
    from ciabench.findings.regression import compare

    comparison = compare(rows, path, exact=exact)
    if comparison.verdict == "changed" or comparison.unmatched:
        pytest.fail(f"{path}: {comparison.report()}\nIf this is meant, run pytest with {OPTION}.", pytrace=False)
    if comparison.verdict == "not enough data":
        warnings.warn(f"{path}: {comparison.report()}", UserWarning, stacklevel=3)
