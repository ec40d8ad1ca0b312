"""Belief networks as classifiers; tree-augmented naive Bayes (TAN) unless edges are given."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ciabench.arrays import Coded, Floats
from ciabench.errors import ParameterError, check_integer
from ciabench.latent.networks import fit_network
from ciabench.learners.data import checked_weights
from ciabench.learners.network_data import checked_graph, checked_states
from ciabench.learners.search import check_search, warn_of_the_search
from ciabench.probability.bernoulli import floored_log
from ciabench.probability.inference import posteriors
from ciabench.probability.network import MISSING, Network, States
from ciabench.seeds import as_random_state
from ciabench.tables import next_table, training_table

TARGET = "y"
"""Name of the class among the variables."""


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """A belief network over the class and the columns, as a classifier of any table.

    The model is P(y, x) = Π P(variable | its parents), and the prediction the class with the largest P(y | x). In
    `structure="tan"`, tree-augmented naive Bayes, every column has the class as a parent and, but for one, another
    column: the tree that has the largest sum of mutual informations I(x_i; x_j | y) among all trees, which is also the
    one of the largest likelihood (Chow & Liu). Numeric columns are cut at quantiles. Missing cells are summed out, in
    training by EM.

    Parameters
    ----------
    structure : {"tan"} or list of (parent, child)
        Edges are between columns, by name (by position, for an array), hidden variables and the class, which is "y".
        Columns that no edge names are ignored.
    hidden : dict or None
        Hidden variable → number of its states; only with edges.
    n_bins : int
        Intervals of a numeric column, cut at its quantiles.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    smoothing : float
        Pseudo-count added to every (expected) count; 1 is Laplace's rule.
    n_init : int
        Number of starts, if there are hidden variables; otherwise one.
    tol : float
        A restart has converged when a plain EM step gains less than this.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the objective never falls.
    random_state : int, RandomState or None
        Source of the starts.

    Attributes
    ----------
    classes_ : array
        The labels.
    edges_ : list of (parent, child)
        The graph.
    kinds_ : dict
        Kind of every column.
    log_likelihood_ : float
        Log-likelihood of (y, x).
    log_likelihoods_ : array
        Log-likelihoods of all restarts.
    n_iter_ : int
        E steps of the best restart.
    converged_ : bool
        Whether the best restart converged.
    is_reproduced_ : bool
        Whether more than one restart reached the best optimum.
    n_parameters_ : int
        Number of free parameters.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    .. [1] N. Friedman, D. Geiger & M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29.
    .. [2] C. K. Chow & C. N. Liu (1968). Approximating discrete probability distributions with dependence trees.
       IEEE Transactions on Information Theory 14.

    Examples
    --------
    Whether two columns are equal is nothing that naive Bayes can learn:

    >>> X = np.random.default_rng(0).integers(0, 2, (400, 3))
    >>> y = X[:, 0] == X[:, 2]
    >>> tan = NetworkClassifier().fit(X, y)
    >>> tan.score(X, y), (0, 2) in tan.edges_
    (1.0, True)
    """

    facts: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_")
    version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        structure: Any = "tan",
        hidden: Mapping[Any, Any] | None = None,
        n_bins: int = 5,
        kinds: Any = None,
        smoothing: float = 1.0,
        n_init: int = 20,
        tol: float = 1e-8,
        max_iter: int = 10_000,
        accelerate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.structure = structure
        self.hidden = hidden
        self.n_bins = n_bins
        self.kinds = kinds
        self.smoothing = smoothing
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the network to a table X (s, n) and labels y (s,)."""
        check_search(self)
        check_integer("n_bins", self.n_bins, 2)
        coded = training_table(self, X, self.kinds)
        codes = self._labels(y, coded.n_rows)
        weights = checked_weights(sample_weight, coded.n_rows)
        self._cuts = [cuts(numbers, weights, self.n_bins) for numbers in coded.numbers.T]
        rows, n_levels = self._binned(coded)
        rows, n_levels = np.column_stack([codes, rows]), np.append(self.classes_.size, n_levels)
        names = [TARGET, *(column.name for column in self.columns_.columns)]
        self._fit_network(rows, n_levels, names, weights)
        warn_of_the_search(self)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x), one column per class."""
        check_is_fitted(self)
        rows, _ = self._binned(next_table(self, X))
        rows = np.column_stack([np.full(len(rows), MISSING, dtype=np.int32), rows])
        states = np.full((len(rows), self._network.n_variables), MISSING, dtype=np.int32)
        states[:, self._columns >= 0] = rows[:, self._columns[self._columns >= 0]]
        return posteriors(self._network, self._theta, states, self._network.names.index(TARGET))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Log P(class | x)."""
        return floored_log(self.predict_proba(X))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds of `classes_[1]`, shape (s,); log P(class | x) of every class if there are more than two."""
        logs = self.predict_log_proba(X)
        if self.classes_.size > 2:
            return logs
        return logs[:, -1] - logs[:, 0] if self.classes_.size == 2 else np.full(len(logs), -1.0)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable class of every row; the first one of those that are equally probable."""
        chances = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return labels

    def to_networkx(self) -> Any:
        """The graph as a networkx.DiGraph, with the attribute `hidden` of every node."""
        check_is_fitted(self)
        graph = nx.DiGraph()
        graph.add_nodes_from((name, {"hidden": name in (self.hidden or {})}) for name in self._network.names)
        graph.add_edges_from(self.edges_)
        return graph

    def _labels(self, y: Any, n_rows: int) -> NDArray[np.intp]:
        """Codes of the labels; sets `classes_`."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(np.empty(n_rows), labels)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return codes

    def _binned(self, coded: Coded) -> tuple[States, NDArray[np.int64]]:
        """States (s, n) of all columns, numeric ones by interval; and the number of states of each."""
        rows = np.empty((coded.n_rows, len(self.columns_.columns)), dtype=np.int32)
        n_levels = np.empty(rows.shape[1], dtype=np.int64)
        codes, numbers = zip(coded.codes.T, coded.n_levels, strict=True), zip(coded.numbers.T, self._cuts, strict=True)
        for place, column in enumerate(self.columns_.columns):
            if column.is_numeric:
                values, own = next(numbers)
                rows[:, place] = np.where(np.isnan(values), MISSING, np.searchsorted(own, values))
                n_levels[place] = own.size + 1
            else:
                values, n_levels[place] = next(codes)
                rows[:, place] = np.where(values == n_levels[place], MISSING, values.astype(np.int32))
        return rows, n_levels

    def _fit_network(self, rows: States, n_levels: NDArray[np.int64], names: list[Any], weights: Floats) -> None:
        """Fit the tables to the class and the columns, side by side in `rows`."""
        hidden = {name: len(checked_states(name, states)) for name, states in self._checked_hidden().items()}
        self.edges_ = self._edges(rows, n_levels, names, weights, hidden)
        graph = nx.DiGraph(self.edges_) if self.edges_ else nx.DiGraph()
        graph.add_node(TARGET)
        listed = list(graph)
        self._columns = np.array([names.index(name) if name in names else -1 for name in listed])
        levels = [hidden[name] if name in hidden else int(n_levels[names.index(name)]) for name in listed]
        parents = [[listed.index(above) for above in graph.predecessors(name)] for name in listed]
        self._network = Network(levels, parents, listed)
        states = np.where(self._columns >= 0, rows[:, self._columns], np.int32(MISSING))
        options = {name: getattr(self, name) for name in ("tol", "max_iter", "accelerate", "smoothing")}
        fit = fit_network(
            self._network,
            states,
            weights,
            [listed.index(name) for name in hidden],
            random=as_random_state(self.random_state),
            n_init=self.n_init if hidden else 1,
            **options,
        )
        self._theta, self.log_likelihood_, self.log_likelihoods_ = fit.theta, fit.log_likelihood, fit.log_likelihoods
        self.n_iter_, self.converged_, self.is_reproduced_ = fit.n_iter, fit.converged, fit.n_best_reproduced > 1
        self.n_parameters_ = self._network.size - self._network.groups.size + 1

    def _checked_hidden(self) -> Mapping[Any, Any]:
        if not isinstance(self.hidden or {}, Mapping):
            raise ParameterError(f'hidden must be a dict such as {{"z": 2}}; got {self.hidden!r}.')
        return self.hidden or {}

    def _edges(
        self, rows: States, n_levels: NDArray[np.int64], names: list[Any], weights: Floats, hidden: Mapping[Any, int]
    ) -> list[tuple[Any, Any]]:
        """The edges that are given, checked, or those of TAN."""
        if isinstance(self.structure, str):
            if self.structure != "tan":
                raise ParameterError(f'structure must be "tan" or a list of (parent, child); got {self.structure!r}.')
            if hidden:
                raise ParameterError('hidden needs edges that name its variables; structure is "tan".')
            tree = chow_liu_tree(rows[:, 1:], n_levels[1:], rows[:, 0], self.classes_.size, weights)
            to_columns = [(TARGET, name) for name in names[1:]]
            return to_columns + [(names[1 + above], names[1 + below]) for above, below in tree]
        graph = checked_graph(self.structure)
        for name in graph:
            if (name in names) == (name in hidden):
                where = (
                    "both a column and hidden" if name in hidden else f"neither a column, nor {TARGET!r}, nor hidden"
                )
                raise ParameterError(f"structure names the variable {name!r}, which is {where}.")
        return list(graph.edges)


def cuts(numbers: Floats, weights: Floats, n_bins: int) -> Floats:
    """Distinct quantiles of the observed numbers that have weight, below the maximum, so that no interval is empty."""
    is_used = ~np.isnan(numbers) & (weights > 0)
    observed = numbers[is_used]
    if not observed.size:
        return np.empty(0)
    shares = np.arange(1, n_bins) / n_bins
    found = np.unique(np.quantile(observed, shares, weights=weights[is_used], method="inverted_cdf"))
    below: Floats = found[found < observed.max()]
    return below


def chow_liu_tree(
    rows: States, n_levels: NDArray[np.int64], labels: NDArray[Any], n_classes: int, weights: Floats
) -> list[tuple[int, int]]:
    """Edges, away from column 0, of the tree with the largest sum of I(x_i; x_j | y) over rows that observe the pair.

    Examples
    --------
    >>> rows = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=np.int32)
    >>> chow_liu_tree(rows, np.array([2, 2, 2]), np.zeros(4, dtype=int), 1, np.ones(4))
    [(0, 2), (0, 1)]
    """
    information = conditional_information(rows, n_levels, labels, n_classes, weights)
    graph = nx.Graph()
    graph.add_nodes_from(range(n_levels.size))
    graph.add_weighted_edges_from((i, j, information[i, j]) for i in range(n_levels.size) for j in range(i))
    tree = nx.maximum_spanning_tree(graph)
    return sorted(nx.bfs_edges(tree, 0), key=lambda edge: -information[edge])


def conditional_information(
    rows: States, n_levels: NDArray[np.int64], labels: NDArray[Any], n_classes: int, weights: Floats
) -> Floats:
    """I(x_i; x_j | y) of all pairs of columns (n, n), in nats, from the weighted rows that observe both."""
    firsts = np.concatenate([[0], np.cumsum(n_levels)])
    owners = np.repeat(np.arange(n_levels.size), n_levels)
    indicators = (rows[:, owners] == np.arange(firsts[-1]) - firsts[owners]).astype(np.float64)
    is_observed = (rows != MISSING).astype(np.float64)
    total, sums = np.zeros((n_levels.size,) * 2), np.zeros((n_levels.size,) * 2)
    for label in range(n_classes):
        of_class = weights * (labels == label)
        pairs, ones = indicators.T @ (indicators * of_class[:, None]), indicators.T @ (is_observed * of_class[:, None])
        both = is_observed.T @ (is_observed * of_class[:, None])
        expected = ones[:, owners] * ones.T[owners, :] / np.maximum(both[np.ix_(owners, owners)], 1e-300)
        ratio = np.divide(pairs, expected, out=np.ones_like(pairs), where=pairs > 0)
        gains = np.add.reduceat(pairs * np.log(ratio), firsts[:-1], axis=0)
        total += np.add.reduceat(gains, firsts[:-1], axis=1)
        sums += both
    information: Floats = total / np.maximum(sums, 1e-300)
    return information
