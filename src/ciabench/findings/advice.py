"""Advice on a person's own table: whether to fit a model with hidden classes, or to learn the classifier directly."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ciabench.arrays import Floats
from ciabench.errors import FloorWarning, LevelWarning, RunError, SearchWarning, check_between, check_integer
from ciabench.findings import advice_words as words
from ciabench.findings.advice_learners import DIRECT, LEARNERS, MODEL, learners_for, of_way
from ciabench.findings.advice_runs import (
    MAJORITY,
    Scores,
    drawn_scores,
    plan_of,
    run,
    scores_of,
    split_hits,
)
from ciabench.findings.advice_table import Reading, as_meant
from ciabench.findings.forecast import forecast, forecast_leader
from ciabench.findings.leads import SAME, Interval, Lead, compare_ways, paired
from ciabench.findings.misfit import Misfit, misfit
from ciabench.lab.plan.plan import Plan
from ciabench.seeds import Seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SPLITS = 30
BUDGET = 60.0
MODEL_ROWS = 2_000
"""Rows at most to which hidden classes are fitted, and tested for misfit."""

MODEL_SHARE = 0.15
"""Share of the budget that is kept for tables drawn from the hidden classes."""

FACTORS = (2, 4)
"""Multiples of the training rows to forecast."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What `advise` found; printing it gives the sentences, and notebooks show a page.

    Attributes
    ----------
    verdict : str
        Which way is better here, by how much, and how certain that is.
    table : DataFrame
        Learners, the most accurate first: way, accuracy, what it is behind the best one, with a 95% interval (low,
        high), log-loss, AUC, and seconds of a fit.
    forecast : DataFrame or None
        Accuracies to be expected with twice and four times the rows, with 80% intervals.
    chances : array
        Chance that with twice and four times the rows the other way leads.
    best : str
        The learner with the largest mean accuracy.
    simplest : str or None
        A simpler learner that is as good: not clearly behind, and by no more than the margin; None if there is none.
    lead : Lead
        The comparison of the two ways.
    misfit : Misfit or None
        The hidden classes (`misfit.model`, a `LatentClass`), and whether they explain the table.
    drawn : DataFrame or None
        Accuracies here and on tables drawn from the hidden classes.
    left_out : list of (column, reason)
        Columns that took no part.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["a", "b", "c"])
    >>> advice = advise(table.assign(y=table["a"] + table["b"] + table["c"] > 1), target="y", splits=2)
    >>> advice.lead.n_splits, float(advice.table["accuracy"].max().round(2))
    (2, 1.0)
    """

    reading: Reading
    scores: Scores
    lead: Lead
    best: str
    simplest: str | None
    behind: dict[str, Interval]
    over_majority: Interval
    forecast: pd.DataFrame | None
    forecast_of: str
    chances: Floats
    misfit: Misfit | None
    drawn: pd.DataFrame | None
    n_drawn: int
    drawn_rows: int
    n_planned: int
    margin: float

    @property
    def verdict(self) -> str:
        """Which way is better here, in a sentence or two."""
        n_test = round(self.lead_rows) - self.scores.full
        return words.verdict(self.lead, self.margin, (self.scores.full, n_test))

    @property
    def lead_rows(self) -> float:
        """Training and test rows of a split."""
        return self.over_majority.n_rows

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough splits for intervals that say something."""
        return self.lead.n_splits >= words.FEW_SPLITS

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """Columns that took no part, and why."""
        return [(one.column, one.reason) for one in self.reading.left_out]

    @property
    def table(self) -> pd.DataFrame:
        """Learners, the most accurate first."""
        means = {column: self.scores.means(column) for column in ("success", "log_loss", "auc", "fit_seconds")}
        behind = [self.behind[name] for name in self.scores.learners]
        found = pd.DataFrame(
            {
                "way": [LEARNERS[name].way or "both" for name in self.scores.learners],
                "accuracy": means["success"],
                "behind": [one.difference for one in behind],
                "low": [one.low for one in behind],
                "high": [one.high for one in behind],
                "log_loss": means["log_loss"],
                "auc": means["auc"],
                "seconds": means["fit_seconds"],
            }
        )
        return found.sort_values("accuracy", ascending=False, kind="stable")

    def __str__(self) -> str:
        return "\n".join([words.summary(self.reading), *self.sentences])

    def __repr__(self) -> str:
        return f"<Advice on {self.reading.world.name}: {self.verdict}>"

    @property
    def sentences(self) -> list[str]:
        """The advice, sentence by sentence."""
        return words.sentences(self)

    def plot(self) -> "Figure":
        """Plot accuracies against training rows, with the forecast, and what each learner is behind the best."""
        from ciabench.findings.advice_plot import advice_figure

        return advice_figure(self)

    def _repr_html_(self) -> str:
        """Sentences, table and picture for notebooks."""
        from ciabench.findings.advice_page import notebook_html

        return notebook_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        from ciabench.findings.advice_page import as_plain

        return as_plain(self)

    def write_page(self, path: str | Path) -> None:
        """Write a web page that needs no other file."""
        from ciabench.findings.advice_page import write_page

        write_page(self, path)


