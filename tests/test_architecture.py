"""The source stays easy to read: few files, short walks, private attributes that stay private."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tagloom

SOURCE = Path(tagloom.__file__).parent
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
# Public in spite of their names: methods of named tuples, the value of an enum, os._exit.
PUBLIC = {"_asdict", "_fields", "_replace", "_value_", "_exit"}


@pytest.mark.parametrize("file", FILES)
def test_private_names_are_used_where_they_are_defined(file):
    tree = _parsed(SOURCE / file)
    # Learners and solvers may use the hooks of the base class that their package defines.
    base = SOURCE / file.rpartition("/")[0] / "base.py"
    own = _defined(tree) | (_defined(_parsed(base)) if "/" in file and base.exists() else set())
    foreign = [f"line {line}: {name}" for line, name in _private_uses(tree) if name not in own]
    assert foreign == []


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("known._store", ["_store"]),
        ("self.tagger._graph", ["_graph"]),
        ("local._pca = None", ["_pca"]),
        ("make()._rows[0]", ["_rows"]),
        ("from tagloom.labels.parsing import _checked", ["_checked"]),
        ("getattr(known, '_store')", ["_store"]),
        ("self._x + cls._y + super()._z", []),
        ("row._replace(a=1), table.__len__(), known.store", []),
    ],
)
def test_private_uses_are_found(code, uses):
    assert [name for _, name in _private_uses(ast.parse(code))] == uses


def test_definitions_are_found():
    code = "class A:\n    _a: int\n    _b = 1\n    def _c(self):\n        self._d = x._e"
    assert {"_a", "_b", "_c", "_d"} <= _defined(ast.parse(code))
    assert "_e" not in _defined(ast.parse(code))


def _private_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each private attribute of another object and of each import."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Attribute) and not _is_own(node.value):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"getattr", "setattr"}:
            owner, name, *_ = node.args
            if isinstance(name, ast.Constant) and not _is_own(owner):
                names = [name.value]
        yield from ((node.lineno, name) for name in names if _is_private(name))


def _is_own(owner: ast.expr) -> bool:
    return ast.unparse(owner) in {"self", "cls", "super()"}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def _defined(tree: ast.AST) -> set[str]:
    """Return the names that a file defines: functions, classes, fields and attributes of self."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if _is_own(node.value) else set()
    return names


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_a_reader_opens_few_files():
    n_files = sum(1 for _ in SOURCE.rglob("*.py"))
    assert n_files <= 212
    in_folders = {folder: len(list(folder.glob("*.py"))) for folder in SOURCE.glob("**/")}
    assert max(in_folders.values()) <= 18


def test_the_walk_through_a_fit_is_short(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
    walks = importlib.import_module("walks")
    entered = walks.fit().entries
    assert entered["models/apg_graph.py"]
    assert len(entered) <= walks.LIMITS["APGGraph.fit"]
