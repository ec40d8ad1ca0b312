"""README, site and other pages are true: links lead somewhere, the site's code runs, commands exist."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from ciabench.cli import main
from ciabench.lab.plan.experiment import validate

ROOT = Path(__file__).parents[1]
SITE = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
PAGES = [*sorted(ROOT.glob("*.md")), *SITE]
REFERENCE = ROOT / "results" / "reference"
HEADER = {"name": "header", "seed": 1, "trials": 1, "sizes": [10], "learners": ["EM"]}


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(page, language):
    """Code blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def site_blocks(language):
    """Code blocks of the site in one language, with the page and the number of each."""
    return [
        pytest.param(page, block, id=f"{name_of(page)}-{number}")
        for page in SITE
        for number, block in enumerate(blocks(page, language))
    ]


def anchors(page):
    """Names that a code host and the site give to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Targets of the links and pictures of a page, outside of code, and of its pictures and inclusions by directive."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"^[`:]{3,}\{(?:image|include)\} (\S+)$", text, flags=re.MULTILINE)
    return named + re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if link.startswith("https://") or (not REFERENCE.exists() and target.is_relative_to(REFERENCE)):
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_experiments_and_tests_that_are_named_exist(page):
    for name in re.findall(r"\b(?:experiments|tests)/[a-z_/]+\.[a-z]+", page.read_text("utf-8")):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(("page", "block"), site_blocks("python"))
def test_python_block_runs(page, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, page.name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("page", "block"), site_blocks("toml"))
def test_toml_block_is_an_experiment_or_a_part_of_one(page, block, tmp_path, monkeypatch):
    for name, source in re.findall(r"`(my_\w+)\.py`[^`]*```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert validate({**HEADER, **tomllib.loads(block)}, name_of(page)).worlds


def commands(page):
    """Commands of ciabench that a page shows, and whether they are whole: in blocks they are, within text maybe not."""
    lines = "".join(blocks(page, "sh")).splitlines()
    within = re.findall(r"`(ciabench [a-z][^`\n]*)`", page.read_text(encoding="utf-8"))
    return [(line, True) for line in lines if line.startswith("ciabench ")] + [(line, False) for line in within]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_exist(page):
    for line, is_whole in commands(page):
        _, name, *arguments = shlex.split(line, comments=True)
        assert name in main.commands, line
        try:
            main.commands[name].make_context(name, arguments)
        except click.MissingParameter:
            assert not is_whole, line
        except click.UsageError as error:
            raise AssertionError(f"{line}: {error.format_message()}") from error


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_of_make_exist(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = " ".join(re.findall(r"^([a-z][a-z -]*):(?!=)", makefile, flags=re.MULTILINE)).split()
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", text, flags=re.MULTILINE):
        assert "".join(target) in targets, target


def test_readme_has_the_verdicts_of_the_reference():
    table = re.search(r"<!-- claims -->(.*)<!-- /claims -->", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    found = re.findall(r"^\| ([BCL]\d+) \| (.*?) \| (.*?) \| .*\|$", table[1], flags=re.MULTILINE)
    rows = [(one, text, verdict.partition(";")[0].replace(" at the budget", "")) for one, text, verdict in found]
    findings = json.loads((REFERENCE / "claims.json").read_text("utf-8"))
    assert rows == [(one["id"], one["claim"], one["verdict"]) for one in findings]
