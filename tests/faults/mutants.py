"""Mutation testing: `make mutants`, or one part of it: `python tests/faults/mutants.py PART`.

In a copy of the repository, mutmut changes one number, operator, argument or word at a time and runs those of a part's
tests that call the changed function, until one fails: the mutant is killed. At most `sample` mutants of a module are
tried, drawn with a fixed seed. Decorated functions, such as numba's kernels, and class attributes are not changed.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COPIES = ROOT / "results" / "mutants"
LIVE = {0, 33}
"""How mutmut codes mutants that no test notices, or none calls; the others ended by a failed test or a time limit."""


class Part(NamedTuple):
    """Modules to change, the most mutants to try of each, and the tests that should notice."""

    folder: str
    modules: list[str]
    sample: int
    tests: list[str]


STORAGE = ["database", "export", "lock", "merge", "provenance", "records", "rows", "store", "tables", "view"]
LATENT = ["averaging", "bootstrap", "fit", "gibbs", "information", "networks", "numbers", "pieces", "posterior"]
LATENT += ["restarts", "selection", "starts"]
CLAIMS = ["evidence", "sequences", "statements", "verdicts"]
PARTS = {
    "scoring": Part("world", ["scoring"], 1000, ["tests/world/test_scoring.py", "tests/test_reprs.py"]),
    "claims": Part("findings", CLAIMS, 40, [f"tests/findings/test_{name}.py" for name in CLAIMS if name != "evidence"]),
    "storage": Part(
        "lab/storage", STORAGE, 15, ["tests/lab/test_store.py", "tests/lab/test_merge.py", "tests/test_cli.py"]
    ),
    "latent": Part("latent", LATENT, 15, ["tests/latent", "tests/learners"]),
}
SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {modules}
also_copy = ["docs", "experiments", "results", "README.md"]
pytest_add_cli_args = ["-n", "0", "-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = {tests}
"""


def main(parts: list[str]) -> None:
    """Try the mutants of some parts, print those that live, and at last how many of every module did not."""
    lines = ["| module | mutants | tried | killed |", "|---|---|---|---|"]
    for part in (PARTS[name] for name in parts):
        copy = copied(COPIES / part.folder, part)
        mutmut(copy, "run", "none")
        tried = {name for found in outcomes(copy).values() for name in drawn(found, part.sample)}
        mutmut(copy, "run", *sorted(tried))
        for module, found in outcomes(copy).items():
            live = [name for name in found if name in tried and found[name] in LIVE]
            print(*(mutmut(copy, "show", name) for name in live), sep="\n", flush=True)
            n_tried = len(tried & set(found))
            lines.append(f"| `{module}` | {len(found)} | {n_tried} | {n_tried - len(live)} |")
    print("\n".join(lines))


def copied(folder: Path, part: Part) -> Path:
    """Copy all files that git knows of, with settings for one part."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    modules = [f"src/ciabench/{part.folder}/{name}.py" for name in part.modules]
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(SETTINGS.format(modules=json.dumps(modules), tests=json.dumps(part.tests)))
    return folder


def mutmut(folder: Path, *arguments: str) -> str:
    """Run mutmut on the copy, whose modules processes of the tests import too."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "mutants" / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = ["nice", "-n", "10", sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


def outcomes(folder: Path) -> dict[str, dict[str, int | None]]:
    """Codes of all mutants of every module, None of those that were not tried."""
    source = folder / "mutants" / "src" / "ciabench"
    return {
        str(path.relative_to(source)).removesuffix(".meta"): json.loads(path.read_text())["exit_code_by_key"]
        for path in sorted(source.rglob("*.meta"))
    }


def drawn(names: dict[str, int | None], size: int) -> list[str]:
    """Draw a sample without replacement, the same at every run; all if there are no more."""
    return random.Random(0).sample(sorted(names), min(size, len(names)))


if __name__ == "__main__":
    main(sys.argv[1:] or list(PARTS))
