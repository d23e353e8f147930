"""Exact sums: a 256-bit fixed-point number that values can be added to and taken from without any rounding.

The unit is 2**-128 and the range +-2**127, held in four 64-bit limbs, the lowest first. Every integer and every float
whose bits lie in that range is added exactly; others are counted as inexact, and the sum is then computed from the
members themselves. Rounding happens once, when the sum is read. Beside sums
stand the least, greatest, first and last of values, which totals since the start keep in the same place.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import float_of_bits, leading_zeros, peek, poke, signed
from cepheus.kernel.program import Floats, TotalKind, ValueKind

LIMBS = 4
_BIAS = 128  # position of the bit of value 1
_ONE = np.uint64(1)
_GATHERED = 1024  # so many numbers of 116 bits stay below 127 bits together


@inlined
def _limb(limbs: int, at: int) -> np.uint64:
    return np.uint64(peek(limbs, at))


@inlined
def _add_shifted(limbs: int, magnitude: np.uint64, shift: int, negative: bool) -> None:
    """Add ``magnitude << shift``, or subtract it."""
    limb = shift >> 6
    bits = np.uint64(shift & 63)
    low = magnitude << bits
    high = np.uint64(0) if bits == 0 else magnitude >> (np.uint64(64) - bits)
    carry = np.uint64(0)
    for i in range(limb, LIMBS):
        part = low if i == limb else (high if i == limb + 1 else np.uint64(0))
        if i > limb + 1 and carry == 0:
            break
        before = _limb(limbs, i)
        if negative:
            step = before - part
            after = step - carry
            carry = np.uint64(1) if (before < part) or (step < carry) else np.uint64(0)
        else:
            step = before + part
            after = step + carry
            carry = np.uint64(1) if (step < part) or (after < step) else np.uint64(0)
        poke(limbs, i, signed(after))


@compiled
def clear(limbs: int) -> None:
    """Set the sum at an address to zero."""
    for i in range(LIMBS):
        poke(limbs, i, 0)


@compiled
def add_integer(limbs: int, value: int, subtract: bool) -> None:
    """Add an integer to (or take it from) the sum at an address."""
    negative = (value < 0) != subtract
    magnitude = np.uint64(value) if value >= 0 else ~np.uint64(value) + _ONE
    _add_shifted(limbs, magnitude, _BIAS, negative)


@inlined
def add_float(limbs: int, bits: int, subtract: bool) -> bool:
    """Add a finite float, given by its bits, to (or take it from) the sum; False, and nothing added, if too far out."""
    exponent = (bits >> 52) & 0x7FF
    magnitude = np.uint64(bits & 0xFFFFFFFFFFFFF)
    if exponent == 0:
        return bool(magnitude == 0)  # the smallest numbers of all lie below the unit
    magnitude |= _ONE << np.uint64(52)
    shift = exponent - 1075 + _BIAS
    if shift < 0:
        if shift <= -53:
            return False
        drop = np.uint64(-shift)
        if magnitude & ((_ONE << drop) - _ONE):
            return False
        magnitude >>= drop
        shift = 0
    elif exponent > 1022 + 64:
        return False
    _add_shifted(limbs, magnitude, shift, (bits < 0) != subtract)
    return True


@compiled
def keep_extreme(best: int, values: int, first: int, end: int, mask: int, wanted: int, kind: int, known: bool) -> None:
    """Keep the least, greatest, first or last of the values of a ring at an address, where one may be ``known``."""
    for at in range(first, end):
        value = peek(values, at & mask)
        if not known or wanted == TotalKind.LAST or _is_better(value, peek(best, 0), wanted, kind):
            poke(best, 0, value)
        known = True


@inlined
def _is_better(value: int, best: int, wanted: int, kind: int) -> bool:
    """Whether a value is less or greater than the best so far, whichever is wanted."""
    if wanted == TotalKind.FIRST:
        return False
    low, high = (value, best) if wanted == TotalKind.LEAST else (best, value)
    return float_of_bits(low) < float_of_bits(high) if kind == ValueKind.FLOAT else low < high


@inlined
def _extends(bits: int) -> int:
    """Where the lowest bit of a float falls in the middle limbs; outside 0 to 63 if it does not lie in them."""
    return ((bits >> 52) & 0x7FF) - 1011


@compiled
def add_floats(limbs: int, values: int, first: int, end: int, mask: int, subtract: bool) -> int:
    """Add floats of a ring to (or take them from) the sum at an address; return how many were too far out to be added.

    ``values`` is the address of the first value of the ring. Most values lie between 2**-12 and 2**52: those are
    gathered in the two middle limbs and added to the sum together.
    """
    inexact = 0
    low, high = np.uint64(0), np.uint64(0)
    gathered = 0
    for at in range(first, end):
        bits = peek(values, at & mask)
        place = _extends(bits)
        if place < 0 or place > 63:
            inexact += not add_float(limbs, bits, subtract)
            continue
        magnitude = np.uint64(bits & 0xFFFFFFFFFFFFF) | (_ONE << np.uint64(52))
        below = magnitude << np.uint64(place)
        above = (magnitude >> _ONE) >> np.uint64(63 - place)
        if (bits < 0) != subtract:
            above = ~above + (_ONE if below == 0 else np.uint64(0))
            below = ~below + _ONE
        low += below
        high += above + (_ONE if low < below else np.uint64(0))
        gathered += 1
        if gathered == _GATHERED:
            _add_middle(limbs, low, high)
            low, high, gathered = np.uint64(0), np.uint64(0), 0
    _add_middle(limbs, low, high)
    return inexact


@inlined
def _add_middle(limbs: int, low: np.uint64, high: np.uint64) -> None:
    """Add a signed number of two limbs to the second limb and those above it."""
    second = _limb(limbs, 1) + low
    carry = _ONE if second < low else np.uint64(0)
    third = _limb(limbs, 2) + high
    over = _ONE if third < high else np.uint64(0)
    third += carry
    if third < carry:
        over += _ONE
    sign = np.uint64(0) - (high >> np.uint64(63))
    poke(limbs, 1, signed(second))
    poke(limbs, 2, signed(third))
    poke(limbs, 3, signed(_limb(limbs, 3) + sign + over))


@compiled
def read_float(limbs: int) -> float:
    """Read the sum as a float, rounded once, ties to even."""
    m0, m1, m2, m3 = _limb(limbs, 0), _limb(limbs, 1), _limb(limbs, 2), _limb(limbs, 3)
    negative = (m3 >> np.uint64(63)) != 0
    if negative:
        m0 = ~m0 + _ONE
        carry = m0 == 0
        m1 = ~m1 + (_ONE if carry else np.uint64(0))
        carry = carry and m1 == 0
        m2 = ~m2 + (_ONE if carry else np.uint64(0))
        carry = carry and m2 == 0
        m3 = ~m3 + (_ONE if carry else np.uint64(0))
    if m3 != 0:
        top, below, rest, base = m3, m2, (m1 | m0), 192
    elif m2 != 0:
        top, below, rest, base = m2, m1, m0, 128
    elif m1 != 0:
        top, below, rest, base = m1, m0, np.uint64(0), 64
    else:
        top, below, rest, base = m0, np.uint64(0), np.uint64(0), 0
    if top == 0:
        return 0.0
    # normalise: the highest bit of `top` comes to bit 63, bits move up from `below`
    zeros = leading_zeros(top)
    if zeros > 0:
        top = (top << np.uint64(zeros)) | (below >> np.uint64(64 - zeros))
        below = below << np.uint64(zeros)
    mantissa = top >> np.uint64(11)
    tail = top & np.uint64(0x7FF)
    sticky = (below | rest) != 0
    half = np.uint64(0x400)
    if tail > half or (tail == half and (sticky or (mantissa & _ONE) != 0)):
        mantissa += _ONE
    result = float(np.int64(mantissa)) * float_of_bits((base - zeros + 11 - _BIAS + 1023) << 52)
    return -result if negative else result


@compiled
def read_integer(limbs: int) -> tuple[int, bool]:
    """Read an integer sum, and whether it fits in 64 bits."""
    value = peek(limbs, 2)
    return value, peek(limbs, 3) == (-1 if value < 0 else 0)


@compiled
def sum_floats(values: Floats, count: int, partials: Floats) -> float:
    """Sum any finite floats exactly and round once (Shewchuk's partials); infinite on overflow.

    ``partials`` is room for the intermediate parts: a float needs at most 40 of them.
    """
    used = 0
    for k in range(count):
        x = values[k]
        kept = 0
        for j in range(used):
            y = partials[j]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[kept] = low
                kept += 1
            x = high
        partials[kept] = x
        used = kept + 1
        if not math.isfinite(x):
            return math.inf
    if used == 0:
        return 0.0
    used -= 1
    total = partials[used]
    low = 0.0
    while used > 0:
        x = total
        used -= 1
        y = partials[used]
        total = x + y
        low = y - (total - x)
        if low != 0.0:
            break
    # round half to even across the remaining partials
    if used > 0 and ((low < 0.0 and partials[used - 1] < 0.0) or (low > 0.0 and partials[used - 1] > 0.0)):
        y = low * 2.0
        x = total + y
        if y == x - total:
            total = x
    return float(total)
