"""Build a release and try it: `make dist` and `make release-check`.

    python tools/release.py build     wheel and sdist in dist/, checked
    python tools/release.py newest    the wheel in a clean environment, with the newest dependencies
    python tools/release.py oldest    the same with the oldest that pyproject.toml allows
    python tools/release.py all       all of them

Seconds and megabytes are printed as they are measured; docs/stability.md quotes them.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# Tests of the installed package, without those that start a browser or a cluster.
TESTS = ["labels", "models", "test_metrics.py", "persistence", "calibration", "tagger"]
EXTRAS = "vision,pandas,review"


def main() -> None:
    """Do the steps that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["build", "newest", "oldest", "all"])
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environments")
    given = parser.parse_args()
    if given.step in ("build", "all"):
        build()
    with tempfile.TemporaryDirectory(prefix="tagloom-release-") as folder:
        if given.step in ("newest", "all"):
            try_newest(Path(folder) / "newest", given.python)
        if given.step in ("oldest", "all"):
            try_oldest(Path(folder) / "oldest", given.python)


def build() -> None:
    """Build wheel and sdist, and check both."""
    shutil.rmtree(DIST, ignore_errors=True)
    run("build", sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    files = sorted(DIST.iterdir())
    run("twine", sys.executable, "-m", "twine", "check", "--strict", *files)
    run("check-wheel-contents", sys.executable, "-m", "check_wheel_contents", wheel())
    for path in files:
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def try_newest(folder: Path, python: str) -> None:
    """Install the wheel alone, then with the extras for photographs, and use it."""
    environment = new_environment(folder, python)
    install(environment, str(wheel()))
    print(f"  {megabytes(folder):.0f} MB with what it needs, nothing else")
    use = "import tagloom; tagloom.SemanticDiffusion"
    run("first import, which compiles", environment, "-c", use)
    run("import", environment, "-c", use)
    run("tagloom --help", folder / "bin" / "tagloom", "--help")
    install(environment, f"{wheel()}[{EXTRAS}]")
    print(f"  {megabytes(folder):.0f} MB with [{EXTRAS}]")
    out = folder / "demo"
    run("tagloom demo", folder / "bin" / "tagloom", "demo", "--pictures", "200", "--out", out)
    install(environment, f"{wheel()}[{EXTRAS},fast,figures,dask]", "--group", "test")
    run_tests(environment)


def try_oldest(folder: Path, python: str) -> None:
    """Install the wheel with the oldest direct dependencies, and run tests."""
    environment = new_environment(folder, python)
    wanted = [f"{wheel()}[{EXTRAS},fast,figures,dask]", "--group", "test"]
    install(environment, *wanted, "--resolution", "lowest-direct")
    run_tests(environment)


def new_environment(folder: Path, python: str) -> Path:
    """Return the interpreter of a new, empty environment."""
    run("venv", *UV, "venv", "--quiet", "--python", python, folder)
    return folder / "bin" / "python"


def install(environment: Path, *what: str) -> None:
    """Install into an environment."""
    run(
        f"install {what[0].rpartition('/')[2]}",
        *UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        environment,
        *what,
    )


def run_tests(environment: Path) -> None:
    """Run tests of the installed package: the source is not on the path."""
    where = run_silently(environment, "-c", "import tagloom; print(tagloom.__file__)")
    if ROOT in Path(where).parents:
        sys.exit(f"Expected the installed package, found {where}.")
    tests = [str(ROOT / "tests" / name) for name in TESTS]
    run("tests", environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", *tests)


UV = (sys.executable, "-m", "uv")


def run(title: str, *command: object) -> None:
    """Run a step, print how long it took, and stop the program if it fails."""
    start = time.perf_counter()
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    print(f"{title}: {time.perf_counter() - start:.1f} s", flush=True)
    if done.returncode:
        sys.exit(f"{title} failed.\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    if title == "tests":
        print(f"  {done.stdout.strip().splitlines()[-1]}")


def run_silently(*command: object) -> str:
    """Return what a command prints."""
    return subprocess.check_output([str(part) for part in command], cwd="/", text=True).strip()


def wheel() -> Path:
    """Return the wheel that was built."""
    found = sorted(DIST.glob("*.whl"))
    if not found:
        sys.exit(f"There is no wheel in {DIST}. Run `python tools/release.py build` first.")
    return found[-1]


def megabytes(folder: Path) -> float:
    """Return the size of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
