"""Every page, driven end to end in a real browser."""

from __future__ import annotations

import csv
import http.client
import http.server
import io
import json
import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

if os.environ.get("JOSTLE_REQUIRE_ALL") != "1":
    pytest.importorskip("starlette", reason="the explorer is not installed: pip install 'jostle[explorer]'")

from jostle import Ledger
from tests.explorer import layout
from tests.explorer.browsing import PATIENCE, started, stopped
from tests.explorer.tiny import tiny_selector

PAGES = ("", "compare", "why", "release", "classify")
UNSEEN = "Zarathustra"  # a value of the private table that no page may ever show

CONTRASTS = """
const light = (c) => { const v = c.map((x) => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
                       return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                        if (c.length === 3 || c[3] > .99) return c.slice(0, 3); } return [255, 255, 255]; };
const low = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest("svg, :disabled, option")) continue;
  const a = light(parse(getComputedStyle(e).color).slice(0, 3)), b = light(ground(e));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) low.push(e.tagName + " " + e.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2));
}
return low;
"""


class Browser:
    """The browser, with the words that tests need."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address

    def open(self, page):
        """Go to a page, and wait for the part of it that comes later: it replaces what a test may hold in its hands."""
        self.driver.get(self.address + page)
        self.until(lambda: not self.every("[data-load]:not([data-loaded])"))

    def open_settled(self, page):
        """Go to a page, and wait until its script is there and has drawn what the page begins with."""
        self.open(page)
        if page:
            self.until(lambda: self.driver.execute_script("return typeof Plotly") == "object")
        if page == "why":
            self.figures("#result")

    def open_form(self):
        """The page of a release, with everything that can be filled in shown."""
        self.open("release")
        self.driver.execute_script("for (const e of document.querySelectorAll('details')) e.open = true")

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def every(self, selector):
        return self.driver.find_elements("css selector", selector)

    def until(self, reached, seconds=PATIENCE):
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05, [StaleElementReferenceException]).until(lambda _: reached())

    def text(self, selector):
        return self.find(selector).text

    def fill(self, name, value):
        field = self.find(f"[name='{name}']")
        if field.tag_name == "select":
            self.driver.execute_script(
                "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))",
                field,
                value,
            )
            assert field.get_attribute("value") == value
        else:
            if field.get_attribute("type") != "file":
                # A page that has a table already shuts what opens another one, and on a busy machine that may come late.
                shown = "for (let up = arguments[0]; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true"
                self.driver.execute_script(shown, field)
                field.clear()
            field.send_keys(value)

    def tick(self, name, *values):
        self.driver.execute_script("for (const e of document.querySelectorAll('details')) e.open = true")
        for value in values:
            self.find(f"[name='{name}'][value='{value}']").click()

    def send(self, form):
        self.find(f"form[data-run='{form}'] button[type=submit], form[data-send='{form}'] button[type=submit]").click()

    def figures(self, place):
        return self.until(lambda: self.every(f"{place} .js-plotly-plot .main-svg")) and len(
            self.every(f"{place} .js-plotly-plot")
        )

    def looks_right(self):
        """The page as it is now, wide and narrow, by day and by night: readable, nothing in the way, the same by night."""
        from selenium.common.exceptions import TimeoutException

        try:
            for width in (1280, 390):
                seen = {}
                for dark in (False, True):
                    layout.look(self.driver, width, dark=dark)
                    self.until(lambda: self.driver.execute_script(CONTRASTS) == [], 15)  # colours and figures take a moment
                    self.until(lambda: layout.faults(self.driver) == [], 15)
                    seen[dark] = layout.boxes(self.driver)
                assert seen[True] == seen[False], width
        except TimeoutException:
            pytest.fail(f"{width}: {layout.faults(self.driver)} {self.driver.execute_script(CONTRASTS)}")
        finally:
            layout.as_before(self.driver)

    def wrong(self, field):
        place = f"[data-wrong='{field}']"
        self.until(lambda: self.find(place).is_displayed())
        assert self.find(f"[name='{field}']").get_attribute("aria-invalid") == "true"
        return self.text(place)

    def complaints(self):
        """What the console has against the page; answers that refuse a form are no fault of it."""
        return [line["message"] for line in self.driver.get_log("browser") if "status of 4" not in line["message"]]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a private table and a selector."""
    folder = tmp_path_factory.mktemp("curator")
    draw = random.Random(1)
    rows = [(draw.randrange(100), draw.choice("FM"), draw.choice(["Bern", "Basel", UNSEEN])) for _ in range(2000)]
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "city"), *rows])
    tiny_selector().save(folder / "selector.json")
    return folder


