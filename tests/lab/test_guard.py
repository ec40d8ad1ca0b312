import time

import numpy as np
import pytest

from ciabench.lab.compute.fitting import FitError
from ciabench.lab.compute.guard import Guard
from ciabench.lab.plan.learner import resolve

X = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8)
Y = np.array([0, 1, 1], dtype=np.uint8)


@pytest.fixture
def guard():
    with Guard(time_limit=60) as opened:
        yield opened


def fit(guard, use):
    return guard.fit(resolve(f"hostile:{use}", use, {}), 0, X, Y)


def test_a_death_is_told_and_the_next_fit_is_well(guard):
    with pytest.raises(FitError, match="its process was killed by SIGSEGV"):
        fit(guard, "Crashes")
    fit(guard, "Majority")
    np.testing.assert_array_equal(guard.predict(X), [1, 1, 1])


def test_a_hang_ends_at_the_time_limit_even_if_it_holds_the_interpreter(guard, capfd):
    fit(guard, "Majority")
    guard.time_limit = 0.3
    started = time.perf_counter()
    with pytest.raises(FitError, match=r"exceeded the time limit of 0.3 s"):
        fit(guard, "HangsInC")
    assert time.perf_counter() - started < 20
    guard.time_limit = 60
    fit(guard, "Prints")
    assert capfd.readouterr() == ("", "")


def test_one_child_serves_many_fits_and_ends_with_its_guard(guard):
    fit(guard, "Majority")
    child = guard._child
    fit(guard, "Random")
    assert guard._child is child
    guard.close()
    assert child.returncode is not None
