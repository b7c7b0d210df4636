"""What a release says of itself agrees everywhere."""

import re
import tomllib
from pathlib import Path

import tagloom

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    changes = re.search(
        r"^## \[(\d[^\]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert tagloom.__version__ == PROJECT["project"]["version"] == changes[1]
    assert f"\nversion: {tagloom.__version__}\ndate-released: {changes[2]}\n" in citation


def test_the_optional_packages_that_the_documentation_names_exist():
    extras = set(PROJECT["project"]["optional-dependencies"])
    for page in [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("[a-z]*.md"),
        ROOT / "examples" / "README.rst",
    ]:
        for named in re.findall(r"tagloom\[([a-z0-9,]+)\]", page.read_text("utf-8")):
            assert set(named.split(",")) <= extras, page
    needed = re.findall(r"tagloom\[(\w+)\]", str(PROJECT["project"]["optional-dependencies"]))
    assert set(needed) <= extras


def test_lower_bounds_are_given_once():
    """A group of developers asks for no older version of a package than the users' lists do."""
    bounds = {}
    lists = [
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
    ]
    for one in (*lists, *PROJECT["dependency-groups"].values()):
        for wanted in one:
            name, _, least = wanted.partition(">=")
            if least:
                assert bounds.setdefault(name, least) == least, name
