"""Whatever is typed or given: an answer, or one of our errors in one line; never a traceback, never a hang."""

import pytest
from hypothesis import HealthCheck, example, given, settings
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