def advise(
    table: Any,
    target: str,
    *,
    keep: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    margin: float = 0.01,
    budget: float | None = BUDGET,
    splits: int = MOST_SPLITS,
    n_jobs: int = 1,
    random_state: int = 0,
    store: str | Path | None = None,
) -> Advice:
    """Advise whether to fit a model with hidden classes to a table, or to learn the classifier directly.

    Learners of both ways are compared on paired splits of the rows, two thirds to train and one third to test, at
    growing numbers of training rows. Columns that cannot help (identifiers, constant or nearly empty ones, dates) and
    copies of the target are left out, and named.

    Parameters
    ----------
    table : DataFrame or path
        The table, or a CSV, TSV or Parquet file.
    target : str
        Column of the classes.
    keep, leave_out : sequence of str
        Columns that are kept, or left out, whatever they look like.
    margin : float
        Difference of accuracies that does not matter.
    budget : float or None
        Seconds after which no further split is begun; the first one is computed in any case. None computes all.
    splits : int
        Largest number of splits.
    n_jobs : int
        Worker processes.
    random_state : int
        Source of splits and of the random states of learners: results of a split depend on nothing else.
    store : path, optional
        File that keeps what is computed: a call with the same table and a larger budget goes on where this one stopped.

    Returns
    -------
    Advice
        Ctrl-C ends the computing, not the call: the advice is what the finished splits support.

    References
    ----------
    .. [1] C. Nadeau & Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["a", "b", "c"]).assign(number=range(60))
    >>> table["y"] = np.where(table["a"] + table["b"] + table["c"] > 1, "yes", "no")
    >>> advice = advise(table, target="y", splits=2)
    >>> advice.left_out
    [('number', 'identifier: whole numbers, all different')]
    >>> advice.table["accuracy"].max().round(2)
    np.float64(1.0)
    """
    check_between("margin", margin, 0, 1, closed=True)
    check_integer("splits", splits, 1)
    check_integer("n_jobs", n_jobs, 1)
    check_integer("random_state", random_state, 0)
    if budget is not None:
        check_between("budget", budget, 0, np.inf, closed=True)
    reading = as_meant(table, target, keep, leave_out)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "advice.db" if store is None else Path(store)
        return _advised(reading, path, margin, budget, splits, n_jobs, random_state)


def _advised(
    reading: Reading, path: Path, margin: float, budget: float | None, splits: int, n_jobs: int, seed: int
) -> Advice:
    """Compute splits, then hidden classes and tables drawn from them, unless Ctrl-C ended the splits."""
    world = reading.world
    learners = learners_for(world.attributes, np.unique(world.labels).size)
    plan = plan_of(world, world.most_examples, learners, seed, splits)
    shares = (None, None) if budget is None else (budget * (1 - MODEL_SHARE), budget * MODEL_SHARE)
    found = drawn = None
    if run(plan, path, n_jobs, shares[0]):
        with suppress(KeyboardInterrupt):
            rows = _model_rows(reading, seed)
            found = _hidden_classes(rows, seed)
            drawn = drawn_scores(found, rows, reading.target, plan, path, n_jobs, shares[1])
    scores = scores_of(plan, path)
    return Advice(reading=reading, scores=scores, misfit=found, margin=margin, n_planned=splits,
                  **_compared(scores, reading, plan, margin), **_drawn(scores, drawn))  # fmt: skip


