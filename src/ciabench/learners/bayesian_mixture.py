"""Bayesian mixture: average over mixtures with a hidden class, in place of the most likely one."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Floats
from ciabench.errors import check_between, check_integer
from ciabench.latent.averaging import label_scores
from ciabench.latent.fit import standardized
from ciabench.latent.pieces import make_problem
from ciabench.latent.posterior import as_powers, r_hat, sample_posterior
from ciabench.learners.base import BinaryClassifier
from ciabench.learners.data import checked_weights
from ciabench.learners.rows import as_table_rows, bit_columns, next_rows, softmax, training_data, with_label
from ciabench.seeds import as_random_state

MOST_ROWS = 1e15
"""Weights with a larger sum are divided: more rows would say nothing more, as probabilities keep 1e-15 from 0."""


class BayesianMixture(BinaryClassifier):
    """Mixture over the target and the attributes with a hidden class, averaged over its posterior distribution.

    The model is that of `EM`, with up to `max_classes` hidden classes. In place of the parameters with the largest
    likelihood it uses many that are drawn in proportion to likelihood times prior, by blocked Gibbs sampling in eight
    chains, and averages their P(x, y):

        P(y | x) ∝ Σ_draws Σ_z w_z P(y | z) Π_i P(x_i | z).

    So neither the number of classes nor a fit has to be chosen. The prior (ours): weights are Dirichlet(e, …, e) with
    a small e, so that most classes have no rows; binary and categorical columns are Dirichlet(a, …, a) in each class,
    with an a for binary and one for categorical columns, learned under a log-uniform prior from 0.05 to 20; the target
    is Dirichlet(½, …, ½); numeric columns, standardised, are normal–inverse-gamma with mean 0, κ = 0.1, ν = 3, scale
    0.5. Missing cells are summed out. Classes without rows enter the average by the expectations of their
    probabilities; if there are numeric columns, by a normal distribution with the moments of the prior.

    Chains grow: they start on 32 random rows, and after every 25 sweeps they get twice as many, which finds the number
    of classes sooner than a start on all rows. Then they stop by themselves: at 50, 100, 200, … sweeps over all rows,
    when P(y | x) of up to 200 training rows differs by less than `tol` (root mean square) between one half of the
    chains and the other, or when more would exceed `max_sweeps`. The second half of these sweeps is kept, thinned to
    25 draws of each chain. The result does not depend on the order of the rows.

    A sample weight is a power of the likelihood: a row of weight 2 is the same as two rows; one of weight w, if w is
    not whole, counts as ⌈w⌉ rows whose P(x, y, z) has the power w / ⌈w⌉. A row never counts as more than 100 rows;
    powers may be larger than 1 then.

    Parameters
    ----------
    max_classes : int
        Largest number of hidden classes.
    weight_concentration : float
        Concentration e of the weights; the smaller, the fewer classes have rows.
    max_sweeps : int
        Budget of sweeps over all rows of each chain, at least 50.
    tol : float
        Difference between the predictions of two halves of the chains below which they have settled.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    binarize : float or None
        Threshold above which a value counts as 1; None takes columns as they are. NaN is missing at random.
    random_state : int, RandomState or None
        Source of starts and draws.

    Attributes
    ----------
    classes_ : array (C,)
        The labels.
    concentrations_ : array (1,) or (2,)
        Posterior means of the learned a of binary columns, then of categorical ones, where there are any.
    n_classes_ : Series
        Posterior of the number of hidden classes that have rows.
    log_likelihoods_ : array (8, sweeps)
        Log-likelihood of each chain at the beginning of each sweep.
    r_hat_ : float
        Potential scale reduction of the log-likelihood in the second half of the sweeps; near 1 if the chains agree.
    n_sweeps_ : int
        Sweeps of each chain.
    converged_ : bool
        Whether predictions settled within the budget.
    kinds_ : dict
        Kind of every column.

    References
    ----------
    .. [1] Grove, A. J. & Roth, D. (1997). Linear concepts and hidden variables: an empirical study. NIPS 10.
    .. [2] Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian sampling.
       JRSS B 56.
    .. [3] Malsiner-Walli, G., Frühwirth-Schnatter, S. & Grün, B. (2016). Model-based clustering based on sparse finite
       Gaussian mixtures. Statistics and Computing 26.

    Examples
    --------
    >>> from ciabench import CIAModel
    >>> X, y = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.6]]).sample(400, rng=0)
    >>> mixture = BayesianMixture(random_state=0).fit(X, y)
    >>> round(mixture.score(X, y), 2)
    0.81
    >>> mixture.predict_proba([[1, 1, 0]]).round(1)
    array([[0.1, 0.9]])
    """

    facts: ClassVar[tuple[str, ...]] = ("n_sweeps_", "converged_", "r_hat_")
    version: ClassVar[int] = 1
    takes_tables: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_classes: int = 10,
        weight_concentration: float = 0.05,
        max_sweeps: int = 200,
        tol: float = 0.02,
        kinds: Any = None,
        binarize: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_classes = max_classes
        self.weight_concentration = weight_concentration
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.kinds = kinds
        self.binarize = binarize
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Draw mixtures given a table X (s, n), with NaN or None where cells are missing, and labels y (s,)."""
        check_integer("max_classes", self.max_classes, 1)
        check_between("weight_concentration", self.weight_concentration, 0, np.inf)
        check_integer("max_sweeps", self.max_sweeps, 50)
        check_between("tol", self.tol, 0, 1, closed=True)
        rows, codes = training_data(self, X, y)
        weights = checked_weights(sample_weight, codes.size)
        weights = weights / max(1.0, weights.sum() / MOST_ROWS)
        table, powers = as_powers(with_label(rows, codes, self.classes_.size), weights)
        table, powers, self._scale, _ = standardized(table, powers, full=False)
        rng = np.random.default_rng(as_random_state(self.random_state).randint(2**31 - 1))
        budget = (self.max_classes, float(self.weight_concentration), self.max_sweeps, float(self.tol))
        self._set_posterior(sample_posterior(table, powers, *budget, rng))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row: the one with the largest P(y | x)."""
        scores = self._scores(X)
        codes = scores[:, -1] > scores[:, 0] if self.classes_.size == 2 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes.astype(np.intp)]
        return labels

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds (s,) of `classes_[1]`, or log P(y | x) of every label, (s, labels), if there are more than two."""
        scores = self._scores(X)
        if self.classes_.size > 2:
            logs: Floats = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
            return logs
        odds: Floats = scores[:, -1] - scores[:, 0] - (self.classes_.size == 1)
        return odds

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(y | x) for every row and label, (s, labels), from P(x, y) averaged over draws."""
        return softmax(self._scores(X))

    def check_rows(self, X: ArrayLike) -> Any:
        """Check the rows X (s, n) that a fitted learner is asked about; for authors of learners."""
        return next_rows(self, X)

    @property
    def kinds_(self) -> dict[Any, str]:
        """Kind of every column."""
        return self._kinds if self.columns_ else bit_columns(self).kinds

    @kinds_.setter
    def kinds_(self, kinds: dict[Any, str]) -> None:
        self._kinds = kinds

    def _scores(self, X: ArrayLike) -> Floats:
        """Log P(x, y), up to a constant in every row, (s, labels)."""
        check_is_fitted(self)
        table = as_table_rows(self.check_rows(X))
        if table.numbers.shape[1]:
            table = table._replace(numbers=self._scale.applied(table.numbers))
        return label_scores(make_problem(table, np.ones(table.n_rows), merge=False), self._pooled)

    def _set_posterior(self, posterior: Any) -> None:
        """Copy what was drawn into the attributes."""
        import pandas as pd

        self._pooled, self.log_likelihoods_ = posterior.pooled, posterior.log_likelihoods
        self.converged_, self.n_sweeps_ = posterior.is_settled, self.log_likelihoods_.shape[1]
        self.r_hat_ = r_hat(self.log_likelihoods_[:, self.n_sweeps_ // 2 :])
        self.concentrations_ = posterior.learnt.mean(axis=(0, 1))
        sizes = np.bincount(posterior.n_occupied.ravel())
        shares = pd.Series(sizes / sizes.sum(), name="probability")
        self.n_classes_ = shares[shares > 0].rename_axis("classes")
