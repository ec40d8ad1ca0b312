import subprocess
import sys

import pytest

from ciabench.findings.regression import SMALLEST_DROP
from ciabench.lab.storage.results import COLUMNS

pytest_plugins = ["pytester"]

TEST = """
import pandas as pd
from ciabench.lab.storage.results import Results

def test_curves(t_curve_regression):
    t_curve_regression.check(Results("rows.csv").rows(), "mine"{options})
"""
HEADER = ",".join(COLUMNS)


@pytest.fixture
def project(pytester):
    """A project with one test of T-curves, and the rows it checks."""

    def make(drop=0.0, trials=20, options="", bests=0.0):
        pytester.makepyfile(test_curves=TEST.format(options=options))
        lines = [
            f"10,2,0.9,{trial},{size},EM,0.8,{0.9 + bests + trial / 1000},0.6,{0.5 + trial / 50 - drop},0.0,{drop + 1}"
            for trial in range(trials)
            for size in (1000, 30)
        ]
        (pytester.path / "rows.csv").write_text("\n".join([HEADER, *lines]) + "\n")
        return pytester

    return make


def run(project, *options):
    return project.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-W", "default::UserWarning", *options
    )


def test_a_missing_baseline_fails_and_says_how_to_write_it(project):
    result = run(project())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no baseline *t_curves*mine.csv; run pytest with --t-curves-update*"])


def test_update_writes_the_same_bytes_and_the_check_then_passes(project):
    folder = project().path
    written = []
    for _ in range(2):
        run(project(), "--t-curves-update").assert_outcomes(passed=1)
        written.append((folder / "t_curves" / "mine.csv").read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(HEADER.removesuffix(",fit_seconds").encode() + b"\n10,2,0.9,0,30,EM")
    run(project()).assert_outcomes(passed=1)
    run(project(options=", exact=True")).assert_outcomes(passed=1)


def test_a_drop_fails_naming_curve_and_points(project):
    run(project(), "--t-curves-update")
    result = run(project(drop=2 * SMALLEST_DROP))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*CIA(10, 2, 0.9) EM: changed (20 trials, paired)*", "*size 30: T 0.690*0.590*", "*run pytest with --t-*"]
    )
    run(project(drop=2 * SMALLEST_DROP), "--t-curves-update").assert_outcomes(passed=1)
    run(project(drop=2 * SMALLEST_DROP)).assert_outcomes(passed=1)


def test_exact_fails_where_the_statistics_pass(project):
    run(project(), "--t-curves-update")
    run(project(drop=1e-12, trials=5, options=", exact=True")).assert_outcomes(failed=1)


def test_other_models_and_few_trials_warn(project):
    run(project(), "--t-curves-update")
    result = run(project(bests=0.01))
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*not enough data*"])


def test_a_curve_that_is_no_longer_measured_fails(project):
    folder = project().path
    run(project(), "--t-curves-update")
    baseline = folder / "t_curves" / "mine.csv"
    baseline.write_text(baseline.read_text().replace("EM", "COV") + baseline.read_text().partition("\n")[2])
    result = run(project())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*points of one set only, as CIA(10, 2, 0.9) COV at size 30*"])


def test_projects_without_t_curves_pay_nothing(tmp_path):
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_nothing(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('ciabench')\n"
        "    assert not {'numpy', 'pandas', 'scipy'} & set(sys.modules)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_nothing.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
