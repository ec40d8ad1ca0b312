"""Learners of bits on tables: the lab encodes the columns, and says so in the facts of the score."""

from typing import Any

import numpy as np

from ciabench.columns import as_table, is_mixed


def fitted_to(classifier: Any, X: Any, y: Any) -> Any:
    """The classifier itself, or behind an encoder if it does not take such a table.

    A learner of bits is also made one-against-the-rest if there are more than two labels. Learners of other packages
    are left alone, except for those of scikit-learn that take no such cells and contain no other estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> from ciabench import EM, Winnow
    >>> table, labels = pd.DataFrame({"town": ["Bath", "York", None]}), ["a", "b", "c"]
    >>> fitted_to(EM(), table, labels)
    EM()
    >>> fitted_to(Winnow(), table, labels)
    Pipeline(steps=[('bitencoder', BitEncoder()),
                    ('onevsrestclassifier', OneVsRestClassifier(estimator=Winnow()))])
    """
    takes_tables = getattr(classifier, "takes_tables", None)
    if takes_tables is None:
        return _encoded(classifier) if _is_plain_sklearn(classifier) and _exceeds(X, classifier) else classifier
    if takes_tables or getattr(classifier, "binarize", None) is not None:
        return classifier
    if len(np.unique(np.asarray(y))) > 2:
        from sklearn.multiclass import OneVsRestClassifier

        classifier = OneVsRestClassifier(classifier)
    return classifier if are_bits(X) else _encoded(classifier)


def facts_of_encoding(classifier: Any) -> dict[str, int]:
    """Number of bits that the lab's encoder made, if there is one."""
    steps = getattr(classifier, "named_steps", {})
    if "bitencoder" not in steps or not getattr(classifier, "made_by_the_lab", False):
        return {}
    return {"encoded_bits": len(steps["bitencoder"].get_feature_names_out())}


def inner(classifier: Any) -> Any:
    """The classifier behind the lab's encoder."""
    return classifier[-1] if getattr(classifier, "made_by_the_lab", False) else classifier


def are_bits(X: Any) -> bool:
    """Whether all cells are 0 or 1."""
    from scipy import sparse

    if sparse.issparse(X):
        return True
    if isinstance(X, np.ndarray):
        if X.dtype == np.uint8:
            return bool(X.max(initial=0) <= 1)
        return X.dtype.kind in "biuf" and bool(((X == 0) | (X == 1)).all())
    table = as_table(X)
    return not is_mixed(table) and bool(table.isin([0, 1]).to_numpy().all())


def _encoded(classifier: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    from ciabench.encoder import BitEncoder

    pipeline = make_pipeline(BitEncoder(), classifier)
    pipeline.made_by_the_lab = True
    return pipeline


def _is_plain_sklearn(classifier: Any) -> bool:
    """Whether a classifier is of scikit-learn and contains no other estimator."""
    if not type(classifier).__module__.startswith("sklearn."):
        return False
    return not any(
        hasattr(value, "fit") or isinstance(value, list) for value in classifier.get_params(deep=False).values()
    )


def _exceeds(X: Any, classifier: Any) -> bool:
    """Whether a table has text, or missing cells that the classifier does not take."""
    from sklearn.utils import get_tags

    table = as_table(X)
    if not hasattr(table, "iloc"):
        if not isinstance(X, np.ndarray) or X.dtype.kind not in "fOUS":
            return False
        table = as_table(_frame(X))
    tags = get_tags(classifier).input_tags
    has_text = is_mixed(table) and not (tags.string or tags.categorical)
    return has_text or (not tags.allow_nan and bool(table.isna().to_numpy().any()))


def _frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X)
