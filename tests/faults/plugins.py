"""Run learners from hell among others; those others must have the bytes that they have alone."""

from harness import exported, made

from ciabench.lab.storage.store import Store

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
OTHERS = ["NaiveBayes", "hostile:Random"]


def failures_among(folder, hostile, jobs=1, **setting):
    """Failures of a run with hostile learners, and the names of those that have scores."""
    setting = {"families": [{"n": 5, "k": 2, "b": 0.9}], **setting}
    learners = [OTHERS[0], *(f"hostile:{name}" for name in hostile), OTHERS[1]]
    among = made(folder / "among", **setting, learners=learners, jobs=jobs)
    alone = exported(made(folder / "alone", **setting, learners=OTHERS))
    kept = (b"learner", b"NaiveBayes", b"Random")
    assert alone.splitlines() == [line for line in exported(among).splitlines() if line.split(b",")[5] in kept]
    with Store(among) as store:
        return list(store.failures()), {row[5] for row in store.rows()}
