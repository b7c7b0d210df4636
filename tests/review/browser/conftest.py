"""One browser and one server for all browser tests."""

import csv
import shutil
import sys
from pathlib import Path

import pytest

# The helpers are modules of their own, as the made-up server is also a program.
sys.path.insert(0, str(Path(__file__).parent))

import processes
from queries import HOSTILE_IMAGE, HOSTILE_TAG, is_real


@pytest.fixture(scope="session")
def driver():
    if processes.missing():
        pytest.skip(f"cannot look at the page: {processes.missing()}")
    driver = processes.start_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A run on a few scenes of which half the tags are known; names are as bad as they can be."""
    from diffusing import diffusing_search

    from tagloom.completion.inputs import Options
    from tagloom.completion.pipeline import complete
    from tagloom.datasets.scenes import write_scenes

    home = tmp_path_factory.mktemp("browsed")
    scenes = write_scenes(home / "scenes", 40)
    (home / "photos").mkdir()
    known = [("image", "tag")]
    with (scenes / "labels.csv").open(newline="") as stream:
        for number, row in enumerate(csv.DictReader(stream)):
            file = next(iter(row.values()))
            name = HOSTILE_IMAGE if number == 0 else Path(file).name
            shutil.copy(scenes / file, home / "photos" / name)
            given = [tag for tag, state in row.items() if state == "1"]
            known += [(name, tag) for place, tag in enumerate(given) if (place + number) % 2]
            if number % 5 == 0:
                known.append((name, HOSTILE_TAG))
    with (home / "tags.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(known)
    tags = [home / "tags.csv"]
    options = Options(max_minutes=0, label_frequency=0.3)
    with diffusing_search():
        complete(home / "photos", tags, home / "out", options, cache=home / "cache")
    return home


@pytest.fixture(scope="session")
def server(request):
    if is_real():
        out = request.getfixturevalue("run_folder") / "out"
        with processes.real_server(out) as server:
            yield server
    else:
        with processes.fake_server() as server:
            yield server


@pytest.fixture
def page(driver, server):
    """The page as after opening it, with nothing left undone by the test before."""
    from page_object import Page

    page = Page(driver, server)
    page.enter()
    yield page
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.run("localStorage.clear()")
