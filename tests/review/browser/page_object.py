"""The page as tests use it: waits for elements, presses keys, clicks."""

import processes
import pytest

if processes.missing():
    pytest.skip(f"cannot look at the page: {processes.missing()}", allow_module_level=True)

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

__all__ = ["ActionChains", "Keys", "Page"]
SECONDS = 20


class Page:
    """One tab of the browser at a server."""

    def __init__(self, driver, server):
        self.driver, self.server = driver, server

    def go(self, address):
        """Reload the page with a view, and wait until it is there."""
        if not self.driver.current_url.startswith(self.server.origin + "/"):
            self.enter()
        self.run("history.replaceState(null, '', arguments[0])", address)
        self.driver.refresh()
        self.loaded()

    def enter(self):
        self.driver.get(self.server.url)
        self.loaded()

    def move(self, address):
        """Show a view without reloading the page, as a click on a link does."""
        self.run("location.hash = arguments[0]", address)
        self.until(lambda: self.run("return location.hash") == address)
        self.loaded()

    def loaded(self):
        self.until(
            lambda: self.run("return document.querySelector('main[aria-busy=false]') !== null")
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, condition, seconds=SECONDS):
        def held(_):
            try:
                return condition()
            except StaleElementReferenceException:
                return False

        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(held)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.until(lambda: next(iter(self.all(css)), None))

    def text(self, css):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", css)

    def says(self, css, part):
        self.until(lambda: part in self.text(css))

    def click(self, css):
        self.one(css).click()

    def press(self, *keys):
        """Press keys one after the other, wherever the focus is."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def with_shift(self, *keys):
        chain = ActionChains(self.driver).key_down(Keys.SHIFT)
        for key in keys:
            chain = chain.send_keys(key)
        chain.key_up(Keys.SHIFT).perform()

    def saved(self):
        """Wait until nothing waits to be stored."""
        self.until(lambda: self.text("#saved") == "saved" and not self.all(".pending"))

    def states(self, css):
        """The states that elements show, in order of the document."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.dataset.state)"
        return self.run(script, css)

    def fetch(self, path):
        """The answer of the server to a request of the page itself."""
        script = "return fetch(arguments[0]).then((answer) => answer.json())"
        return self.run(script, path)

    def width(self, pixels):
        size = {"width": pixels, "height": 844, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefers(self, scheme):
        """Let the system be light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
