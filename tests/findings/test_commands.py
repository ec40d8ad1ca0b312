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
    made_rows(means, family=(10, 5, 0.9)).to_csv(path, index=False)
    return path


def test_figures_are_drawn_from_a_table(table, tmp_path):
    told = ciabench("figures", table, "--out", tmp_path / "figures")
    assert told.exit_code == 0, told.output
    assert "8 files, fig1.png to overview.csv" in told.output
    assert (tmp_path / "figures" / "fig1.svg").stat().st_size > 5_000


def test_claims_that_are_not_reproduced_give_exit_code_one(table, tmp_path):
    told = ciabench("claims", table, "--json", tmp_path / "claims.json", "--markdown", tmp_path / "claims.md")
    assert told.exit_code == 1
    findings = {finding["id"]: finding for finding in json.loads((tmp_path / "claims.json").read_text())}
    assert findings["C3"]["verdict"] == "not reproduced"
    assert findings["C1"]["verdict"] == "no data"
    assert "| C3 |" in (tmp_path / "claims.md").read_text()


@pytest.mark.parametrize("command", ["figures", "claims"])
def test_what_is_no_result_is_refused_in_one_line(command, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    for path in (tmp_path / "odd.csv", tmp_path / "missing.db"):
        told = ciabench(command, path)
        assert told.exit_code == 2
        assert told.output.count("\n") == 1
        assert path.name in told.output
