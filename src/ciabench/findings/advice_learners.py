"""The learners that an advice compares: those that fit a model, those that learn the classifier directly, and a mix."""

from typing import Any, NamedTuple

import pandas as pd

MODEL, DIRECT = "model", "direct"

ADAPTIVE_CELLS = 10_000
"""Cells of the largest table on which `Adaptive`, eleven fits of each of its members, takes part."""

FOLDED_CELLS = 200_000
"""Cells of the largest table on which EM's number of classes is chosen by cross-validation; beyond, it is by BIC."""


class Way(NamedTuple):
    """A learner's way to learn, None for one that mixes both, and its name in sentences."""

    way: str | None
    words: str


LEARNERS = {
    "NaiveBayes": Way(MODEL, "naive Bayes"),
    "LogisticRegression": Way(DIRECT, "logistic regression"),
    "Perceptron": Way(DIRECT, "the averaged Perceptron"),
    "Winnow": Way(DIRECT, "Winnow"),
    "EM": Way(MODEL, "EM with two hidden classes"),
    "EM-chosen": Way(MODEL, "EM with a chosen number of hidden classes"),
    "BayesianMixture": Way(MODEL, "the Bayesian mixture"),
    "GradientBoosting": Way(DIRECT, "gradient boosting"),
    "Adaptive": Way(None, "Adaptive"),
}
"""All learners, the simplest first."""


def learners_for(attributes: pd.DataFrame, n_classes: int) -> dict[str, Any]:
    """Unfitted classifiers by name, the simplest first, for a table with fixed kinds.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [31.5, 40.0], "town": pd.Categorical(["Bath", "York"])})
    >>> list(learners_for(table, n_classes=2)) == list(LEARNERS)
    True
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    from ciabench.learners.adaptive import Adaptive
    from ciabench.learners.bayesian_mixture import BayesianMixture
    from ciabench.learners.em import EM
    from ciabench.learners.naive_bayes import NaiveBayes
    from ciabench.learners.perceptron import Perceptron
    from ciabench.learners.winnow import Winnow

    named = {
        "NaiveBayes": NaiveBayes(),
        "LogisticRegression": _logistic(attributes),
        "Perceptron": _on_bits(Perceptron(variant="averaged"), n_classes),
        "Winnow": _on_bits(Winnow(n_passes="auto"), n_classes),
        "EM": EM(n_classes=2, smoothing=0.1),
        "EM-chosen": EM(n_classes="cv", smoothing=0.1, n_init=5),
        "BayesianMixture": BayesianMixture(),
        "GradientBoosting": HistGradientBoostingClassifier(),
        "Adaptive": Adaptive(),
    }
    if attributes.size > ADAPTIVE_CELLS:
        del named["Adaptive"]
    if attributes.size > FOLDED_CELLS:
        named["EM-chosen"] = EM(n_classes="bic", smoothing=0.1, n_init=3)
    return named


def of_way(way: str, names: Any) -> list[str]:
    """Those of the named learners that go one way."""
    return [name for name in names if LEARNERS[name].way == way]


def _on_bits(classifier: Any, n_classes: int) -> Any:
    """A learner of bits and two classes behind the encoder."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    from ciabench.encoder import BitEncoder

    return make_pipeline(BitEncoder(n_bins=5), OneVsRestClassifier(classifier) if n_classes > 2 else classifier)


def _logistic(attributes: pd.DataFrame) -> Any:
    """Logistic regression on standardised numbers, with the median where one is missing, and on a bit per level."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    is_level = [dtype.name == "category" for dtype in attributes.dtypes]
    numbers = [name for name, has_levels in zip(attributes, is_level, strict=True) if not has_levels]
    levels = [name for name, has_levels in zip(attributes, is_level, strict=True) if has_levels]
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    parts = [
        ("numbers", make_pipeline(imputer, StandardScaler()), numbers),
        ("levels", OneHotEncoder(handle_unknown="ignore"), levels),
    ]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=1_000))
