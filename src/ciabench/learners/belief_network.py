"""Belief networks with hidden variables and missing cells, fitted by EM (lecture 1, its last slide)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Coded, Floats
from ciabench.columns import Columns
from ciabench.errors import DataError, ParameterError, check_integer
from ciabench.latent.networks import NetworkFit, fit_network
from ciabench.learners.data import checked_weights
from ciabench.learners.network_data import (
    as_labels,
    as_named_table,
    checked_graph,
    checked_states,
    checked_tables,
    column_of,
    labelled,
    listed,
    refuse_other_kinds,
    restated,
)
from ciabench.learners.search import check_search, warn_of_the_search
from ciabench.probability.bif import read_bif
from ciabench.probability.inference import posteriors, row_log_likelihoods
from ciabench.probability.network import MISSING, Network, States
from ciabench.seeds import as_random_state
from ciabench.tables import training_table

SHOWN_TABLES, SHOWN_ROWS = 12, 12
"""Most tables, and rows of a table, in a notebook."""


class BeliefNetwork(BaseEstimator):
    """A belief network over discrete variables, of which some are hidden and any cell may be missing.

    The model is P(x) = Π_i P(x_i | parents of x_i). EM finds tables that maximise the likelihood of what is observed:
    the E step infers, exactly, how often each variable has each state together with each state of its parents, and the
    M step divides these expected counts by their sums. It runs from many starts, and the best fit is kept.

    Parameters
    ----------
    edges : list of (parent, child), or networkx.DiGraph
        The graph, by names of columns (positions, for an array) and of hidden variables. Columns that it does not
        contain are ignored.
    hidden : dict or None
        Hidden variable → number of its states, or a list of their names.
    states : dict or None
        Variable → list of its states, where they should not be taken from the data.
    kinds : str, dict or None
        Kinds of columns, where they should not be inferred: "binary" or "categorical", for all columns or by name.
    n_init : int
        Number of starts; one is used if every cell is observed.
    init : dict, list of dicts, or None
        Your own starts: a table per variable, as in `tables_` or as an array with an axis per parent and, last, the
        variable's own states. They take the place of as many of the `n_init` starts.
    tol : float
        A restart has converged when a plain EM step gains less than this in log-likelihood; every second step is
        examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the likelihood never falls.
    smoothing : float
        Pseudo-count added to every expected count; 0 is maximum likelihood.
    random_state : int, RandomState or None
        Source of the starts.

    Attributes
    ----------
    tables_ : dict of DataFrames
        P(variable | parents): a row per states of the parents, a column per state.
    states_ : dict
        States of every variable in their order.
    log_likelihood_ : float
        Log-likelihood of the best restart.
    log_likelihoods_ : array (n_init,)
        Log-likelihoods of all restarts.
    n_best_reproduced_ : int
        Number of restarts that came within 1e-4 (or 100 `tol`, if that is more) of the best, which is counted too.
        Optima that differ only in the order of hidden states are equal.
    is_reproduced_ : bool
        Whether more than one restart reached the best optimum.
    converged_ : bool
        Whether the best restart converged.
    n_iter_ : int
        E steps of the best restart.
    n_parameters_ : int
        Number of free parameters.
    aic_ : float
        Akaike's information criterion.
    bic_ : float
        Bayesian information criterion.
    restart_paths_ : list of arrays
        Objective of each restart after each E step.

    References
    ----------
    .. [1] S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. CSDA 19.
    .. [2] K. S. Refaat, A. Choi & A. Darwiche (2014). Decomposing parameter estimation problems. NIPS 27.

    Examples
    --------
    >>> rain = pd.DataFrame({"rain": ["no", "no", "yes", "yes", None], "wet": [False, False, True, False, True]})
    >>> network = BeliefNetwork([("rain", "wet")], random_state=0).fit(rain)
    >>> network.tables_["wet"].round(2)
    wet   False  True
    rain
    no     1.00  0.00
    yes    0.33  0.67
    >>> network.posterior(pd.DataFrame({"wet": [True, False]}), "rain").round(2)
    array([[0.  , 1.  ],
           [0.67, 0.33]])
    >>> network.predict(rain, "wet")
    array([False, False,  True,  True, False])
    """

    columns_: Columns
    states_: dict[Any, tuple[Any, ...]]

    def __init__(
        self,
        edges: Any,
        *,
        hidden: Mapping[Any, Any] | None = None,
        states: Mapping[Any, Any] | None = None,
        kinds: Any = None,
        n_init: int = 20,
        init: Any = None,
        tol: float = 1e-8,
        max_iter: int = 10_000,
        accelerate: bool = True,
        smoothing: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.edges = edges
        self.hidden = hidden
        self.states = states
        self.kinds = kinds
        self.n_init = n_init
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.smoothing = smoothing
        self.random_state = random_state

    @classmethod
    def from_bif(cls, path: str | Path) -> Self:
        """Read a network with its tables from a file in the Bayesian Interchange Format.

        It can be queried and sampled from at once; `fit` estimates its tables anew.
        """
        definition = read_bif(path)
        edges: Any = [(above, name) for name, parents in definition.parents.items() for above in parents]
        if not set(definition.states) <= {name for edge in edges for name in edge}:
            listed_edges, edges = edges, nx.DiGraph()
            edges.add_nodes_from(definition.states)
            edges.add_edges_from(listed_edges)
        made, graph = cls(edges, states=definition.states), checked_graph(edges)
        made.columns_ = Columns(tuple(column_of(name, states) for name, states in definition.states.items()))
        network = made._network(made._checked_hidden(graph), graph)
        theta = np.concatenate([definition.tables[name].ravel() for name in network.names])
        return made._set_tables(network, theta)

    def to_networkx(self) -> Any:
        """The graph as a networkx.DiGraph, with the attributes `hidden` and, once fitted, `states` of every node."""
        graph = checked_graph(self.edges)
        for name in graph:
            graph.nodes[name]["hidden"] = name in (self.hidden or {})
            if hasattr(self, "states_"):
                graph.nodes[name]["states"] = list(self.states_[name])
        return graph

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tables to X (s, n), a DataFrame or array of discrete columns; y is ignored.

        Rows with a weight below 1e-30 of the largest count as absent.
        """
        check_search(self)
        graph = checked_graph(self.edges)
        hidden, table = self._checked_hidden(graph), as_named_table(X)
        coded = self._training(table, graph, hidden)
        network = self._network(hidden, graph)
        rows = self._rows(network, coded, [column.name for column in self.columns_.columns])
        weights = checked_weights(sample_weight, len(rows))
        fit = fit_network(
            network,
            rows,
            weights,
            [network.names.index(name) for name in hidden],
            random=as_random_state(self.random_state),
            init=checked_tables(self.init, network),
            **{name: getattr(self, name) for name in ("n_init", "tol", "max_iter", "accelerate", "smoothing")},
        )
        self._set_tables(network, fit.theta)._set_fit(fit, float(weights.sum()))
        warn_of_the_search(self)
        return self

    def posterior(self, X: Any, variable: Any) -> Floats:
        """P(variable | the other observed cells) of every row of X, (s, states).

        Variables that are not columns of X are not observed; the states are in the order of `states_`.
        """
        network, rows = self._asked(X)
        if variable not in network.names:
            raise ParameterError(f"the network has no variable {variable!r}; it has {listed(network.names)}.")
        return posteriors(network, self._theta, rows, network.names.index(variable))

    def predict_proba(self, X: Any, target: Any) -> Floats:
        """P(target | the other observed cells) of every row of X, as `posterior`, for a target that is not hidden."""
        if target in (self.hidden or {}):
            raise ParameterError(f"the target {target!r} is hidden, so its states have no labels; use posterior.")
        return self.posterior(X, target)

    def predict(self, X: Any, target: Any) -> NDArray[Any]:
        """Most probable state of the target, given the other observed cells of every row of X."""
        chances = self.predict_proba(X, target)
        labels: NDArray[Any] = as_labels(self.states_[target])[chances.argmax(axis=1)]
        return labels

    def score_samples(self, X: Any) -> Floats:
        """Log P(observed cells) of every row of X."""
        network, rows = self._asked(X)
        return row_log_likelihoods(network, self._theta, rows)

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def sample(self, size: int, random_state: int | None = None) -> pd.DataFrame:
        """Draw rows from the network; hidden variables are left out."""
        check_is_fitted(self, "tables_")
        check_integer("size", size, 1)
        drawn = self._fitted.sample(self._theta, size, np.random.default_rng(random_state))
        return pd.DataFrame(
            {
                column.name: as_labels(column.levels)[drawn[:, self._fitted.names.index(column.name)]]
                for column in self.columns_.columns
            }
        )

    def _repr_html_(self) -> str:
        """Graph and tables in a notebook."""
        if not hasattr(self, "tables_"):
            return str(super()._repr_html_())
        shown = [table.iloc[:SHOWN_ROWS].round(3).to_html() for table in list(self.tables_.values())[:SHOWN_TABLES]]
        left_out = len(self.tables_) - len(shown)
        more = f"<p>… and {left_out} more in <code>tables_</code></p>" if left_out else ""
        cells = "".join(f'<div style="margin: 0 1.5em 1em 0">{html}</div>' for html in shown)
        return f'<div style="display: flex; flex-wrap: wrap">{cells}</div>{more}'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _checked_hidden(self, graph: Any) -> dict[Any, list[Any]]:
        """States of the hidden variables."""
        hidden = self.hidden or {}
        if not isinstance(hidden, Mapping):
            raise ParameterError(f'hidden must be a dict such as {{"z": 2}}; got {hidden!r}.')
        for name in hidden:
            if name not in graph:
                raise ParameterError(f"hidden names the variable {name!r}, which no edge has.")
        return {name: checked_states(name, states) for name, states in hidden.items()}

    def _training(self, table: pd.DataFrame, graph: Any, hidden: Mapping[Any, Any]) -> Coded:
        """Codes of the columns of the network; sets `columns_`."""
        for name in graph:
            if name in hidden and name in table.columns:
                raise DataError(f"the hidden variable {name!r} is also a column of X; rename one of them.")
            if name not in hidden and name not in table.columns:
                raise DataError(f"the variable {name!r} is neither a column of X nor in hidden.")
        table = table[[name for name in table.columns if name in graph]]
        given = {name: checked_states(name, states) for name, states in (self.states or {}).items()}
        kinds = dict.fromkeys(table.columns, self.kinds) if isinstance(self.kinds, str) else dict(self.kinds or {})
        coded = training_table(self, table, kinds | {name: "categorical" for name in table.columns if name in given})
        if not given:
            refuse_other_kinds(self.columns_)
            return coded
        self.columns_ = Columns(tuple(restated(column, given.get(column.name)) for column in self.columns_.columns))
        refuse_other_kinds(self.columns_)
        return self.columns_.coded(table)

    def _network(self, hidden: Mapping[Any, Any], graph: Any) -> Network:
        """The network without its numbers; sets `states_`."""
        levels = {column.name: column.levels for column in self.columns_.columns}
        self.states_ = {name: tuple(hidden.get(name, levels.get(name))) for name in graph}
        places = {name: place for place, name in enumerate(graph)}
        parents = [[places[above] for above in graph.predecessors(name)] for name in graph]
        return Network([len(self.states_[name]) for name in graph], parents, list(graph))

    def _rows(self, network: Network, coded: Coded, names: list[Any]) -> States:
        """States (s, V) of the coded columns with these names; other variables are missing."""
        rows = np.full((coded.n_rows, network.n_variables), MISSING, dtype=np.int32)
        for name, codes, n_levels in zip(names, coded.codes.T.astype(np.int32), coded.n_levels, strict=True):
            rows[:, network.names.index(name)] = np.where(codes == n_levels, MISSING, codes)
        return rows

    def _asked(self, X: Any) -> tuple[Network, States]:
        """The fitted network, and the rows of a table that may lack columns."""
        check_is_fitted(self, "tables_")
        table = as_named_table(X)
        known = [column for column in self.columns_.columns if column.name in table.columns]
        names = [column.name for column in known]
        return self._fitted, self._rows(self._fitted, Columns(tuple(known)).coded(table[names]), names)

    def _set_tables(self, network: Network, theta: Floats) -> Self:
        self._fitted, self._theta = network, theta
        self.n_parameters_ = network.size - network.groups.size + 1
        self.tables_ = {
            name: labelled([network.names[one] for one in family], self.states_, table)
            for name, family, table in zip(network.names, network.families, network.tables(theta), strict=True)
        }
        return self

    def _set_fit(self, fit: NetworkFit, n_samples: float) -> None:
        self.log_likelihood_, self.log_likelihoods_ = fit.log_likelihood, fit.log_likelihoods
        self.n_best_reproduced_, self.restart_paths_ = fit.n_best_reproduced, fit.paths
        self.is_reproduced_ = fit.n_best_reproduced > 1
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        self.aic_ = 2 * self.n_parameters_ - 2 * fit.log_likelihood
        self.bic_ = float(np.log(n_samples)) * self.n_parameters_ - 2 * fit.log_likelihood
