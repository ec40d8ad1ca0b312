import numpy as np
import pytest

from ciabench.learners.elementary import exp_negative, log_positive


def applied(function, values):
    values = np.array(values)
    function(values, np.empty_like(values))
    return values


@pytest.mark.parametrize("size", [1, 3, 4, 1000])
def test_exp_of_negative_values(size):
    values = -np.concatenate([[0.0], np.geomspace(1e-20, 700, size)])
    np.testing.assert_allclose(applied(exp_negative, values), np.exp(values), rtol=3e-16)


def test_exp_of_what_is_too_small_is_tiny():
    assert 0 <= applied(exp_negative, [-1e4])[0] < 1e-300


@pytest.mark.parametrize("size", [1, 3, 4, 1000])
def test_log_of_positive_values(size):
    values = np.concatenate([[1.0, 0.5, 2.0, np.sqrt(0.5), np.sqrt(2.0)], np.geomspace(1e-300, 1e300, size)])
    near_one = 1 + np.linspace(-1e-3, 1e-3, size)
    np.testing.assert_allclose(applied(log_positive, values), np.log(values), rtol=5e-16)
    np.testing.assert_allclose(applied(log_positive, near_one), np.log(near_one), rtol=5e-16)
