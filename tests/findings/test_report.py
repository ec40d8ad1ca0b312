import json
import re
import shlex
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.errors import StoreError
from ciabench.findings.report import _curve_data, write_report
from ciabench.lab.storage.export import spec_of

EVIL = "</script><script>document.title='broken'</script>"


class Page(HTMLParser):
    """Keeps what scripts hold; refuses addresses."""

    def __init__(self, html):
        super().__init__()
        self.scripts, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")
        assert not {"src", "href"} & {name for name, value in attributes if value and not value.startswith("#")}

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def made_page(made_store, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "made.html"
    write_report(made_store(["EM", EVIL]), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told(made_page):
    return json.loads(Page(made_page).scripts[0])


def test_a_name_can_not_break_out_of_the_data(made_page, told):
    page = Page(made_page)
    assert len(page.scripts) == 3
    assert EVIL not in made_page.replace(page.scripts[1], "")
    assert [learner["name"] for learner in told["learners"]] == ["EM", EVIL]
    assert "&lt;b&gt;odd&lt;/b&gt;" in made_page


def test_the_page_needs_no_network(made_page):
    assert "default-src 'none'" in made_page


def test_panels_hold_the_numbers_of_the_curves(told):
    assert [panel["family"] for panel in told["panels"]] == ["CIA(10, 2, 0.9)", "CIA(75, 5, 0.9)"]
    curve = told["panels"][0]["curves"]["EM"]
    assert curve["size"] == [10, 100, 1000]
    assert curve["t"][2] - curve["t"][1] == pytest.approx(1)
    for statistic in ("t", "pooled", "success"):
        for low, value, high in zip(*(curve[f"{statistic}{end}"] for end in ("_low", "", "_high")), strict=True):
            assert low <= value <= high


def test_differences_are_of_pairs_that_both_learners_finished(told):
    (pair,) = told["differences"]
    assert {(family, size, trials) for family, size, trials, *_ in pair["cells"]} == {
        (family, size, 5) for family in ("CIA(10, 2, 0.9)", "CIA(75, 5, 0.9)") for size in (10, 100)
    }
    assert pair["cells"][0][3] == pytest.approx(-0.2)


def test_the_page_holds_the_experiment_that_makes_it_again(told, made_page, tmp_path):
    (tmp_path / "made.json").write_text(told["provenance"])
    assert spec_of(tmp_path / "made.json")["learners"][1]["name"] == EVIL
    commands = re.search(r"<pre tabindex=\"0\">(ciabench .*?)</pre>", made_page, re.DOTALL)[1].splitlines()
    assert [shlex.split(command)[:2] for command in commands] == [["ciabench", "run"], ["ciabench", "report"]]


def test_pairs_of_words_go_by_their_words(made_rows):
    rows = made_rows({"EM": {10: 0.1}, "Winnow": {10: 0.2}}, family=(750, 2, 0.95)).assign(task="weather/whether")
    told = _curve_data(rows)
    assert told["panels"][0]["family"] == told["differences"][0]["cells"][0][0] == "weather/whether"


def test_one_trial_shows_curves_without_bars(made_store, tmp_path):
    write_report(made_store(["EM", "COV"], trials=1), tmp_path / "one.html")
    told = json.loads(Page((tmp_path / "one.html").read_text(encoding="utf-8")).scripts[0])
    assert told["panels"][0]["curves"]["EM"]["t_low"] == [None, None, None]


def test_what_can_not_be_shown_is_told(made_store, tmp_path):
    with pytest.raises(StoreError, match="holds no finished trial"):
        write_report(made_store(["EM"], sizes=(10,)), tmp_path / "none.html")
    store = made_store(["EM", "COV"])
    with pytest.raises(StoreError, match="can not be written"):
        write_report(store, "/proc/none/page.html")


def test_command_writes_beside_the_store(made_store):
    store = made_store(["EM", "COV"])
    told = CliRunner().invoke(main, ["report", str(store)])
    assert told.exit_code == 0, told.output
    assert told.output == f"{store.with_suffix('.html')}: open it in a browser.\n"
    assert store.with_suffix(".html").stat().st_size > 1_000_000
