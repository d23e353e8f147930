"""Devices by way of OpenCL: which there are, one that is chosen, its kernels and buffers. It alone knows pyopencl.

Whatever goes wrong on a device (no memory, a lost context, a kernel that cannot be built) is a ``DeviceError``. Work is
given to a device in order, and nobody waits for it but who reads what it has made.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.extras import require
from cepheus.kernel.instructions import DatePart, Op
from cepheus.kernel.program import (
    MAX_POSITIONS,
    SLOT_ID,
    SLOT_START,
    SLOT_TIME,
    ConstraintField,
    ConstraintKind,
    OutputField,
    PolicyCode,
    StepField,
    StepFlag,
)
from cepheus.kernel.state import OutputHeader
from cepheus.kernel.tables import Fields

DEEPEST = 8
"""So many values an expression may hold at once on a device."""

JUMPING = len(ConstraintKind)
"""The kind of a constraint whose code has jumps: events that it is asked of may take different ways."""

PLACES = MAX_POSITIONS + 2
_NAMED: tuple[type[IntEnum], ...] = (
    DatePart,
    Op,
    ConstraintField,
    ConstraintKind,
    OutputField,
    OutputHeader,
    PolicyCode,
    StepField,
    StepFlag,
)
_PROCESSOR_BLOCK, _PROCESSOR_GROUP = 64, 4
_MANY_THREADS_BLOCK, _MANY_THREADS_GROUP = 1, 64


class DeviceError(Exception):
    """Something went wrong on a device; what it has made so far is not to be believed."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device: its platform and name, what it is, its driver, and why it cannot be used, if so."""

    platform: str
    name: str
    kind: str
    driver: str
    units: int
    memory: int
    refused: str = ""

    @property
    def label(self) -> str:
        """What it is called."""
        return f"{self.name} ({self.platform})"


def devices() -> list[DeviceInfo]:
    """All devices that OpenCL finds, each tried; an OptionError if the package for it is not installed."""
    return [_tried(device) for device in _found()]


