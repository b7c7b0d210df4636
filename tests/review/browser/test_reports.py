"""The reports of a run and of a benchmark on a phone: nothing is cut off."""

import time

import pytest

CUT = """
    return [document.documentElement, ...document.querySelectorAll('.wide, td, th')]
      .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
      .map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`)
"""


@pytest.fixture
def phone(driver):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield driver
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(
    "part", ["pictures", "tags", "errors", "annotate", "reliability", "words", "excluded"]
)
def test_the_report_of_a_run(phone, run_folder, part):
    phone.get("about:blank")
    phone.get(f"{(run_folder / 'out' / 'report.html').as_uri()}#{part}")
    assert phone.execute_script("return document.getElementById(arguments[0]) !== null", part)
    assert phone.execute_script(CUT) == []


def test_the_report_of_a_benchmark(phone, tmp_path):
    pd = pytest.importorskip("pandas")
    from tagloom.benchmark.report import write_report

    rows = [
        {
            "dataset": "photographs", "protocol": "per-class", "method": method, "rate": rate,
            "seed": seed, "map": 0.3 + rate + seed / 100, "parameters": '{"ridge": 0.365770123456}',
        }
        for method in ("maxide", "fasttag", "semantic-diffusion")
        for rate in (0.1, 0.2, 0.3, 0.4, 0.5)
        for seed in (0, 1, 2)
    ]  # fmt: skip
    write_report(tmp_path / "report.html", pd.DataFrame(rows), None, None, {})
    phone.get((tmp_path / "report.html").as_uri())
    phone.execute_script("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    time.sleep(0.1)
    assert "Semantic diffusion" in phone.find_element("tag name", "body").text
    assert phone.execute_script(CUT) == []
