import io

import pytest
from rich.console import Console

from ciabench.lab.compute import progress
from ciabench.lab.compute.progress import Pace, Tally
from ciabench.lab.plan.learner import resolve
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.plan.plan import Plan


class FakeClock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def tally(clock):
    learners = (resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {}),)
    return Tally(Plan(1, 100, (10, 30), (), learners), complete=100, total=1000, clock=clock)


def cell(t=0.5, size=30):
    return CellOutcome(0, 0, 0.1, [ScoreOutcome(0, size, success=0.8, t=t)])


def add(tally, clock, seconds, count=1):
    clock.now += seconds
    for _ in range(count):
        tally.add(cell())


def test_compilation_and_set_up_do_not_count(tally, clock):
    assert tally.summary() == ""
    add(tally, clock, seconds=300)
    assert tally.seconds_left() is None
    for _ in range(3):
        add(tally, clock, seconds=1)
    assert tally.seconds_left() == pytest.approx(1000 - 104)
    assert tally.line() == "104/1000 cells  about 15 min left  1.0 cells/s  T(30): bayes 0.500"


def test_a_burst_of_cells_is_no_evidence(tally, clock):
    add(tally, clock, seconds=20, count=50)
    add(tally, clock, seconds=0.1, count=50)
    assert tally.seconds_left() is None
    add(tally, clock, seconds=5, count=100)
    assert tally.seconds_left() == pytest.approx((1000 - 300) / (100 / 5))


def test_the_rate_is_that_of_the_last_minute(clock):
    pace = Pace()
    for step in [0.01] * 10_000 + [1] * 70:
        clock.now += step
        pace.add(clock.now)
    assert pace.rate(clock.now) == pytest.approx(1, rel=0.01)
    assert len(pace._arrivals) < 70


def test_cells_that_are_slower_than_the_window_have_a_rate(clock):
    pace = Pace()
    for _ in range(4):
        clock.now += 600
        pace.add(clock.now)
    assert pace.rate(clock.now) == pytest.approx(1 / 600)


def test_a_stall_lowers_the_rate(tally, clock):
    for _ in range(10):
        add(tally, clock, seconds=1)
    before = tally.seconds_left()
    clock.now += 90
    assert tally.seconds_left() > 5 * before


def test_running_means_skip_other_sizes_failures_and_trials_without_headroom(tally):
    for one in (cell(t=0.25), cell(t=float("nan")), cell(t=9.0, size=10), cell(t=None)):
        tally.add(one)
    tally.add(CellOutcome(0, 0, 0.1, [ScoreOutcome(0, 30, error="failed.")]))
    assert tally.summary() == "T(30): bayes 0.250  1 failed"


def test_a_log_has_a_line_every_ten_seconds_and_one_at_the_end(clock):
    tally = Tally(Plan(1, 40, (10,), (), ()), complete=0, total=40, clock=clock)
    console = Console(file=io.StringIO(), width=200)
    with progress._lines(tally, console) as show:
        clock.now += 60
        for _ in range(40):
            show(CellOutcome(0, 0, 0.1, []))
            clock.now += 1
    lines = console.file.getvalue().splitlines()
    assert lines == [
        "1/40 cells",
        "12/40 cells  about 28 s left  1.0 cells/s",
        "23/40 cells  about 17 s left  1.0 cells/s",
        "34/40 cells  about 6 s left  1.0 cells/s",
        "40/40 cells  1.0 cells/s",
    ]
