"""Learners of bits on tables, from experiment files."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from ciabench import COV, EM, BitEncoder, Winnow
from ciabench.lab.compute.encoding import fitted_to
from ciabench.lab.plan.experiment import load
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.rows import frame
from ciabench.lab.storage.store import Store

TOML = """
name = "shops"
seed = 1
trials = 2
sizes = [200]
learners = [
    "Winnow", "Perceptron", "COV", { use = "EM", n_classes = 3 }, "sklearn.linear_model:LogisticRegression",
]
[[worlds]]
use = "own_worlds:Shops"
labels = [2, 3]
"""


def test_learners_of_bits_are_encoded_by_themselves_from_toml(tmp_path):
    path = tmp_path / "shops.toml"
    path.write_text(TOML)
    assert run_experiment(load(path), tmp_path, progress="silent").failed == 0
    with Store(tmp_path / "shops.db") as store:
        rows = frame(store, facts=["encoded_bits"])
    assert rows.groupby("learner")["success"].mean().min() > 0.6
    encoded = rows.set_index("learner")["encoded_bits"]
    assert (encoded[["Winnow", "Perceptron", "COV", "LogisticRegression"]] >= 5).all()
    assert encoded["EM"].isna().all()


def test_what_takes_a_table_is_left_alone():
    table = pd.DataFrame({"x": [0.5, None, 1.5], "y": [1, 0, 1]})
    bits = table[["y"]]
    own = make_pipeline(BitEncoder(), LogisticRegression())
    for learner in (EM(), own, HistGradientBoostingClassifier(), Winnow(binarize=0.5)):
        assert fitted_to(learner, table, [0, 1, 1]) is learner
    for learner in (Winnow(), COV(), LogisticRegression()):
        assert fitted_to(learner, bits, [0, 1, 1]) is learner
        assert isinstance(fitted_to(learner, table, [0, 1, 1]), Pipeline)
    numbers = np.array([[0.5], [1.5], [2.5]])
    assert isinstance(fitted_to(LogisticRegression(), numbers, [0, 1, 1]), LogisticRegression)
    assert isinstance(fitted_to(Winnow(), numbers, [0, 1, 1]), Pipeline)
