"""tf.assert_...: what must hold, checked while building where it is known and in the run else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.engine import tensor_text
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import operands, scope
from graphio.ops.base.signatures import Assertion, AssertionOfTwo, Binary, Documented
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow import branches
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard, errors

__all__ = [
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
]


def _assertion(
    condition: Tensor, data: Sequence[Any], given: Any, summarize: int | None, name: str
) -> Operation:
    """An Assert, after a look at what is known by now."""
    shown = list(data if given is None else given)
    known = constant_value(condition)
    if known is not None and not np.all(known):
        raise _known_to_fail(shown)
    return Assert(condition, shown, summarize, name=name)


def _known_to_fail(shown: Sequence[Any]) -> errors.OpError:
    return errors.InvalidArgumentError(message="\n".join(map(_known_text, shown)))


def _known_text(value: Any) -> str:
    if not isinstance(value, Tensor):
        return str(value)
    known = constant_value(value)
    return str(value) if known is None else tensor_text.nested(known, 3)


def _binary(function: str, test: Binary, known: Any, sign: str) -> AssertionOfTwo:
    @api_guard.operator
    def build(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with scope(name, function) as at:
            if x is y and test is comparison.equal:
                return branches.no_op()
            a, b = operands(x, y, function)
            shown = [
                message or "",
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({a.name}) = ",
                a,
                f"y ({b.name}) = ",
                b,
            ]
            return _checked(a, b, test, known, shown, data, summarize, at)

    return _documented(build, function, f"x {sign} y", "x, y: tensors of one dtype, broadcasting.")


def _checked(
    a: Tensor,
    b: Tensor,
    test: Binary,
    known: Any,
    shown: list[Any],
    data: Any,
    summarize: int | None,
    at: str,
) -> Operation:
    # numpy orders complex numbers, which the comparison refuses.
    holds = test(a, b) if a.dtype.is_complex else None
    values = constant_value(a), constant_value(b)
    printed = shown if data is None else data
    if values[0] is not None and values[1] is not None and not np.all(known(*values)):
        raise _known_to_fail(printed)
    holds = test(a, b) if holds is None else holds
    return Assert(reduction.reduce_all(holds), printed, summarize, at)


def _unary(function: str, test: Binary, known: Any, sign: str) -> Assertion:
    @api_guard.operator
    def build(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with scope(name, function) as at:
            a = convert_to_tensor(x, name="x")
            shown = [
                message or "",
                f"Condition x {sign} 0 did not hold element-wise:",
                f"x ({a.name}) = ",
                a,
            ]
            nought = convert_to_tensor(0, dtype=a.dtype, name="zero")
            return _checked(a, nought, test, known, shown, data, summarize, at)

    return _documented(build, function, f"x {sign} 0", "x: numeric tensor.")


def _documented(build: Documented, function: str, condition: str, inputs: str) -> Documented:
    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"An operation that fails unless {condition} holds for every element.\n\n    It runs "
        f"where something waits for it, see tf.Assert.\n\n    Args:\n        {inputs}\n"
        "        data: list of what the error shows; None: the condition and the tensors.\n"
        "        summarize: elements that are shown of each; None: 3.\n"
        "        message: the beginning of the error.\n        name: of the operation.\n\n"
        "    Raises:\n        InvalidArgumentError: it is known while building not to hold.\n"
        "        TypeError: the dtypes differ.\n"
        "        ValueError: the shapes do not broadcast.\n    "
    )
    return build


assert_equal = _binary("assert_equal", comparison.equal, np.equal, "==")
assert_none_equal = _binary("assert_none_equal", comparison.not_equal, np.not_equal, "!=")
assert_less = _binary("assert_less", comparison.less, np.less, "<")
assert_less_equal = _binary("assert_less_equal", comparison.less_equal, np.less_equal, "<=")
assert_greater = _binary("assert_greater", comparison.greater, np.greater, ">")
assert_greater_equal = _binary(
    "assert_greater_equal", comparison.greater_equal, np.greater_equal, ">="
)
assert_positive = _unary("assert_positive", comparison.greater, np.greater, ">")
assert_negative = _unary("assert_negative", comparison.less, np.less, "<")
assert_non_negative = _unary(
    "assert_non_negative", comparison.greater_equal, np.greater_equal, ">="
)
assert_non_positive = _unary("assert_non_positive", comparison.less_equal, np.less_equal, "<=")


@api_guard.operator
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless |x - y| <= atol + rtol |y| holds for every element.

    Args:
        x, y: floating or complex tensors of one dtype, broadcasting.
        rtol, atol: None: ten times the dtype's epsilon.
        data, summarize, message, name: as assert_equal's.

    Raises:
        InvalidArgumentError: it is known while building not to hold.
        TypeError: the dtypes differ.
    """
    with scope(name, "assert_near") as at:
        a, b = operands(x, y, "assert_near")
        epsilon = 10 * _epsilon(a.dtype)
        relative, absolute = (
            convert_to_tensor(epsilon if v is None else v, dtype=a.dtype.real_dtype, name=label)
            for v, label in ((rtol, "rtol"), (atol, "atol"))
        )
        shown = [
            message or "",
            f"x and y not equal to tolerance rtol = {_known_text(relative)}, atol = "
            f"{_known_text(absolute)}",
            f"x ({a.name}) = ",
            a,
            f"y ({b.name}) = ",
            b,
        ]
        bound = absolute + relative * elementwise.abs(b)
        # Infinities of one sign have no difference, yet are equal.
        near = comparison.logical_or(
            comparison.less_equal(elementwise.abs(a - b), bound), comparison.equal(a, b)
        )
        return _assertion(reduction.reduce_all(near), shown, data, summarize, at)


def _epsilon(dtype: DType) -> float:
    if not dtypes.carries_gradient(dtype):
        raise TypeError(f"assert_near: the tensors are {dtype.name}, expected a floating dtype")
    return 2**-7 if dtype == dtypes.bfloat16 else float(np.finfo(dtype.as_numpy_dtype).eps)
