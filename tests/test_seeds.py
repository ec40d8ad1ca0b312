"""Random states of estimators: those of scikit-learn, made faster."""

import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from ciabench.seeds import as_random_state


@pytest.mark.parametrize("seed", [0, 7, np.int64(2**31 - 1), 2**32 - 1])
def test_numbers_are_those_of_scikit_learn(seed):
    ours, theirs = as_random_state(seed), check_random_state(seed)
    for draw in (
        lambda random: random.random(700),  # more than one state of 624 words
        lambda random: random.dirichlet([5.0, 5.0], 20),
        lambda random: random.permutation(30),
        lambda random: random.standard_normal(3),
    ):
        np.testing.assert_array_equal(draw(ours), draw(theirs))


def test_what_is_no_integer_is_left_to_scikit_learn():
    random = np.random.RandomState(3)
    assert as_random_state(random) is random
    assert as_random_state(None) is check_random_state(None)
    for wrong in (-1, 2**32, "seed", 0.5):
        with pytest.raises(ValueError):
            as_random_state(wrong)


def test_pickled_state_continues():
    random = as_random_state(5)
    random.random(10)
    copy = pickle.loads(pickle.dumps(random))
    np.testing.assert_array_equal(copy.random(5), random.random(5))
