import json

import pytest
from click.testing import CliRunner

from ciabench.cli import main


def ciabench(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def table(made_rows, tmp_path):
    means = {"EM": {50: 0.5, 500: 0.6}, "Winnow": {50: 0.3, 500: 0.9}}
    path = tmp_path / "rows.csv"
    made_rows(means, trials=600, family=(10, 5, 0.9)).to_csv(path, index=False)
    return path


@pytest.fixture
def own_table(made_rows, tmp_path):
    """Rows of a world that the paper does not know."""
    path = tmp_path / "own.csv"
    made_rows({"EM": {50: 0.5, 500: 0.6}}, world="coins", bias=0.5).to_csv(path, index=False)
    return path


def test_figures_are_drawn_from_a_table(table, tmp_path):
    result = ciabench("figures", table, "--out", tmp_path / "figures")
    assert result.exit_code == 0, result.output
    assert "figures: 2 figures, as PNG, SVG and PDF, with the data as CSV." in result.output
    assert (tmp_path / "figures" / "overview.svg").stat().st_size > 5_000


def test_claims_that_are_not_reproduced_give_exit_code_one(table, tmp_path):
    result = ciabench("claims", table, "--json", tmp_path / "claims.json", "--markdown", tmp_path / "claims.md")
    assert result.exit_code == 1
    findings = {finding["id"]: finding for finding in json.loads((tmp_path / "claims.json").read_text())}
    assert findings["C3"]["verdict"] == "not reproduced"
    assert (findings["C3"]["trials"], findings["C3"]["reference_verdict"]) == ("600", "reproduced")
    assert findings["C7"]["verdict"] == "no data"
    assert {"C1", "C10", "C12"}.isdisjoint(findings)
    markdown = (tmp_path / "claims.md").read_text()
    assert "**not reproduced** (600 trials)" in markdown
    assert "| reproduced (500 to " in markdown


def test_a_world_of_ones_own_has_no_claims(own_table, tmp_path):
    result = ciabench("claims", own_table, "--json", tmp_path / "claims.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "claims.json").read_text()) == []
    assert "C11" not in result.output


def test_claims_of_two_sets_that_disagree_name_the_world(table, made_rows, tmp_path):
    other = made_rows({"EM": {50: 0.5}}, family=(10, 5, 0.9)).assign(best=0.95)
    other.to_csv(tmp_path / "other.csv", index=False)
    result = ciabench("claims", table, tmp_path / "other.csv")
    assert result.exit_code == 2
    assert "disagree about trial 0 of CIA(10, 5, 0.9)" in result.output


def test_compare_names_the_world_and_counts_rows_of_one_set(own_table, made_rows, tmp_path):
    more = made_rows({"EM": {50: 0.5, 500: 0.6}}, world="coins", bias=0.5)
    more[more["trial"] < 150].to_csv(tmp_path / "fewer.csv", index=False)
    result = ciabench("compare", tmp_path / "fewer.csv", own_table, "--exact")
    assert result.exit_code == 0, result.output
    assert result.output == "same\ncoins EM: same (150 trials, paired)\n100 rows are in one set only\n"


@pytest.mark.parametrize("command", ["figures", "claims"])
def test_what_is_no_result_is_refused_in_one_line(command, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    for path in (tmp_path / "odd.csv", tmp_path / "missing.db"):
        result = ciabench(command, path)
        assert result.exit_code == 2
        assert result.output.count("\n") == 1
        assert path.name in result.output
