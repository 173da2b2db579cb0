"""What a person does with the pages of `--html`; called by scripts/test-html with the folder of the pages and that of the
screenshots."""

import json
import pathlib
import shutil
import sys
import time
import traceback

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

pages, screenshots = map(pathlib.Path, sys.argv[1:3])
axe = next(pathlib.Path(sys.prefix).glob("lib/python*/site-packages/axe_playwright_python/axe.min.js")).read_text()


def browser():
    options = webdriver.ChromeOptions()
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Those of the system; nothing is looked for elsewhere.
    options.binary_location = shutil.which("chromium")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


class Page:
    """A page that is open."""

    def __init__(self, driver, name, width=1300, height=900):
        self.driver = driver
        self.name = name
        driver.set_window_size(width, height)
        driver.get((pages / name).as_uri())
        WebDriverWait(driver, 20).until(lambda _: driver.execute_script("return document.querySelectorAll('.plot svg, .plot canvas').length > 0"))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def box(self, dimension, value):
        """The check box of a filter."""
        labels = self.all(f'fieldset[data-dimension="{dimension}"] label')
        return next(label for label in labels if label.text.strip() == value).find_element(By.TAG_NAME, "input")

    def table(self, title):
        region = self.one(f'.scroll[aria-label="{title}"]')
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in region.find_elements(By.CSS_SELECTOR, "tbody tr")]
        return region, rows

    def chart(self, number=0):
        """What ECharts draws in a card."""
        plot = self.all(".plot")[number]
        return self.script("return echarts.getInstanceByDom(arguments[0]).getOption()", plot)

    def finished(self):
        """Nothing was complained about, nothing was fetched."""
        complaints = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert not complaints, f"{self.name}: {complaints}"
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        others = [url for url in asked if not url.startswith(("file:", "data:", "chrome:", "about:"))]
        assert not others, f"{self.name} asks for {others}"

    def accessible(self, how):
        """axe finds nothing."""
        self.script(axe)
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run(document).then((result) => done(result.violations));")
        told = [f"{violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:200]}" for violation in found]
        assert not told, f"{self.name}, {how}: {told}"

    def screenshot(self, name):
        # The browser draws when it has time.
        time.sleep(0.5)
        self.driver.save_screenshot(str(screenshots / name))


def number(text):
    return float(text.replace(",", ""))


