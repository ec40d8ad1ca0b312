"""Small forms of `determinism.py`; workers are compared in `tests/lab/test_session.py`, processors by `make soak`."""

import numpy as np
from determinism import difference, in_any_order


def test_the_order_of_cells_changes_nothing():
    assert in_any_order() == "8 cells the same in shuffled order"


def test_differences_are_relative_to_the_largest_number():
    assert difference(np.array([1.0, 4.0]), np.array([1.0, 3.0])) == 0.25
