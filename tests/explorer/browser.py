"""The explorer in a real browser: Debian's Chromium, driven by Selenium, with every console message a failure."""

import os
import re
import shutil
import time
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1280,900"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def programs():
    """Chromium and its driver; where they are missing the test is skipped, except in continuous integration."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in found:
        reason = "chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def browser(folder):
    """A browser with a profile of its own, whose downloads go to ``folder``/downloads."""
    chromium, driver = programs()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    (folder / "downloads").mkdir()
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


class Explorer:
    """The page, as a user sees and handles it."""

    def __init__(self, chrome, path, downloads):
        self.chrome, self.downloads = chrome, downloads
        chrome.get(path.as_uri())

    def one(self, selector):
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def text(self, identifier):
        return self.one(f"#{identifier}").text

    def texts(self, selector):
        return self.chrome.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )

    def count(self, selector):
        return self.chrome.execute_script("return document.querySelectorAll(arguments[0]).length", selector)

    def choose(self, identifier, value):
        Select(self.one(f"#{identifier}")).select_by_value(str(value))

    def options(self, identifier):
        return [option.text for option in Select(self.one(f"#{identifier}")).options]

    def slide(self, key):
        """One press of a key on the slider; returns the threshold that it then says it has."""
        slider = self.one("#limit")
        slider.send_keys(key)
        said = slider.get_attribute("aria-valuetext")
        assert said == self.text("limit-text")
        return float(re.search(r"[\d.e-]+$", said).group())

    def search(self, text):
        self.one("#search").send_keys(text, Keys.ENTER)

    def node(self, side, name):
        return self.chrome.execute_script(
            "return [...document.querySelectorAll('.node')].find((node) => node.dataset.id === arguments[0])",
            f"{side}:{name}",
        )

    def click_node(self, side, name):
        self.node(side, name).find_element(By.CSS_SELECTOR, "circle, rect").click()

    def keys(self, *keys):
        ActionChains(self.chrome).send_keys(*keys).perform()

    def focused(self):
        return self.chrome.execute_script("return document.activeElement.dataset.id ?? document.activeElement.id")

    def drag(self, element, x, y):
        ActionChains(self.chrome).drag_and_drop_by_offset(element, x, y).perform()

    def panel_rows(self, heading):
        """The table under a heading of the panel: names in the first cell → texts of the other cells."""
        rows = self.chrome.execute_script(
            """const heads = [...document.querySelectorAll('#panel h3')];
            const head = heads.find((one) => one.textContent.startsWith(arguments[0]));
            let next = head.nextElementSibling;
            while (next && !['TABLE', 'H3'].includes(next.tagName)) next = next.nextElementSibling;
            if (next?.tagName !== 'TABLE') return [];
            return [...next.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell, i) =>
              i ? cell.innerText : cell.querySelector('button').textContent));""",
            heading,
        )
        return {row[0]: row[1:] for row in rows}

    def saved(self, button, suffix):
        """The text of the file that a press of the button downloads."""
        for old in self.downloads.iterdir():
            old.unlink()
        self.one(f"#{button}").click()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            files = list(self.downloads.glob(f"*.{suffix}"))
            if files and files[0].stat().st_size:
                return files[0].read_text(encoding="utf-8")
            time.sleep(0.05)
        raise AssertionError(f"no {suffix} file was downloaded")

    def assert_silent(self):
        assert self.chrome.get_log("browser") == []
