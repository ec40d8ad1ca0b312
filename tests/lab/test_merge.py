import json
import shutil
import sqlite3

import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.errors import StoreError
from ciabench.lab.plan.experiment import validate
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.merge import merge
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store

pytestmark = pytest.mark.usefixtures("one_guard")

SPEC = {
    "name": "whole",
    "seed": 7,
    "trials": 6,
    "sizes": [10, 30],
    "learners": [{"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes"}, "NaiveBayes"],
    "families": [{"n": 5, "k": [2, 3], "b": 0.9}],
}


def run(folder, part=(1, 1), **changes):
    experiment = validate({**SPEC, **changes}, "whole.toml")
    run_experiment(experiment, folder, part=part, progress="silent")
    return folder / f"{experiment.name}.db"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return [run(tmp_path_factory.mktemp("part"), (number, 3)) for number in (1, 2, 3)]


def exported(store, form):
    result = CliRunner().invoke(main, ["export", str(store), "--to", form, "--no-timings"])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("form", ["csv", "json"])
def test_parts_of_the_trials_are_merged_into_the_single_run(whole, parts, tmp_path, form):
    counts = merge(reversed(parts), tmp_path / "whole.db")
    with Store(whole) as single:
        assert counts == single.counts()
    assert exported(tmp_path / "whole.db", form) == exported(whole, form)


def test_what_a_killed_merge_left_is_removed(whole, parts, tmp_path):
    shutil.copy(parts[0], tmp_path / ".whole.db.unfinished")
    for journal in ("-wal", "-shm"):
        (tmp_path / f".whole.db.unfinished{journal}").write_bytes(b"half")
    merge(parts, tmp_path / "whole.db")
    assert [path.name for path in tmp_path.iterdir()] == ["whole.db"]
    assert exported(tmp_path / "whole.db", "csv") == exported(whole, "csv")


def test_parts_do_not_share_a_cell(parts):
    trials = [set(read(part).rows["trial"]) for part in parts]
    assert trials == [{0, 3}, {1, 4}, {2, 5}]


def test_worlds_are_merged_in_their_order(whole, tmp_path):
    worlds = [run(tmp_path / str(k), families=[{"n": 5, "k": k, "b": 0.9}]) for k in (2, 3)]
    merge(worlds, tmp_path / "whole.db")
    assert exported(tmp_path / "whole.db", "csv") == exported(whole, "csv")


def test_a_merged_store_is_continued(parts, whole, tmp_path):
    counts = merge(parts[:2], tmp_path / "whole.db")
    assert counts.done < counts.scores_wanted
    run(tmp_path)
    assert exported(tmp_path / "whole.db", "csv") == exported(whole, "csv")


def test_what_two_stores_share_is_kept_once(whole, parts, tmp_path):
    merge([parts[0], whole, parts[1]], tmp_path / "whole.db")
    assert exported(tmp_path / "whole.db", "csv") == exported(whole, "csv")


def test_the_same_cell_with_other_bits_is_refused_and_named(whole, tmp_path):
    other = tmp_path / "other.db"
    other.write_bytes(whole.read_bytes())
    forge(other)
    with pytest.raises(StoreError, match=r"other\.db: CIA\(5, 2, 0\.9\), trial 4, size 30, bayes differs"):
        merge([whole, other], tmp_path / "merged.db")
    assert [file.name for file in tmp_path.iterdir()] == ["other.db"]


def forge(path):
    """Change the last digit of one score, and the checksum of its cell."""
    from ciabench.lab.storage.database import seal_cells

    connection = sqlite3.connect(path)
    (cell,) = connection.execute("SELECT id FROM cell WHERE world = 1 AND trial = 4").fetchone()
    (learner,) = connection.execute("SELECT id FROM learner WHERE name = 'bayes'").fetchone()
    chosen = (cell, learner)
    connection.execute("UPDATE score SET t = t + 1e-15 WHERE cell = ? AND learner = ? AND size = 30", chosen)
    assert connection.total_changes == 1
    seal_cells(connection, {cell: None})
    connection.commit()
    connection.close()


def test_a_damaged_part_is_refused(parts, tmp_path):
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(parts[0].read_bytes())
    connection = sqlite3.connect(damaged)
    connection.execute("UPDATE score SET t = 0.5 WHERE size = 10")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"damaged\.db: is damaged"):
        merge([parts[1], damaged], tmp_path / "merged.db")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 8}, "has seed 8, but .* has seed .*; only one seed can be merged"),
        (
            {"learners": [{"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes", "alpha": 2.0}]},
            "'bayes' has other",
        ),
    ],
)
def test_stores_that_do_not_belong_together_are_refused(whole, tmp_path, changes, message):
    other = run(tmp_path / "other", trials=1, **changes)
    with pytest.raises(StoreError, match=message):
        merge([whole, other], tmp_path / "merged.db")
    assert not (tmp_path / "merged.db").exists()


def test_the_command_merges_and_never_overwrites(parts, tmp_path):
    arguments = ["merge", *map(str, parts), "--out", str(tmp_path / "whole.db")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "12 of 12 cells, 48 scores done" in result.output
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 2
    assert "exists already" in again.output
    with Store(tmp_path / "whole.db") as merged:
        assert json.dumps(merged.spec()["trials"]) == "6"


@pytest.mark.parametrize("part", ["0/2", "3/2", "2", "a/b", "1/"])
def test_a_part_that_cannot_be_is_refused(tmp_path, part):
    result = CliRunner().invoke(main, ["run", "paper", "--part", part, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not of the form I/N" in result.output
