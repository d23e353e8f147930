"""Integers of compiled functions that are those of Python as long as 64 bits hold them, and an error where they do not.

Numba computes with 64 bits and lets what is too large begin again from the other end. Functions that programs hand in
are compiled so that every operation that could do this looks first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable
from typing import Any

from numba import types
from numba.core import ir, ir_utils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaError
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import overload

_IR: Any = ir
_Utilities: Any = ir_utils
_Pass: Any = FunctionPass
_Passes: Any = DefaultPassBuilder
_pass: Any = register_pass

_MOST, _LEAST = 2**63 - 1, -(2**63)
_FIRST_TOO_LARGE, _SURELY_TOO_LARGE, _SURELY_NOT = 2.0**63, 9.3e18, 9.2e18


def _are_integers(*kinds: Any) -> bool:
    return all(isinstance(kind, types.Integer | types.Boolean | types.IntegerLiteral) for kind in kinds)


def _may_be_beyond(kind: Any) -> bool:
    """Whether an integer of a type may be above the greatest of 64 bits with a sign, as such a literal is."""
    return bool(getattr(kind, "literal_type", kind) == types.uint64)


def signed(a: Any) -> Any:
    """``a``, an integer, in 64 bits with a sign."""


def add(a: Any, b: Any) -> Any:
    """``a + b``."""


def subtract(a: Any, b: Any) -> Any:
    """``a - b``."""


def multiply(a: Any, b: Any) -> Any:
    """``a * b``."""


def divide(a: Any, b: Any) -> Any:
    """``a // b``."""


def remainder(a: Any, b: Any) -> Any:
    """``a % b``."""


def raise_to(a: Any, b: Any) -> Any:
    """``a ** b``: of integers, to a power that is not negative."""


def shift(a: Any, b: Any) -> Any:
    """``a << b``."""


def shift_back(a: Any, b: Any) -> Any:
    """``a >> b``."""


def both_bits(a: Any, b: Any) -> Any:
    """``a & b``."""


def either_bits(a: Any, b: Any) -> Any:
    """``a | b``."""


def other_bits(a: Any, b: Any) -> Any:
    """``a ^ b``."""


def negate(a: Any) -> Any:
    """``-a``."""


def turn(a: Any) -> Any:
    """``~a``."""


def absolute(a: Any) -> Any:
    """``abs(a)``."""


def whole(a: Any) -> Any:
    """``int(a)``."""


def below(a: Any) -> Any:
    """``math.floor(a)``."""


def above(a: Any) -> Any:
    """``math.ceil(a)``."""


def nearest(a: Any) -> Any:
    """``round(a)``."""


_OPERATORS: dict[Any, Any] = {
    operator.add: add,
    operator.sub: subtract,
    operator.mul: multiply,
    operator.floordiv: divide,
    operator.mod: remainder,
    operator.pow: raise_to,
    operator.lshift: shift,
    operator.rshift: shift_back,
    operator.and_: both_bits,
    operator.or_: either_bits,
    operator.xor: other_bits,
    operator.neg: negate,
    operator.invert: turn,
}
_CALLED: dict[Any, tuple[int, Any]] = {
    abs: (1, absolute),
    int: (1, whole),
    round: (1, nearest),
    pow: (2, raise_to),
    math.floor: (1, below),
    math.ceil: (1, above),
    math.trunc: (1, whole),
}
"""What is called instead of a function of Python that has so many arguments."""

_OURS = frozenset((*_OPERATORS.values(), *(function for _, function in _CALLED.values())))
_SAFE = frozenset((min, max, len, range, bool))
"""Functions to integers that cannot leave 64 bits."""


@overload(signed, strict=False)
def _signed(a: Any) -> Callable[..., Any]:
    if not _may_be_beyond(a):
        return lambda a: types.int64(a)  # noqa: PLW0108

    def compute(a: Any) -> Any:
        if a > types.uint64(_MOST):
            raise OverflowError("more than 64 bits")
        return types.int64(a)

    return compute


@overload(add, strict=False)
def _add(a: Any, b: Any) -> Callable[..., Any]:
    if not _are_integers(a, b):
        return lambda a, b: a + b

    def compute(a: Any, b: Any) -> Any:
        one, other = signed(a), signed(b)
        if (other > 0 and one > _MOST - other) or (other < 0 and one < _LEAST - other):
            raise OverflowError("more than 64 bits")
        return one + other

    return compute


@overload(subtract, strict=False)
def _subtract(a: Any, b: Any) -> Callable[..., Any]:
    if not _are_integers(a, b):
        return lambda a, b: a - b

    def compute(a: Any, b: Any) -> Any:
        one, other = signed(a), signed(b)
        if (other < 0 and one > _MOST + other) or (other > 0 and one < _LEAST + other):
            raise OverflowError("more than 64 bits")
        return one - other

    return compute


