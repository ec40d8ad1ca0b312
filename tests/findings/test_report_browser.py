"""The page in a real browser; skipped where there is none, unless CIABENCH_REQUIRE_BROWSER is set."""

import io
import re
from itertools import product

import matplotlib.image
import numpy as np
import pytest
from matplotlib.colors import to_hex
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from axe import axe_source, serious_violations
from ciabench.findings.looks import contrast
from ciabench.findings.report import QUESTION, write_report

EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
TITLE = f"{QUESTION} – made – ciabench"
EM_BLUE = np.array([0x00, 0x72, 0xB2]) / 255
DRAWN = "return document.querySelector('.plot').dataset.drawn === 'yes' && performance.now()"
TRACES = """
    const drawn = [...document.querySelectorAll('.plot')].filter((plot) => plot.data);
    return drawn.map((plot) => plot.data.filter((trace) => !trace.meta).map((trace) => trace.name));"""
FIRST = "const plot = document.querySelector('.plot'); return "
COLOR_SCHEME = "prefers-color-scheme"
CELLS = """
    return [...document.querySelectorAll('#heatmap td[title], #heatmap td[title] small')].map((cell) => [
        getComputedStyle(cell).color, getComputedStyle(cell.closest('td')).backgroundColor]);"""


@pytest.fixture
def shown(browser, made_store, tmp_path):
    """Open the page of a store with these learners; the browser may have logged no error by the end."""

    def show(learners, **changes):
        path = tmp_path / "page.html"
        write_report(made_store(learners, **changes), path)
        browser.get(path.as_uri())
        WebDriverWait(browser, 20).until(lambda _: browser.execute_script(DRAWN))
        return browser

    yield show
    assert browser.get_log("browser") == []


def blue_pixels(browser):
    """Pixels of a screenshot in the colour of EM."""
    pixels = matplotlib.image.imread(io.BytesIO(browser.get_screenshot_as_png()))[..., :3]
    return int((np.abs(pixels - EM_BLUE).max(axis=-1) < 0.05).sum())


