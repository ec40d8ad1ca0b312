"""Plots of a difference, a model and a fit, in the user's matplotlib style; only learners have colours."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from ciabench.errors import ParameterError
from ciabench.findings import paper
from ciabench.findings.curves import paired_differences
from ciabench.findings.looks import (
    MARKERS,
    dress,
    make_readable,
    mark_sizes,
    plain,
    scheme_of,
    shade,
    shades,
    style,
)
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD
from ciabench.latent.fit import REPRODUCED
from ciabench.learners.bayesian_mixture import BayesianMixture
from ciabench.learners.belief_network import BeliefNetwork
from ciabench.learners.em import EM
from ciabench.learners.latent_class import LatentClass
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Scorer

TRACED = EM, LatentClass, BeliefNetwork
"""Estimators that keep the path of every restart."""

MOST_ABOVE = 3
"""Largest number of worlds that a legend above the axes names."""


def plot_difference(rows: pd.DataFrame, first: str, second: str, ax: Axes | None = None) -> Axes:
    """Plot T of one learner minus T of another against sample size, with 95% intervals, one line per world.

    Parameters
    ----------
    rows : DataFrame
        Results, as returned by `learning_curve` or read from a store.
    first : str
        Name of a learner; the line is above zero where this learner is ahead.
    second : str
        Name of the learner to compare it with.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import EM, CIAFamily, NaiveBayes, learning_curve
    >>> learners = {"EM": EM(), "NaiveBayes": NaiveBayes()}
    >>> rows = learning_curve(CIAFamily(n=10, k=2, b=0.9), learners, sizes=[30, 300], trials=5, random_state=0)
    >>> plot_difference(rows, "EM", "NaiveBayes").get_ylabel()
    'T of EM − T of NaiveBayes'
    """
    ax = _new() if ax is None else ax
    groups = list(paired_differences(read(rows).rows, first, second).groupby(WORLD, sort=False))
    words = [paper.description(str(world)) or str(world) for world, _ in groups]
    names = words if len(set(words)) == len(words) else [str(world) for world, _ in groups]
    scheme = scheme_of(ax)
    for place, ((_, found), color) in enumerate(zip(groups, shades(scheme, len(groups)), strict=True)):
        size, middle, low, high = (found[column].to_numpy() for column in ("size", "difference", "low", "high"))
        ax.plot(
            size, middle, color=color, marker=MARKERS[place % len(MARKERS)], markersize=4.5, label=plain(names[place])
        )
        ax.fill_between(size, low, high, color=color, alpha=0.15, linewidth=0)
    ax.axhline(0, color=shade(scheme, 60), linewidth=0.8, zorder=0)
    mark_sizes(ax, sorted({size for _, found in groups for size in found["size"]}))
    ax.set(xlabel="training examples", ylabel=plain(f"T of {first} − T of {second}"))
    for learner, height, sign in ((first, 0.98, "↑"), (second, 0.02, "↓")):
        color = style(learner, [first, second], scheme)["color"]
        ax.text(
            0.02,
            height,
            plain(f"{sign} {learner} ahead"),
            color=color,
            transform=ax.transAxes,
            va="top" if sign == "↑" else "bottom",
        )
    ax.margins(y=0.15)
    if len(groups) <= MOST_ABOVE:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    make_readable(dress(ax))
    return ax


def plot_profiles(lc: LatentClass, ax: Axes | None = None) -> Axes:
    """Plot the classes of a fitted LatentClass: probabilities of levels, and means of numeric columns, as a heat map.

    The colour of a mean is its quantile in a normal distribution with the mean and variance of all rows.

    Parameters
    ----------
    lc : LatentClass
        Fitted estimator.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"channel": ["app", "shop", "shop", "app"] * 20, "new": [1, 0, 0, 1] * 20})
    >>> ax = plot_profiles(LatentClass(n_init=4, random_state=0).fit(table))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['channel = app', 'channel = shop', 'new = 0', 'new = 1']
    """
    _check_kind(lc, LatentClass)
    check_is_fitted(lc)
    table, numeric = lc.profiles(), {column.name for column in lc.columns_.numeric}
    shown = table[[key[0] != "class" and not (key[0] in numeric and key[1] == "sd") for key in table.index]]
    colours, labels, shares = [], [], lc.weights_
    for (column, level), line in zip(shown.index, shown.to_numpy(), strict=True):
        labels.append(plain(f"mean {column}" if column in numeric else f"{column} = {level}"))
        colours.append(line)
        if column in numeric:
            spread = np.sqrt(shares @ (table.loc[(column, "sd")].to_numpy() ** 2 + (line - shares @ line) ** 2))
            colours[-1] = ndtr((line - shares @ line) / spread)
    ax = _new(height=max(1.2 + 0.25 * len(labels), 3.0)) if ax is None else ax
    ax.imshow(colours, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for place, line in np.ndenumerate(shown.to_numpy()):
        ink = "white" if colours[place[0]][place[1]] > 0.6 else "black"
        text = f"{line:.3g}" if shown.index[place[0]][0] in numeric else f"{line:.2f}"
        ax.text(place[1], place[0], text, ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(shares.size), [f"class {z}\n{share:.0%}" for z, share in enumerate(shares)])
    ax.set_yticks(range(len(labels)), labels)
    make_readable(ax)
    return ax


def plot_model(model: CIAModel, ax: Axes | None = None) -> Axes:
    """Plot the probability of the target and of every attribute by hidden value; the title gives the difficulty.

    Parameters
    ----------
    model : CIAModel
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> model = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
    >>> plot_model(model).get_title()
    'difficulty 0.800, headroom 0.240'
    """
    _check_kind(model, CIAModel)
    ax = _new() if ax is None else ax
    places = np.append(1 - max(1.5, model.n / 10), np.arange(1, model.n + 1))
    scheme = scheme_of(ax)
    ax.vlines(places, model.probs.min(axis=1), model.probs.max(axis=1), color=shade(scheme, 20), zorder=0)
    for z, (weight, color) in enumerate(zip(model.weights, shades(scheme, model.k), strict=True)):
        marker, label = MARKERS[z % len(MARKERS)], f"z = {z}, weight {weight:.2f}"
        ax.plot(places, model.probs[:, z], linestyle="none", marker=marker, color=color, label=label)
    ax.axhline(0.5, color=shade(scheme, 35), linewidth=0.8, zorder=0)
    ticks = np.unique(np.linspace(1, model.n, min(model.n, 10), dtype=int))
    ax.set_xticks([places[0], *ticks], ["target", *map(str, ticks)])
    headroom = Scorer(model, rng=0).headroom
    ax.set(ylim=(0, 1), xlabel="attribute", ylabel="probability of a 1, given z")
    ax.set_title(f"difficulty {model.difficulty():.3f}, headroom {headroom:.3f}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return dress(ax)


def plot_restarts(em: EM, ax: Axes | None = None) -> Axes:
    """Plot the log-likelihood path of each restart.

    Parameters
    ----------
    em : EM
        Fitted classifier.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> X, y = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.6]]).sample(400, rng=0)
    >>> plot_restarts(EM(n_init=5, random_state=0).fit(X, y)).get_ylabel()
    'log-likelihood'
    """
    _check_kind(em, *TRACED)
    check_is_fitted(em)
    ax = _new() if ax is None else ax
    ends = np.array([path[-1] for path in em.restart_paths_])
    reached = ends > ends.max() - REPRODUCED
    scheme = scheme_of(ax)
    colors = {True: style("EM", [], scheme)["color"], False: shade(scheme, 40)}
    for path, best in sorted(zip(em.restart_paths_, reached, strict=True), key=lambda pair: bool(pair[1])):
        color, steps = colors[bool(best)], np.arange(1, len(path) + 1)
        ax.plot(steps, path, color=color, linewidth=1)
        ax.plot(steps[-1], path[-1], color=color, marker="o", markersize=4)
    depth = ends.max() - min(ends.min(), *(path[min(5, len(path) - 1)] for path in em.restart_paths_))
    mark_sizes(ax)
    ax.set(xlabel="step", ylim=(ends.max() - 1.2 * max(depth, 1.0), ends.max() + 0.1 * max(depth, 1.0)))
    ax.set_ylabel("log-likelihood" if em.smoothing == 0 else "log-likelihood and log prior")
    ax.set_title(f"{reached.sum()} of {len(ends)} restarts reach the best, {ends.max():.2f}".replace("-", "−"))
    return dress(ax)


def plot_chains(mixture: BayesianMixture, ax: Axes | None = None) -> Axes:
    """Plot the log-likelihood of each chain by sweep; the first half, warm-up, is grey.

    Parameters
    ----------
    mixture : BayesianMixture
        Fitted classifier.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> X, y = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.6]]).sample(400, rng=0)
    >>> plot_chains(BayesianMixture(random_state=0).fit(X, y)).get_xlabel()
    'sweep'
    """
    _check_kind(mixture, BayesianMixture)
    check_is_fitted(mixture, "log_likelihoods_")
    ax = _new() if ax is None else ax
    scheme, paths, begin = scheme_of(ax), mixture.log_likelihoods_, mixture.n_sweeps_ // 2
    color, sweeps = style("BayesianMixture", [], scheme)["color"], np.arange(1, mixture.n_sweeps_ + 1)
    for path in paths:
        ax.plot(sweeps[: begin + 1], path[: begin + 1], color=shade(scheme, 40), linewidth=0.7)
        ax.plot(sweeps[begin:], path[begin:], color=color, linewidth=0.7)
    low, high = paths[:, min(5, begin) :].min(), paths.max()
    margin = 0.05 * max(high - low, 1.0)
    ax.set(xlabel="sweep", ylabel="log-likelihood", ylim=(low - margin, high + margin))
    state = "settled" if mixture.converged_ else "not settled"
    ax.set_title(f"{len(paths)} chains, {state} after {mixture.n_sweeps_} sweeps, R̂ = {mixture.r_hat_:.2f}")
    return dress(ax)


def _check_kind(value: object, *kinds: type) -> None:
    """Refuse what has no such picture."""
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"this picture needs a fitted or drawn {expected}; got {type(value).__name__}.")


def _new(height: float | None = None) -> Axes:
    """Axes of a new figure, as high as the user's style says or as many inches."""
    figure, ax = plt.subplots(layout="constrained")
    if height is not None:
        figure.set_figheight(height)
    return ax
