"""The site: it is built with warnings as errors, in a copy with one more page and notebook, and walked in a browser."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from selenium.webdriver.support.ui import WebDriverWait

import ciabench
from axe import axe_source, serious_violations
from ciabench.cli import main

ROOT = Path(__file__).parents[1]
FOLDERS, FILES = ("docs", "experiments", "results/reference"), ("README.md", "CHANGELOG.md")
MADE = shutil.ignore_patterns("_build", "api", "_public_names.rst", "*.csv.gz")
TYPICAL = ("index", "guides/learner", "api/ciabench.EM", "gallery/tour")
PAGE = "# A new page\n\nThis page is about [nothing](method.md). It has two sentences.\n"
NOTEBOOK = "# A new notebook\n\nThis notebook shows a single pixel. That is all.\n"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PHONE = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
OUTSIDE = """
    const loaded = performance.getEntriesByType('resource').map((resource) => resource.name);
    return loaded.filter((name) => !/^(file|data):/.test(name))"""
WIDTH = "return document.documentElement.scrollWidth"
BRIGHTNESS = """
    const color = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number);
    return Math.max(...color)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    folder = tmp_path_factory.mktemp("site")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=MADE)
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    (folder / "docs" / "science" / "new_page.md").write_text(PAGE)
    nbformat.write(notebook_of(NOTEBOOK), folder / "experiments" / "new_notebook.ipynb")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "docs", "html"]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    built = subprocess.run(command, cwd=folder, env={**os.environ, **nowhere}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


def notebook_of(text):
    """A notebook of one text and one picture."""
    picture = v4.new_output("display_data", {"image/png": PIXEL})
    cells = [v4.new_markdown_cell(text), v4.new_code_cell("1", execution_count=1, outputs=[picture])]
    return v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}})


def text_of(page):
    """Text of a page without tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_one_file_is_enough_for_a_page(site):
    assert "A new page This page is about nothing." in text_of(site / "science" / "index.html")
    assert "It has two sentences." in text_of(site / "science" / "new_page.html")


def test_one_file_is_enough_for_a_notebook(site):
    assert "A new notebook This notebook shows a single pixel." in text_of(site / "gallery" / "index.html")
    assert re.search(r'<img alt="A picture of A new notebook"[^>]*src="\.\./_images/new_notebook\.png"', gallery(site))
    assert "That is all." in text_of(site / "gallery" / "new_notebook.html")


def gallery(site):
    return (site / "gallery" / "index.html").read_text(encoding="utf-8")


def test_every_public_name_has_a_page_with_an_example(site):
    names = set(ciabench.__all__) - {"__version__"}
    assert {page.stem for page in (site / "api").iterdir()} == {f"ciabench.{name}" for name in names}
    for name in names:
        assert "&gt;&gt;&gt;" in text_of(site / "api" / f"ciabench.{name}.html"), name


def test_every_command_and_option_is_shown(site):
    text = text_of(site / "commands.html")
    for name, command in main.commands.items():
        assert f"Usage: ciabench {name}" in text
        for option in (option for parameter in command.params for option in parameter.opts if option.startswith("-")):
            assert option in text, (name, option)


def test_pages_open_without_an_error_wide_narrow_and_dark(site, browser):
    for name in TYPICAL:
        walk(browser, site / f"{name}.html")


@pytest.mark.soak
def test_every_page_opens_without_an_error_wide_narrow_and_dark(site, browser):
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 30
    for page in pages:
        walk(browser, page)


def walk(browser, page):
    """Open a page: nothing is loaded from elsewhere, it fits a phone, follows dark mode and reports no error."""
    browser.get(page.as_uri())
    assert browser.execute_script(OUTSIDE) == [], page
    assert browser.execute_script(BRIGHTNESS) > 200, page
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    assert browser.execute_script(WIDTH) <= PHONE["width"], page
    show(browser, "dark")
    WebDriverWait(browser, 5, poll_frequency=0.02).until(lambda _: browser.execute_script(BRIGHTNESS) < 60)
    show(browser, "light")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    errors = [entry for entry in browser.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
    assert errors == [], page


def show(browser, scheme):
    """Switch between light and dark."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", TYPICAL)
def test_pages_are_accessible(site, browser, name, scheme):
    if axe_source() is None:
        pytest.skip("axe-core cannot be downloaded from npm here: pages are not checked for accessibility")
    show(browser, scheme)
    browser.get((site / f"{name}.html").as_uri())
    assert serious_violations(browser) == []
