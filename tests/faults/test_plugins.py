"""Learners from hell fail their own scores, with the cause; every other number is the same to the last bit."""

from harness import exported, made

from ciabench.lab.store import Store

CAUSES = {
    "Raises": "ZeroDivisionError: on purpose",
    "Exits": "SystemExit: 0",
    "RaisesOddly": "RuntimeError: \x1b[31m?",
    "Hangs": "exceeded the time limit of 5 s.",
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
SETTING = {"trials": 1, "sizes": [30], "families": [{"n": 5, "k": 2, "b": 0.9}], "time_limit": 5.0}


def test_learners_from_hell_fail_alone_and_with_the_cause(tmp_path):
    hostile = [f"hostile:{name}" for name in (*CAUSES, *WELL)]
    among = made(tmp_path / "hell", **SETTING, learners=["NaiveBayes", *hostile, "hostile:Random"])
    with Store(among) as store:
        causes = {failure.learner: failure.cause[: len(CAUSES[failure.learner])] for failure in store.failures()}
        assert causes == CAUSES
        assert {row[5] for row in store.rows()} == {*WELL, "NaiveBayes", "Random"}
    alone = exported(made(tmp_path / "well", **SETTING, learners=["NaiveBayes", "hostile:Random"]))
    others = (b"learner", b"NaiveBayes", b"Random")
    assert alone.splitlines() == [line for line in exported(among).splitlines() if line.split(b",")[5] in others]
