import os
import re
import subprocess
import sys
from pathlib import Path

NEAREST_MEAN = '''
import numpy as np

from ciabench.learners.base import LinearClassifier
from ciabench.learners.data import dense


class NearestMean(LinearClassifier):
    """Predict the class whose mean is nearer."""

    def __init__(self, *, binarize=None):
        self.binarize = binarize

    def fit(self, X, y):
        """Fit the two means."""
        rows, codes = self.check_training_data(X, y)
        rows = dense(self, rows).astype(float)
        means = [rows[codes == code].mean(axis=0) if (codes == code).any() else 0.0 for code in (0, 1)]
        return self.set_rule(means[1] - means[0], np.sum((np.square(means[0]) - np.square(means[1])) / 2))
'''

MORE_LEARNERS = """
import os


def pytest_configure():
    import ciabench.learners

    ciabench.learners.__path__.append(os.path.dirname(__file__) + "/learners")
"""


def test_the_contract_discovers_a_new_file(tmp_path):
    """The contract finds the one thing that this learner lacks. (Some 60 checks of scikit-learn are skipped here.)"""
    (tmp_path / "learners").mkdir()
    (tmp_path / "learners" / "nearest_mean.py").write_text(NEAREST_MEAN)
    (tmp_path / "more_learners.py").write_text(MORE_LEARNERS)
    contract = str(Path(__file__).with_name("test_contract.py"))
    options = ["-n", "0", "-q", "-p", "no:cacheprovider", "-p", "more_learners", "-k", "NearestMean and not check_"]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *options, contract],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert "test_docstring_has_the_formula_references_and_an_example[NearestMean]" in process.stdout
    assert re.search(r"1 failed, \d\d passed", process.stdout), process.stdout + process.stderr
