import json
import re
import shlex
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib.resources import files

import pandas as pd
import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.errors import StoreError
from ciabench.findings import looks, pages
from ciabench.findings.report import OTHER_QUESTION, QUESTION, _curve_data, page, write_report
from ciabench.lab.storage.rows import spec_of
from ciabench.world.base import World

EVIL = "</script><script>document.title='broken'</script>"
PAPER = [(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
ENVIRONMENT = {"ciabench": "0.1", "commit": EVIL, "python": "3.11", "libraries": {EVIL: "1"}, "blas": ["openblas 0.3"]}


@dataclass(frozen=True)
class Evil(World):
    """A world with hostile parameters, and a hostile name that follows from them."""

    text: str = EVIL

    @property
    def name(self):
        return f"Evil({self.text})"

    @property
    def parameters(self):
        return {EVIL: self.text}

    def task(self, seed):
        raise AssertionError("a made world is never run")


class Page(HTMLParser):
    """Keeps text and what scripts hold; refuses addresses."""

    def __init__(self, html):
        super().__init__()
        self.scripts, self.tags, self.text = [], [], ""
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")
        assert not {"src", "href"} & {name for name, value in attributes if value and not value.startswith("#")}

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data
        elif self.tags and self.tags[-1] != "style":
            self.text += data

    def data(self):
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def made_page(made_store):
    return page(made_store(["EM", EVIL]))


@pytest.fixture(scope="module")
def data(made_page):
    return Page(made_page).data()


@pytest.fixture
def table(made_rows, tmp_path):
    """Write rows as a table, with a description beside it where one is given."""

    def write(rows, name="mine.csv", described=None):
        rows.to_csv(tmp_path / name, index=False)
        if described is not None:
            (tmp_path / f"{name}.json").write_text(json.dumps(described))
        return tmp_path / name

    return write


@pytest.fixture
def own_rows(made_rows):
    return made_rows({"EM": {10: 0.1, 100: 0.3}, "forest": {10: 0.2, 100: 0.5}}, trials=4, world="coins", bias=0.7)


def test_a_name_cannot_break_out_of_the_data(made_page, data):
    shown = Page(made_page)
    assert len(shown.scripts) == 3
    assert EVIL not in made_page.replace(shown.scripts[1], "")
    assert [learner["name"] for learner in data["learners"]] == ["EM", EVIL]
    assert "&lt;b&gt;odd&lt;/b&gt;" in made_page


def test_worlds_parameters_and_provenance_cannot_break_out_either(made_store, own_rows, table):
    described = {"experiment": {"name": EVIL, "learners": [EVIL]}, "hash": EVIL, "environments": [ENVIRONMENT]}
    html = page(
        [made_store(["EM", "COV"], worlds=[Evil()]), table(own_rows.assign(**{EVIL: EVIL}), described=described)]
    )
    shown = Page(html)
    assert len(shown.scripts) == 3
    assert EVIL not in html.replace(shown.scripts[1], "")
    assert [panel["world"] for panel in shown.data()["panels"]] == [f"Evil({EVIL})", "coins"]
    assert EVIL in shown.data()["parameters"]


def test_the_page_needs_no_network(made_page):
    assert "default-src 'none'" in made_page


def test_panels_hold_the_numbers_of_the_curves(data):
    assert [panel["world"] for panel in data["panels"]] == ["CIA(10, 2, 0.9)", "CIA(75, 5, 0.9)"]
    assert dict(zip(data["parameters"], data["panels"][1]["parameters"], strict=True)) == {"n": 75, "k": 5, "b": 0.9}
    curve = data["panels"][0]["curves"]["EM"]
    assert curve["size"] == [10, 100, 1000]
    assert curve["t"][2] - curve["t"][1] == pytest.approx(1)
    for statistic in ("t", "pooled", "success"):
        for low, value, high in zip(*(curve[f"{statistic}{end}"] for end in ("_low", "", "_high")), strict=True):
            assert low <= value <= high


def test_differences_are_of_pairs_that_both_learners_finished(data):
    (pair,) = data["differences"]
    assert {(world, size, trials) for world, size, trials, *_ in pair["cells"]} == {
        (world, size, 5) for world in ("CIA(10, 2, 0.9)", "CIA(75, 5, 0.9)") for size in (10, 100)
    }
    assert pair["cells"][0][3] == pytest.approx(-0.2)


def test_panels_come_in_the_order_of_the_papers_figures(made_rows):
    means = {"EM": {10: 0.1}}
    rows = pd.concat([made_rows(means, trials=2, family=one) for one in [*PAPER[::-1]]], ignore_index=True)
    own = [made_rows(means, trials=2, world=name) for name in ("zebra", "apple")]
    data = _curve_data(pd.concat([*own, rows], ignore_index=True))
    paper = [f"CIA({n}, {k}, 0.9)" for k in (2, 3, 5) for n in (10, 75)]
    assert data["grids"] == [
        {"title": "Families of difficulty 0.9", "lines": 2, "worlds": paper},
        {"title": "Other worlds", "lines": 0, "worlds": ["zebra", "apple"]},
    ]
    assert [panel["world"] for panel in data["panels"]] == [*paper, "zebra", "apple"]


def test_families_that_differ_in_headroom_alone_have_panels_of_their_own(made_rows):
    strict = made_rows({"EM": {10: 0.5}}, trials=3).assign(
        world="CIA(10, 2, 0.9, min_headroom=0.05)", min_headroom=0.05
    )
    data = _curve_data(pd.concat([made_rows({"EM": {10: 0.1}}, trials=3), strict], ignore_index=True))
    assert [panel["world"] for panel in data["panels"]] == ["CIA(10, 2, 0.9)", "CIA(10, 2, 0.9, min_headroom=0.05)"]
    assert [panel["trials"] for panel in data["panels"]] == [3, 3]


def test_several_sources_make_one_page(made_store, own_rows, table):
    html = page([made_store(["EM", "COV"]), str(table(own_rows)), made_store(["EM"], families=[(10, 3, 0.9)])])
    shown = Page(html)
    assert shown.text.startswith(f"{QUESTION} – made + mine + made-2 – ciabench")
    assert [panel["world"] for panel in shown.data()["panels"]] == [
        "CIA(10, 2, 0.9)", "CIA(10, 3, 0.9)", "CIA(75, 5, 0.9)", "coins",
    ]  # fmt: skip
    assert "4 worlds, 3 learners; 60 of 75 scores done, 15 failed; 16 scores from tables" in shown.text
    assert "mine.csv does not say how its rows were made." in shown.text
    assert [source["name"] for source in shown.data()["sources"]] == ["made", "mine", "made-2"]
    commands = re.search(r"<pre tabindex=\"0\">(ciabench .*?)</pre>", html, re.DOTALL)[1].splitlines()
    assert shlex.split(commands[-1]) == [
        "ciabench", "report", "again/made.db", "mine.csv", "again-made-2/made.db", "--out", "again/report.html",
    ]  # fmt: skip


def test_a_page_of_tables_says_what_they_do_not(own_rows, table):
    text = Page(page(table(own_rows, "mine.csv", {"environments": "odd", "experiment": {"learners": 3}}))).text
    assert "1 world, 2 learners; 16 scores from tables, which do not list failures." in text
    assert "Unknown: tables do not list failures." in text


def test_claims_are_shown_only_for_worlds_among_the_rows(own_rows, made_page):
    text = Page(page(own_rows)).text
    assert "These rows hold none of the paper's worlds, so none of its claims can be tested on them." in text
    assert "no data" not in text
    assert 'class="claim"' in made_page


def test_the_verdict_of_the_reference_stands_beside_ones_own(made_rows):
    means = {"EM": {100: 0.3, 1000: 0.3}, "Winnow": {100: 0.5, 1000: 0.6}}
    text = Page(page(made_rows(means, trials=4, family=(10, 5, 0.9)))).text
    assert re.search(
        r"C3 undecided, leaning (for|against) 4 trials k = 5, n = 10: .* reference: [a-z, ]+, [\d, to]+ trials", text
    )


def test_learners_without_scores_are_listed(made_store):
    store = made_store(["EM", "COV", "broken"], sizes=(10,))
    shown = Page(page(store))
    assert shown.data()["without_scores"] == ["broken"]
    assert "2 worlds, 3 learners (without scores: broken)" in shown.text


def test_t_is_described_by_its_two_rules(made_page):
    assert "T is 1 for the Bayes rule and 0 for the best constant rule: the share of" in Page(made_page).text


def test_the_page_asks_its_question_and_says_which_intervals_decide(made_page, own_rows):
    text = Page(made_page).text
    assert f"{QUESTION} made: 2 worlds" in text
    assert "Which of two learners is ahead is decided by the 95% interval of their paired difference" in text
    assert OTHER_QUESTION in Page(page(own_rows)).text
    assert QUESTION not in Page(page(own_rows)).text


def test_families_are_described_in_words_and_other_worlds_by_their_names(data, own_rows):
    assert [panel["title"] for panel in data["panels"]] == [
        "10 attributes, 2 hidden values",
        "75 attributes, 5 hidden values",
    ]
    (panel,) = _curve_data(own_rows)["panels"]
    assert panel["title"] == panel["world"] == "coins"


def test_pages_of_another_kind_can_share_the_parts(monkeypatch):
    source = """{% extends "base.html" %}{% import "parts.html" as parts %}{% block main %}
        {{ parts.verdict(found) }}{% call parts.wide("Forecast") %}<table></table>{% endcall %}{% endblock %}"""
    own = pages._file
    monkeypatch.setattr(pages, "_file", lambda name: source if name == "advice.html" else own(name))
    html = pages.render("advice.html", [], [], {"name": EVIL}, question="Which?", found="<b>direct</b>")
    assert "&lt;b&gt;direct&lt;/b&gt;" in html
    assert EVIL not in html
    assert 'aria-label="Forecast"' in html
    assert len(Page(html).scripts) == 3


def test_the_page_holds_the_experiment_that_makes_it_again(data, made_page, tmp_path):
    (tmp_path / "made.json").write_text(data["sources"][0]["text"])
    assert spec_of(tmp_path / "made.json")["learners"][1]["name"] == EVIL
    commands = re.search(r"<pre tabindex=\"0\">(ciabench .*?)</pre>", made_page, re.DOTALL)[1].splitlines()
    assert [shlex.split(command)[:2] for command in commands] == [["ciabench", "run"], ["ciabench", "report"]]


def test_cells_and_lines_are_readable_in_both_schemes():
    names = [f"learner {number}" for number in range(8)]
    for learner in [*looks.KNOWN, *names]:
        look = looks.page_style(learner, names)
        for name, scheme in looks.SCHEMES.items():
            for share in range(look["cell"][name] + 1):
                background = looks.mixed(look["color"][name], scheme.paper, share)
                assert looks.contrast(background, scheme.ink) >= 4.5, (learner, name, share)
            assert looks.contrast(look["color"][name], scheme.card) >= scheme.line_contrast >= 3
            assert look["cell"][name] > 20


def test_schemes_are_those_of_the_style_sheet():
    style = (files("ciabench.findings") / "page" / "base.css").read_text(encoding="utf-8")
    blocks = dict(zip(("light", "dark"), re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2], strict=True))
    for name, scheme in looks.SCHEMES.items():
        colors = dict(re.findall(r"--(\w+): (#\w+)", blocks[name]))
        assert (colors["paper"], colors["card"], colors["ink"]) == scheme[:3]
        for tint in looks.COLORS:
            pale = looks.mixed(looks.line_color(tint, scheme), scheme.paper, 6)
            assert looks.contrast(pale, colors["faint"]) >= 4.5


def test_one_trial_shows_curves_without_bars(made_store):
    data = Page(page(made_store(["EM", "COV"], trials=1))).data()
    assert data["panels"][0]["curves"]["EM"]["t_low"] == [None, None, None]


def test_what_cannot_be_shown_is_said(made_store, tmp_path):
    with pytest.raises(StoreError, match=r"made\.db: no trial is finished"):
        write_report(made_store(["EM"], sizes=(10,)), tmp_path / "none.html")
    with pytest.raises(StoreError, match="no source: no trial is finished"):
        page([])
    store = made_store(["EM", "COV"])
    with pytest.raises(StoreError, match="cannot be written"):
        write_report(store, "/proc/none/page.html")


def test_command_writes_beside_the_store(made_store, table, own_rows):
    store = made_store(["EM", "COV"])
    result = CliRunner().invoke(main, ["report", str(store), str(table(own_rows))])
    assert result.exit_code == 0, result.output
    assert result.output == f"{store.with_suffix('.html')}: open it in a browser.\n"
    assert store.with_suffix(".html").stat().st_size > 1_000_000
