"""What parts of a rule refuse while it is written: to be made a text of, to be used before they have their window."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from cepheus.core.errors import Diagnostic, RuleError, did_you_mean
from cepheus.language.python.places import BUILDING, here


class PartOfRule:
    """A part of a rule, which has no text: only events will tell its value. ``repr`` shows it to debuggers."""

    __slots__ = ()

    def __str__(self) -> str:
        if BUILDING.get() is not None:
            message = "Python makes a text of a part of a rule here, whose value only events can tell"
            hint = "write fn.concat('room ', smoke.area), which puts texts together for each event; repr(..) shows it"
            raise RuleError.of("python-value", message, span=here(), hint=hint)
        return repr(self)

    def __format__(self, form: str) -> str:
        return format(str(self), form)


class WithoutWindow(PartOfRule):
    """A part of a rule that still needs its window; a rule that is read with one of them left is refused.

    ``ENDS`` are the methods that give it one, each as it may be written. ``placed`` says whether it has been given one.
    """

    __slots__ = ("_span", "placed")

    ENDS: ClassVar[tuple[str, ...]] = ("within('5 min')",)

    def __init__(self) -> None:
        self.placed = False
        self._span = here()

    def lacking(self) -> Diagnostic:
        """What to say where it has no window, at the place where it was made."""
        ends = " or ".join(f".{end}" for end in self.ENDS)
        message = "this has no window: the rule does not say which events are looked at"
        return Diagnostic("python-window", message, self._span, f"write {ends} behind it")

    if not TYPE_CHECKING:  # who checks types knows that it has nothing else

        def _used(self, *_given: object) -> NoReturn:
            raise RuleError([self.lacking()])

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__"):
                raise AttributeError(name)
            close = did_you_mean(name, [end.partition("(")[0] for end in self.ENDS])
            if close is not None:
                message = f"there is no '{name}' that gives this a window"
                raise RuleError.of("python-window", message, span=here(), hint=close)
            self._used()

        __hash__ = object.__hash__
        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _used
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used
        __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = __round__ = _used
        __and__ = __rand__ = __or__ = __ror__ = __invert__ = _used
        __bool__ = __iter__ = __len__ = __getitem__ = __contains__ = __float__ = __int__ = _used
