"""The limit of learning beside the learners: what the sample costs, what the method costs, and claims about both."""

from collections.abc import Collection, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ciabench.errors import ParameterError, StoreError
from ciabench.findings.looks import REFERENCES, dress, in_order, make_readable, plain, scheme_of, shade, style
from ciabench.findings.moments import joined_moments, moments
from ciabench.findings.panels import put_title
from ciabench.findings.selection import Data
from ciabench.findings.statements import Statement
from ciabench.lab import shipped
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD

LIMIT = "limit"
AVERAGED = "BayesianMixture"

CLOSE, NEAR = 0.02, 0.05
"""Differences in T up to which a learner is not called above the limit, and is called near it (ours)."""

FRAGILE = 0.1
"""A fall in T from which on a learner is called fragile (ours)."""

MOST_LOST = 1.5
"""Bars of losses end here: T is −0.5."""

WIDTH = 0.8
"""Share of the axis that the bars of one size take."""


def limit_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the shipped limit that belong to the same trials as these rows, which are the paper's."""
    limit = shipped.reference(LIMIT)
    own = limit[limit["learner"] == LIMIT]
    return own.merge(rows[[WORLD, "trial"]].drop_duplicates(), on=[WORLD, "trial"])


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Split 1 − T of every learner into the cost of the sample and that of the method, by world, learner and size.

    Only trials that have a limit count.

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "world": "w", "trial": 0, "size": 10, "learner": ["EM", "limit"], "t": [0.5, 0.75], "success": 0.7,
    ...     "best": 0.9, "constant": 0.5,
    ... })
    >>> losses(rows)[["learner", "sample", "method"]]
      learner  sample  method
    0      EM    0.25    0.25
    """
    return joined_losses([loss_moments(rows)])


def loss_moments(rows: pd.DataFrame) -> pd.DataFrame:
    """Moments of both costs; `joined_losses` joins those of rows that come in parts."""
    limit = rows[rows["learner"] == LIMIT].set_index([WORLD, "size", "trial"])["t"].rename(LIMIT)
    if limit.empty:
        raise StoreError('the rows have no limit; ask for it with references = ["limit"].')
    paired = rows[~rows["learner"].isin(REFERENCES)].join(limit, on=[WORLD, "size", "trial"], how="inner")
    costs = paired.assign(sample=1 - paired[LIMIT], method=paired[LIMIT] - paired["t"])
    return moments(costs.groupby([WORLD, "learner", "size"], sort=False, observed=True), ["sample", "method"])


def joined_losses(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Losses of rows that come in parts."""
    return joined_moments(parts)[["trials", "sample", "method", "method_sem"]].reset_index()


def plot_losses(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot how 1 − T of every learner splits into what the sample costs and what the method costs, for one world.

    The grey step is 1 − limit, which no learner can avoid with so many examples. A learner's bar stands on it and is
    limit − T; one that hangs below it is of a learner that was luckier than the limit, or knows more.

    Parameters
    ----------
    rows : DataFrame
        Results of one world with the reference "limit", as `learning_curve` or a store gives them.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import CIAFamily, NaiveBayes, learning_curve
    >>> rows = learning_curve(
    ...     CIAFamily(n=5, k=2, b=0.8), [NaiveBayes()], sizes=[30, 300], trials=3, random_state=0, references=["limit"]
    ... )
    >>> plot_losses(rows).get_ylabel()
    '1 − T: what is not learned'
    """
    rows = read(rows).rows
    found = losses(rows)
    if found[WORLD].nunique() != 1:
        raise ParameterError(f"plot_losses draws one world, and the rows hold {found[WORLD].nunique()}; select one.")
    if ax is None:
        _, ax = plt.subplots(figsize=(7.4, 4.0), layout="constrained")
    draw_losses(found, in_order(rows["learner"]), ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    make_readable(ax)
    return ax


def draw_losses(found: pd.DataFrame, learners: Collection[str], ax: Axes) -> None:
    """Draw the `losses` of one world."""
    scheme, sizes = scheme_of(ax), sorted(found["size"].unique())
    shown = in_order(found["learner"])
    sample = found.groupby("size")["sample"].mean().clip(upper=MOST_LOST).loc[sizes]
    ax.bar(range(len(sizes)), sample, 0.96, color=shade(scheme, 18), label="what the sample costs", zorder=1)
    for place, learner in enumerate(shown):
        own = found[found["learner"] == learner].set_index("size").reindex(sizes)
        bottom, top = (one.clip(upper=MOST_LOST) for one in (own["sample"], own["sample"] + own["method"]))
        centers = np.arange(len(sizes)) + WIDTH * ((place + 0.5) / len(shown) - 0.5)
        look, width = style(learner, learners, scheme), 0.85 * WIDTH / len(shown)
        ax.bar(centers, top - bottom, width, bottom, color=look["color"], label=plain(learner), zorder=2)
    ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    ax.set(xlabel="training examples", ylabel="1 − T: what is not learned", ylim=(0, MOST_LOST))
    ax.tick_params(axis="x", length=0)
    put_title(dress(ax), str(found[WORLD].iloc[0]))


def none_above_the_limit(data: Data, worlds: Sequence[str]) -> list[Statement]:
    """No learner's T is above the limit, on average over sizes."""
    statements = []
    for world in worlds:
        sizes = data.sizes(world, LIMIT)
        for learner in (one for one in in_order(data.learners(world)) if one not in REFERENCES):
            lead = data.mean_lead(world, learner, LIMIT, sizes[0], sizes[-1])
            text = f"{world}: {learner} above the limit by less than {CLOSE}, mean over s = {sizes[0]} to {sizes[-1]}"
            statements.append(Statement(text, lead, CLOSE, "below"))
    return statements


def averaging_is_near_the_limit(data: Data, worlds: Sequence[str]) -> list[Statement]:
    """BayesianMixture is near the limit once there are 200 examples."""
    return [
        Statement(f"{world}, s = {size}: {AVERAGED} less than {NEAR} below the limit", lead, NEAR, "below")
        for world in worlds
        for size, lead in data.leads(world, LIMIT, AVERAGED, 200).items()
    ]


def averaging_is_fragile_elsewhere(
    data: Data, families: Sequence[tuple[str, str]], wrong: Sequence[str]
) -> list[Statement]:
    """BayesianMixture keeps its T where k grows, EM does not; both are behind Winnow in worlds that are no mixtures."""
    falls = {
        (learner, few, many): data.fall(learner, 1000, few, many)
        for learner, (few, many) in product((AVERAGED, "EM"), families)
    }
    return [
        *(
            Statement(
                f"T of {learner} at s = 1000 falls by {'less' if learner == AVERAGED else 'more'} than {FRAGILE} from "
                f"{few} to {many}",
                fall,
                FRAGILE,
                "below" if learner == AVERAGED else "above",
            )
            for (learner, few, many), fall in falls.items()
        ),
        *(
            Statement(f"{world}, s = 1000: Winnow ahead of {AVERAGED}", lead, 0.0)
            for world in wrong
            for lead in data.leads(world, "Winnow", AVERAGED, 1000, 1000).values()
        ),
    ]
