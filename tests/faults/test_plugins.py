"""Learners from hell fail their own scores, with the cause; every other number is the same to the last bit."""

from plugins import CAUSES, WELL, failures_among


def test_learners_from_hell_fail_alone_and_with_the_cause(tmp_path):
    failures, scored = failures_among(tmp_path, [*CAUSES, *WELL], trials=1, sizes=[30], time_limit=5.0)
    assert {one.learner: one.cause[: len(CAUSES[one.learner])] for one in failures} == CAUSES
    assert scored == {*WELL, "NaiveBayes", "Random"}
