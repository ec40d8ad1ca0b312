"""A numba type for eight doubles that are processed together, one for each of eight restarts.

Numba vectorises long loops, but not sums over lines of eight that are picked from a table. Here such a line is one
value: arrays whose last axis has length `LANES` are read and written one line at a time, addressed by line number, and
the usual operators, between lines or with a number, become vector instructions on any processor that has them.
"""

import math
import operator
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, overload, register_model
from numpy.typing import NDArray

intrinsic: Any = extending.intrinsic
"""Untyped, because numba calls the decorated function without its first argument."""

LANES = 8
DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(64), LANES)
FLAGS = ("nnan", "nsz", "contract")

INNER: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""Options of kernels that other kernels call at every step, and that allocate nothing.

Without numba's run-time (`_nrt`) references to arrays are not counted: counting them takes a microsecond per step, a
third of a step on a hundred rows of ten bits.
"""

OPERATORS = {
    "fadd": (operator.add, operator.iadd),
    "fsub": (operator.sub, operator.isub),
    "fmul": (operator.mul, operator.imul),
    "fdiv": (operator.truediv, operator.itruediv),
}


class LanesType(types.Type):
    """Numba's type of a line."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """A line is a vector of doubles."""

    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, DOUBLES)  # type: ignore[no-untyped-call]


def _address(context: Any, builder: Any, kind: Any, array: Any, line: Any) -> Any:
    """Address of a line of an array."""
    data = context.make_array(kind)(context, builder, array).data
    start = builder.mul(line, ir.Constant(line.type, LANES))
    return builder.bitcast(builder.gep(data, [start]), DOUBLES.as_pointer())


def empty_lines(*shape: int) -> NDArray[np.float64]:
    """Uninitialised lines (*shape, LANES), aligned to cache lines: one that crosses two takes twice as long to read."""
    size = math.prod(shape) * LANES
    if not size:
        return np.empty((*shape, LANES))
    room = np.empty(size + LANES)
    skipped = -room.__array_interface__["data"][0] % 64 // 8
    return room[skipped : skipped + size].reshape(*shape, LANES)


def named_lines(**sizes: int) -> dict[str, NDArray[np.float64]]:
    """Uninitialised lines (size, LANES) for every name, in one allocation."""
    room, ends = empty_lines(sum(sizes.values())), list(accumulate(sizes.values()))
    return {name: room[end - size : end] for (name, size), end in zip(sizes.items(), ends, strict=True)}


