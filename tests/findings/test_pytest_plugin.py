import subprocess
import sys

import pytest

from ciabench.findings.regression import SMALLEST_DROP

pytest_plugins = ["pytester"]

TEST = """
from ciabench.lab.storage.rows import read

def test_curves(t_curve_regression):
    t_curve_regression.check(read("rows.csv").rows, "mine"{options})
"""
LABELS = "world,n,k,b,trial,size,learner"
NUMBERS = "success,best,constant,t,t_error"
HEADER = f"{LABELS},{NUMBERS},fit_seconds"
WRITTEN = f"world,b,k,n,trial,size,learner,{NUMBERS}\n"
OLD_HEADER = f"n,k,b,trial,size,learner,{NUMBERS}"
"""Of baselines that ciabench 0.1 wrote."""


def lines_of(drop=0.0, trials=20, bests=0.0, sizes=(1000, 30)):
    """Rows as text, without what comes before n."""
    return [
        f"10,2,0.9,{trial},{size},EM,0.8,{0.9 + bests + trial / 1000},0.6,{0.5 + trial / 50 - drop},0.0"
        for trial in range(trials)
        for size in sizes
    ]


@pytest.fixture
def project(pytester):
    """A project with one test of T curves, and the rows it checks."""

    def make(drop=0.0, options="", world='"CIA(10, 2, 0.9)"', is_reversed=False, **kwargs):
        pytester.makepyfile(test_curves=TEST.format(options=options))
        lines = [f"{world},{line},{drop + 1}" for line in lines_of(drop, **kwargs)]
        (pytester.path / "rows.csv").write_text("\n".join([HEADER, *(lines[::-1] if is_reversed else lines)]) + "\n")
        return pytester

    return make


@pytest.fixture
def baseline(pytester):
    """File of the baseline, in a folder that exists."""
    (pytester.path / "t_curves").mkdir()
    return pytester.path / "t_curves" / "mine.csv"


def run(project, *options):
    return project.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-W", "default::UserWarning", *options
    )


def test_a_missing_baseline_fails_and_says_how_to_write_it(project):
    result = run(project())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*there is no baseline *t_curves*mine.csv; to write it, run pytest --t-curves-update.*"]
    )


def test_update_writes_the_same_bytes_whatever_the_order_and_the_check_then_passes(project, baseline):
    written = []
    for is_reversed in (False, True):
        run(project(is_reversed=is_reversed), "--t-curves-update").assert_outcomes(passed=1)
        written.append(baseline.read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(WRITTEN.encode() + b'"CIA(10, 2, 0.9)",0.9,2,10,0,30,EM,0.8,0.9,0.6,0.5,0.0\n')
    run(project()).assert_outcomes(passed=1)
    run(project(options=", exact=True")).assert_outcomes(passed=1)


def test_a_drop_fails_naming_curve_and_points(project):
    run(project(), "--t-curves-update")
    result = run(project(drop=2 * SMALLEST_DROP))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*CIA(10, 2, 0.9) EM: changed (20 trials, paired)*",
            "*size 30: T 0.690*0.590*",
            "If this is intended, run pytest --t-curves-update.*",
        ]
    )
    run(project(drop=2 * SMALLEST_DROP), "--t-curves-update").assert_outcomes(passed=1)
    run(project(drop=2 * SMALLEST_DROP)).assert_outcomes(passed=1)


def test_exact_fails_where_the_statistics_pass(project):
    run(project(), "--t-curves-update")
    run(project(drop=1e-12, trials=20, options=", exact=True")).assert_outcomes(failed=1)


def test_exact_wants_all_rows(project):
    run(project(), "--t-curves-update")
    result = run(project(trials=19, options=", exact=True"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*2 rows are in one set only*"])


def test_other_models_and_few_trials_warn(project):
    run(project(), "--t-curves-update")
    result = run(project(bests=0.01))
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*not enough data*"])


def test_a_curve_that_is_no_longer_measured_fails(project, baseline):
    run(project(), "--t-curves-update")
    baseline.write_text(baseline.read_text().replace("EM", "COV") + baseline.read_text().partition("\n")[2])
    result = run(project())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*points of one set only, such as CIA(10, 2, 0.9) COV at size 30*"])


@pytest.mark.parametrize(("drop", "outcome"), [(0.0, "passed"), (0.1, "failed")])
def test_a_baseline_of_the_first_version_is_compared(project, baseline, drop, outcome):
    baseline.write_text("\n".join([OLD_HEADER, *sorted(lines_of(drop))]) + "\n")
    for options in ("", ", exact=True"):
        run(project(options=options)).assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n1,2\n", "is not a table of results; it lacks world, *"),
        (f"{OLD_HEADER}\n{lines_of()[0]}", "cannot be read as a table; it ends in the middle of a line."),
        ("", "cannot be read as a table; *"),
        (
            "\n".join([OLD_HEADER, *lines_of(), lines_of()[3], ""]),
            "CIA(10, 2, 0.9) EM at size 30, trial 1, occurs twice.",
        ),
        (
            "\n".join([OLD_HEADER, *lines_of(sizes=(7,)), ""]),
            "the two result sets have no world, learner and size in *.",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_refused_in_one_line(project, baseline, text, reason):
    baseline.write_text(text)
    result = run(project())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*t_curves/mine.csv: {reason} To renew it, run pytest --t-curves-update."])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*Error*")


def test_rows_that_are_there_twice_are_not_blamed_on_the_baseline(project):
    run(project(), "--t-curves-update")
    doubled = project()
    rows = doubled.path / "rows.csv"
    rows.write_text(rows.read_text() + rows.read_text().partition("\n")[2])
    for options in ([], ["--t-curves-update"]):
        result = run(doubled, *options)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*StoreError: rows: CIA(10, 2, 0.9) EM at size 1000, trial 0, occurs twice."])


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
