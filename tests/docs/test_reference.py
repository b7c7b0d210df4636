"""Every public object is documented, and listed in the reference."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import tagloom

REFERENCE = Path(__file__).parents[2] / "docs" / "api"
PACKAGES = [
    name
    for _, name, _ in pkgutil.iter_modules(tagloom.__path__)
    if hasattr(importlib.import_module(f"tagloom.{name}"), "__all__") and name != "cli"
]


def listed_names():
    """Return what the pages of the reference list, with the names of their packages."""
    names = set()
    for page in REFERENCE.glob("*.rst"):
        text = page.read_text("utf-8")
        for module, part in re.findall(r"currentmodule:: (\S+)(.*)", text, flags=re.DOTALL):
            entries = re.findall(r"^   ([\w.]+)$|^\.\. data:: ([\w.]+)$", part, flags=re.MULTILINE)
            names |= {f"{module}.{one or other}" for one, other in entries}
    return names


LISTED = sorted(listed_names())


@pytest.mark.parametrize("package", PACKAGES)
def test_all_public_names_are_listed(package):
    public = importlib.import_module(f"tagloom.{package}").__all__
    home = {name for name in public if not _comes_from_elsewhere(package, name)}
    assert {f"tagloom.{package}.{name}" for name in home} - set(LISTED) == set()


def test_top_level_names_are_listed():
    names = {name for name in tagloom.__all__ if not name.startswith("_")}
    assert names - {name.rpartition(".")[2] for name in LISTED} == set()


@pytest.mark.parametrize("name", LISTED)
def test_listed_names_exist_and_say_what_they_are(name):
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)
        undocumented = [
            member
            for member, method in vars(value).items()
            if inspect.isclass(value)
            and not member.startswith("_")
            and inspect.isfunction(method)
            and not inspect.getdoc(getattr(value, member))
        ]
        assert undocumented == []


def _comes_from_elsewhere(package, name):
    """Whether a package repeats a name that another one documents."""
    value = getattr(importlib.import_module(f"tagloom.{package}"), name)
    return getattr(value, "__module__", f"tagloom.{package}").split(".")[1] != package