@overload(multiply, strict=False)
def _multiply(a: Any, b: Any) -> Callable[..., Any]:
    if not _are_integers(a, b):
        return lambda a, b: a * b

    def compute(a: Any, b: Any) -> Any:
        one, other = signed(a), signed(b)
        about = float(one) * float(other)
        if abs(about) > _SURELY_TOO_LARGE:
            raise OverflowError("more than 64 bits")
        product = types.int64(types.uint64(one) * types.uint64(other))  # which may begin again from the other end
        if abs(about) > _SURELY_NOT and (product < 0) != (about < 0):
            raise OverflowError("more than 64 bits")
        return product

    return compute


@overload(divide, strict=False)
def _divide(a: Any, b: Any) -> Callable[..., Any]:
    if not _are_integers(a, b):
        return lambda a, b: a // b

    def compute(a: Any, b: Any) -> Any:
        one, other = signed(a), signed(b)
        if other == -1 and one == _LEAST:
            raise OverflowError("more than 64 bits")
        return one // other

    return compute


@overload(remainder, strict=False)
def _remainder(a: Any, b: Any) -> Callable[..., Any]:
    return (lambda a, b: signed(a) % signed(b)) if _are_integers(a, b) else lambda a, b: a % b


@overload(raise_to, strict=False)
def _raise_to(a: Any, b: Any) -> Callable[..., Any]:
    if not _are_integers(a, b):
        return lambda a, b: a**b

    def compute(a: Any, b: Any) -> Any:
        base, left, power = signed(a), signed(b), 1
        if left < 0:
            raise ValueError("an integer to a negative power is no integer")
        while left > 0:
            if left & 1:
                power = multiply(power, base)
            left >>= 1
            if left > 0:
                base = multiply(base, base)
        return power

    return compute


@overload(shift, strict=False)
def _shift(a: Any, b: Any) -> Callable[..., Any] | None:
    if not _are_integers(a, b):
        return None

    def compute(a: Any, b: Any) -> Any:
        one, by = signed(a), signed(b)
        if one == -1 and by == 63:
            return types.int64(_LEAST)
        if by < 0 or (by > 62 and one != 0):
            raise OverflowError("more than 64 bits")
        return multiply(one, types.int64(1) << min(by, 62))

    return compute


@overload(shift_back, strict=False)
def _shift_back(a: Any, b: Any) -> Callable[..., Any] | None:
    if not _are_integers(a, b):
        return None

    def compute(a: Any, b: Any) -> Any:
        one, by = signed(a), signed(b)
        if by < 0:
            raise ValueError("negative shift count")
        return one >> min(by, 63)

    return compute


def _of_bits(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Callable[..., Any]]:
    """An operation on bits: where one side may be beyond 64 bits with a sign, on those without one."""

    def choose(a: Any, b: Any) -> Callable[..., Any]:
        if not _are_integers(a, b) or not (_may_be_beyond(a) or _may_be_beyond(b)):
            return lambda a, b: compute(a, b)  # noqa: PLW0108

        def computed(a: Any, b: Any) -> Any:
            if a < 0 or b < 0:
                raise OverflowError("more than 64 bits")
            return signed(compute(types.uint64(a), types.uint64(b)))

        return computed

    return choose


overload(both_bits, strict=False)(_of_bits(operator.and_))
overload(either_bits, strict=False)(_of_bits(operator.or_))
overload(other_bits, strict=False)(_of_bits(operator.xor))


@overload(negate, strict=False)
def _negate(a: Any) -> Callable[..., Any]:
    return (lambda a: subtract(0, a)) if _are_integers(a) else lambda a: -a


@overload(turn, strict=False)
def _turn(a: Any) -> Callable[..., Any] | None:
    return (lambda a: -1 - signed(a)) if _are_integers(a) else None


@overload(absolute, strict=False)
def _absolute(a: Any) -> Callable[..., Any]:
    return (lambda a: subtract(0, a) if a < 0 else signed(a)) if _are_integers(a) else lambda a: abs(a)  # noqa: PLW0108


def _within(compute: Callable[[Any], Any]) -> Callable[[Any], Callable[..., Any]]:
    """A function to integers, which its argument must not be too large for."""

    def choose(a: Any) -> Callable[..., Any]:
        if _are_integers(a):
            return lambda a: signed(a)  # noqa: PLW0108
        if not isinstance(a, types.Float):
            return lambda a: compute(a)  # noqa: PLW0108  # Numba asks for the name of the argument

        def computed(a: Any) -> Any:
            if not -_FIRST_TOO_LARGE <= a < _FIRST_TOO_LARGE:
                raise OverflowError("more than 64 bits")
            return compute(a)

        return computed

    return choose