@intrinsic
def load(_typing: Any, array: Any, line: Any) -> Any:
    """Read one line of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=8)

    return lanes(array, types.intp), generate


@intrinsic
def store(_typing: Any, array: Any, line: Any, value: Any) -> Any:
    """Write one line of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *place, values = arguments
        builder.store(values, _address(context, builder, signature.args[0], *place), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def spread(_typing: Any, number: Any) -> Any:
    """The same number in all lanes."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        nothing, place = ir.Constant(DOUBLES, ir.Undefined), ir.IntType(32)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(place, 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(place, LANES), None))

    return lanes(types.float64), generate


@intrinsic
def choose(_typing: Any, left: Any, right: Any, if_larger: Any, otherwise: Any) -> Any:
    """`if_larger` in the lanes where left > right, `otherwise` in the others."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        left, right, *values = arguments
        return builder.select(builder.fcmp_ordered(">", left, right), *values)

    return lanes(lanes, lanes, lanes, lanes), generate


@intrinsic
def any_larger(_typing: Any, left: Any, right: Any) -> Any:
    """Whether left > right in any lane."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        flags = builder.bitcast(builder.fcmp_ordered(">", *arguments), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", flags, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(lanes, lanes), generate


@intrinsic
def square_root(_typing: Any, value: Any) -> Any:
    """Square root of lanes of at least 0."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(DOUBLES, [DOUBLES])
        insert: Any = cgutils.get_or_insert_function
        root = insert(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(root, arguments)

    return lanes(lanes), generate


@intrinsic
def multiply_add(_typing: Any, left: Any, right: Any, addend: Any) -> Any:
    """Left · right + addend of numbers, rounded once where the processor can, as operators on lanes are compiled."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * 3)
        insert: Any = cgutils.get_or_insert_function
        return builder.call(insert(builder.module, kind, "llvm.fmuladd.f64"), arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def draw_uniform(_typing: Any, random: Any) -> Any:
    """Eight numbers in [0, 1) from eight xorshift128+ generators, whose states (2, 8) are advanced."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def shifted(value: Any, left: int = 0, right: int = 0) -> Any:
            moved = builder.shl(value, _integers(left)) if left else builder.lshr(value, _integers(right))
            return builder.xor(value, moved)

        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        older = builder.bitcast(data, INTEGERS.as_pointer())
        newer = builder.gep(older, [ir.Constant(ir.IntType(64), 1)])
        first, second = builder.load(older, align=8), builder.load(newer, align=8)
        total = builder.add(first, second)
        mixed = builder.xor(shifted(shifted(first, left=23), right=18), shifted(second, right=5))
        builder.store(second, older, align=8)
        builder.store(mixed, newer, align=8)
        in_one_to_two = builder.or_(builder.lshr(total, _integers(12)), _integers(1023 << 52))
        return builder.fsub(builder.bitcast(in_one_to_two, DOUBLES), ir.Constant(DOUBLES, [1.0] * LANES))

    return lanes(random), generate


@intrinsic
def count_ones(_typing: Any, word: Any) -> Any:
    """Number of ones among the 64 bits of a word; a loop of these becomes vector instructions where there are any."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def as_power_of_two(_typing: Any, shifted: Any) -> Any:
    """2**n from n + 1.5 · 2**52, which has n in its low bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        exponent = builder.add(builder.bitcast(arguments[0], INTEGERS), _integers(1023))
        return builder.bitcast(builder.shl(exponent, _integers(52)), DOUBLES)

    return lanes(lanes), generate


@intrinsic
def exponent(_typing: Any, value: Any) -> Any:
    """Exponent n of value = 2**n m with m in [√½, √2)."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        # The exponent's bits below those of 2**52 make the double 2**52 + exponent.
        large = builder.or_(_biased_exponent(builder, arguments[0]), _integers(0x4330000000000000))
        return builder.fsub(builder.bitcast(large, DOUBLES), ir.Constant(DOUBLES, [2.0**52 + 1024] * LANES))

    return lanes(lanes), generate


@intrinsic
def mantissa(_typing: Any, value: Any) -> Any:
    """Factor m in [√½, √2) of value = 2**n m."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        taken = builder.shl(_biased_exponent(builder, arguments[0]), _integers(52))
        bits = builder.add(builder.bitcast(arguments[0], INTEGERS), _integers(1024 << 52))
        return builder.bitcast(builder.sub(bits, taken), DOUBLES)

    return lanes(lanes), generate


def _biased_exponent(builder: Any, value: Any) -> Any:
    """Exponent + 1024 as integers; the addend carries into the exponent from √2 on."""
    return builder.lshr(builder.add(builder.bitcast(value, INTEGERS), _integers(0x00195F619980C433)), _integers(52))


def _integers(value: int) -> Any:
    return ir.Constant(INTEGERS, [value] * LANES)


def _instruction(name: str) -> Any:
    """Intrinsic that applies one vector instruction to two lines."""

    @intrinsic
    def apply(_typing: Any, left: Any, right: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments, flags=FLAGS)

        return lanes(lanes, lanes), generate

    return apply


def _teach(symbol: Callable[..., Any], apply: Any) -> None:
    """Make numba apply an instruction where an operator is used on lanes."""

    @overload(symbol, strict=False)  # its lambdas cannot be annotated
    def implementation(left: Any, right: Any) -> Any:
        if left is lanes and right is lanes:
            return lambda left, right: apply(left, right)
        if left is lanes and isinstance(right, types.Float):
            return lambda left, right: apply(left, spread(right))
        if right is lanes and isinstance(left, types.Float):
            return lambda left, right: apply(spread(left), right)
        return None


for _name, _symbols in OPERATORS.items():
    for _symbol in _symbols:
        _teach(_symbol, _instruction(_name))
