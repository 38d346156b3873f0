"""The pictures of docs/explorer.md, taken again: `python -m tests.explorer.screenshots docs/images`.

With `--looks` in place of a folder: what a test compares the pages with. Look at the pages before you approve of them.

They show public and made-up data: an explorer is started without JOSTLE_DATA, and the released table is drawn at random.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.explorer.browsing import browser_with, started, stopped
from tests.explorer.test_pages import LOOKS, Browser, looks


def compare(browser):
    browser.open("compare")
    browser.send("/compare/run")
    browser.figures("#result")


def why(browser):
    browser.open("why")
    browser.send("/why/train")
    browser.until(lambda: browser.every("option[value^='small']"))  # once it is trained, the page loads itself again
    browser.fill("selector", "small one for range-1d")
    browser.until(lambda: browser.every("#result .tree details"))
    browser.figures("#result")


def release(browser, folder):
    draw = random.Random(1)
    rows = (f"{min(99, max(0, round(draw.gauss(42, 15))))},{draw.choice('FM')}" for _ in range(5000))
    (folder / "people.csv").write_text("\n".join(["age,sex", *rows]))
    browser.open("release")
    browser.fill("data", "people.csv")
    browser.fill("ledger", "budget.db")
    browser.fill("budget", "1")
    browser.fill("heading", "names")
    browser.find("[data-step]").click()
    browser.until(lambda: browser.every("[name='column-1-name']"))
    browser.fill("column-0-kind", "integer")
    browser.fill("column-0-low", "0")
    browser.fill("column-0-high", "99")
    browser.fill("column-1-categories", "F, M")
    browser.send("/release/open")
    browser.until(lambda: browser.every("form[data-run='/release/preview']"))
    browser.send("/release/preview")
    browser.figures("#preview")
    browser.send("/release/pay")
    browser.figures("#released")


def classify(browser):
    browser.open("classify")
    browser.fill("labelled", "artificial-1")
    browser.fill("records", "1000")
    browser.send("/classify/run")
    browser.figures("#result")


def take(browser, file, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.driver.execute_script("window.scrollTo(0, 0); document.activeElement.blur()")
    time.sleep(1)  # figures follow the width
    browser.driver.save_screenshot(str(file))


def main(target):
    folder = Path(tempfile.mkdtemp())
    running = started(folder)
    driver = browser_with(tempfile.mkdtemp())
    browser = Browser(driver, running.address)
    try:
        driver.get(running.link)
        for shown, height in ((compare, 1180), (why, 1250), (classify, 1100)):
            shown(browser)
            take(browser, target / f"explorer-{shown.__name__}.png", 1280, height)
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        release(browser, folder)
        take(browser, target / "explorer-release.png", 1280, 1500)
        take(browser, target / "explorer-phone.png", 390, 1500)
    finally:
        driver.quit()
        stopped(running)


def approve():
    running, driver = started(Path(tempfile.mkdtemp())), browser_with(tempfile.mkdtemp())
    try:
        driver.get(running.link)
        lines = (f"{json.dumps(name)}: {seen}" for name, seen in looks(Browser(driver, running.address)).items())
        LOOKS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    finally:
        driver.quit()
        stopped(running)


if __name__ == "__main__":
    if sys.argv[1] == "--looks":
        approve()
        sys.exit()
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target)
