"""The checker of accessible pages finds what it is meant to find."""

import pytest

from axe import axe_source, serious_violations


def test_a_picture_without_words_and_pale_text_are_found(browser, tmp_path):
    if axe_source() is None:
        pytest.skip("axe-core cannot be downloaded from npm here: pages are not checked for accessibility")
    page = tmp_path / "page.html"
    start = "<!doctype html><html lang=en><title>page</title><main><h1>Page</h1>"
    page.write_text(f"{start}<p>Text</p></main>")
    browser.get(page.as_uri())
    assert serious_violations(browser) == []
    page.write_text(f"{start}<img src='data:,'><p style='color: #ccc; background: #fff'>Text</p></main>")
    browser.get(page.as_uri())
    found = serious_violations(browser)
    assert [line.partition(":")[0] for line in found] == ["color-contrast", "image-alt"]
