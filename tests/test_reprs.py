"""Short texts and notebook tables of what users look at."""

from html.parser import HTMLParser

import pandas as pd
import pytest

from ciabench import CIAFamily, CIAModel, Results

FAMILY = CIAFamily(n=10, k=3, b=0.9)
MODEL = CIAModel([0.25, 0.75], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
EVIL = "<script>alert(1)</script>"


def results(learner="EM"):
    rows = {"n": 10, "k": 2, "b": 0.9, "trial": [0, 1, 0, 1], "size": [10, 10, 100, 100], "learner": learner}
    measures = {"success": 0.7, "best": 0.8, "constant": 0.6, "t": [0.1, 0.3, 0.5, 0.7], "t_error": 0.0}
    return Results(pd.DataFrame({**rows, **measures}))


class Cells(HTMLParser):
    """Tags and texts of a piece of HTML in which every tag that is opened is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.texts = [], set(), []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts += [data.strip()] if data.strip() else []


def test_family():
    assert repr(FAMILY) == "CIAFamily(n=10, k=3, b=0.9, concentration=1.10846)"
    loose = CIAFamily(n=10, k=3, b=0.9, min_headroom=0)
    assert repr(loose) == "CIAFamily(n=10, k=3, b=0.9, min_headroom=0, concentration=1.10846)"
    assert eval(repr(loose)) == loose
    assert Cells(FAMILY._repr_html_()).texts[:3] == ["CIA(10, 3, 0.9)", "attributes", "10"]


def test_model():
    assert repr(MODEL) == "CIAModel(n=2, k=2)"
    told = Cells(MODEL._repr_html_()).texts
    assert told[:6] == ["CIAModel(n=2, k=2)", "z", "weight", "target", "1", "2"]
    assert told[6:] == ["0", "0.25", "0.90", "0.80", "0.70", "1", "0.75", "0.10", "0.20", "0.40"]


def test_large_models_are_cut_short():
    told = Cells(CIAFamily(n=75, k=2, b=0.9).draw_unselected(0)._repr_html_()).texts
    assert "…" in told
    assert len(told) < 60


@pytest.mark.parametrize("learner", ["EM", EVIL])
def test_results(learner):
    assert repr(results(learner)) == f"<Results: 1 family, 2 trials, 4 rows of {learner}>"
    cells = Cells(results(learner)._repr_html_())
    assert "script" not in cells.seen
    assert cells.texts[0] == f"1 family, 2 trials, 4 rows of {learner}; mean T:"
    assert cells.texts[-2:] == ["0.20", "0.60"]