@pytest.fixture(scope="module")
def running(place, chromium):
    made = started(place, "--selector", str(place / "selector.json"))
    yield made
    stopped(made)


@pytest.fixture(scope="module")
def visiting(running, chromium):
    browser = Browser(chromium, running.address)
    browser.driver.get(running.link)
    browser.until(lambda: browser.driver.find_elements("css selector", ".paths"))
    return browser


@pytest.fixture
def browser(visiting):
    visiting.driver.get_log("browser")
    yield visiting
    assert visiting.complaints() == []


def test_the_door_takes_the_token_and_nothing_else(running, chromium):
    browser = Browser(chromium, running.address)
    browser.driver.delete_all_cookies()
    browser.open("compare")
    assert browser.driver.current_url.endswith("/enter")
    browser.fill("token", "guess\n")
    browser.until(lambda: browser.every("#token-wrong"))
    assert "not the token" in browser.text("#token-wrong")
    browser.fill("token", running.token + "\n")
    browser.until(lambda: browser.driver.find_elements("css selector", ".paths"))
    assert browser.text("h1") == "What do you have?"


def test_algorithms_are_compared_on_a_line(browser):
    browser.open("compare")
    assert "public" in browser.text(".lead")
    browser.fill("dataset", "hills 1D (made up)")
    browser.fill("cells", "128")
    browser.tick("algorithm", "Laplace", "HB", "Uniform", "Pythia")
    browser.fill("trials", "4\n")  # the keyboard alone: Enter sends the form
    assert browser.figures("#result") == 3
    said = browser.text("#result")
    assert "Simulated on public data" in said
    assert "Pythia chose" in said
    assert [row.text.split()[0] for row in browser.every("#result tbody tr")].count("HB") == 1
    browser.driver.execute_script(
        "const s = document.getElementById('which'); s.value = 'noisy-3'; s.dispatchEvent(new Event('change'))"
    )
    last = browser.every("#result tbody tr")[3].text.split()[0]
    browser.until(lambda: f"{last}, one run" in browser.text("[data-switched]"))


def test_an_uploaded_grid_is_compared_and_a_bad_file_is_refused_at_its_field(browser, tmp_path):
    (tmp_path / "picture.csv").write_bytes(bytes(range(256)))
    (tmp_path / "grid.csv").write_text("\n".join(",".join(str((i * j) % 7) for i in range(16)) for j in range(16)))
    browser.open("compare")
    browser.fill("dataset", "upload")
    browser.fill("upload", str(tmp_path / "picture.csv"))
    browser.send("/compare/run")
    assert browser.wrong("upload").startswith("Is not a text file")
    browser.fill("upload", str(tmp_path / "grid.csv"))
    browser.fill("workload", "short")
    browser.fill("cells", "16")
    browser.tick("algorithm", "Laplace", "UGrid")
    browser.send("/compare/run")
    assert browser.figures("#result") == 3
    assert not browser.find("[data-wrong='upload']").is_displayed()
    assert browser.driver.execute_script("return document.querySelector('[data-switched]').data.map((t) => t.type)") == [
        "heatmap",
        "heatmap",
    ]


def test_long_work_shows_progress_and_can_be_cancelled(browser):
    browser.open("compare")
    browser.fill("dataset", "hills 1D (made up)")
    browser.fill("cells", "4096")
    browser.fill("trials", "200")
    browser.send("/compare/run")
    browser.until(lambda: " of " in browser.text("[data-progress-text]"))
    browser.find("[data-cancel]").click()
    browser.until(lambda: browser.text("[data-alert]") == "Stopped. Nothing was kept.")
    assert browser.find("form button[type=submit]").is_enabled()
    assert browser.find("[name='cells']").get_attribute("value") == "4096"


