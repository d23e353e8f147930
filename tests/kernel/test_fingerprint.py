"""What a kernel is found by: all that it can see, and nothing else."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from numba.core.ccallback import CFunc
from numba.core.registry import CPUDispatcher

import cepheus
from cepheus.engine.goals import memory
from cepheus.kernel.compiled import KernelCache, compiled, entry_point, seen_by
from cepheus.kernel.fingerprint import OWN, Sources
from cepheus.kernel.parts import with_parts

PACKAGE = Path(cepheus.__file__).parent
KERNELS = (
    "formats.short_texts",
    "engine.columns.kernel",
    "engine.automata.kernel",
    "engine.uncertain.kernel",
    "engine.parallel.dealer",
    "engine.goals.kernel",
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("scratch") / "cepheus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def key(folder: Path, module: str) -> str:
    return Sources("cepheus", str(folder)).key([f"cepheus.{module}"])


@pytest.mark.parametrize(
    ("kernel", "file", "before", "after"),
    [
        pytest.param(
            "engine.uncertain.kernel", "core/distribution_column.py", "NORMAL = 1", "NORMAL = 7", id="enum value"
        ),
        pytest.param("engine.columns.kernel", "kernel/program.py", "MAX_KEYS = ", "MAX_KEYS = 1 + ", id="constant"),
        pytest.param("engine.automata.kernel", "kernel/lanes.py", "return ", "return  ", id="helper"),
        pytest.param("engine.goals.kernel", "kernel/sums.py", "LIMBS = ", "LIMBS = 1 * ", id="borrowed"),
        pytest.param("engine.uncertain.kernel", "uncertainty/closed_forms.py", "0.5", "0.25", id="plain function"),
        pytest.param("formats.short_texts", "kernel/compiled.py", '"nogil": True', '"nogil": False', id="compiling"),
    ],
)
def test_a_change_to_what_a_kernel_sees_is_another_key(
    scratch: Path, kernel: str, file: str, before: str, after: str
) -> None:
    same = key(PACKAGE, kernel)
    assert key(scratch, kernel) == same
    path = scratch / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    try:
        assert key(scratch, kernel) != same
    finally:
        path.write_text(text, encoding="utf-8")
    assert key(scratch, kernel) == same


def test_what_a_kernel_does_not_see_makes_no_difference(scratch: Path) -> None:
    path = scratch / "cli" / "doctor.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\nMORE = 1\n", encoding="utf-8")
    try:
        assert [key(scratch, kernel) for kernel in KERNELS] == [key(PACKAGE, kernel) for kernel in KERNELS]
    finally:
        path.write_text(text, encoding="utf-8")


def modules() -> list[str]:
    return [found.name for found in pkgutil.walk_packages([str(PACKAGE)], "cepheus.")]


def imported(module: str) -> set[str]:
    """Give the modules of the package that a module imports, as Python's own parser finds them."""
    source = OWN.source(module)
    assert source is not None
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relative to itself"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if OWN.source(name) is not None}


def test_all_imports_are_seen() -> None:
    every = modules()
    assert len(every) > 400
    for module in every:
        assert imported(module) <= set(OWN.imports(module)), module


def kernels() -> Iterator[tuple[ModuleType, str, Any]]:
    """Give every compiled function of the package: those that modules hold, and those behind the seams."""
    for name in modules():
        source = OWN.source(name)
        assert source is not None
        if b"cepheus.kernel.compiled import" in source.text or b"with_parts(" in source.text:
            module = importlib.import_module(name)
            for attribute, value in vars(module).items():
                values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
                yield from ((module, attribute, each) for each in values if isinstance(each, CPUDispatcher | CFunc))
    for function in memory._SEAMS.values():
        yield memory, function.__name__, entry_point(function)


def names_in(code: CodeType) -> set[str]:
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(names_in, nested))


def test_the_key_covers_all_that_each_compiled_function_sees() -> None:
    checked = 0
    for _, attribute, kernel in kernels():
        kept = kernel._cache
        assert isinstance(kept, KernelCache), f"{attribute} is kept by Numba, not by us"
        function = getattr(kernel, "py_func", None) or kernel._pyfunc
        assert function.__module__ in kept.modules, attribute
        surroundings = function.__globals__
        own = OWN.source(function.__module__)
        assert own is not None
        origins = {
            alias.asname or alias.name: str(node.module)
            for node in ast.walk(ast.parse(own.text))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for name in names_in(function.__code__) & surroundings.keys():
            value = surroundings[name]
            written_in = {origins.get(name, ""), *seen_by(value)[0]} if callable(value) else {origins.get(name, "")}
            for module in written_in:
                assert not module.startswith("cepheus.") or module in kept.modules, f"{attribute} sees {module}"
        checked += 1
    assert checked > 300


def _step(x: int) -> int:
    return x


def _other_step(x: int) -> int:
    return x + 1


def test_parts_are_seen() -> None:
    from cepheus.engine.columns import kernel
    from cepheus.kernel import loop

    made = with_parts(loop._run, process=kernel.run, NOTHING=3)
    other = with_parts(loop._run, process=kernel.run, NOTHING=4)
    parts = ("kernel.loop", "kernel.process", "kernel.search", "engine.columns.kernel")
    assert seen_by(made)[0] >= {f"cepheus.{part}" for part in parts}
    assert KernelCache(made).key != KernelCache(other).key


def test_parts_of_one_module_are_told_apart() -> None:
    from cepheus.kernel import loop

    made, other = with_parts(loop._run, process=_step), with_parts(loop._run, process=_other_step)
    assert made.__qualname__ != other.__qualname__
    assert KernelCache(made).key != KernelCache(other).key


def test_enumerations_of_the_same_name_are_told_apart() -> None:
    from numba import types
    from numba.core.registry import cpu_target

    from cepheus.kernel.memory import At, table
    from cepheus.plan.interval.layout import At as OtherAt

    kept: KernelCache = table._cache  # type: ignore[attr-defined]
    one, other = ((types.int64, types.IntEnumMember(each, types.int64), types.int64) for each in (At, OtherAt))
    assert str(one) == str(other)
    codegen = cpu_target.target_context.codegen()
    assert kept._name(one, codegen) != kept._name(other, codegen)


def test_what_is_written_elsewhere_is_not_kept() -> None:
    assert compiled(_step)._cache.cache_path is None  # type: ignore[attr-defined]


def test_a_source_that_is_younger_than_the_process_is_not_what_it_runs(scratch: Path) -> None:
    assert not OWN.is_replaced(["cepheus.engine.columns.kernel"])
    assert Sources("cepheus", str(scratch)).is_replaced(["cepheus.engine.columns.kernel"])


def test_a_package_in_an_archive_has_the_same_key(scratch: Path, tmp_path: Path) -> None:
    import zipimport

    archive = shutil.make_archive(str(tmp_path / "cepheus"), "zip", scratch.parent, "cepheus")
    read = zipimport.zipimporter(archive).get_data
    packed = Sources("cepheus", f"{archive}/cepheus", read)
    assert packed.key([f"cepheus.{KERNELS[1]}"]) == key(PACKAGE, KERNELS[1])