def _compared(scores: Scores, reading: Reading, plan: Plan, margin: float) -> dict[str, Any]:
    """The ways, the learners and the forecasts compared."""
    splits, names, n_train = split_hits(scores, reading, plan), scores.learners, float(scores.full)
    ways = {way: of_way(way, names) for way in (MODEL, DIRECT)}
    for way, own in ways.items():
        if not own:
            reasons = "; ".join(f"{name}: {why}" for name, why in scores.failed.items())
            raise RunError(f"every learner of the way {way!r} failed, so there is nothing to compare; {reasons}")
    best = scores.best
    behind = {name: paired(splits, best, name, n_train) for name in names}
    simpler = names[: names.index(best)]
    lead = compare_ways(splits, ways, n_train, margin=margin)
    return {
        "lead": lead,
        "best": best,
        "behind": behind,
        "simplest": next((name for name in simpler if _is_as_good(behind[name], margin)), None),
        "over_majority": paired(splits, best, MAJORITY, n_train),
        **_forecasts(scores, lead, best),
    }


def _is_as_good(behind: Interval, margin: float) -> bool:
    """Whether what a learner is behind the best one is inside the margin, or small and uncertain."""
    return behind.answer(margin) == SAME or (behind.low <= 0 and behind.difference <= margin)


def _forecasts(scores: Scores, lead: Lead, best: str) -> dict[str, Any]:
    """Accuracies with more rows, and chances that the lead between the representatives changes."""
    leader, other = (lead.representatives[way] for way in (lead.leader, lead.other))
    if lead.n_splits == 1:
        return {"forecast": None, "forecast_of": leader, "chances": np.empty(0)}
    sizes, targets, parts = scores.sizes, [factor * scores.full for factor in FACTORS], []
    for name in dict.fromkeys((leader, other, best)):
        found = forecast(sizes, scores.errors(name), targets)
        columns = {"rows": targets, "accuracy": 1 - found.median, "low": 1 - found.high, "high": 1 - found.low}
        parts.append(pd.DataFrame({"learner": name, "times": FACTORS, **columns}))
    leads = forecast_leader(sizes, {name: scores.errors(name) for name in (leader, other)}, targets)
    chances = leads.chance_of_change if leads.leader == leader else 1 - leads.chance_of_change
    return {"forecast": pd.concat(parts, ignore_index=True), "forecast_of": leader, "chances": chances}


def _model_rows(reading: Reading, seed: int) -> pd.DataFrame:
    """Rows to which hidden classes are fitted: all, or as many at random as are allowed."""
    frame = reading.frame
    if len(frame) <= MODEL_ROWS:
        return frame
    chosen = Seed((seed, "model rows")).rng().choice(len(frame), MODEL_ROWS, replace=False)
    return frame.iloc[np.sort(chosen)]


def _hidden_classes(rows: pd.DataFrame, seed: int) -> Misfit:
    """Hidden classes of the columns and the target, and whether they explain them."""
    with warnings.catch_warnings():
        for kind in (SearchWarning, FloorWarning, LevelWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        return misfit(rows, random_state=seed)


def _drawn(scores: Scores, drawn: Scores | None) -> dict[str, Any]:
    """Accuracies here and on drawn tables."""
    if drawn is None:
        return {"drawn": None, "n_drawn": 0, "drawn_rows": 0}
    names = [name for name in scores.learners if name in drawn.learners]
    found = pd.DataFrame(
        {
            "way": [LEARNERS[name].way or "both" for name in names],
            "here": scores.means("success")[names],
            "drawn": drawn.means("success")[names],
        }
    )
    return {"drawn": found, "n_drawn": drawn.rows["trial"].nunique(), "drawn_rows": int(drawn.rows["rows"].iloc[0])}
