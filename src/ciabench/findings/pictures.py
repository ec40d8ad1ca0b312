"""Plots of a difference, a model and a fit, in the user's matplotlib style."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from ciabench.findings.curves import paired_differences
from ciabench.findings.looks import make_readable, plain
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD
from ciabench.latent.fit import REPRODUCED
from ciabench.learners.em import EM
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Scorer


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
    for world, found in paired_differences(read(rows).rows, first, second).groupby(WORLD, sort=False):
        size, middle, low, high = (found[column].to_numpy() for column in ("size", "difference", "low", "high"))
        (line,) = ax.plot(size, middle, marker="o", label=plain(str(world)))
        ax.fill_between(size, low, high, color=line.get_color(), alpha=0.15, lw=0)
    ax.axhline(0, color="0.5", linewidth=0.8, zorder=0)
    ax.set(xscale="log", xlabel="training examples", ylabel=plain(f"T of {first} − T of {second}"))
    ax.legend()
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
    ax = _new() if ax is None else ax
    places = np.append(1 - max(1.5, model.n / 10), np.arange(1, model.n + 1))
    ax.vlines(places, model.probs.min(axis=1), model.probs.max(axis=1), color="0.8", zorder=0)
    for z, weight in enumerate(model.weights):
        ax.plot(
            places, model.probs[:, z], linestyle="none", marker="os^Dv<>P"[z % 8], label=f"z = {z}, weight {weight:.2f}"
        )
    ax.axhline(0.5, color="0.5", linewidth=0.8, zorder=0)
    ticks = np.unique(np.linspace(1, model.n, min(model.n, 10), dtype=int))
    ax.set_xticks([places[0], *ticks], ["target", *map(str, ticks)])
    headroom = Scorer(model, rng=0).headroom
    ax.set(ylim=(0, 1), xlabel="attribute", ylabel="probability of a 1, given z")
    ax.set_title(f"difficulty {model.difficulty():.3f}, headroom {headroom:.3f}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return ax


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
    check_is_fitted(em, "restart_paths_")
    ax = _new() if ax is None else ax
    ends = np.array([path[-1] for path in em.restart_paths_])
    reached = ends > ends.max() - REPRODUCED
    for path, best in sorted(zip(em.restart_paths_, reached, strict=True), key=lambda pair: bool(pair[1])):
        color, steps = "C0" if best else "0.6", np.arange(1, len(path) + 1)
        ax.plot(steps, path, color=color, linewidth=1)
        ax.plot(steps[-1], path[-1], color=color, marker="o", markersize=4)
    depth = ends.max() - min(ends.min(), *(path[min(5, len(path) - 1)] for path in em.restart_paths_))
    ax.set(xscale="log", xlabel="step", ylim=(ends.max() - 1.2 * max(depth, 1.0), ends.max() + 0.1 * max(depth, 1.0)))
    ax.set_ylabel("log-likelihood" if em.smoothing == 0 else "log-likelihood and log prior")
    ax.set_title(f"{reached.sum()} of {len(ends)} restarts reach the best, {ends.max():.2f}")
    return ax


def _new() -> Axes:
    """Axes of a new figure."""
    return plt.subplots(layout="constrained")[1]
