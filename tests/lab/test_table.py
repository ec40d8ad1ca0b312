"""A person's table from its file to rows, figures and the page."""

import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.dummy import DummyClassifier

from ciabench import NaiveBayes, Table, Winnow, learning_curve, plot_curves
from ciabench.cli import main
from ciabench.errors import ExperimentError, StoreError
from ciabench.findings import figures
from ciabench.findings.regression import compare
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store

pytestmark = pytest.mark.usefixtures("one_guard")

TOML = """
name = "own"
seed = 1
trials = 2
sizes = [20, 80]
learners = ["NaiveBayes", "Winnow", "sklearn.linear_model:LogisticRegression"]

[[worlds]]
use = "Table"
path = "my.csv"
target = "y"
"""


@pytest.fixture
def frame():
    """A number, text and a bit with missing cells, three classes that depend on the first two, a row without label."""
    rng = np.random.default_rng(0)
    label, noise = rng.integers(0, 3, 151), rng.normal(size=151)
    table = pd.DataFrame({
        "size": np.where(rng.random(151) < 0.1, np.nan, np.round(label + noise, 2)),
        "town": np.where(rng.random(151) < 0.1, None, np.array(["Bath", "York", "Hull"])[label]),
        "member": rng.integers(0, 2, 151),
        "y": np.array(["low", "mid", "top"])[label],
    })  # fmt: skip
    table.loc[150, "y"] = None
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("my.csv", index=False)
    (tmp_path / "own.toml").write_text(TOML)
    return tmp_path


def ciabench(*arguments):
    return CliRunner().invoke(main, arguments)


@pytest.mark.filterwarnings("default::ciabench.errors.TableWarning")
def test_a_file_becomes_rows_figures_and_a_page_and_a_changed_one_is_another_world(folder, frame, monkeypatch):
    monkeypatch.setattr(figures, "FORMATS", ("png",))
    monkeypatch.setattr(figures, "DPI", 50)
    first = ciabench("run", "own.toml", "--out", "results")
    assert first.exit_code == 0, first.output
    assert "my.csv: 1 of 151 rows are left out: the target 'y' is missing there.\n" in first.stderr
    rows = read("results/own.db", ["log_loss", "auc"]).rows
    assert set(rows["world"]) == {"my.csv"}
    assert (rows["best"] == 1).all()
    assert len(rows) == 2 * 2 * 3
    late = rows[rows["size"] == 80].groupby("learner")[["success", "log_loss", "auc"]].mean()
    assert (late["success"] > 0.6).all()
    assert late.loc[["NaiveBayes", "LogisticRegression"], "auc"].min() > 0.8
    for y, name in [("t", "fig1"), ("log_loss", "fig1-log_loss")]:
        assert ciabench("figures", "results/own.db", "--out", "figures", "--y", y).exit_code == 0
        assert (folder / "figures" / f"{name}.png").stat().st_size > 2000
    assert ciabench("report", "results/own.db").exit_code == 0
    assert "S_best is taken to be 1" in (folder / "results" / "own.html").read_text()
    again = ciabench("compare", "results/own.db", "results/own.db", "--exact")
    assert again.exit_code == 0, again.output
    frame.assign(member=1 - frame["member"]).to_csv("my.csv", index=False)
    assert ciabench("run", "own.toml", "--out", "results", "--trials", "1").exit_code == 0
    status = ciabench("status", "results/own.db").stdout
    assert "scores  6 of 6 done, 0 failed\nkept    12 more scores" in status


@pytest.fixture
def builtin(folder):
    """An experiment on the table with twelve trials of two learners that need no guard."""
    text = TOML.replace("trials = 2", "trials = 12").replace(', "sklearn.linear_model:LogisticRegression"', "")
    (folder / "own.toml").write_text(text)


