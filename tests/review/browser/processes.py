"""Starting and stopping a browser and a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
SRC = HERE.parents[2] / "src"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
DRIVERS = ("chromedriver", "chromium.chromedriver")


def found(names):
    return next((path for path in map(shutil.which, names) if path), None)


def missing():
    """What is not installed, in words; None if all is there."""
    if find_spec("selenium") is None:
        return "selenium is not installed (it is in the dependency group `test`)"
    if found(BROWSERS) is None:
        return "no Chromium or Chrome is installed"
    if found(DRIVERS) is None:
        return "no chromedriver is installed (Debian's package is chromium-driver)"
    return None


def start_browser(*, width=1280, height=900):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found(BROWSERS)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--force-prefers-reduced-motion",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # The driver is named, so that selenium does not look for one elsewhere.
    return webdriver.Chrome(options=options, service=Service(found(DRIVERS)))


class Server:
    """A server in a process of its own, which can be killed and started again at its port."""

    def __init__(self, command, *, again):
        self._again = again
        self.process = _started(command)
        self.url = _link(self.process.stdout.readline())
        self.origin = self.url.split("?")[0].rstrip("/")
        self.port = int(self.origin.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def start_again(self):
        """Start at the old port; the link is a new one, as the token is."""
        self.process = _started(self._again(self.port))
        self.url = _link(self.process.stdout.readline())


def _started(command):
    paths = [str(SRC), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings)


def _link(line):
    return json.loads(line)["url"] if line.startswith("{") else line.strip()


@contextmanager
def ended(server):
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def real_server(out):
    """`tagloom review` on the folder of a run."""

    def command(port=0):
        program = "from tagloom.cli import main; main()"
        arguments = ["review", str(out), "--no-open", "--json", "--port", str(port)]
        return [sys.executable, "-c", program, *arguments]

    return ended(Server(command(), again=command))


def fake_server(pictures=300, scenes=12):
    """Made-up data: for what the page does by itself, and for large collections."""

    def command(port=0):
        arguments = ["--pictures", str(pictures), "--scenes", str(scenes), "--port", str(port)]
        return [sys.executable, str(HERE / "fake_server.py"), *arguments]

    return ended(Server(command(), again=command))
