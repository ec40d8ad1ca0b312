import sqlite3

import pytest

from ciabench.errors import StoreError
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome, failed_cell
from ciabench.lab.plan.plan import Job
from ciabench.lab.storage import blocks as module
from ciabench.lab.storage.blocks import blocks, check_whole
from ciabench.lab.storage.store import Store

NAN = float("nan")


def cell(trial, **changes):
    """Cell of two learners at two sizes; T may be missing, facts may be anything but ASCII."""
    values = {"error": None, "success": 0.75, "t": 0.5, "t_error": 0.0, "fit_seconds": 0.01, "facts": '{"n":"ü"}'}
    values |= changes
    scores = [ScoreOutcome(learner, size, *values.values()) for size in (30, 10) for learner in (1, 0)]
    return CellOutcome(0, trial, 0.1, scores, None, 0.8, 0.7, '{"difficulty":0.9}')


@pytest.fixture
def path(small, tmp_path):
    """Store of cells with all that a checksum covers: missing numbers, errors, a failed cell without scores."""
    experiment = small(trials=9)
    with Store.continued(tmp_path / "small.db", experiment.spec(), experiment.plan(), {}) as store:
        odd = [cell(1, t=NAN, t_error=NAN), cell(2, error="ValueError: no"), cell(3, facts=""), cell(4, t=-0.0)]
        store.add(cell(0), *odd, failed_cell(Job(0, 5, ()), "it failed"), cell(7))
        store.add(cell(0))
    return tmp_path / "small.db"


@pytest.mark.parametrize(("first", "rows_at_once"), [(1, 1), (2, 5), (50, 5_000)])
def test_blocks_hold_all_cells_with_their_scores_in_order(path, monkeypatch, first, rows_at_once):
    monkeypatch.setattr(module, "FIRST_CELLS", first)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", rows_at_once)
    with sqlite3.connect(path) as connection:
        found = list(blocks(connection, path, 1))
    connection.close()
    trials = [trial for block in found for trial in block.cells[module.TRIAL]]
    assert trials == [0, 1, 2, 3, 4, 5, 7]
    scored = [block.cells[module.TRIAL][owner] for block in found for owner in block.owners]
    assert scored == [trial for trial in trials for _ in range(4 * (trial != 5))]
    keys = [(size, learner) for block in found for learner, size in zip(*block.scores[:2], strict=True)]
    assert keys == 6 * [(10, 1), (10, 2), (30, 1), (30, 2)]


@pytest.mark.parametrize("change", [
    "UPDATE score SET t = NULL WHERE cell = 7 AND size = 30 AND learner = 2",
    "UPDATE score SET t = -1e-300 WHERE cell = 5 AND size = 10 AND learner = 1",
    "UPDATE score SET facts = NULL WHERE cell = 7 AND size = 10 AND learner = 2",
    "UPDATE score SET error = facts, facts = NULL WHERE cell = 1",
    "UPDATE cell SET best = 0.9 WHERE id = 6",
    "UPDATE cell SET facts = '{}' WHERE id = 3",
    "UPDATE score SET t = 'x' WHERE cell = 2",
    "UPDATE score SET size = 20 WHERE size = 10 AND cell = 1",
])  # fmt: skip
def test_every_value_of_a_cell_is_covered_by_its_checksum(path, change):
    connection = sqlite3.connect(path)
    check_whole(connection, path)
    connection.execute(change)
    with pytest.raises(StoreError, match="the checksum of trial"):
        check_whole(connection, path)
    connection.close()
