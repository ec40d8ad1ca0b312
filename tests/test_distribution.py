"""The wheel alone, in an empty environment and an empty folder, as someone meets ciabench who has not cloned it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def called(*command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The command of a wheel that was installed into a new environment, with its required dependencies only."""
    folder = tmp_path_factory.mktemp("installed")
    called(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    called(sys.executable, "-m", "venv", folder / "environment", folder=folder)
    python = folder / "environment" / "bin" / "python"
    wheel, pins = next(folder.glob("*.whl")), ROOT / "constraints.txt"
    with_pip = [python, "-m", "pip", "install", "--quiet", "--constraint", pins, wheel]
    with_uv = [Path(sys.executable).parent / "uv", "pip", *with_pip[3:5], "--python", python, *with_pip[5:]]
    try:
        called(*with_uv, folder=folder)
    except (AssertionError, FileNotFoundError):
        called(*with_pip, folder=folder)
    return python.with_name("ciabench")


@pytest.mark.soak
def test_the_paper_from_the_wheel_alone(installed, tmp_path):
    printed = called(installed, "paper", "--trials", "5", folder=tmp_path)
    assert "results/paper.db: 810 scores done, 0 failed." in printed
    assert "Left out: the paper's section on text" in printed
    written = {file.name for file in (tmp_path / "results").rglob("*")}
    assert {"report.html", "claims.md", "claims.json", "fig6.pdf", "overview.png"} <= written


@pytest.mark.soak
def test_advice_from_the_wheel_alone(installed, tmp_path):
    rows = "".join(f"{i % 7},{'ab'[i % 2]},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "my.csv").write_text(f"number,letter,y\n{rows}")
    printed = called(
        installed, "advise", "my.csv", "--target", "y", "--budget", "0", "--page", "my.html", folder=tmp_path
    )
    assert printed.startswith("my.csv: 60 rows, 1 column (1 categorical); y has 2 classes")
    assert "left out: letter (copy of the target)" in printed
    assert "data:image/svg+xml" in (tmp_path / "my.html").read_text()


@pytest.mark.soak
def test_an_experiment_of_ones_own_from_the_wheel_alone(installed, tmp_path):
    called(installed, "init", folder=tmp_path)
    assert "480 scores done, 0 failed" in called(installed, "run", "mine.toml", folder=tmp_path)
    assert "figures, as PNG" in called(installed, "figures", "results/mine.db", folder=tmp_path)
