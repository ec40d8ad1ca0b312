"""Accuracies on pairs of words: learners against the majority, and one sentence with a blank."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.table import Table
from scipy import stats

from ciabench.errors import StoreError
from ciabench.lab.compute.trial import Plan
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.session import run_plan
from ciabench.lab.tasks import SpellingTasks
from ciabench.learners.em import EM
from ciabench.learners.naive_bayes import NaiveBayes
from ciabench.learners.perceptron import Perceptron
from ciabench.learners.winnow import Winnow
from ciabench.world.corpus import SOTU
from ciabench.world.spelling import TEST_SHARE, SpellingPair, blanked, features, words

PAIRS = (
    "passed/past",
    "weather/whether",
    "than/then",
    "its/it's",
    "among/between",
    "amount/number",
    "accept/except",
    "affect/effect",
    "begin/being",
    "principal/principle",
    "raise/rise",
    "lead/led",
)
"""Twelve pairs of Golding & Roth of which the default corpus has many examples."""

LEARNERS = {
    "EM": EM(),
    "NaiveBayes": NaiveBayes(),
    "Winnow": Winnow(n_passes=20, margin=0.01),
    "Perceptron": Perceptron(variant="averaged"),
}
"""Winnow's passes and margin were chosen on their/there, were/where, know/no, hear/here and later/latter (mean)."""

SEED, SPLITS, ALL_EXAMPLES = 1997, 5, 1_000_000
OVERLAP = TEST_SHARE / (1 - TEST_SHARE)
"""Splits of one corpus share examples, which adds this to 1/splits in the variance of a mean (Nadeau & Bengio 2003)."""

SHOWN_FEATURES = 10


class Answer(NamedTuple):
    """Word for a blank, and what spoke for it (or with a minus sign against it): attribute → weight."""

    word: str
    evidence: dict[str, float]


def measure(pairs: list[str], corpus: str = SOTU, n_jobs: int = 1) -> pd.DataFrame:
    """Train on four fifths of a corpus, test on the rest, five times; rows as those of a store.

    Examples
    --------
    >>> rows = measure(["raise/rise"])
    >>> by_learner = rows.groupby("learner")["success"].mean()
    >>> bool(by_learner["Winnow"] > by_learner["EM"])
    True
    """
    families = tuple(SpellingTasks(SpellingPair(pair, corpus)) for pair in pairs)
    learners = tuple(from_estimator(name, learner) for name, learner in LEARNERS.items())
    return run_plan(Plan(SEED, SPLITS, (ALL_EXAMPLES,), families, learners), n_jobs)


def of_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose task is a pair of words."""
    if "task" not in rows:
        return rows.iloc[:0].assign(task="")
    return rows[rows["task"].str.contains("/", na=False)]


def accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a pair, size and learner, from rows of pairs.

    Returns
    -------
    DataFrame
        task, size, learner, trials, examples, accuracy (mean over splits), error (its standard error), majority
        (mean accuracy of the commoner word), lead (accuracy − majority) and p, that of a paired two-sided t test of
        the lead; both error and p allow for the overlap of the splits.
    """
    told = []
    for (task, size, learner), group in rows.groupby(["task", "size", "learner"], sort=False):
        success, lead = group["success"].to_numpy(), (group["success"] - group["constant"]).to_numpy()
        label = (task, size, learner, len(group), int(group["n"].iloc[0]))
        means = success.mean(), _error(success), group["constant"].mean(), lead.mean()
        told.append((*label, *means, _chance(lead)))
    columns = ["task", "size", "learner", "trials", "examples", "accuracy", "error", "majority", "lead", "p"]
    return pd.DataFrame(told, columns=columns).sort_values(["task", "size"], kind="stable", ignore_index=True)


def mean_leads(rows: pd.DataFrame, learner: str, rival: str | None = None) -> dict[str, float]:
    """Pair → lead of a learner over a rival, or over the majority, at the largest size."""
    pairs = of_pairs(rows)
    chosen = pairs[(pairs["size"] == pairs["size"].max()) & pairs["learner"].isin([learner, rival or learner])]
    if missing := {learner, rival or learner} - set(chosen["learner"]):
        raise StoreError(f"no rows of {min(missing)} for pairs of words")
    wide = chosen.pivot(index=["task", "trial"], columns="learner", values="success")
    base = chosen.groupby(["task", "trial"])["constant"].first() if rival is None else wide[rival]
    return {str(pair): float(lead) for pair, lead in (wide[learner] - base).groupby("task").mean().items()}


def to_table(rows: pd.DataFrame) -> Table:
    """Table of accuracies in percent; * marks a lead over the majority with p < 0.05, ° a lag."""
    told = accuracies(rows)
    learners = list(LEARNERS)
    table = Table("pair", "examples", "majority", *learners, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for task, group in told.groupby("task", sort=False):
        by_learner = {told["learner"]: _cell(told) for _, told in group.iterrows()}
        cells = [by_learner.get(learner, "failed") for learner in learners]
        first = group.iloc[0]
        table.add_row(str(task), str(first["examples"]), f"{100 * first['majority']:.1f}", *cells)
    return table


def answer(sentence: str, pair: str, corpus: str = SOTU) -> Answer:
    """Choose the word for the blank ___ by Winnow, trained on all of a corpus.

    Examples
    --------
    >>> answer("in the ___ year", "passed/past").word
    'past'
    """
    family = SpellingPair(pair, corpus)
    X, y, _, names = family.examples()
    columns = family.vocabulary(np.arange(y.size))
    winnow = Winnow(**LEARNERS["Winnow"].get_params()).set_params(random_state=SEED).fit(X[:, columns], y)
    present = features(blanked(sentence))
    weights = {names[column]: weight for column, weight in zip(columns, winnow.coef_[0], strict=True)}
    active = {name: weights[name] for name in present & set(weights)}
    score = float(winnow.intercept_[0] + sum(active.values()))
    sign = 1 if score > 0 else -1
    ranked = sorted(active, key=lambda name: -abs(active[name]))[:SHOWN_FEATURES]
    return Answer(words(pair)[int(score > 0)], {name: sign * float(active[name]) for name in ranked})


def _error(values: Any) -> float:
    """Standard error of a mean over splits that overlap."""
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + OVERLAP)) if len(values) > 1 else np.nan


def _chance(leads: Any) -> float:
    """P value of a mean that differs from zero."""
    error = _error(leads)
    if not error > 0:
        return float(np.all(leads == 0))
    return float(2 * stats.t.sf(abs(leads.mean()) / error, len(leads) - 1))


def _cell(told: "pd.Series[Any]") -> str:
    mark = ("*" if told["lead"] > 0 else "°") if told["p"] < 0.05 else " "
    return f"{100 * told['accuracy']:.1f}±{100 * told['error']:.1f}{mark}"