def test_work_that_nobody_waits_for_is_stopped(browser):
    browser.open("compare")
    browser.fill("dataset", "hills 1D (made up)")
    browser.fill("cells", "4096")
    browser.fill("trials", "200")
    browser.send("/compare/run")
    browser.until(lambda: " of " in browser.text("[data-progress-text]"))
    asked = "return performance.getEntriesByType('resource').map((e) => e.name).find((name) => name.includes('/jobs/'))"
    job = browser.driver.execute_script(asked)
    browser.open("why")
    state = (
        "const done = arguments[1], headers = { 'X-Jostle-Secret': localStorage.getItem('jostle') };"
        "fetch(arguments[0], { headers }).then((a) => a.json()).then((told) => done(told.state))"
    )
    browser.until(lambda: browser.driver.execute_async_script(state, job) == "cancelled")


def test_a_selector_is_walked_with_sliders(browser):
    browser.open("why")
    browser.fill("selector", "selector.json")
    browser.fill("dataset", "hills 1D (made up)")
    browser.fill("workload", "identity")

    def chosen(position):
        browser.driver.execute_script(
            "const s = document.getElementById('scale-slider'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
            position,
        )
        shown = f"{round(10**position):,} records"
        browser.until(lambda: shown in browser.text("#result"))
        return browser.text("#result .choice")

    assert chosen(1) == "Uniform"  # ten records: all noise is worse than no shape
    assert chosen(7) == "Laplace"
    assert browser.figures("#result") == 2  # regrets, and the map
    assert browser.text("#result .leaf.taken") == "Laplace"
    ways = browser.every("#result .tree details summary")
    assert ways
    ways[0].send_keys("\n")  # a branch is closed and opened with the keyboard
    assert browser.find("#result .tree details").get_attribute("open") is None


def test_a_table_is_released_and_no_private_value_is_shown(browser, place):
    browser.open("release")
    browser.fill("data", str(place / "people.csv"))
    browser.fill("ledger", str(place / "budget.db"))
    browser.fill("budget", "1")
    browser.find("[data-step]").click()
    assert "first line" in browser.wrong("heading")  # a first line that is a row must not be seen
    browser.fill("heading", "names")
    browser.find("[data-step]").click()
    browser.until(lambda: browser.every("[name='column-2-name']"))
    browser.fill("column-0-kind", "integer")
    browser.fill("column-0-low", "99")
    browser.fill("column-0-high", "0")
    browser.fill("column-1-categories", "F, M")
    browser.fill("column-2-categories", "Bern, Basel")
    browser.send("/release/open")
    assert "must be above low" in browser.wrong("column-0-high").lower()
    browser.fill("column-0-low", "0")
    browser.fill("column-0-high", "99")
    browser.send("/release/open")
    browser.until(lambda: browser.every("form[data-run='/release/preview']"))
    assert "of ε = 1 is left for people" in browser.text("[data-budget]")

    browser.fill("epsilon", "0.25")
    browser.send("/release/preview")
    assert browser.figures("#preview") == 1
    assert "at ε = 0.25" in browser.text("#preview")
    assert _events(place) == []  # a preview costs nothing, and makes no account
    browser.send("/release/pay")
    assert browser.figures("#released") == 2  # the answers, and how the algorithm was chosen
    assert "0.75 of the budget is left" in browser.text("#released")
    assert browser.text("[data-budget] .big") == "0.75"
    assert set(_events(place)) == {"open", "charge"}
    assert not browser.find("form[data-run='/release/pay'] button").is_enabled()

    table = _download(browser, "#released a[href$='.csv']")
    assert list(table[0]) == ["age", "count", "low", "high"]
    assert len(table) == 100

    browser.fill("first", "city")
    browser.fill("epsilon", "0.5")
    browser.send("/release/preview")
    browser.until(lambda: "at ε = 0.5" in browser.text("#preview"))
    browser.send("/release/pay")
    browser.until(lambda: "0.25 of the budget is left" in browser.text("#released"))
    assert UNSEEN not in browser.driver.page_source
    assert {row["city"] for row in _download(browser, "#released a[href$='.csv']")} == {
        "Bern",
        "Basel",
        "(other)",
        "(missing)",
    }
    browser.looks_right()


