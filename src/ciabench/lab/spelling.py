"""Learners on pairs of words: their accuracy on a corpus, and the word that fits the blank in a sentence."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd

from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.plan.plan import Plan
from ciabench.lab.session import run_plan
from ciabench.lab.storage.rows import frame
from ciabench.lab.storage.store import Store
from ciabench.learners.em import EM
from ciabench.learners.naive_bayes import NaiveBayes
from ciabench.learners.perceptron import Perceptron
from ciabench.learners.winnow import Winnow
from ciabench.world.corpus import SOTU
from ciabench.world.pairs import DEFAULT_PAIRS, words
from ciabench.world.spelling import SpellingPair, blanked, features

LEARNERS = {
    "EM": EM(),
    "NaiveBayes": NaiveBayes(),
    "Winnow": Winnow(n_passes=20, margin=0.01),
    "Perceptron": Perceptron(variant="averaged"),
}
"""Winnow's passes and margin were chosen on their/there, were/where, know/no, hear/here and later/latter (mean)."""

SEED, SPLITS, ALL_EXAMPLES = 1997, 5, 1_000_000
SHOWN_FEATURES = 10


class Answer(NamedTuple):
    """Word that fits a blank, and the weight of each attribute in its favour (negative: against it)."""

    word: str
    evidence: dict[str, float]


def measure(pairs: Sequence[str] = DEFAULT_PAIRS, corpus: str = SOTU, n_jobs: int = 1) -> pd.DataFrame:
    """Train on four fifths of a corpus and test on the rest, five times.

    Rows are those of a store, with a further column `n_best_reproduced`: how many restarts of a learner that has any
    reached its best optimum.

    Parameters
    ----------
    pairs : sequence of str
        Pairs of words, as in "passed/past".
    corpus : str
        "sotu", or the path of a file or folder of text.
    n_jobs : int
        Worker processes.

    Examples
    --------
    >>> rows = measure(["lead/led"])
    >>> by_learner = rows.groupby("learner")["success"].mean()
    >>> bool(by_learner["Winnow"] > by_learner["EM"])
    True
    """
    worlds = tuple(SpellingPair(pair, corpus) for pair in pairs)
    learners = tuple(from_estimator(name, learner) for name, learner in LEARNERS.items())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "spelling.db"
        run_plan(Plan(SEED, SPLITS, (ALL_EXAMPLES,), worlds, learners), path, n_jobs)
        with Store(path) as store:
            return frame(store, facts=["n_best_reproduced"])


def answer(sentence: str, pair: str, corpus: str = SOTU) -> Answer:
    """Choose the word that fits the blank ___, by Winnow trained on a whole corpus.

    Examples
    --------
    >>> answer("in the ___ year", "passed/past").word
    'past'
    """
    world = SpellingPair(pair, corpus)
    X, y, _, names = world.examples()
    columns = world.vocabulary(np.arange(y.size))
    winnow = Winnow(**LEARNERS["Winnow"].get_params()).set_params(random_state=SEED).fit(X[:, columns], y)
    present = features(blanked(sentence))
    weights = {names[column]: weight for column, weight in zip(columns, winnow.coef_[0], strict=True)}
    active = {name: weights[name] for name in sorted(present & set(weights))}
    score = float(winnow.intercept_[0] + sum(active.values()))
    sign = 1 if score > 0 else -1
    ranked = sorted(active, key=lambda name: -abs(active[name]))[:SHOWN_FEATURES]
    return Answer(words(pair)[int(score > 0)], {name: sign * float(active[name]) for name in ranked})
