"""Run misbehaving learners among others; those others must have the bytes that they have alone."""

import csv

from harness import exported, made

from ciabench.lab.storage.store import Store

CAUSES = {
    "Raises": "ZeroDivisionError: on purpose",
    "Exits": "SystemExit: 0",
    "RaisesOddly": "RuntimeError: \x1b[31m?",
    "Hangs": "exceeded the time limit of 5 s.",
    "Leaves": "its process ended with exit code 3.",
    "Crashes": "its process was killed by SIGSEGV.",
    "DiesBySignal35": "its process was killed by signal 35.",
    "AnswersNothing": "its process sent an invalid reply; ",
    "AnswersNonsense": "its process sent an invalid reply; ",
    "Allocates": "exceeded the memory limit of 4 GB.",
    "PredictsNan": "predict returned nan; expected the labels 0 and 1.",
    "PredictsText": "predict returned <U1 values; expected the labels 0 and 1.",
    "PredictsTwo": "predict returned 2; expected the labels 0 and 1.",
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
    assert lines(alone) == lines(exported(among), kept=("learner", "NaiveBayes", "Random"))
    with Store(among) as store:
        place = store.view().columns.index("learner")
        return list(store.failures()), {row[place] for row in store.rows()}


def lines(table, kept=None):
    """Lines of an exported table, or only those of some learners."""
    found = table.decode().splitlines()
    place = found[0].split(",").index("learner")
    return [line for line in found if kept is None or next(csv.reader([line]))[place] in kept]
