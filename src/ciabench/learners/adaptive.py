"""A learner that adapts: it fits hidden-variable models and direct learners, and weighs them on held-out rows.

The weights are those of pseudo-BMA+ (Yao et al. 2018), tempered: exponents are halved. In the formulas L_im is the log
of the probability that member m gives the label of row i, without having seen the row.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ciabench.arrays import Floats
from ciabench.columns import as_table
from ciabench.encoder import BitEncoder
from ciabench.errors import LevelWarning, ParameterError, SearchWarning
from ciabench.learners.bayesian_mixture import BayesianMixture
from ciabench.learners.em import EM
from ciabench.learners.naive_bayes import NaiveBayes
from ciabench.learners.rows import checked_labels
from ciabench.probability.bernoulli import floored_log
from ciabench.seeds import as_random_state
from ciabench.tables import next_table, training_table

N_REPEATS, N_FOLDS = 2, 5
N_DRAWS = 400
"""Draws of the Bayesian bootstrap over rows."""

TEMPER = 0.5
FIRST_PRIOR = 0.5
"""Prior weight of the first member; the others share the rest."""

Member = tuple[str, Any]


def default_members() -> list[Member]:
    """A mixture averaged over models, and three learners that are right where it is not."""
    logistic = make_pipeline(BitEncoder(n_bins=5), LogisticRegression(C=1.0, max_iter=1_000))
    return [
        ("BayesianMixture", BayesianMixture()),
        ("LogisticRegression", logistic),
        ("NaiveBayes", NaiveBayes()),
        ("EM", EM(n_classes=2)),
    ]


class Explanation(NamedTuple):
    """What weighs how much, and why: a sentence and a table."""

    sentence: str
    table: Any

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.table.to_string(float_format='{:.3f}'.format)}"

    def _repr_html_(self) -> str:
        """Sentence and table for notebooks."""
        return f"<p>{self.sentence}</p>{self.table.to_html(float_format='{:.3f}'.format)}"


def adaptive_weights(log_chances: Floats, prior: Floats, rng: np.random.RandomState) -> Floats:
    """Weights (m,) of members from log_chances (s, m), their log-probabilities of the labels of held-out rows.

    For every draw g ~ Dirichlet(1, …, 1) over rows, W_m ∝ prior_m exp(½ s Σ_i g_i L_im); the weights are the mean of W.

    Examples
    --------
    >>> right, wrong = np.full(50, -0.1), np.full(50, -0.2)
    >>> weights = adaptive_weights(np.column_stack([right, wrong]), np.array([0.5, 0.5]), np.random.RandomState(0))
    >>> weights.round(3)
    array([0.924, 0.076])
    """
    size = len(log_chances)
    shares = rng.dirichlet(np.ones(size), N_DRAWS)
    exponents = np.log(prior) + TEMPER * size * shares @ log_chances
    drawn = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    weights: Floats = (drawn / drawn.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


class Adaptive(ClassifierMixin, BaseEstimator):
    """Several learners, weighed by what they say about rows that they have not seen.

    Every member is fitted to folds of the rows and, at the end, to all of them: eleven fits. The prediction is the mean
    of the members' probabilities, P(y | x) = Σ_m w_m P_m(y | x). With L_im the log of the probability that member m
    gave the label of the held-out row i, averaged over two repeats of stratified 5-fold cross-validation,

        w_m = mean over g of W_m,   W_m ∝ prior_m exp(½ s Σ_i g_i L_im),   g ~ Dirichlet(1, …, 1),

    with 400 draws of g. The first member has prior ½, and the others share the rest. There are no more folds than rows
    of the rarest label; if that leaves fewer than two, the prior stands. Probabilities of held-out rows are clipped
    to [1/(s + 2), 1 − 1/(s + 2)].

    Parameters
    ----------
    members : list of (name, classifier) or None
        Classifiers that have `predict_proba`. The default is `BayesianMixture`, logistic regression on the bits of
        `BitEncoder`, with five intervals for a numeric column, `NaiveBayes`, and `EM` with two classes.
    random_state : int, RandomState or None
        Source of folds and draws, and of the random states of members that have none of their own.

    Attributes
    ----------
    classes_ : array
        The labels.
    weights_ : dict
        Name of a member → its weight.
    held_out_loss_ : dict
        Name of a member → its mean log-loss on held-out rows, clipped; NaN if the prior stands.
    members_ : dict
        Name of a member → the classifier fitted to all rows.
    n_folds_ : int
        Number of folds; 0 if the prior stands.
    kinds_ : dict
        Kind of every column.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    .. [1] Y. Yao, A. Vehtari, D. Simpson & A. Gelman (2018). Using stacking to average Bayesian predictive
       distributions. Bayesian Analysis 13.
    .. [2] S. Monti & G. F. Cooper (1999). A Bayesian network classifier that combines a finite mixture model and a
       naive Bayes model. UAI 15.

    Examples
    --------
    Where the target is a rule, the direct learner weighs most:

    >>> X = np.random.default_rng(0).integers(0, 2, (200, 5))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> members = [("EM", EM(n_classes=2)), ("logistic", LogisticRegression())]
    >>> adaptive = Adaptive(members=members, random_state=0).fit(X, y)
    >>> adaptive.score(X, y)
    1.0
    >>> print(adaptive.explain().sentence)
    logistic has 100% of the weight: its log-loss on held-out rows is 0.133, that of EM is 0.225.
    """

    facts: ClassVar[tuple[str, ...]] = ("n_folds_",)
    version: ClassVar[int] = 1
    takes_tables: ClassVar[bool] = True

    def __init__(
        self, *, members: Sequence[Member] | None = None, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.members = members
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit all members to a table X (s, n) and labels y (s,), and weigh them."""
        members = self._seeded_members(rng := as_random_state(self.random_state))
        rows, labels = self._training_data(X, y)
        self.classes_, counts = np.unique(labels, return_counts=True)
        prior = prior_weights(len(members))
        n_folds = min(N_FOLDS, int(counts.min())) if counts.size > 1 else 0
        self.n_folds_ = n_folds if n_folds >= 2 else 0
        if self.n_folds_:
            chances = held_out_chances(list(members.values()), rows, labels, self.n_folds_, rng)
            log_chances: Floats = np.log(chances).mean(axis=0)
            weights, losses = adaptive_weights(log_chances, prior, rng), -log_chances.mean(axis=0)
        else:
            weights, losses = prior, np.full(prior.size, np.nan)
        self.weights_ = dict(zip(members, weights.tolist(), strict=True))
        self.held_out_loss_ = dict(zip(members, losses.tolist(), strict=True))
        is_decided = self.classes_.size == 1
        self.members_ = {name: one if is_decided else one.fit(rows, labels) for name, one in members.items()}
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(label | x) for every row and label, (s, labels): the weighted mean of the members' probabilities."""
        check_is_fitted(self)
        rows = self._next_rows(X)
        if self.classes_.size == 1:
            return np.ones((len(rows), 1))
        parts = (weight * self.members_[name].predict_proba(rows) for name, weight in self.weights_.items())
        chances: Floats = sum(parts, np.zeros((len(rows), self.classes_.size)))
        return chances

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds of `classes_[1]`, shape (s,); log P(label | x) of every label if there are more than two."""
        logs = floored_log(self.predict_proba(X))
        if self.classes_.size > 2:
            return logs
        return logs[:, -1] - logs[:, 0] if self.classes_.size == 2 else np.full(len(logs), -1.0)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable label of every row; the first one of those that are equally probable."""
        chances = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return labels

    def explain(self) -> Explanation:
        """Which member weighs how much, and why: a sentence, and a table of weights and held-out log-losses."""
        import pandas as pd

        check_is_fitted(self)
        columns = {"weight": self.weights_, "held-out log-loss": self.held_out_loss_}
        table = pd.DataFrame(columns).rename_axis("member").sort_values("weight", ascending=False, kind="stable")
        (name, weight, loss), *others = table.itertuples(name=None)
        if not self.n_folds_:
            return Explanation("The rarest label has too few rows to hold any out: the weights are the prior.", table)
        found = f"{name} has {weight:.0%} of the weight: its log-loss on held-out rows is {loss:.3f}"
        rest = f", that of {others[0][0]} is {others[0][2]:.3f}." if others else "."
        return Explanation(found + rest, table)

    def _seeded_members(self, rng: np.random.RandomState) -> dict[str, Any]:
        """Fresh members by name, those with a random state that is None seeded."""
        chosen = default_members() if self.members is None else self.members
        members = {name: clone(member) for name, member in _checked(chosen)}
        for member in members.values():
            open_states = [
                key for key, value in member.get_params().items() if key.endswith("random_state") and value is None
            ]
            member.set_params(**{key: int(rng.randint(2**31 - 1)) for key in sorted(open_states)})
        return members

    def _training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Rows that members can be given, and checked labels."""
        if y is None:
            validate_data(self, X, None, dtype=None, ensure_all_finite=False)
        coded = training_table(self, X, None)
        table = as_table(X)
        rows = table if hasattr(table, "iloc") else np.asarray(X)
        return rows, checked_labels(y, coded)

    def _next_rows(self, X: Any) -> Any:
        """Rows that the fitted members can be asked about."""
        next_table(self, X)
        table = as_table(X)
        return table if hasattr(table, "iloc") else np.asarray(X)


def _checked(members: Any) -> Iterator[Member]:
    """Pairs of name and classifier, one by one; raise if they are anything else."""
    names: list[Any] = []
    for one in members if isinstance(members, list | tuple) and members else [members]:
        if not (isinstance(one, tuple) and len(one) == 2 and hasattr(one[1], "fit") and hasattr(one[1], "get_params")):
            raise ParameterError(f"members must be a list of (name, classifier); got {one!r}.")
        if not hasattr(one[1], "predict_proba"):
            raise ParameterError(f"members must have predict_proba; {one[0]!r}, a {type(one[1]).__name__}, has none.")
        if one[0] in names:
            raise ParameterError(f"members must have different names; {one[0]!r} occurs twice.")
        names.append(one[0])
        yield one


def prior_weights(n_members: int) -> Floats:
    """Half for the first member, the other half shared."""
    if n_members == 1:
        return np.ones(1)
    return np.array([FIRST_PRIOR, *[(1 - FIRST_PRIOR) / (n_members - 1)] * (n_members - 1)])


def held_out_chances(
    members: Sequence[Any], rows: Any, labels: NDArray[Any], n_folds: int, rng: np.random.RandomState
) -> Floats:
    """Clipped probabilities (repeats, s, m) of the labels, by members that have not seen the row.

    Warnings about single fits are not shown; those of the fits to all rows are.
    """
    size, codes = len(labels), np.unique(labels, return_inverse=True)[1]
    found = np.empty((N_REPEATS, size, len(members)))
    for repeat in found:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.randint(2**31 - 1)))
        for place, member in enumerate(members):
            with catch_warnings():
                for kind in (SearchWarning, LevelWarning, ConvergenceWarning):
                    simplefilter("ignore", kind)
                chances = cross_val_predict(member, rows, labels, cv=folds, method="predict_proba")
            repeat[:, place] = chances[np.arange(size), codes]
    return found.clip(1 / (size + 2), 1 - 1 / (size + 2))
