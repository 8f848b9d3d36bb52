"""Placeholders, variables, constants and what only passes a value on."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.failure import shape_text
from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.runtime.state import Slot
from graphio.schema import dtypes
from graphio.support import errors

#: TensorFlow's names where they differ from the table's.
_TF_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _identity(x: Any) -> Any:
    return x


for _domain, _op in (
    ("", "Identity"),
    ("graphio", "Recv"),
    ("graphio", "Send"),
    ("graphio", "StopGradient"),
    ("graphio", "PlaceholderWithDefault"),
):
    kernel(_op, domain=_domain, alias=True)(lambda call: _identity)


@kernel("Placeholder", domain="graphio", fold=False)
def _placeholder(call: Call) -> Function:
    kind = call.outputs[0].tensor if call.outputs else None
    name = dtypes.name(kind.dtype) if kind is not None else "unknown"
    shape = None
    if kind is not None and kind.HasField("shape"):
        shape = [d.size if d.WhichOneof("value") == "size" else None for d in kind.shape.dim]
    message = (
        f"You must feed a value for placeholder tensor '{call.name}' with dtype "
        f"{_TF_NAMES.get(name, name)} and shape {shape_text(shape)}"
    )

    def unfed() -> None:
        raise errors.InvalidArgumentError(message=message)

    return unfed


@kernel("NoOp", domain="graphio", fold=False)
def _no_op(call: Call) -> Function:
    return lambda: ()


@kernel("Constant")
def _constant(call: Call) -> Function:
    value = _constant_value(call)
    return lambda: value


def _constant_value(call: Call) -> Array:
    for key, value in call.attrs.items() if len(call.attrs) == 1 else ():
        if key == "value" and isinstance(value, np.ndarray):
            return value
        if key in ("value_float", "value_floats"):
            return np.array(value, np.float32)
        if key in ("value_int", "value_ints"):
            return np.array(value, np.int64)
        if key in ("value_string", "value_strings"):
            return np.array(value, object)
    raise errors.InvalidArgumentError(
        message=f"it has the attributes {sorted(call.attrs)}, expected one of value, value_float, "
        "value_floats, value_int, value_ints, value_string, value_strings"
    )


def _slot(call: Call) -> Slot:
    assert call.state is not None
    return call.state.slot(call.text("variable", ""))


def _read(call: Call) -> Function:
    return _slot(call).read


kernel("Variable", domain="graphio", fold=False)(_read)
kernel("ReadVariable", domain="graphio", fold=False)(_read)


@kernel("IsInitialized", domain="graphio", fold=False, fresh=True)
def _is_initialized(call: Call) -> Function:
    slot = _slot(call)
    return lambda: np.bool_(slot.value is not None)


@kernel("EnsureShape", domain="graphio")
def _ensure_shape(call: Call) -> Function:
    dims = tuple(call.integers("dims") or ())

    def check(x: Any) -> Any:
        shape = np.shape(x)
        if len(shape) != len(dims) or any(0 <= d != n for d, n in zip(dims, shape, strict=True)):
            expected = [None if d < 0 else d for d in dims]
            raise errors.InvalidArgumentError(
                message=f"Shape of tensor {shape_text(shape)} is not compatible with expected "
                f"shape {shape_text(expected)}."
            )
        return x

    return check


def _non_zero_divisor(x: Any) -> Any:
    if not np.all(x):
        raise errors.InvalidArgumentError(message="Integer division by zero")
    return x


function("NonZeroDivisor", 1, _non_zero_divisor, "N", domain="graphio", fresh=False)


@kernel("BelowLimit", domain="graphio", types="I", fold=False)
def _below_limit(call: Call) -> Function:
    limit = call.integer("limit", 0)

    def check(x: Any) -> Any:
        if np.ndim(x):
            raise errors.InvalidArgumentError(message=f"x has rank {np.ndim(x)}, expected a scalar")
        if x >= limit:
            raise errors.OutOfRangeError(message=f"Reached limit of {limit}")
        return x

    return check


@kernel("Assign", domain="graphio", fold=False)
def _assign(call: Call) -> Function:
    slot, borrowed = _slot(call), call.borrowed
    assert call.state is not None
    journal = call.state.journal

    def assign(value: Any) -> Array:
        # numpy's scalars become arrays; memory that a caller may change is copied.
        if borrowed or value.__class__ is not np.ndarray or not value.flags.c_contiguous:
            value = np.array(value, order="C")
        if value.shape != slot.shape or value.dtype != slot.dtype:
            slot.check(value)
        slot.value = value
        journal.append(slot.name)
        result: Array = value
        return result

    return assign
