"""``cepheus doctor``: is everything here that Cepheus needs?"""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated

import typer

from cepheus import __version__
from cepheus.cli.console import is_coloured
from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install

_REQUIRED = ("google-re2", "lark", "matplotlib", "numba", "numpy", "pyarrow", "rich", "sqlglot", "typer")
_OPTIONAL = {"pandas": "feeding pandas frames", "polars": "feeding Polars frames"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``remedy`` is empty if all is well."""

    name: str
    found: str
    remedy: str = ""
    required: bool = True


def doctor(
    support: Annotated[bool, typer.Option("--support", help="Show what each engine and host runs instead.")] = False,
) -> None:
    """Report what is installed and what is missing; exit with 1 if something required is missing."""
    if support:
        _show_support()
        return
    findings = list(_findings())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{_mark(finding)} {finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            print(f"        {' ' * width}  {finding.remedy}")
    if any(finding.remedy and finding.required for finding in findings):
        raise typer.Exit(1)


def _show_support() -> None:
    """Print the support matrix: yes where an engine or host runs a construct, else what to do instead."""
    from rich.console import Console
    from rich.table import Table

    from cepheus.engine.base.capabilities import (
        CAPABILITIES,
        INTERVAL_CAPABILITIES,
        interval_things,
        rows,
        things,
    )

    for title, of, engines in (
        ("Rules of TESLA", things(), CAPABILITIES),
        ("Interval rules", interval_things(), INTERVAL_CAPABILITIES),
    ):
        table = Table("construct", *(support.name for support in engines), title=title)
        for row in rows(of, engines):
            table.add_row(*row)
        Console(markup=False, highlight=False).print(table)


def _mark(finding: Finding) -> str:
    word = "ok     " if not finding.remedy else "missing"
    if not is_coloured(sys.stdout):
        return word
    colour = "32" if not finding.remedy else "31" if finding.required else "33"
    return f"\x1b[{colour}m{word}\x1b[0m"


def _findings() -> Iterator[Finding]:
    yield Finding("cepheus", __version__)
    version = platform.python_version()
    too_old = sys.version_info < (3, 11)
    yield Finding("python", f"{version} ({sys.executable})", "install Python 3.11 or newer" if too_old else "")
    for name in _REQUIRED:
        yield _package(name, required=True, remedy="install it again: pip install --force-reinstall cepheus-cep")
    for name, use in _OPTIONAL.items():
        yield _package(name, required=False, remedy=f"needed only for {use}: pip install {name}")
    yield from _engines()
    yield from _spark()
    yield from _uncertainty()
    yield from _network()
    yield from _devices()
    yield _cache()
    yield Finding("cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()))
    yield Finding("memory", _memory())


def _package(name: str, *, required: bool, remedy: str) -> Finding:
    try:
        return Finding(name, metadata.version(name), required=required)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", remedy, required)


def _engines() -> Iterator[Finding]:
    from cepheus.engine.assembly.registry import interval_names, names

    yield Finding("engines", f"{', '.join(names())} (TESLA), {', '.join(interval_names())} (ETALIS)")


def _spark() -> Iterator[Finding]:
    """Look whether Spark can run here, and on which Java."""
    from cepheus.runtime.spark.session import OLDEST, find_java

    yield _package("pyspark", required=False, remedy=f"needed only for Spark: {how_to_install('spark')}")
    try:
        java = find_java()
    except OptionError as error:
        yield Finding("java", error.diagnostics[0].message, str(error.diagnostics[0].hint), required=False)
        return
    if java is None:
        remedy = f"Spark needs Java {OLDEST} or newer: install one, or {how_to_install('java')}"
        yield Finding("java", "not found", remedy, required=False)
    else:
        yield Finding("java", f"{java.version} ({java.origin})")


def _uncertainty() -> Iterator[Finding]:
    """Look for what only a few uses of uncertainty need."""
    install = how_to_install("uncertainty")
    yield _package("scipy", required=False, remedy=f"needed only for distributions and integrals of SciPy: {install}")
    yield _package("pyagrum", required=False, remedy=f"needed only for networks in BIF files: {install}")


def _network() -> Iterator[Finding]:
    """Look for what networks of processors need."""
    install = how_to_install("network")
    yield _package("grpcio", required=False, remedy=f"needed only for networks of processors: {install}")
    yield _package("networkx", required=False, remedy=f"needed only to simulate random networks: {install}")
    yield _package("prometheus-client", required=False, remedy=f"needed only for metrics of nodes: {install}")


def _devices() -> Iterator[Finding]:
    """List the devices that OpenCL finds, and what engines know of them."""
    install = how_to_install("device")
    package = _package("pyopencl", required=False, remedy=f"needed only for the engine device: {install}")
    yield package
    if package.remedy:
        return
    from cepheus.engine.device.crossover import kept
    from cepheus.engine.device.opencl import devices

    found = devices()
    if not found:
        yield Finding("device", "none", f"needed only for the engine device: a driver, or {install}", required=False)
    for device in found:
        told = f"{device.label}: {device.kind}, {device.units} units, {device.memory / 2**30:.1f} GiB"
        if device.refused:
            yield Finding("device", f"{told}: {device.refused}", "choose another device", required=False)
            continue
        known = kept(device)
        yield Finding("device", told + ("" if known is None else f"; it pays {known.told()}"))


def _cache() -> Finding:
    """Find where compiled kernels are kept between runs."""
    from cepheus.kernel.cache import kernel_store

    remedy = "every run will compile anew; set CEPHEUS_CACHE_DIR to a folder you own"
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            store = kernel_store()
    except OptionError as error:
        found = error.diagnostics[0]
        return Finding("kernel cache", f"{found.place}: {found.message}", f"every run will fail; {found.hint}")
    if store is None:
        return Finding("kernel cache", str(told[0].message) if told else "none", remedy, required=False)
    if not os.access(store.folder, os.W_OK):
        return Finding("kernel cache", f"{store.folder} cannot be written", remedy, required=False)
    return Finding("kernel cache", f"{store.folder}{'' if store.key is None else ' (signed)'}")


def _memory() -> str:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return "not known on this system"
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
