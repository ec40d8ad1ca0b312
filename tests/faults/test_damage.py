"""Files that are cut off, changed or foreign are refused with the reason; none is half read."""

import json
import shutil
import sqlite3

import pytest
from commands import content
from damage import cuts, flips, made_stores, refused_copies, refused_stores, refused_tables
from harness import TOML, asked, experiment, refusal

from ciabench.errors import StoreError
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.export import export
from ciabench.lab.storage.rows import read, spec_of
from ciabench.lab.storage.store import Store


@pytest.mark.parametrize(("damaged", "least"), [(flips, 5), (cuts, 40)])
def test_a_damaged_store_is_refused_or_has_the_same_rows(finished, tmp_path, damaged, least):
    path, target = finished[0], tmp_path / "damaged.db"
    assert refused_stores(damaged(path, target, 100 if damaged is flips else 40), target, content(path)) >= least


@pytest.mark.parametrize("name", ["run of a table", "run of departures", "settle", "merge"])
def test_a_damaged_store_of_any_command_is_refused_or_has_the_same_rows(tmp_path, name):
    store = made_stores(tmp_path, [name])[name]
    flipped, cut = refused_copies(store, tmp_path / "damaged.db", 40, 15)
    assert flipped >= 1
    assert cut == 15


@pytest.mark.parametrize("statement", [
    "UPDATE score SET t = t + 1e-12 WHERE cell = 1",
    "DELETE FROM score WHERE size = 10",
    "DELETE FROM cell WHERE trial = 1",
    "UPDATE learner SET name = 'Winnow' WHERE name = 'Perceptron'",
    "UPDATE world SET name = 'CIA(5, 2, 0.8)' WHERE id = 1",
    "UPDATE world SET parameters = replace(parameters, '0.9', '0.8')",
    "UPDATE world SET identity = replace(identity, '0.9', '0.8')",
    "UPDATE world SET version = 2",
    "UPDATE learner SET version = 2",
    "UPDATE experiment SET view = replace(view, '\"trials\":3', '\"trials\":2')",
    "UPDATE score SET facts = '{}' WHERE cell = 1",
    "UPDATE cell SET facts = NULL WHERE id = 1",
    "UPDATE experiment SET spec = replace(spec, '1997', '1998')",
    "DELETE FROM checksum WHERE cell = 1",
    "CREATE VIEW odd AS SELECT 1",
    "CREATE TRIGGER odd AFTER INSERT ON score BEGIN DELETE FROM score; END",
])  # fmt: skip
def test_a_store_that_was_tampered_with_is_refused_for_reading_and_for_a_run(finished, tmp_path, statement):
    path = tmp_path / "faults.db"
    shutil.copy(finished[0], path)
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="is damaged; "):
        read(path)
    with pytest.raises(StoreError, match="is damaged; "):
        run_experiment(experiment(trials=3), tmp_path, progress="silent")


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_damaged_table_is_refused(finished, tmp_path, name):
    table, target = tmp_path / name, tmp_path / "damaged" / name
    with Store(finished[0]) as store:
        export(store, "csv", table)
    target.parent.mkdir()
    shutil.copy(f"{table}.json", f"{target}.json")
    assert refused_tables(flips(table, target, 60), target) == 60
    assert refused_tables(cuts(table, target, 30), target) == 30
    shutil.copy(table, target)
    assert len(read(target).rows) == 24


@pytest.mark.parametrize("change", [
    lambda text: text[:-3],
    lambda text: text.replace("NaiveBayes", "NaiveBayes,1", 1),
    lambda text: text.replace("n,k", "n,n", 1),
    lambda text: text.replace("trial", "size", 1),
    lambda text: text + text.splitlines()[-1].replace("30,", "inf,") + "\n",
    lambda text: text.replace("trial", "trail"),
    lambda text: text + text.splitlines()[-1] + "\n",
    lambda text: "",
])  # fmt: skip
def test_a_table_without_its_digest_is_refused_when_it_makes_no_sense(finished, tmp_path, change):
    table = tmp_path / "table.csv"
    table.write_text(change(finished[1].decode()))
    assert "table.csv: " in refusal(asked("compare", finished[0], table))


def test_foreign_files_are_refused_with_the_reason(tmp_path, finished):
    picture, foreign = tmp_path / "picture", tmp_path / "foreign.db"
    picture.write_bytes(bytes(range(256)) * 20)
    sqlite3.connect(foreign).execute("CREATE TABLE t (x)").connection.close()
    for suffix, reason in ((".db", "is neither a store nor"), (".csv", "as a table"), (".toml", "is not UTF-8"),
                           (".json", "is not JSON")):  # fmt: skip
        path = picture.rename(picture.with_suffix(suffix))
        picture = path
        command = {".toml": ["run"], ".json": ["run", "--from"]}.get(suffix, ["figures"])
        assert reason in refusal(asked(*command, path))
    assert "not a ciabench store" in refusal(asked("status", foreign))
    assert "as a table" in refusal(asked("compare", finished[0], picture.rename(tmp_path / "reference.csv.gz")))


def test_an_experiment_beside_an_export_that_was_changed_is_refused(finished, tmp_path):
    with Store(finished[0]) as store:
        export(store, "csv", tmp_path / "t.csv")
    beside = tmp_path / "t.csv.json"
    assert spec_of(beside)["seed"] == 1997
    beside.write_text(json.dumps({**json.loads(beside.read_text()), "hash": "0"}))
    with pytest.raises(StoreError, match="its hash differs"):
        spec_of(beside)


def test_a_second_run_on_a_store_says_who_holds_it_and_stops(finished, tmp_path):
    shutil.copy(finished[0], tmp_path / "faults.db")
    toml = tmp_path / "faults.toml"
    toml.write_text(TOML)
    first = experiment(trials=3)
    with Store.continued(tmp_path / "faults.db", first.spec(), first.plan(), {}):
        message = refusal(asked("run", toml, "--out", tmp_path))
    assert "faults.db: another run holds it (process " in message
    assert asked("run", toml, "--out", tmp_path, "--trials", "3").returncode == 0
