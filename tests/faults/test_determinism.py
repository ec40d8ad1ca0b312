"""Small forms of `determinism.py`; workers are compared in `tests/lab/test_session.py`, processors by `make soak`."""

import numpy as np
from determinism import difference, in_any_order, numbers


def test_the_order_of_cells_changes_nothing():
    assert in_any_order() == "8 cells the same in shuffled order"


def test_the_same_learners_give_the_same_bits():
    first, again = numbers(), numbers()
    assert {name: one.tobytes() for name, one in first.items()} == {name: one.tobytes() for name, one in again.items()}


def test_differences_are_relative_to_the_largest_number():
    assert difference(np.array([1.0, 4.0]), np.array([1.0, 3.0])) == 0.25