def click(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def test_learners_vanish_from_all_panels_at_once(shown):
    browser = shown(["EM", "COV", "Winnow"])
    assert browser.execute_script(TRACES) == [["EM", "COV", "Winnow"]] * 2
    seen = blue_pixels(browser)
    assert seen > 300
    browser.find_element("css selector", "#learners input[value=EM]").send_keys(Keys.SPACE)
    assert browser.execute_script(TRACES) == [["COV", "Winnow"]] * 2
    assert blue_pixels(browser) < seen / 2


def test_statistic_and_axis_can_be_switched(shown):
    browser = shown(["EM", "Winnow"])
    success = browser.execute_script(
        FIRST + "JSON.parse(document.getElementById('data').textContent).panels[0].curves.EM.success"
    )
    click(browser, "input[value=success]")
    assert browser.execute_script(FIRST + "Array.from(plot.data[0].y)") == success
    assert browser.execute_script(FIRST + "plot.layout.yaxis.title.text") == "success rate"
    click(browser, "input[value=linear]")
    assert browser.execute_script(FIRST + "plot._fullLayout.xaxis.type") == "linear"


def test_learners_below_the_axis_have_lines_of_their_own_in_a_lane(shown):
    browser = shown(["EM", "COV", "Winnow"])
    marks = (
        FIRST
        + """plot.data.filter((trace) => trace.meta === 'lane' && trace.y[0] !== null)
        .map((trace) => [trace.name, trace.x[0], trace.y[0], trace.marker.color])"""
    )
    (em, x, upper, blue), (cov, same, lower, orange) = browser.execute_script(marks)
    assert (em, cov, x, same) == ("EM", "COV", 10, 10)
    assert upper - lower == 1
    assert blue != orange
    floor = FIRST + "[plot.layout.yaxis.range[0], plot.layout.yaxis2.domain[1] - plot.layout.yaxis.domain[0]]"
    assert browser.execute_script(floor) == [-0.5, 0]
    click(browser, "#learners input[value=COV]")
    click(browser, "input[value=linear]")
    assert browser.execute_script(marks) == [["EM", 10, 0.5, blue]]
    click(browser, "input[value=success]")
    assert browser.execute_script(marks) == []


def test_a_limit_is_a_grey_line_with_a_band(shown):
    browser = shown(["EM", "limit"])
    found = browser.execute_script(FIRST + "plot.data.map((trace) => [trace.meta || trace.name, trace.mode])")
    assert found[:4] == [["EM", "lines+markers"], ["band", "lines"], ["band", "lines"], ["limit", "lines"]]


def test_axe_finds_no_serious_violation(shown):
    if axe_source() is None:
        pytest.skip("axe-core cannot be downloaded from npm here: the page is not checked for accessibility")
    browser = shown(["EM", "COV", "Winnow", "mine", "limit"])
    browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    for scheme, width in product(("light", "dark"), (1300, 360)):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": COLOR_SCHEME, "value": scheme}]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert serious_violations(browser) == [], (scheme, width)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_papers_worlds_lie_as_in_its_overview_and_follow_its_order(shown):
    browser = shown(["EM", "COV"], families=[(10, 2, 0.9), (75, 2, 0.9), (75, 3, 0.9)])
    places = """return [...document.querySelectorAll('.panel')].map((panel) => {
        const box = panel.getBoundingClientRect();
        const [name] = panel.querySelector('.note').textContent.split(', 5 trials');
        return [name, Math.round(box.left), Math.round(box.top)]; })"""
    (one, left, top), (two, same_left, below), (three, right, same_line) = browser.execute_script(places)
    assert [one, two, three] == ["CIA(10, 2, 0.9)", "CIA(75, 2, 0.9)", "CIA(75, 3, 0.9)"]
    assert (same_left, same_line) == (left, below)
    assert right > left
    assert below > top


def test_learners_without_scores_are_listed(shown):
    browser = shown(["EM", "COV", "broken"], sizes=(10,))
    labels = [label.text for label in browser.find_elements("css selector", "#learners label")]
    assert labels == ["EM", "COV", "broken (no scores)"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_cell_of_learners_of_ones_own_can_be_read(shown, scheme):
    browser = shown([f"mine {number}" for number in range(8)], trials=2)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": COLOR_SCHEME, "value": scheme}]})
    for first, second in [("mine 0", "mine 7"), ("mine 6", "mine 1"), ("mine 3", "mine 5"), ("mine 4", "mine 2")]:
        Select(browser.find_element("id", "first")).select_by_value(first)
        Select(browser.find_element("id", "second")).select_by_value(second)
        for ink, background in browser.execute_script(CELLS):
            assert contrast(color(ink), color(background)) >= 4.5
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def color(computed):
    """Computed colour of a browser as hexadecimal digits."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", computed)][:3]
    return to_hex([number if computed.startswith("color(") else number / 255 for number in numbers])


def test_a_hostile_name_is_only_a_name(shown):
    browser = shown(["EM", EVIL])
    assert browser.title == TITLE
    assert [label.text for label in browser.find_elements("css selector", "#learners label")] == ["EM", EVIL]
    browser.execute_script(
        FIRST + "Plotly.Fx.hover(plot, [{curveNumber: 0, pointNumber: 1}, {curveNumber: 1, pointNumber: 1}])"
    )
    assert browser.execute_script("return [document.images.length, document.title]") == [0, TITLE]


def test_differences_turn_their_sign_with_the_order(shown):
    browser = shown(["EM", "Winnow", "COV"])
    assert browser.find_element("css selector", "#heatmap td").text.startswith("−0.20")
    Select(browser.find_element("id", "first")).select_by_value("Winnow")
    Select(browser.find_element("id", "second")).select_by_value("EM")
    assert browser.find_element("css selector", "#heatmap td").text.startswith("+0.20")
    assert browser.find_element("css selector", "#heatmap caption").text == "T of Winnow minus T of EM"


def test_data_shown_can_be_downloaded(shown, tmp_path):
    browser = shown(["EM", 'say "hi", all'])
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    click(browser, "#learners input[value=EM]")
    click(browser, "#download-curves")
    WebDriverWait(browser, 20).until(lambda _: (tmp_path / "made-curves.csv").exists())
    lines = (tmp_path / "made-curves.csv").read_text().splitlines()
    assert lines[0] == "world,n,k,b,learner,size,trials,t,t_low,t_high"
    assert len(lines) == 1 + 2 * 2
    assert lines[1].startswith('"CIA(10, 2, 0.9)",10,2,0.9,"say ""hi"", all",10,5,')


def test_values_can_be_read_with_the_arrow_keys(shown):
    browser = shown(["EM", "Winnow"])
    browser.find_element("css selector", ".plot").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    hover = FIRST + "plot.querySelector('.hoverlayer').textContent"
    WebDriverWait(browser, 5).until(lambda _: browser.execute_script(hover).startswith("100 examples"))
    assert re.fullmatch(r"100 examples, EM 0\.\d+, Winnow 0\.\d+", heard(browser))


def heard(browser):
    """What a screen reader reads out."""
    return browser.find_element("id", "reading").get_attribute("textContent")


def test_page_fits_a_phone_and_follows_dark_mode(shown):
    browser = shown(["EM", "Winnow", "a learner with quite a long name, longer than a phone is wide, really"])
    phone = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    fits = "return document.documentElement.scrollWidth <= 360"
    WebDriverWait(browser, 5).until(lambda _: browser.execute_script(fits))
    dark = {"features": [{"name": COLOR_SCHEME, "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    browser.execute_script(FIRST + "plot.scrollIntoView()")
    WebDriverWait(browser, 5).until(lambda _: browser.execute_script(FIRST + "plot.layout.font.color") == "#e7eaee")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.soak
def test_fifty_panels_open_in_two_seconds(shown):
    families = [(n, k, b) for n, k, b in product((5, 6, 7, 8, 9), (2, 3, 4, 5, 6), (0.8, 0.9))]
    browser, times = shown(["EM", "COV", "Winnow"], families=families, trials=2), []
    for _ in range(3):
        browser.refresh()
        times.append(WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: browser.execute_script(DRAWN)))
    assert min(times) < 2_000
    assert len(browser.find_elements("css selector", ".plot")) == 50
    click(browser, "input[value=pooled]")
    browser.execute_cdp_cmd("Page.printToPDF", {})
    assert len(browser.execute_script(TRACES)) == 50


def test_differences_show_only_what_both_learners_have(shown):
    browser = shown(["EM", "COV", "late"])
    Select(browser.find_element("id", "second")).select_by_value("late")
    assert [head.text for head in browser.find_elements("css selector", "#heatmap thead th")] == ["world", "10", "100"]
    Select(browser.find_element("id", "second")).select_by_value("EM")
    assert browser.find_element("css selector", "#heatmap td").text == "no trial in common"
