import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

from ciabench.errors import StoreError
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.storage.database import checksum
from ciabench.lab.storage.store import Store
from ciabench.seeds import digest


@pytest.fixture
def opened(small, tmp_path):
    """Open the store of a small experiment for a run."""

    def open_store(**changes):
        experiment = small(**changes)
        return Store.continued(tmp_path / "small.db", experiment.spec(), experiment.plan(), {"python": "3"})

    return open_store


def done(trial, world=0, wanted=((0, 10), (0, 30), (1, 10), (1, 30)), error=None):
    scores = [ScoreOutcome(entrant, size, error, 0.75, 0.5, 0.0, 0.01, '{"n_iter":3}') for entrant, size in wanted]
    return CellOutcome(world, trial, 0.1, scores, None, 0.8, 0.7, '{"difficulty":0.9}')


def missing(store, experiment, **options):
    return [(job.world, job.trial, len(job.wanted)) for job in store.missing(experiment.plan(), **options)]


def test_rows_come_back_in_one_order_whatever_was_written_first(opened):
    with opened() as store:
        for trial in (2, 0):
            store.add(done(trial))
        rows = list(store.rows())
        columns = store.view().columns
    assert rows == sorted(rows)
    assert dict(zip(columns, rows[0], strict=True)) == {
        "world": "CIA(5, 2, 0.9)", "n": 5, "k": 2, "b": 0.9, "tolerance": 0.01, "min_headroom": 0.02, "trial": 0,
        "size": 10, "learner": "bayes", "success": 0.75, "best": 0.8, "constant": 0.7, "t": 0.5, "t_error": 0.0,
        "fit_seconds": 0.01,
    }  # fmt: skip


def test_only_what_is_missing_is_asked_for(opened, small):
    with opened() as store:
        store.add(done(0))
        store.add(done(1, wanted=((0, 10),)))
        assert missing(store, small()) == [(0, 1, 3), (0, 2, 4), (0, 3, 4), *((1, trial, 4) for trial in range(4))]
        assert store.complete_cells(small().plan()) == 1


@pytest.mark.parametrize("change", [{"trials": 6}, {"sizes": [30, 10, 100]}, {"time_limit": 5.0}])
def test_additions_continue(opened, change):
    with opened() as store:
        store.add(done(0))
    with opened(**change) as store:
        assert store.counts().done == 4


def test_another_seed_is_refused_in_one_line(opened):
    opened().close()
    with pytest.raises(StoreError, match="holds results of seed 1997, and the experiment now has seed 3; give"):
        opened(seed=3)
    opened().close()


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"sizes": [10]}, 2),
        ({"families": [{"n": 8, "k": 2, "b": 0.9}]}, 0),
        ({"learners": ["hostile:Random"]}, 2),
        ({"learners": [{"use": "hostile:Random", "name": "renamed"}]}, 2),
        ({"trials": 1, "families": [{"n": [8, 5], "k": 2, "b": 0.9}]}, 4),
    ],
)
def test_the_file_is_a_view_and_the_store_a_memory(opened, change, left):
    with opened() as store:
        store.add(done(0))
        everything = list(store.rows())
    with opened(**change) as store:
        assert len(list(store.rows())) == store.counts().done == left
        assert store.counts().beyond == 4 - left
        assert len(list(store.rows(store.everything()))) == 4
    with opened() as store:
        assert list(store.rows()) == everything


def test_a_learner_of_a_new_version_is_another_learner_and_the_old_scores_are_kept(opened, small):
    plan = small().plan()
    with opened() as store:
        store.add(done(0))
    newer = replace(plan, learners=(plan.learners[0], replace(plan.learners[1], version=2)))
    with Store.continued(store.path, small().spec(), newer, {}) as store:
        wanted = next(iter(store.missing(newer))).wanted
        assert [(newer.entrants[one.entrant].name, one.size) for one in wanted] == [("random", 10), ("random", 30)]
        assert store.counts().beyond == 2
        names = {row[store.everything().columns.index("learner")] for row in store.rows(store.everything())}
    assert names == {"bayes", "random #2"}


def test_reading_leaves_no_files_behind(opened, tmp_path):
    with opened() as store:
        store.add(done(0))
    with Store(tmp_path / "small.db") as store:
        assert len(list(store.rows())) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"small.db", "small.db.lock"}


def test_a_store_of_the_first_schema_is_refused_in_one_line_that_says_what_to_do(opened, tmp_path):
    opened().close()
    sqlite3.connect(tmp_path / "small.db").execute("PRAGMA user_version = 1").connection.close()
    with pytest.raises(StoreError, match=r"older ciabench \(schema 1, now 2\); move it away and run the"):
        Store(tmp_path / "small.db")


