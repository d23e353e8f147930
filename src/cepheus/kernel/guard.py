"""What the checked build compiles before every access: a look at the arrays that are alive.

Compiled code is kept on disk and read by other processes, so it must not know addresses: it finds the arrays, and the
function that looks them up, by symbols that each process defines when it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cepheus.kernel.checked import (
    ANYTHING,
    CHECKED,
    MOST_TABLES,
    FaultCode,
    KernelFaultError,
    Region,
    Watch,
    table_number,
    watch,
)
from cepheus.kernel.compiled import entry_point
from cepheus.kernel.tables import Fields

_WORD = ir.IntType(64)
_WATCH_SYMBOL = "cepheus_watch"
_LOOK_SYMBOL = "cepheus_look_up"
_NOWHERE, _UNALIGNED = FaultCode.NOWHERE, FaultCode.UNALIGNED
_OTHER_TABLE, _BETWEEN_ROWS, _OUTSIDE = FaultCode.OTHER_TABLE, FaultCode.BETWEEN_ROWS, FaultCode.OUTSIDE
_REGION_BYTES = Region.row_bytes()


def _load(_context: Any, _address: Any, _index: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


def _store(_context: Any, _address: Any, _index: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _watch_address(builder: Any) -> Any:
    """The address of what all compiled code finds by a symbol."""
    module = builder.module
    symbol = module.globals.get(_WATCH_SYMBOL)
    if symbol is None:
        symbol = ir.GlobalVariable(module, _WORD, _WATCH_SYMBOL)  # without a value: the process defines it
    return builder.ptrtoint(symbol, _WORD)


def _watched(_context: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        return _watch_address(builder)

    return types.int64(), generate


load = cast(Callable[[int, int], int], intrinsic(_load))
store = cast(Callable[[int, int, int], None], intrinsic(_store))
watched = cast(Callable[[], int], intrinsic(_watched))


def look_up(address: int, index: int, unit: int, width: int, table: int) -> int:
    """What is wrong with an access, 0 for nothing: so many bytes at an index of units from an address.

    ``table`` is the number of the table that the index is a field of, 0 if that is not known.
    """
    watch_at = watched()
    regions = load(watch_at, Watch.REGIONS)
    low, high = 0, load(regions, 0)
    while low < high:
        middle = (low + high) >> 1
        if load(regions + 8 + _REGION_BYTES * middle, Region.BEGIN) <= address:
            low = middle + 1
        else:
            high = middle
    region = regions + 8 + _REGION_BYTES * (low - 1)
    fault = 0
    place = address + unit * index
    if low == 0 or address >= load(region, Region.END):
        fault, region = _NOWHERE, 0
    elif place % width != 0:
        fault = _UNALIGNED
    elif place < load(region, Region.BEGIN) or place + width > load(region, Region.END):
        fault = _OUTSIDE
    elif table != 0 and load(region, Region.TABLES) != ANYTHING:
        offset, row = address - load(region, Region.BEGIN), load(region, Region.ROW_BYTES)
        known = False
        for k in range(MOST_TABLES):
            known = known or load(region, Region.TABLES + k) == table
        if known:
            if row != 0 and offset % row != 0:
                fault = _BETWEEN_ROWS
        elif load(region, Region.NESTED) == table:
            inside = offset % row - load(region, Region.NESTED_OFFSET)
            beyond = offset % row >= load(region, Region.NESTED_END)
            if inside < 0 or beyond or inside % load(region, Region.NESTED_BYTES) != 0:
                fault = _BETWEEN_ROWS
        else:
            fault = _OTHER_TABLE
    if fault != 0:
        store(watch_at, Watch.FAULT, fault)
        store(watch_at, Watch.ADDRESS, address)
        store(watch_at, Watch.INDEX, index)
        store(watch_at, Watch.UNIT, unit)
        store(watch_at, Watch.TABLE, table)
        store(watch_at, Watch.BEGIN, load(region, Region.BEGIN) if region != 0 else 0)
        store(watch_at, Watch.END, load(region, Region.END) if region != 0 else 0)
        store(watch_at, Watch.LABEL, load(region, Region.LABEL) if region != 0 else 0)
    return fault


def index_type(given: Any) -> Any:
    """The type that an index is taken for: where it is checked, the one that names its table has code of its own."""
    return given if CHECKED and _table_of(given) is not None else types.int64


def _table_of(index: Any) -> type[Fields] | None:
    """The table that the type of an index names."""
    table = getattr(index, "instance_class", None)
    return table if isinstance(table, type) and issubclass(table, Fields) else None


def guard(context: Any, builder: Any, access: tuple[Any, Any], kind_of_index: Any, unit: int, width: int) -> None:
    """Write code that raises KernelFaultError unless so many bytes may be accessed at an address and an index."""
    address, index = access
    table = _table_of(kind_of_index)
    number = 0 if table is None else table_number(table)
    kind = ir.FunctionType(_WORD, [_WORD] * 5)
    module = builder.module
    function = module.globals.get(_LOOK_SYMBOL) or ir.Function(module, kind, _LOOK_SYMBOL)
    told = [ir.Constant(_WORD, each) for each in (unit, width, number)]
    fault = builder.call(function, [address, index, *told])
    raise_if(context, builder, fault)


def raise_if(context: Any, builder: Any, fault: Any) -> None:
    """Write code that raises KernelFaultError if a word is not 0."""
    with builder.if_then(builder.icmp_signed("!=", fault, ir.Constant(_WORD, 0)), likely=False):
        context.call_conv.return_user_exc(builder, KernelFaultError, ())


def forget_fault(builder: Any) -> None:
    """Write code that forgets the latest fault, before a function is called whose errors nobody would hear of."""
    builder.store(ir.Constant(_WORD, 0), _fault_pointer(builder))


def raise_fault(context: Any, builder: Any) -> None:
    """Write code that raises KernelFaultError if there was a fault since the last was forgotten."""
    raise_if(context, builder, builder.load(_fault_pointer(builder)))


def _fault_pointer(builder: Any) -> Any:
    place = builder.add(_watch_address(builder), ir.Constant(_WORD, Watch.unit_bytes() * Watch.FAULT))
    return builder.inttoptr(place, _WORD.as_pointer())


if CHECKED:
    llvm.add_symbol(_WATCH_SYMBOL, watch.ctypes.data)
    llvm.add_symbol(_LOOK_SYMBOL, entry_point(look_up).address)