@pytest.mark.filterwarnings("default")  # those of Dask's own threads would stop its nannies
def test_a_cluster_computes_the_same_bytes(builtin, folder, exported):
    pytest.importorskip("distributed")
    for out, options in (("here", ["--jobs", "1"]), ("there", ["--backend", "dask", "--jobs", "2"])):
        result = ciabench("run", "own.toml", "--out", out, *options)
        assert result.exit_code == 0, result.output
    assert exported(folder / "there" / "own.db") == exported(folder / "here" / "own.db")


@pytest.mark.filterwarnings("ignore::ciabench.errors.TableWarning")
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(builtin, folder, exported):
    store = folder / "killed" / "own.db"
    running = subprocess.Popen(
        [sys.executable, "-m", "ciabench.cli", "run", "own.toml", "--trials", "100000", "--out", "killed"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while n_scores(store) == 0:
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert 0 < n_scores(store) < 400_000
    for out in ("killed", "whole"):
        assert ciabench("run", "own.toml", "--out", out).exit_code == 0
    assert exported(store) == exported(folder / "whole" / "own.db")


def n_scores(path):
    """Scores that a store holds; none while there is no store."""
    if not path.exists():
        return 0
    with suppress(StoreError), Store(path) as store:
        return store.counts().done
    return 0


@pytest.mark.filterwarnings("ignore::ciabench.errors.TableWarning")
def test_a_learner_that_became_worse_on_a_table_is_noticed(frame):
    table = Table(frame, target="y", name="own.csv")
    options = {"sizes": [20, 80], "trials": 12, "random_state": 0}
    before = learning_curve(table, {"mine": NaiveBayes()}, **options)
    assert compare(learning_curve(table, {"mine": NaiveBayes()}, **options), before, exact=True).verdict == "same"
    found = compare(learning_curve(table, {"mine": DummyClassifier()}, **options), before)
    assert found.verdict == "changed"
    assert "own.csv mine: changed (12 trials, paired)" in found.report()


@pytest.mark.parametrize(("change", "message"), [
    (("my.csv", "your.csv"), "own.toml: worlds[0]: your.csv: there is no such file in "),
    (('target = "y"', 'target = "z"'), "own.toml: worlds[0]: my.csv: there is no column 'z'; there are size, town, "),
    (("path =", "pth ="), "own.toml: worlds[0]: unknown parameter 'pth' of Table (did you mean \"path\"?)"),
])  # fmt: skip
def test_mistakes_get_one_line_and_exit_code_2(folder, change, message):
    (folder / "own.toml").write_text(TOML.replace(*change))
    result = ciabench("run", "own.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.filterwarnings("ignore::ciabench.errors.TableWarning")
def test_curves_of_a_frame_have_log_loss_and_auc_on_request(frame):
    learners = {"NB": NaiveBayes(), "Winnow": Winnow()}
    table = Table(frame, target="y")
    rows = learning_curve(table, learners, sizes=[80], trials=3, random_state=0, facts=["log_loss", "auc"])
    assert rows.columns[-2:].tolist() == ["log_loss", "auc"]
    assert rows[rows["learner"] == "NB"]["log_loss"].between(0.01, 1).all()
    assert plot_curves(rows).get_ylabel() == "T with S_best = 1: errors avoided"
    ax = plot_curves(rows, y="log_loss")
    assert ax.get_ylabel() == "log-loss in nats"
    drawn = {container.get_label(): container.lines[0].get_ydata() for container in ax.containers}
    assert drawn["NB"] == pytest.approx(rows[rows["learner"] == "NB"]["log_loss"].mean())
    assert [line.get_label() for line in plot_curves(rows, y="success").lines][-1] == "constant rule"
    with pytest.raises(StoreError, match="there is no log_loss in these rows"):
        plot_curves(rows.drop(columns="log_loss"), y="log_loss")
    with pytest.raises(ExperimentError, match="facts must be a list of 'log_loss' and 'auc', or of one; got"):
        learning_curve(table, learners, sizes=[80], trials=3, facts=["loss"])