def test_other_questions_have_their_own_fields_and_answers(browser, place):
    browser.open("release")
    browser.until(lambda: browser.every("form[data-run='/release/preview']"))
    before = browser.text("[data-budget] .big")
    browser.fill("kind", "sum")
    assert [option.text for option in browser.every("#first option:enabled")] == [
        "age (100 cells)"
    ]  # the others have no sum
    assert browser.find("#second").is_displayed()
    browser.fill("kind", "marginals")
    assert not browser.find("#first").is_displayed()
    assert len([tick for tick in browser.every("[name='among']") if tick.is_displayed()]) == 3
    browser.fill("kind", "quantiles")
    browser.fill("levels", "0.1 2")
    browser.fill("epsilon", "0.01")
    browser.send("/release/preview")
    assert "from 0.001 to 0.999" in browser.wrong("levels")
    browser.fill("levels", "0.1 0.5")
    browser.send("/release/preview")
    assert browser.figures("#preview") == 1
    assert "rows in its rank" in browser.text("#preview")
    assert browser.text("[data-budget] .big") == before
    browser.send("/release/pay")
    assert browser.figures("#released") == 1
    assert [row["quantile"] for row in _download(browser, "#released a[href$='.csv']")] == ["0.1", "0.5"]
    browser.open("release")  # the page is loaded again, and what was paid for is still there
    browser.until(lambda: "quantiles of age" in browser.text("[data-released]"))


