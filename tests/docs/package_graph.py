"""The packages of the source tree and what they import, read from the import statements themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from blocks import ROOT

Graph = Mapping[str, frozenset[str]]
"""For every package those that it imports."""

SOURCE = ROOT / "src" / "cepheus"

TAKEN_APART = ("engine", "language", "plan", "runtime")
"""The layers whose packages are shown one by one."""

SHARED = "(shared)"
"""What the picture calls the modules of such a layer that are in none of its packages."""

_FRONT = {"__init__": "api", "error_columns": "api", "network": "api", "spark": "api", "__main__": "cli"}
"""Modules at the root of the tree that only hand on what is below, and the package they belong to in the picture."""


@cache
def package_graph() -> Graph:
    """Return the graph of packages: ``rules``, ``engine/columns``; some layers are taken apart (``TAKEN_APART``).

    Imports inside functions count, and so do modules that are named in a text and imported when they are asked for.
    """
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        importer = _package(parts)
        if importer is None:
            continue
        imported = found.setdefault(importer, set())
        imported |= {
            package
            for name in _imported(ast.parse(path.read_text(encoding="utf-8")))
            if (package := _package(name)) is not None and package != importer
        }
    return {package: frozenset(found[package]) for package in sorted(found)}


def reduced(graph: Graph) -> Graph:
    """Leave out imports that a way over other packages implies, so that what is left can be drawn.

    >>> {name: sorted(below) for name, below in reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}).items()}
    {'a': ['b'], 'b': ['c'], 'c': []}
    """
    below: dict[str, frozenset[str]] = {}

    def all_below(package: str) -> frozenset[str]:
        if package not in below:
            below[package] = frozenset()  # a cycle ends here; the linter refuses it
            below[package] = frozenset(graph[package]).union(*map(all_below, graph[package]))
        return below[package]

    return {
        package: frozenset(one for one in direct if not any(one in all_below(other) for other in direct - {one}))
        for package, direct in graph.items()
    }


def levels(graph: Graph) -> dict[str, int]:
    """Say of every package how many stand below it on the longest way down.

    >>> levels({"a": {"b", "c"}, "b": {"c"}, "c": set()})
    {'a': 2, 'b': 1, 'c': 0}
    """
    found: dict[str, int] = {}

    def level(package: str) -> int:
        if package not in found:
            found[package] = 0  # a cycle ends here; the linter refuses it
            found[package] = max((level(other) + 1 for other in graph[package]), default=0)
        return found[package]

    return {package: level(package) for package in graph}


def top_of(package: str) -> str:
    """The layer that a package belongs to: ``engine`` of ``engine/columns``."""
    return package.split("/", maxsplit=1)[0]


def _package(parts: tuple[str, ...]) -> str | None:
    """The package of a module, as the picture names it; None for the front of a layer that is taken apart."""
    top = parts[0] if parts else "__init__"
    if top in _FRONT:
        return _FRONT[top]
    if top not in TAKEN_APART:
        return top
    inner = parts[1] if len(parts) > 1 else "__init__"
    if inner == "__init__":
        return None
    return f"{top}/{inner}" if (SOURCE / top / inner).is_dir() else f"{top}/{SHARED}"


def _imported(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """The modules of this project that a module imports, as parts of their names below ``cepheus``."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if _is_ours(module):
                parts = tuple(module.split("."))[1:]
                for name in names:
                    inner = (*parts, name.name)
                    yield inner if _exists(inner) else parts
            case ast.Import(names=names):
                yield from (tuple(name.name.split("."))[1:] for name in names if _is_ours(name.name))
            case ast.Constant(value=str(text)) if text.startswith("cepheus.") and text.replace(".", "").isidentifier():
                parts = tuple(text.split("."))[1:]
                if len(parts) > 1 and _exists(parts):
                    yield parts
            case _:
                pass


def _is_ours(module: str) -> bool:
    return module == "cepheus" or module.startswith("cepheus.")


def _exists(parts: tuple[str, ...]) -> bool:
    place = SOURCE.joinpath(*parts)
    return place.is_dir() or place.with_suffix(".py").exists()
