"""The page of an advice in a real browser; skipped where there is none, unless CIABENCH_REQUIRE_BROWSER is set."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from axe import axe_source, serious_violations
from ciabench import advise
from ciabench.findings import advice_learners


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Page of an advice with all sections."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=[*"abcd"]).assign(age=rng.normal(40, 9, 60).round(1))
    frame["y"] = np.where(frame["a"] + frame["b"] > rng.integers(0, 3, 60), "yes", "no")
    path = tmp_path_factory.mktemp("advice") / "advice.html"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(advice_learners, "ADAPTIVE_CELLS", 0)
        advise(frame, "y", splits=2, budget=None).write_page(path)
    return path


def sized(browser, width, scheme="light"):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_axe_finds_no_serious_violation(browser, page):
    if axe_source() is None:
        pytest.skip("axe-core cannot be downloaded from npm here: the page is not checked for accessibility")
    browser.get(page.as_uri())
    for scheme, width in product(("light", "dark"), (1300, 360)):
        sized(browser, width, scheme)
        assert serious_violations(browser) == [], (scheme, width)


def test_the_page_is_whole_without_errors_and_fits_a_phone(browser, page):
    browser.get(page.as_uri())
    sized(browser, 360)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    assert browser.execute_script("return document.images[0].naturalWidth") > 300
    titles = [title.text for title in browser.find_elements("css selector", "h2")]
    assert titles[1:4] == ["Learners", "More rows", "Hidden classes"]
    assert titles[4:] == ["If the classes were the truth", "How it was found"]
    targets = [link.get_attribute("href").partition("#")[2] for link in browser.find_elements("css selector", "nav a")]
    assert [len(browser.find_elements("id", target)) for target in targets] == [1] * 6
    assert browser.get_log("browser") == []