def test_without_budget_and_with_a_ledger_in_use_nothing_is_released(browser, place):
    browser.open("release")
    browser.until(lambda: browser.every("form[data-run='/release/preview']"))  # the table is still open
    browser.fill("epsilon", "5")
    browser.send("/release/preview")
    browser.until(lambda: browser.every("#preview .alert"))
    assert "not enough budget" in browser.text("#preview")
    assert not browser.every("form[data-run='/release/pay']")

    browser.fill("epsilon", "0.01")
    browser.fill("where", "city = ")
    browser.send("/release/preview")
    assert browser.wrong("where")
    browser.fill("where", "sex = 'F'")
    browser.send("/release/preview")
    browser.until(lambda: browser.every("form[data-run='/release/pay']"))
    before = _events(place)
    with closing(sqlite3.connect(place / "budget.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        browser.send("/release/pay")
        alert = "form[data-run='/release/pay'] [data-alert]"
        browser.until(lambda: browser.find(alert).is_displayed())
        other.execute("ROLLBACK")
    assert "Traceback" not in browser.text(alert)
    assert "budget.db" in browser.text(alert)
    assert _events(place) == before
    browser.send("/release/pay")  # and it works once the other is done
    browser.until(lambda: "0.23 of the budget is left" in browser.text("#released"))


def test_classifiers_are_compared(browser):
    browser.open("classify")
    browser.fill("labelled", "artificial-0")
    browser.fill("records", "500")
    browser.fill("epsilons", "0.1 2")
    browser.tick("learner", "Majority", "Single")
    browser.fill("draws", "1")
    browser.send("/classify/run")
    assert browser.figures("#result") == 1
    assert "Simulated on public data" in browser.text("#result")
    assert {row.text.split()[0] for row in browser.every("#result tbody tr")} == {"Majority", "Single"}
    browser.looks_right()


@pytest.mark.parametrize("page", PAGES)
def test_pages_look_right_and_load_nothing_from_elsewhere(browser, page):
    browser.open_settled(page)
    browser.looks_right()
    fields = browser.every("main input:not([type=hidden]), main select, main textarea")
    assert [field.get_attribute("name") for field in fields if field.is_displayed() and not field.accessible_name] == []
    loaded = browser.driver.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert all(name.startswith((browser.address, "data:")) for name in loaded), loaded
    offered = "return [...document.querySelectorAll('.modebar-btn')].map((e) => e.dataset.title).join()"
    assert "Share" not in browser.driver.execute_script(offered)  # a button of Plotly's that uploads


LOOKS = Path(__file__).with_name("looks.json")
"""What the pages looked like when somebody last approved of them: `python -m tests.explorer.screenshots --looks`."""

MOST_APART = 6.0
"""Of 255. Another font is about 2 apart; a page without its style sheet 20 and more."""

NO_DATA = "for (const e of document.querySelectorAll('.figure, .results')) e.style.visibility = 'hidden'"


def looks(browser):
    """Every page as it begins, seen from afar, wide and narrow, by day and by night, without results."""
    seen = {}
    for page in PAGES:
        browser.open_settled(page)
        browser.driver.execute_script(NO_DATA)
        for width, dark in ((1280, False), (1280, True), (390, False)):
            layout.look(browser.driver, width, dark=dark)
            seen[f"{page or 'home'} {width}{' dark' if dark else ''}"] = layout.seen_from_afar(browser.driver)
    layout.as_before(browser.driver)
    return seen


def test_pages_look_as_they_did_when_somebody_approved_of_them(chromium, tmp_path):
    running = started(tmp_path)  # without a table that another test opened
    browser = Browser(chromium, running.address)
    try:
        browser.driver.get(running.link)
        browser.until(lambda: browser.every(".paths"))
        approved, now = json.loads(LOOKS.read_text()), looks(browser)
        assert {name: layout.apart(now[name], approved[name]) for name in approved if now[name]} == pytest.approx(
            dict.fromkeys(now, 0), abs=MOST_APART
        )
        browser.open("compare")  # and the comparison sees: a page without its style sheet looks different
        browser.driver.execute_script(NO_DATA + "; document.querySelector('link[rel=stylesheet]').disabled = true")
        layout.look(browser.driver, 1280)
        assert layout.apart(layout.seen_from_afar(browser.driver), approved["compare 1280"]) > 2 * MOST_APART
    finally:
        layout.as_before(browser.driver)
        stopped(running)


def test_a_preview_follows_the_slider_and_what_it_shows_is_what_can_be_paid(browser, place):
    browser.open("release")
    browser.until(lambda: browser.every("form[data-run='/release/preview']"))
    browser.send("/release/preview")
    browser.until(lambda: "at ε = 0.1" in browser.text("#preview"))
    moved = "const s = document.querySelector('[data-log=epsilon]'); s.value = -1.7; "
    browser.driver.execute_script(moved + "s.dispatchEvent(new Event('input', {bubbles: true}))")
    button = "#preview form[data-run] button[type=submit]"
    assert not browser.find(button).is_enabled()  # until the new preview is there
    browser.until(lambda: "at ε = 0.02" in browser.text("#preview"))
    assert browser.text(button) == "Release, and charge ε = 0.02"
    browser.fill("kind", "sql")
    browser.fill("sql", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    browser.until(
        lambda: "Histogram of sex" in browser.text("#preview") and browser.find("#preview [data-step]").is_enabled()
    )
    browser.find("#preview [data-step]").click()  # the first click counts, though it leaves a field that was typed into
    browser.until(lambda: "histogram of sex" in browser.text("#listed"))
    browser.fill("kind", "batch")
    browser.until(lambda: "Batch of 1" in browser.text("#preview"))
    browser.looks_right()
    browser.find("#listed button").click()
    browser.until(lambda: browser.text("#listed") == "")
    browser.until(lambda: "list is empty" in browser.text("[data-wrong='kind']"))


HOSTILE = """<!doctype html><title>waiting</title><iframe id="frame" name="frame" src="{address}compare"></iframe>
<form id="form" method="post" action="{address}release/pay" target="frame"><input name="question" value="x"></form>
<script>
const told = {{ kept: localStorage.getItem("jostle") }};
const frame = async () => {{  // until it has gone somewhere, it is an empty page of our own
  for (let tries = 0; tries < 1000; tries++) {{
    const shown = document.getElementById("frame").contentDocument.body.innerHTML;
    if (shown !== "") return shown;
    await new Promise((on) => setTimeout(on, 100));
  }}
}};
const ask = (path, how) => fetch("{address}" + path, {{ credentials: "include", ...how }}).then((answer) => answer.text());
const attempt = async (name, work) => {{ try {{ told[name] = await work(); }} catch {{ told[name] = "refused"; }} }};
const body = new FormData();
(async () => {{
  await attempt("read", () => ask("compare", {{}}));
  await attempt("job", () => ask("jobs/x", {{}}));
  await attempt("post", () => ask("release/pay", {{ method: "POST", body, headers: {{ "X-Jostle-Secret": "guess" }} }}));
  await attempt("blind", () => ask("release/pay", {{ method: "POST", body, mode: "no-cors" }}));
  document.getElementById("form").submit();
  await attempt("frame", frame);
  document.title = JSON.stringify(told);
}})();
</script>"""


def test_a_hostile_page_on_another_port_of_this_machine_reads_and_changes_nothing(visiting, place):
    """It gets the cookie, which browsers send to every port; but neither a page's secret nor an answer."""
    seen, before = [], sorted(place.iterdir())

    class Hostile(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(HOSTILE.format(address=visiting.address).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visiting.driver.get(f"http://127.0.0.1:{server.server_port}/")
        visiting.until(lambda: visiting.driver.title.startswith("{"))
        told = json.loads(visiting.driver.title)
        server.shutdown()
    assert told == dict.fromkeys(("read", "job", "post", "blind", "frame"), "refused") | {"kept": None}
    assert "jostle_" in seen[0]  # what makes the second secret necessary
    assert sorted(place.iterdir()) == before
    visiting.driver.get_log("browser")


def test_a_table_with_hostile_names_runs_nothing(browser, place):
    names = ["<img src=x onerror=document.title='owned'>", "<a href='https://evil.example'>click</a>"]
    with (place / "hostile.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *[["<b>x</b>", "y"]] * 20])
    browser.open_form()
    browser.fill("data", str(place / "hostile.csv"))
    browser.fill("ledger", str(place / "hostile.db"))
    browser.fill("budget", "1")
    browser.fill("name", "<script>document.title='owned'</script>")
    browser.fill("heading", "names")
    browser.find("[data-step]").click()
    browser.until(lambda: browser.every("[name='column-1-name']"))
    for column in (0, 1):
        browser.fill(f"column-{column}-categories", "<b>x</b>, <a href='https://evil.example'>y</a>")
    browser.send("/release/open")
    browser.until(lambda: "hostile" in browser.text("[data-budget]") or "script" in browser.text("[data-budget]"))
    for second in ("", names[1]):
        browser.fill("second", second)
        browser.send("/release/preview")
        browser.until(lambda: browser.every("#preview form[data-run] button:enabled"))
        browser.send("/release/pay")
        browser.until(lambda: browser.every("#preview form[data-run] button:disabled"))
        assert browser.figures("#released")
    assert browser.every("main img, main script, main a[href*=evil], main svg a") == []
    assert "owned" not in browser.driver.title
    assert "<b>x</b>" in browser.text("#released")


def test_a_synthetic_table_is_made_looked_at_and_downloaded(browser, place):
    browser.open_form()
    for name, value in {"data": "people.csv", "ledger": "whole.db", "budget": "4", "heading": "names"}.items():
        browser.fill(name, value)
    cities = '[columns.city]\nkind = "category"\ncategories = ["Bern", "Basel"]'
    browser.fill("schema", f'[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n{cities}')
    browser.send("/release/open")
    browser.until(lambda: "of ε = 4 is left" in browser.text("[data-budget]"))
    browser.fill("kind", "synthetic")
    browser.fill("records", "300")
    browser.fill("epsilon", "2")
    browser.looks_right()
    browser.send("/release/preview")
    browser.until(lambda: "for each count of one column" in browser.text("#preview"))
    assert not browser.every("#preview [data-step='/release/list']")  # it has a price of its own
    browser.send("/release/pay")
    browser.until(lambda: browser.every("#looked .js-plotly-plot"))
    assert "300 synthetic records" in browser.text("#released")
    assert browser.text("#looked .finding").startswith("Measured together")
    browser.fill("one", "city")
    browser.fill("other", "age")
    browser.until(
        lambda: browser.driver.execute_script(
            "return document.querySelector('#looked .figure').data?.[0].type === 'heatmap'"
        )
    )
    browser.looks_right()
    assert browser.text("[data-budget] .big") == "2"
    assert len(_download(browser, "#released a[href$='.csv']")) == 300
    assert browser.find("#released a[href$='.parquet']").is_displayed()
    assert UNSEEN not in browser.driver.page_source


def test_a_table_that_cannot_be_opened_is_said_where_one_looks(browser, place):
    told = {"data": "people.csv", "ledger": "fresh.db", "budget": "1", "unit": ""}
    told["schema"] = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99'
    browser.open_form()
    for name, value, words in (
        ("schema", "[columns.age]\nkind = 'number'", "Columns.age.kind is missing or unknown"),
        ("schema", "what?", "is no TOML"),
        ("data", "nowhere.csv", "There is no file"),
        ("ledger", "people.csv", "is not a ledger"),
        ("ledger", "nowhere/budget.db", "no directory"),
        ("budget", "lots", "finite number"),
        ("unit", "nobody:0", "whole number"),
    ):
        for field, usual in told.items():
            browser.fill(field, value if field == name else usual)
        browser.send("/release/open")
        browser.until(lambda name=name, words=words: words.lower() in browser.wrong(name).lower())
        assert browser.find(f"[name='{name}']").get_attribute("value") == value  # nothing is lost
    assert "Traceback" not in browser.driver.page_source
    with Ledger(place / "fresh.db") as ledger:
        assert ledger.accounts() == ()


def test_a_file_that_is_too_large_is_refused_at_its_field(browser, tmp_path):
    browser.open("compare")
    browser.fill("dataset", "upload")
    for size in (3, 30):  # the explorer refuses the one, the page does not even send the other
        (tmp_path / "large.csv").write_bytes(b"1\n" * (size * 2**19))
        browser.fill("upload", str(tmp_path / "large.csv"))
        browser.send("/compare/run")
        assert "larger than" in browser.wrong("upload")


def test_everything_can_be_reached_with_the_keyboard(browser):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    fields = ":is(a, button, input:not([type=hidden]), select, textarea, summary)"
    watch = (
        "window.reached = new Set(); addEventListener('focusin', (event) => { const at = event.target; reached.add(at);"
        "  if (getComputedStyle(at).outlineStyle === 'none') window.bare = at.outerHTML; });"
    )
    for page in PAGES:
        browser.open_settled(page)
        browser.driver.execute_script(watch)
        ActionChains(browser.driver, duration=0).send_keys(Keys.TAB * (len(browser.every(f"body {fields}")) + 10)).perform()
        missed = browser.driver.execute_script(
            f"return [...document.querySelectorAll('header {fields}, main {fields}')]"
            ".filter((e) => e.checkVisibility() && !e.disabled && !reached.has(e)).map((e) => e.outerHTML)"
        )
        assert missed == [], page
        assert browser.driver.execute_script("return window.bare ?? null") is None, page  # one sees where one is


def test_a_stopped_explorer_is_said_and_what_was_typed_stays(chromium, tmp_path):
    running = started(tmp_path)
    browser = Browser(chromium, running.address)
    browser.driver.get(running.link)
    browser.until(lambda: browser.every(".paths"))
    browser.open("compare")
    browser.fill("cells", "77")
    stopped(running)
    browser.send("/compare/run")
    browser.until(lambda: "does not answer" in browser.text("[data-alert]"))
    assert browser.find("[name='cells']").get_attribute("value") == "77"


def _events(place: Path) -> list[str]:
    with Ledger(place / "budget.db", create=False) as ledger:
        return [event.kind for event in ledger.events()]


def _download(browser, link):
    """A file as the browser would get it: with its cookies, of which each server of this machine has one."""
    cookies = "; ".join(f"{one['name']}={one['value']}" for one in browser.driver.get_cookies())
    address = urlsplit(browser.find(link).get_attribute("href"))
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)) as line:
        line.request("GET", address.path, headers={"Cookie": cookies})
        answer = line.getresponse()
        assert "attachment" in answer.headers["content-disposition"]
        return list(csv.DictReader(io.StringIO(answer.read().decode())))


def test_the_first_page_leads_to_each_of_the_others(browser):
    browser.open("")
    for number, (path, heading) in enumerate(
        [("release", "Release"), ("classify", "lassif"), ("compare", "Compare"), ("why", "")], start=1
    ):
        browser.driver.find_element("css selector", f".paths li:nth-child({number}) a").click()
        browser.until(lambda path=path: browser.driver.current_url.endswith(f"/{path}"))
        assert heading in browser.text("h1")
        browser.open("")