def test_run(driver):
    page = Page(driver, "run.html")
    report = json.loads((pages / "run.json").read_text())
    cycles = {(kernel["input"]["name"], design["name"]): design["cycles"] for kernel in report["kernels"] for design in kernel["designs"]}
    # The numbers are those of the report.
    _, rows = page.table("Runs")
    assert {(row[0], row[1]): number(row[2]) for row in rows} == cycles, rows
    # A heading sorts, and sorts the other way.
    heading = next(button for button in page.all('.scroll[aria-label="Runs"] th button') if button.text == "cycles")
    for descending in [False, True]:
        heading.click()
        values = [number(row[2]) for row in page.table("Runs")[1]]
        assert values == sorted(values, reverse=descending), values
        state = heading.find_element(By.XPATH, "..").get_attribute("aria-sort")
        assert state == ("descending" if descending else "ascending"), state
    # A kernel that is taken out is gone from table and chart, and the mean changes.
    before = page.chart()
    assert before["xAxis"][0]["data"] == ["hotspot", "bfs", "nn", "geometric mean"], before["xAxis"][0]["data"]
    page.box("kernel", "bfs").click()
    assert all(row[0] != "bfs" for row in page.table("Runs")[1])
    after = page.chart()
    assert after["xAxis"][0]["data"] == ["hotspot", "nn", "geometric mean"], after["xAxis"][0]["data"]
    relative = [cycles[kernel, "rfc"] / cycles[kernel, "baseline"] for kernel in ("hotspot", "nn")]
    rfc = next(series for series in after["series"] if series["name"] == "rfc")["data"]
    assert all(abs(one - other) < 1e-9 for one, other in zip(rfc, [*relative, (relative[0] * relative[1]) ** 0.5])), (rfc, relative)
    page.box("kernel", "bfs").click()
    assert page.chart()["xAxis"][0]["data"] == before["xAxis"][0]["data"]
    # So is a design.
    page.box("design", "rfc").click()
    assert [series["name"] for series in page.chart()["series"]] == ["regless", "the paper"]
    page.box("design", "rfc").click()
    # Another figure.
    figure = Select(page.one("#explorer select"))
    figure.select_by_value("ipc")
    assert "ipc" in page.all(".card .card-title")[0].text
    figure.select_by_value("cycles")
    # The parts of the energy are that of the whole: of the baseline 100 %.
    energy = next(index for index, title in enumerate(page.all(".card .card-title")) if title.text.startswith("Register energy by term"))
    parts = page.chart(energy)["series"]
    assert abs(sum(series["data"][0] for series in parts if series["type"] == "bar") - 100) < 1e-6, parts
    # The mouse tells numbers.
    plot = page.all(".plot")[0]
    page.script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(driver).move_to_element_with_offset(plot, -plot.size["width"] // 4, 0).pause(0.5).perform()
    assert "rfc" in plot.text and "hotspot" in plot.text, plot.text
    # A column more.
    column = Select(page.all("[data-kind=runs] > .controls select")[-1])
    column.select_by_value("warp_instructions")
    assert "warp_instructions" in [button.text for button in page.all('.scroll[aria-label="Runs"] th button')]
    # Over time: a map for each thing that the design has.
    kernel, design = [Select(select) for select in page.all("[data-kind=timelines] select")]
    kernel.select_by_visible_text("hotspot (tiny)")
    design.select_by_value("rfc")
    assert len(page.all("[data-kind=timelines] .card-title")) == 2
    design.select_by_value("regless")
    titles = [title.text for title in page.all("[data-kind=timelines] .card-title")]
    assert len(titles) == 3 and "regions hold" in titles[2], titles
    heat = page.script("return echarts.getInstanceByDom(document.querySelector('[data-kind=timelines] .plot')).getOption()")
    issued = sum(cell[2] for cell in heat["series"][0]["data"] if cell[2] != "-")
    columns = heat["xAxis"][0]["data"]
    a_column = number(columns[1]) - number(columns[0])
    instructions = next(design["warp_instructions"] for kernel in report["kernels"] if kernel["input"]["name"] == "hotspot" for design in kernel["designs"] if design["name"] == "regless")
    # Of what has been issued in the columns that have ended: all but the last part, in thousandths.
    assert 0.97 * instructions < issued * a_column <= 1.01 * instructions, (issued * a_column, instructions)
    page.script("scrollTo(0, 0)")
    page.screenshot("run.png")
    page.accessible("light")
    page.one("#theme").click()
    assert page.script("return document.documentElement.dataset.theme") == "dark"
    page.accessible("dark")
    page.script("document.querySelector('[data-kind=timelines]').scrollIntoView()")
    page.screenshot("over-time-dark.png")
    # On paper it is light, and the browser can make a PDF of it.
    assert len(driver.print_page()) > 10_000
    page.finished()


def test_figure(driver):
    page = Page(driver, "figure.html")
    text = (pages / "figure.md").read_text()
    claims = [row[2] for row in page.table("The paper and the model")[1]]
    assert claims and all(f"here: {claim}\n" in text for claim in claims), claims
    # What the paper says stands beside what comes out.
    option = page.chart()
    marks = next(series for series in option["series"] if series["name"] == "the paper")["data"]
    assert marks, "no marks of the paper"
    assert "the paper" in [entry if isinstance(entry, str) else entry["name"] for entry in option["legend"][0]["data"]]
    page.box("kernel", "hotspot").click()
    assert "hotspot" not in page.chart()["xAxis"][0]["data"]
    page.box("kernel", "hotspot").click()
    page.box("series", "RFV").click()
    assert "RFV" not in [series["name"] for series in page.chart()["series"]]
    page.box("series", "RFV").click()
    # A legend takes a series out as well.
    page.all(".card details summary")[0].click()
    WebDriverWait(driver, 5).until(lambda _: len(page.all(".card details table tbody tr")) >= 4)
    page.all(".card details summary")[0].click()
    page.screenshot("figure.png")
    page.accessible("light")
    page.finished()


def test_map(driver):
    page = Page(driver, "map.html")
    figure = json.loads((pages / "map.json").read_text())
    table = next(table for table in figure["tables"] if table["key"] == "designs")
    cycles = {(row["machine"], row["design"]): row["cycles"] for row in table["rows"]}
    option = page.chart()
    machines, designs = option["xAxis"][0]["data"], option["yAxis"][0]["data"]
    assert len(machines) * len(designs) == len(cycles) > 100, (machines, designs)
    # Every ratio has its place, and what is not there has one without a number.
    cells = option["series"][0]["data"]
    assert len({tuple(cell["value"][:2]) for cell in cells}) == len(cells) == len(cycles), len(cells)
    assert sum(len(cell["value"]) == 4 for cell in cells) > 100
    for cell in cells:
        column, row, *rest = cell["value"]
        expected = cycles[machines[column], designs[row]]
        assert (rest == ["-"]) if expected is None else abs(rest[1] - expected) < 1e-9, (cell, expected)
    ends = option["visualMap"][0]
    assert ends["min"] == -ends["max"] < 0 and ends["dimension"] == 2, ends
    page.script("arguments[0].scrollIntoView({block: 'center'})", page.all(".plot")[0])
    page.screenshot("map.png")
    page.accessible("light")
    page.one("#theme").click()
    page.screenshot("map-dark.png")
    page.accessible("dark")
    page.finished()


def test_sweep(driver):
    page = Page(driver, "sweep.html")
    # A parameter with several values is what the first chart runs along.
    assert page.chart()["xAxis"][0]["data"] == ["2", "4", "6"], page.chart()["xAxis"]
    page.box("rfc.entries", "4").click()
    assert page.chart()["xAxis"][0]["data"] == ["2", "6"]
    page.box("rfc.entries", "4").click()
    along = Select(page.all("#explorer select")[1])
    along.select_by_value("kernel")
    names = [series["name"] for series in page.chart()["series"]]
    assert names == ["rfc rfc.entries=2", "rfc rfc.entries=4", "rfc rfc.entries=6", "the paper"], names
    page.accessible("light")
    page.finished()


def test_compare(driver):
    page = Page(driver, "compare.html")
    figures = json.loads((pages / "compare.json").read_text())["figures"]
    _, rows = page.table("Figures that differ, the largest change first")
    assert len(rows) == len(figures), (len(rows), len(figures))
    first = next(index for index, figure in enumerate(figures) if figure["percent"] is not None)
    assert abs(number(rows[first][6]) - figures[first]["percent"]) < 0.006, rows[first]
    assert page.table("Parameters")[1] == [["rfc.entries", "2", "6"]]
    page.box("kernel", "bfs").click()
    assert all(row[0] == "hotspot" for row in page.table("Figures that differ, the largest change first")[1])
    page.accessible("light")
    page.finished()


def test_phone(driver):
    for name in ["run.html", "figure.html", "map.html", "sweep.html", "compare.html"]:
        page = Page(driver, name, 500, 900)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 375, "height": 800, "deviceScaleFactor": 2, "mobile": True})
        driver.refresh()
        time.sleep(1)
        wide = page.script("return document.documentElement.scrollWidth")
        assert wide <= 375, f"{name} is {wide} px wide on a phone of 375"
        if name == "run.html":
            page.screenshot("phone.png")
        page.accessible("phone")
        page.finished()
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


failed = 0
tests = [test_run, test_figure, test_map, test_sweep, test_compare, test_phone]
for test in tests:
    driver = browser()
    try:
        test(driver)
        print(f"{test.__name__}: passed", flush=True)
    except Exception as error:  # All tests are run, whatever the first says.
        failed += 1
        print(f"{test.__name__}: {''.join(traceback.format_exception(error))}", flush=True)
    finally:
        driver.quit()
print(f"html: {len(tests) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
