"""Compiled functions that other compiled functions call: typed and written down once, never made machine code alone.

Numba optimises and compiles every function by itself and then again inside each of its callers, whether or not anybody
calls it from Python. Here a function that compiled code calls is only lowered to LLVM's language, once for the types
that its annotations state; whatever is called from Python takes in all it needs and is optimised once, as a whole.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, cast

from numba import types
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher

from cepheus.kernel.checked import CHECKED

Passes = list[tuple[Any, str]]

_TYPES = {"int": types.int64, "float": types.float64, "bool": types.boolean}
"""What an annotation means to compiled code; arguments that are annotated otherwise have the types they come with."""


_Library: Any = JITCodeLibrary


class LoweredLibrary(_Library):  # type: ignore[misc]
    """A function in LLVM's language, as it was lowered, and the libraries of what it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Nothing more is done with it here: it is optimised and compiled where it is linked in."""
        self._raise_if_finalized()
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._finalized = True

    def needed(self) -> Iterator[Any]:
        """This library and all that it needs, each once."""
        seen: dict[Any, None] = {}
        waiting: list[Any] = [self]
        while waiting:
            library = waiting.pop()
            if library not in seen:
                seen[library] = None
                if isinstance(library, LoweredLibrary):
                    waiting += library._linking_libraries
        return iter(seen)


class WholeLibrary(_Library):  # type: ignore[misc]
    """What is called from Python, with all that it calls: optimised once, then compiled."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        """Link in what the function needs, directly or not, before it is optimised."""
        self._linking_libraries = [
            needed
            for library in self._linking_libraries
            for needed in (library.needed() if isinstance(library, LoweredLibrary) else (library,))
        ]
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Hide what was linked in from other libraries, so that all of it can go where it is inlined."""
        for library in self._linking_libraries:
            if isinstance(library, LoweredLibrary):
                for function in library.get_defined_functions():
                    self._final_module.get_function(function.name).linkage = "internal"
        super()._optimize_final_module()


_NEEDLESS = (
    untyped_passes.InlineClosureLikes,  # no kernel has a function inside
    untyped_passes.InlineInlinables,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,  # nor computes with whole arrays
)
"""Passes that change nothing about what this package is made of, and take their time to find that out."""


def _passes(state: Any, library: type[Any]) -> Passes:
    """Numba's usual passes, with one that lowers the function into a library of some kind."""
    builder: Any = DefaultPassBuilder
    lowering = _LOWERING[library]
    return [
        (lowering if each is typed_passes.NativeLowering else each, told)
        for part in (
            builder.define_untyped_pipeline,
            builder.define_typed_pipeline,
            builder.define_nopython_lowering_pipeline,
        )
        for each, told in part(state).passes
        if library is WholeLibrary or each not in _NEEDLESS
    ]


_PLAIN = (types.Number, types.Boolean, types.IntegerLiteral, types.BooleanLiteral, types.EnumMember)
"""Types of numbers, whose meaning nothing changes."""


class _RememberingContext:
    """Numba's knowledge of types, for one function after the other, which remembers how builtin functions were called.

    To find out what ``+`` of two integers is, Numba tries all that it knows to be added, and so for every ``+``.
    """

    def __init__(self, known: Any, told: dict[Any, Any]) -> None:
        self._known = known
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """The signature of a call."""
        if named or isinstance(function, types.Dispatcher) or not all(isinstance(each, _PLAIN) for each in arguments):
            return self._known.resolve_function_type(function, arguments, named)
        call = (function, tuple(arguments))
        found = self._told.get(call)
        if found is None:
            found = self._told[call] = self._known.resolve_function_type(function, arguments, named)
        return found


_calls: dict[Any, Any] = {}
"""The signatures of calls of builtin functions, by function and types of arguments."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Do not look for garbage meanwhile: there is next to none, and each look goes through all that a compiler has."""
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            gc.enable()


def _pass_manager(passes: Passes) -> Any:
    manager: Any = cast(Any, PassManager)("nopython")
    manager.passes = passes
    manager.finalize()
    return manager


def _lower_into(library: type[Any], state: Any) -> None:
    """Have the next pass lower a function into a library of some kind."""
    state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
    state.library.enable_object_caching()


class _LowerOnly(typed_passes.NativeLowering):
    """Lower a function, for others to link it in."""

    _name = "cepheus_lower_only"

    def run_pass(self, state: Any) -> Any:
        _lower_into(LoweredLibrary, state)
        state.flags.no_compile = True
        return cast(Any, super()).run_pass(state)


class _LowerWhole(typed_passes.NativeLowering):
    """Lower a function, link in what it needs, optimise and compile it."""

    _name = "cepheus_lower_whole"

    def run_pass(self, state: Any) -> Any:
        _lower_into(WholeLibrary, state)
        return cast(Any, super()).run_pass(state)


_LOWERING: dict[type[Any], Any] = {
    library: cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)(lowering)
    for library, lowering in ((LoweredLibrary, _LowerOnly), (WholeLibrary, _LowerWhole))
}


class _LoweredCompiler(CompilerBase):
    """Makes what is linked in."""

    def define_pipelines(self) -> list[Any]:
        """What Numba asks a compiler for."""
        self.state.typingctx = _RememberingContext(self.state.typingctx, _calls)
        return [_pass_manager(_passes(self.state, LoweredLibrary))]


class WholeCompiler(CompilerBase):
    """Makes what is called from Python, or by its address."""

    def define_pipelines(self) -> list[Any]:
        """What Numba asks a compiler for."""
        return [_pass_manager(_passes(self.state, WholeLibrary))]


_Dispatcher: Any = CPUDispatcher


class _Lowered(_Dispatcher):  # type: ignore[misc]
    """A function as other compiled functions see it."""

    def compile(self, sig: Any) -> Any:
        """Lower the function for types of arguments, unless that is done; the key that callers find it by."""
        arguments = tuple(sig)
        if arguments not in self.overloads:
            key = object()
            result = self._compiler.compile(arguments, None)._replace(entry_point=key)
            self.targetctx.insert_user_function(key, result.fndesc, [result.library])
            self.overloads[arguments] = result
        return self.overloads[arguments].entry_point


class Kernel(_Dispatcher):  # type: ignore[misc]
    """A function that is compiled when it is called from Python, and only lowered where compiled code calls it."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=WholeCompiler)
        alone = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._lowered = _Lowered(function, targetoptions=alone, pipeline_class=_LoweredCompiler)
        self._declared = tuple(
            # a checked build goes by the enumeration that a field is a member of
            None if CHECKED else _TYPES.get(str(parameter.annotation))
            for parameter in signature(function).parameters.values()
        )

    def compile(self, sig: Any) -> Any:
        """Compile the function for types of arguments, unless this or another process has."""
        if tuple(getattr(sig, "args", sig)) in self.overloads:
            return super().compile(sig)
        with self._cache.turn(sig, self.targetctx), undisturbed():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The type of a call, for a caller that is being compiled."""
        _, given = self._lowered.fold_argument_types(args, kws)
        stated = tuple(own if own is not None else each for own, each in zip(self._declared, given, strict=True))
        return self._lowered.get_call_template(stated, {})

    def get_overload(self, sig: Any) -> Any:
        """The key that a caller which is being compiled finds the function by."""
        return self._lowered.get_overload(sig)
