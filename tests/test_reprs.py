"""Short texts and notebook tables of what users look at."""

from html.parser import HTMLParser

import pandas as pd
import pytest

from ciabench import CIAFamily, CIAModel, Results, Scorer

FAMILY = CIAFamily(n=10, k=3, b=0.9)
MODEL = CIAModel([0.25, 0.75], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
EVIL = "<script>alert(1)</script>"


def results(learner="EM", world="CIA(10, 2, 0.9)"):
    rows = {"world": world, "n": 10, "trial": [0, 1, 0, 1], "size": [10, 10, 100, 100], "learner": learner}
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
    assert repr(loose) == "CIAFamily(n=10, k=3, b=0.9, min_headroom=0.0, concentration=1.10846)"
    assert eval(repr(loose)) == loose
    assert Cells(FAMILY._repr_html_()).texts[:3] == ["CIA(10, 3, 0.9)", "attributes", "10"]


def test_model():
    assert repr(MODEL) == "CIAModel(n=2, k=2)"
    shown = Cells(MODEL._repr_html_()).texts
    assert shown[:6] == ["CIAModel(n=2, k=2)", "z", "weight", "target", "1", "2"]
    assert shown[6:] == ["0", "0.25", "0.90", "0.80", "0.70", "1", "0.75", "0.10", "0.20", "0.40"]


def test_scorer():
    assert repr(Scorer(MODEL)) == "Scorer(CIAModel(n=2, k=2), exact, best=0.7640, constant=0.7000)"
    assert ", sampled, best=" in repr(Scorer(CIAFamily(75, 2, 0.9).draw_unselected(0), rng=0))


def test_large_models_are_cut_short():
    shown = Cells(CIAFamily(n=75, k=2, b=0.9).draw_unselected(0)._repr_html_()).texts
    assert "…" in shown
    assert len(shown) < 60


@pytest.mark.parametrize(("learner", "world"), [("EM", "coins"), (EVIL, "coins"), ("EM", EVIL)])
def test_results(learner, world):
    assert repr(results(learner, world)) == f"<Results: 1 world, 2 trials, 4 rows of {learner}>"
    cells = Cells(results(learner, world)._repr_html_())
    assert "script" not in cells.seen
    assert cells.texts[0] == f"1 world, 2 trials, 4 rows of {learner}; mean T:"
    assert cells.texts[-4:] == [world, learner, "0.20", "0.60"]


def test_results_have_a_line_per_world_and_learner_in_their_order():
    parts = [results("Winnow", "zebra"), results("EM", "zebra"), results("EM", "apple")]
    both = Results(pd.concat([part.rows() for part in parts], ignore_index=True))
    texts = Cells(both._repr_html_()).texts
    assert [text for text in texts if text in ("zebra", "apple", "EM", "Winnow")] == [
        "zebra", "EM", "Winnow", "apple", "EM",
    ]  # fmt: skip
    assert repr(both) == "<Results: 2 worlds, 2 trials, 12 rows of EM, Winnow>"


def test_rows_of_results_are_a_copy():
    found = results()
    rows = found.rows()
    rows["t"] = 0.0
    assert found.rows()["t"].sum() > 0
    with pytest.raises(AttributeError):
        found.curves()
