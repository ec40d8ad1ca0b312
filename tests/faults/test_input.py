"""Whatever is typed or given: an answer, or one of our errors in one line; never a traceback, never a hang."""

import pytest
from harness import experiment
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inputs import (
    arguments,
    check_arguments,
    check_arrays,
    check_experiment,
    check_frame,
    check_parameters,
    experiments,
    frames,
    learners,
    matrices,
    values,
)
from readers import check_network, check_store, networks, tampers
from tables import check_table, check_table_file, parquets, suffixes, tables, texts_of_tables

some = settings(
    max_examples=60,
    deadline=20_000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


@some
@given(experiments())
@example("a = " + "[" * 5_000)
@example("a = " + "9" * 5_000)
@example("families = [1]")
@example("n = " + "[1, 2]\n" * 3)
def test_experiment_files(tmp_path, text):
    check_experiment(text, tmp_path)


@some
@given(arguments)
@example(["run", "run", "a\nb"])
@example(["figures", "x" * 300])
@example(["report", "/"])
def test_arguments(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    check_arguments(made)


@pytest.mark.filterwarnings("ignore")
@some
@given(learners, matrices, matrices)
def test_arrays(learner, X, y):
    check_arrays(learner, X, y)


@some
@given(values, values | matrices, values)
def test_parameters(n, k, b):
    check_parameters(n, k, b)


@pytest.mark.filterwarnings("ignore")
@some
@given(frames())
def test_frames(rows):
    check_frame(rows)


@pytest.mark.filterwarnings("ignore")
@some
@given(tables())
def test_tables(table):
    check_table(table)


@pytest.mark.filterwarnings("ignore")
@some
@given(st.tuples(texts_of_tables(), suffixes) | st.tuples(parquets(), st.just(".parquet")))
def test_files_of_tables(tmp_path, made):
    check_table_file(*made, tmp_path)


@some
@given(networks())
def test_networks(tmp_path, text):
    check_network(text, tmp_path)


@settings(some, max_examples=20)
@given(tampers())
@example([("learner", "name", None, b"\xff")])
@example([("world", "parameters", [2], [])])
@example([("experiment", "view", [0, 0], 99)])
@example([("score", "facts", None, "5"), ("experiment", "environments", None, "5")])
@example([("cell", "trial", None, "a")])
def test_changed_stores(finished, tmp_path, changes):
    check_store(finished[0].read_bytes(), changes, tmp_path, experiment(trials=3))
