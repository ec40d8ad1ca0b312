"""Learners from hell fail their own scores, with the cause; every other number is the same to the last bit."""

import shutil

import pytest
from harness import exported, made

from ciabench.lab.store import Store

GOOD = ["NaiveBayes", "hostile:Random"]
CAUSES = {
    "Raises": "ZeroDivisionError: on purpose",
    "Exits": "SystemExit: 0",
    "RaisesOddly": "RuntimeError: \x1b[31m?",
    "Hangs": "exceeded the time limit of 2 s.",
    "Leaves": "its process ended with exit code 3.",
    "Crashes": "its process was killed by SIGSEGV.",
    "AnswersNonsense": "its process answered nonsense; ",
    "Allocates": "exceeded the memory limit of 4 GB.",
    "PredictsNan": "predict returned np.float64(nan); expected the labels 0 and 1.",
    "PredictsText": "predict returned <U1 values; expected the labels 0 and 1.",
    "PredictsTwo": "predict returned np.int64(2); expected the labels 0 and 1.",
    "PredictsShort": "predict returned shape (31,) for 32 rows.",
}
WELL = ["Prints", "Mutates", "CountsTooFar", "KeepsMemory", "NeedsMemoryToPredict"]
SETTING = {"trials": 1, "sizes": [30], "families": [{"n": 5, "k": 2, "b": 0.9}], "time_limit": 2.0}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Store of a run with good learners among those from hell."""
    folder = tmp_path_factory.mktemp("hell")
    hostile = [f"hostile:{name}" for name in (*CAUSES, *WELL)]
    return made(folder, **SETTING, learners=["NaiveBayes", *hostile, "hostile:Random"])


@pytest.mark.parametrize("learner", CAUSES)
def test_a_learner_from_hell_has_failed_with_the_cause(ran, learner):
    with Store(ran) as store:
        (failure,) = [failure for failure in store.failures() if failure.learner == learner]
    assert failure.cause.startswith(CAUSES[learner])


def test_those_that_only_misbehave_have_not_failed(ran):
    with Store(ran) as store:
        assert {failure.learner for failure in store.failures()} == set(CAUSES)
        assert {row[5] for row in store.rows()} == {*WELL, "NaiveBayes", "Random"}


def test_every_other_number_is_the_same_to_the_last_bit(ran, tmp_path):
    alone = exported(made(tmp_path, **SETTING, learners=GOOD))
    copy = shutil.copy(ran, tmp_path / "hell.db")
    among = exported(copy).splitlines()
    assert alone.splitlines() == [
        line for line in among if line.split(b",")[5] in (b"learner", b"NaiveBayes", b"Random")
    ]
