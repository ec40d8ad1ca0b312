"""The judge of data: rules are scored on rows that were held out."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.world.base import Facts, Score


class HeldOut:
    """Judges rules by their accuracy on held-out rows.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame
    y : array
        Labels of any kind.
    constant_label : label
        Prediction of the best constant rule: the most common label in training.

    Attributes
    ----------
    best : float
        1, because the accuracy of the best rule is unknown.
    constant : float
        Accuracy of the constant rule.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> judge = HeldOut(np.zeros((4, 1)), np.array(["a", "a", "b", "a"]), constant_label="a")
    >>> judge.constant, judge.score(SimpleNamespace(predict=lambda X: ["a", "a", "b", "b"])).success
    (0.75, 0.75)
    """

    best = 1.0

    def __init__(self, X: Any, y: Any, constant_label: Any) -> None:
        self._X, self._y = X, np.asarray(y)
        self.constant = float((self._y == constant_label).mean())

    def score(self, rule: Any) -> Score:
        """Accuracy, T = (accuracy − constant) / (1 − constant), and the binomial test error on the scale of T.

        For rules that have `predict_proba`, the facts include log-loss and AUC.
        """
        hits = np.asarray(rule.predict(self._X)) == self._y
        accuracy, facts = float(hits.mean()), self._facts(rule, hits)
        room = 1 - self.constant
        if room == 0:
            return Score(accuracy, np.nan, np.nan, facts)
        error = np.sqrt(accuracy * (1 - accuracy) / self._y.size)
        return Score(accuracy, (accuracy - self.constant) / room, float(error / room), facts)

    def _facts(self, rule: Any, hits: NDArray[np.bool_]) -> Facts:
        """Log-loss, and AUC if the classes in y are exactly those that the rule knows."""
        if getattr(rule, "predict_proba", None) is None:
            return {}
        classes, chances = np.asarray(rule.classes_), rule.predict_proba(self._X)
        of_truth = np.where(self._y[:, None] == classes, chances, 0.0).sum(axis=1)
        facts = {"log_loss": float(-np.log(np.maximum(of_truth, np.finfo(float).eps)).mean())}
        if classes.size > 1 and np.array_equal(np.unique(self._y), classes):
            facts["auc"] = _area_under_curve(self._y, chances)
        return facts


class HeldOutByRow(HeldOut):
    """Judges like `HeldOut`, and states as the fact "hits" on which rows a rule is right.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> judge = HeldOutByRow(np.zeros((4, 1)), np.array(["a", "a", "b", "a"]), constant_label="a")
    >>> facts = judge.score(SimpleNamespace(predict=lambda X: ["a", "a", "b", "b"])).facts
    >>> facts, unpacked(facts["hits"], 4)
    ({'hits': '4A=='}, array([ True,  True,  True, False]))
    """

    def _facts(self, rule: Any, hits: NDArray[np.bool_]) -> Facts:
        return {**super()._facts(rule, hits), "hits": packed(hits)}


def packed(hits: NDArray[np.bool_]) -> str:
    """Bits as text, six of them in a letter."""
    return base64.b64encode(np.packbits(hits).tobytes()).decode("ascii")


def unpacked(text: str, size: int) -> NDArray[np.bool_]:
    """The first `size` bits of a text of `packed`."""
    return np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=size).astype(np.bool_)


def _area_under_curve(y: NDArray[Any], chances: Floats) -> float:
    """AUC of the second of two classes, or the mean one-vs-rest AUC over more classes."""
    from sklearn.metrics import roc_auc_score

    if chances.shape[1] == 2:
        return float(roc_auc_score(y, chances[:, 1]))
    shares = chances / np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return float(roc_auc_score(y, shares, multi_class="ovr"))