overload(whole, strict=False)(_within(int))
overload(below, strict=False)(_within(math.floor))
overload(above, strict=False)(_within(math.ceil))
overload(nearest, strict=False)(_within(round))


# ---- Where they are put --------------------------------------------------------------------------------------------


@_pass(mutates_CFG=False, analysis_only=False)
class _LooksFirst(_Pass):  # type: ignore[misc]
    """Have what may leave 64 bits look first."""

    _name = "cepheus_python_integers"

    def __init__(self) -> None:
        _Pass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Put calls in the places of operators, and other functions in those of Python's."""
        for block in state.func_ir.blocks.values():
            body: list[Any] = []
            for statement in block.body:
                found = _instead(state.func_ir, getattr(statement, "value", None))
                if isinstance(statement, ir.Assign) and found is not None:
                    function, arguments = found
                    called = _IR.Var(block.scope, f"$looks_first.{len(body)}.{statement.target.name}", statement.loc)
                    body.append(
                        _IR.Assign(_IR.Global(function.__name__, function, statement.loc), called, statement.loc)
                    )
                    value = _IR.Expr.call(called, arguments, (), statement.loc)
                    body.append(_IR.Assign(value, statement.target, statement.loc))
                else:
                    body.append(statement)
            block.body = body
        state.func_ir._definitions = _Utilities.build_definitions(state.func_ir.blocks)
        return True


def _instead(func_ir: Any, value: Any) -> tuple[Any, tuple[Any, ...]] | None:
    match value:
        case ir.Expr(op="binop" | "inplace_binop"):
            function = _OPERATORS.get(value.fn if value.op == "binop" else value.immutable_fn)
            return None if function is None else (function, (value.lhs, value.rhs))
        case ir.Expr(op="unary") if value.fn in _OPERATORS:
            return _OPERATORS[value.fn], (value.value,)
        case ir.Expr(op="call") if not value.kws:
            count, function = _CALLED.get(_callee(func_ir, value), (0, None))
            return (function, tuple(value.args)) if function is not None and len(value.args) == count else None
        case _:
            return None


def _callee(func_ir: Any, call: Any) -> Any:
    """The function of Python that is called, None if it is anything else."""
    found = _Utilities.guard(_Utilities.get_definition, func_ir, call.func)
    if isinstance(found, ir.Expr) and found.op == "getattr":
        of = _Utilities.guard(_Utilities.get_definition, func_ir, found.value)
        return getattr(math, found.attr, None) if getattr(of, "value", None) is math else None
    value = getattr(found, "value", None) if isinstance(found, ir.Global | ir.FreeVar) else None
    return value if isinstance(value, Hashable) else None


@_pass(mutates_CFG=False, analysis_only=True)
class _KnowsAll(_Pass):  # type: ignore[misc]
    """Refuse functions that get integers from what nobody here has looked at."""

    _name = "cepheus_known_integers"

    def __init__(self) -> None:
        _Pass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Look at what every call gives."""
        for block in state.func_ir.blocks.values():
            for call in block.find_exprs(op="call"):
                gives = state.typemap[next(s.target.name for s in block.find_insts(ir.Assign) if s.value is call)]
                known = _callee(state.func_ir, call) in (*_OURS, *_SAFE)
                if not known and isinstance(gives, types.Integer | types.BaseTuple):
                    raise NumbaError("this may give an integer of more than 64 bits", loc=call.loc)
            self._look_at_large_ones(state, block)
        return False

    @staticmethod
    def _look_at_large_ones(state: Any, block: Any) -> None:
        """Let literals beyond 64 bits with a sign go only where somebody here looks at them, or into comparisons."""
        for statement in block.body:
            large = [each.name for each in statement.list_vars() if _may_be_beyond(state.typemap[each.name])]
            value = getattr(statement, "value", None)
            match value:
                case _ if not large or isinstance(statement, ir.Del):
                    continue
                case ir.Const() | ir.Global() | ir.FreeVar():
                    continue
                case ir.Var() if _may_be_beyond(state.typemap[statement.target.name]):
                    continue
                case ir.Expr(op="binop" | "inplace_binop"):
                    continue
                case ir.Expr(op="call") if _callee(state.func_ir, value) in _OURS:
                    continue
                case _:
                    raise NumbaError("this integer has more than 64 bits", loc=statement.loc)


class PythonIntegers(CompilerBase):
    """Compiles functions whose integers are those of Python, or an error."""

    def define_pipelines(self) -> list[Any]:
        """The passes of Numba, and ours."""
        passes = _Passes.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LooksFirst, InlineClosureLikes)
        passes.add_pass_after(_KnowsAll, NopythonTypeInference)
        passes.finalize()
        return [passes]