def _tried(device: Any) -> DeviceInfo:
    """A device, refused also if its driver cannot compile: one may be too old to know the processor it runs on."""
    info = _info(device)
    if info.refused:
        return info
    cl = _pyopencl()
    try:
        with faults(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cl.Program(cl.Context([device]), "__kernel void nothing(__global int *at) {}").build()
    except DeviceError as fault:
        return replace(info, refused=str(fault))
    return info


_OTHERWISE = "install another driver (on Debian the package pocl-opencl-icd), or choose the engine columns"


def _found() -> list[Any]:
    """The devices of all platforms; none where there is no driver."""
    require("pyopencl", "the device engine")
    cl = _pyopencl()
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:  # without any driver the loader says that it found no platform
        return []


def _pyopencl() -> Any:
    """The package, whose remarks on caches and compilers are not for users of this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyopencl
    logging.getLogger("pyopencl").setLevel(logging.ERROR)
    return pyopencl


def _info(device: Any) -> DeviceInfo:
    cl = _pyopencl()
    kinds = {cl.device_type.CPU: "processor", cl.device_type.GPU: "GPU", cl.device_type.ACCELERATOR: "accelerator"}
    refused = "" if "cl_khr_fp64" in device.extensions.split() else "it has no doubles (cl_khr_fp64)"
    return DeviceInfo(
        platform=device.platform.name.strip(),
        name=device.name.strip(),
        kind=kinds.get(device.type, "device"),
        driver=device.driver_version.strip(),
        units=device.max_compute_units,
        memory=device.global_mem_size,
        refused=refused,
    )


def choose(wanted: str | None) -> Device:
    """The device whose name or platform has these words in it; without any, the first GPU, else the first there is.

    An OptionError if there is none, or it has no doubles.
    """
    found = [(_info(device), device) for device in _found()]
    if not found:
        raise OptionError.of(
            "device",
            "there is no OpenCL device on this machine",
            hint="install a driver, such as PoCL, which runs on the processor: pip install pocl-binary-distribution",
        )
    named = [(info, device) for info, device in found if wanted is None or wanted.lower() in info.label.lower()]
    if not named:
        labels = [info.label for info, _ in found]
        hint = did_you_mean(str(wanted), labels) or f"there are: {', '.join(labels)}"
        raise OptionError.of("device", f"there is no device '{wanted}'", hint=hint)
    usable = [(info, device) for info, device in named if not info.refused]
    if not usable:
        info = named[0][0]
        raise OptionError.of("device", f"the device {info.label} cannot be used: {info.refused}")
    usable.sort(key=lambda each: each[0].kind != "GPU")
    failed = []
    for info, device in usable:
        try:
            return Device(info, device)
        except DeviceError as fault:
            failed.append(f"the device {info.label} cannot be used: {fault}")
    raise OptionError.of("device", "; ".join(failed), hint=_OTHERWISE)


@contextmanager
def faults() -> Iterator[None]:
    """Turn what goes wrong inside into a DeviceError."""
    cl = _pyopencl()
    try:
        yield
    except (cl.Error, MemoryError, RuntimeError) as error:
        lines = str(error).strip().splitlines() or ["no memory"]
        said = next((line for line in lines if line.startswith("error: ")), None)  # the compiler of a driver
        raise DeviceError(lines[0] if said is None else f"its driver cannot compile, {said}") from error


class Device:
    """A device with its queue and kernels; buffers are made by name, used again, and grow."""

    def __init__(self, info: DeviceInfo, device: Any) -> None:
        self.info = info
        many = info.kind != "processor"
        self.block = _MANY_THREADS_BLOCK if many else _PROCESSOR_BLOCK
        self._group = _MANY_THREADS_GROUP if many else _PROCESSOR_GROUP
        self._cl = _pyopencl()
        self._kernels: dict[str, Any] = {}
        self._buffers: dict[str, Any] = {}
        self._kept: list[NDArray[Any]] = []
        with faults(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._context, program = _built(device, self.block)
            self.queue = self._cl.CommandQueue(self._context)
            self._kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}

    def buffer(self, name: str, size: int) -> Any:
        """Room of at least so many bytes under a name; what was there is gone if it had to grow."""
        found = self._buffers.get(name)
        if found is None or found.size < size:
            flags = self._cl.mem_flags.READ_WRITE
            self._buffers[name] = found = self._cl.Buffer(self._context, flags, 1 << max(12, (size - 1).bit_length()))
        return found

    def write(self, name: str, array: NDArray[Any]) -> Any:
        """Copy an array to the buffer of a name without waiting; the array is kept until it is there."""
        array = np.ascontiguousarray(array)
        buffer = self.buffer(name, max(8, array.nbytes))
        if array.nbytes:
            self._cl.enqueue_copy(self.queue, buffer, array, is_blocking=False)
            self._kept.append(array)
        return buffer

    def read(self, buffer: Any, into: NDArray[Any]) -> None:
        """Wait for all that was given to the device and copy a buffer's beginning to an array."""
        self._cl.enqueue_copy(self.queue, into, buffer, is_blocking=True)
        self._kept.clear()

    def run(self, kernel: str, items: int, *arguments: Any) -> None:
        """Run a kernel for so many items, without waiting."""
        if items <= 0:
            return
        rounded = -(-items // self._group) * self._group
        found = self._kernels[kernel]
        found.set_args(*arguments)
        self._cl.enqueue_nd_range_kernel(self.queue, found, (rounded,), (self._group,))


@cache
def _built(device: Any, block: int) -> tuple[Any, Any]:
    """A context of a device, and the kernels built for it, which all engines of a process share."""
    cl = _pyopencl()
    context = cl.Context([device])
    return context, cl.Program(context, _source(block)).build(options=["-cl-std=CL1.2"])


def _source(block: int) -> str:
    """The kernels, after the names of the fields and instructions that they read."""
    lines = [f"#define BLOCK {block}", f"#define DEPTH {DEEPEST}", f"#define JUMPING {JUMPING}"]
    lines += [f"#define POSITIONS {PLACES}"]
    lines += [f"#define SLOT_ID {SLOT_ID}", f"#define SLOT_TIME {SLOT_TIME}", f"#define SLOT_START {SLOT_START}"]
    for table in _NAMED:
        lines += [f"#define {table.__name__}_{each.name} {int(each)}" for each in table]
        width = table.row_words() if issubclass(table, Fields) else 0
        lines += [f"#define {table.__name__}_WIDTH {width}"] * bool(width)
    return "\n".join([*lines, kernel_text()])


def kernel_text() -> str:
    """The kernels as they are written: the expression machine, then the steps of the search."""
    folder = files("cepheus.engine.device")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("machine.cl", "kernels.cl"))


def int32(*numbers: int) -> Sequence[np.int32]:
    """Numbers as kernels take them."""
    return [np.int32(number) for number in numbers]