def test_failures_are_kept_apart_and_retried_on_demand(opened, small):
    with opened() as store:
        store.add(done(0, wanted=((0, 10), (0, 30), (1, 10))))
        store.add(done(0, wanted=((1, 30),), error="Traceback …\nZeroDivisionError: on purpose"))
        assert len(list(store.rows())) == 3
        assert [(failure.learner, failure.size) for failure in store.failures()] == [("random", 30)]
        plan = small().plan()
        assert (store.complete_cells(plan), store.complete_cells(plan, retry_failed=True)) == (1, 0)
        assert (0, 0, 1) not in missing(store, small())
        assert (0, 0, 1) in missing(store, small(), retry_failed=True)
        store.add(done(0, wanted=((1, 30),)))
        assert not list(store.failures())


def test_the_cause_of_a_failed_trial_is_kept(opened):
    with opened() as store:
        store.add(CellOutcome(0, 3, 0.1, [ScoreOutcome(0, 10, "its trial failed.")], "ValueError: on purpose"))
        assert [one.error for one in store.failures() if one.learner is None] == ["ValueError: on purpose"]


def test_the_checksums_of_stores_that_exist_stay_valid():
    cell = (1, 0, 0.8, None, 1, 2.5, 3, "", "{}")
    score = (10, 2, 0.5, 0.25, 0.0, 0.01, 1, "facts", "µ")
    assert checksum(cell, [score]) == 1378862610


def test_a_cell_is_written_whole_or_not_at_all(opened):
    with opened() as store:
        with pytest.raises(StoreError, match="NOT NULL"):
            store.add(done(0, wanted=((0, 10), (0, None))))
        assert store.counts()[:3] == (0, 8, 0)


def test_a_cell_that_is_drawn_otherwise_is_refused(opened):
    with opened() as store:
        store.add(done(0, wanted=((0, 10),)))
        with pytest.raises(StoreError, match="start a new store"):
            store.add(done(0, wanted=((0, 30),))._replace(best=0.81))


def test_a_second_run_is_told_who_holds_the_store(opened, tmp_path):
    with opened():
        with pytest.raises(StoreError, match=r"another run holds it \(process \d+ on .+, since 2"):
            opened()
        with Store(tmp_path / "small.db") as reader:
            assert reader.counts().done == 0
    opened().close()


def test_a_change_that_a_killed_process_left_half_made_is_undone(opened, tmp_path):
    with opened() as store:
        store.add(*map(done, range(50)))
        rows = list(store.rows())
    writer = sqlite3.connect(tmp_path / "small.db", isolation_level=None)
    for statement in ("PRAGMA cache_size = 1", "BEGIN", "UPDATE score SET t = 0", "DELETE FROM checksum"):
        writer.execute(statement)
    (tmp_path / "killed").mkdir()
    for name in ("small.db", "small.db-journal"):
        shutil.copy(tmp_path / name, tmp_path / "killed" / name)
    writer.close()
    with Store(tmp_path / "killed" / "small.db") as store:
        assert list(store.rows()) == rows
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["small.db"]


def test_what_is_not_a_store_is_refused(tmp_path, opened):
    opened().close()
    foreign = tmp_path / "foreign.db"
    sqlite3.connect(foreign).execute("CREATE TABLE t (x)").connection.close()
    text = tmp_path / "text.db"
    text.write_text("n,k,b\n" * 1000)
    cut = tmp_path / "cut.db"
    shutil.copy(tmp_path / "small.db", cut)
    cut.write_bytes(cut.read_bytes()[:5000])
    newer = tmp_path / "newer.db"
    shutil.copy(tmp_path / "small.db", newer)
    sqlite3.connect(newer).execute("PRAGMA user_version = 99").connection.close()
    (tmp_path / "empty.db").touch()
    for path, reason in (
        (tmp_path / "empty.db", "is empty, as a run leaves it that ends before its first trial; run it again."),
        (foreign, "not a ciabench store"), (text, "is neither a store nor"), (cut, "malformed"),
        (newer, "newer ciabench"), (tmp_path, "is a folder"), (tmp_path / "none.db", "no such file"),
    ):  # fmt: skip
        with pytest.raises(StoreError, match=reason), Store(path) as store:
            store.counts()


def test_a_foreign_database_is_not_written_to(small, tmp_path):
    foreign = tmp_path / "small.db"
    sqlite3.connect(foreign).execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(StoreError, match="not a ciabench store"):
        Store.continued(foreign, small().spec(), small().plan(), {})


def test_every_environment_that_added_to_a_store_is_told(opened, small, tmp_path):
    opened().close()
    opened().close()
    Store.continued(tmp_path / "small.db", small().spec(), small().plan(), {"python": "4"}).close()
    with Store(tmp_path / "small.db") as store:
        found = store.provenance()
    assert found["hash"] == digest(found["experiment"])
    assert found["environments"] == [{"python": "3"}, {"python": "4"}]
    assert found["experiment"] == json.loads(json.dumps(small().spec()))
