"""How fast the review page is, measured in a real browser.

    python benchmarks/review_browser.py OUT          the run in a folder, by `tagloom review`
    python benchmarks/review_browser.py --fake 5000  made-up pictures, by the server of the tests

All times are taken inside the page, in milliseconds: from the start of the navigation or the key
to what is seen. "Accepted" ends when the server has acknowledged that the decision is stored.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "review" / "browser"))

import processes

PAINT = """
const done = arguments[arguments.length - 1];
new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint")[0];
  if (found) done(found.startTime);
}).observe({ type: "paint", buffered: true });
"""
# From now (a change of address) or from the start of the navigation to the first thumbnails.
SHOWN = """
const [address, css, done] = arguments;
const start = address ? performance.now() : 0;
if (address) location.hash = address;
const look = () => {
  const seen = [...document.querySelectorAll(css)].slice(0, 12);
  if (seen.length === 12 && seen.every((image) => image.complete && image.naturalWidth)) {
    done(performance.now() - start);
  } else requestAnimationFrame(look);
};
look();
"""
# Frames while the list is scrolled by a third of a screen each.
SCROLLED = """
const done = arguments[arguments.length - 1];
const frames = [];
let last = performance.now();
const step = (now) => {
  frames.push(now - last);
  last = now;
  if (frames.length > 150) {
    done([frames.slice(1), document.querySelectorAll(".picture-card").length]);
    return;
  }
  scrollBy(0, innerHeight / 3);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""
ACCEPTED = """
const done = arguments[arguments.length - 1];
const card = document.querySelector('.wall-card[tabindex="0"]');
card.focus();
const start = performance.now();
const look = () => {
  if (card.dataset.state === "yes" && !card.classList.contains("pending")) {
    watch.disconnect();
    done(performance.now() - start);
  }
};
const watch = new MutationObserver(look);
watch.observe(card, { attributes: true });
document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
"""


def measured(driver, server, repeats: int) -> dict[str, list[float]]:
    driver.set_script_timeout(60)
    driver.get(server.url)
    times: dict[str, list[float]] = {"first paint": [], "first pictures": [], "tag wall": []}
    tag = driver.execute_async_script(
        "fetch('/api/tags?sort=open').then((a) => a.json()).then(arguments[0])"
    )["rows"][0]["t"]
    for _ in range(repeats):
        driver.get(server.origin + "/#/pictures")
        driver.refresh()
        times["first paint"].append(driver.execute_async_script(PAINT))
        shown = driver.execute_async_script(SHOWN, "", ".picture-card img")
        times["first pictures"].append(shown)
        wall = driver.execute_async_script(SHOWN, f"#/tag/{tag}", ".wall-card img")
        times["tag wall"].append(wall)
    driver.get(server.origin + "/#/pictures")
    driver.refresh()
    driver.execute_async_script(SHOWN, "", ".picture-card img")
    times["scroll frame"], cards = driver.execute_async_script(SCROLLED)
    print(f"cards in the document after scrolling: {cards}")
    driver.execute_async_script(SHOWN, f"#/tag/{tag}", ".wall-card img")
    times["accept stored"] = [driver.execute_async_script(ACCEPTED) for _ in range(50)]
    return times


def printed(times: dict[str, list[float]]) -> None:
    print(f"{'ms':16}{'median':>8}{'worst':>8}{'times':>7}")
    for name, values in times.items():
        print(f"{name:16}{statistics.median(values):8.0f}{max(values):8.0f}{len(values):7}")


def main(arguments: Sequence[str] | None = None) -> None:
    wanted = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted.add_argument("out", nargs="?", help="folder of a run; its review is written to")
    wanted.add_argument("--fake", type=int, default=5000, help="how many made-up pictures")
    wanted.add_argument("--repeats", type=int, default=7)
    options = wanted.parse_args(arguments)
    if processes.missing():
        sys.exit(f"Cannot measure: {processes.missing()}.")
    start = (
        processes.real_server(options.out) if options.out else processes.fake_server(options.fake)
    )
    with start as server:
        driver = processes.start_browser(width=1400)
        try:
            printed(measured(driver, server, options.repeats))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
