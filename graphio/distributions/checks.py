"""Checks of parameters and values, which a run makes where validate_args is true.

Each returns its tensor, of which a run makes sure first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.assert_shapes import assert_rank_at_least
from graphio.ops.checks.asserts import (
    assert_equal,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from graphio.ops.control_flow.branches import no_op, with_dependencies
from graphio.ops.math import elementwise, reduction

__all__ = [
    "assert_integer_form",
    "casts_unchanged",
    "classes",
    "counts",
    "defined",
    "positive",
]

#: the integers that hold a floating number's integral part
_WHOLE = {
    dtypes.float16: dtypes.int16, dtypes.float32: dtypes.int32, dtypes.float64: dtypes.int64,
}  # fmt: skip
_UNSIGNED = (dtypes.bool, dtypes.uint8, dtypes.uint16)
_SIGNED = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32,
    dtypes.int64,
)  # fmt: skip


def positive(x: Tensor, validate_args: bool, words: str | None = None) -> Tensor:
    """x, whose numbers are to be above 0."""
    if not validate_args:
        return x
    found: Tensor = with_dependencies([assert_positive(x, message=words)], x)
    return found


def _defined_above(x: Tensor, least: float, values: Tensor, words: str) -> Tensor:
    bound = array.ones([], values.dtype) * least
    found: Tensor = with_dependencies([assert_less(bound, values, message=words)], x)
    return found


def assert_integer_form(
    x: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    int_dtype: Any = None,
    name: str = "assert_integer_form",
) -> Any:
    """An operation that fails unless the numbers of x are integers; see tf.assert_equal.

    Args:
        int_dtype: which integers are to fit; None: that as wide as x.

    Raises:
        TypeError: x has a dtype that is neither an integer nor float16, float32 or float64.
    """
    with scopes.name_scope(name, values=[x]):
        found = convert_to_tensor(x, name="x")
        if found.dtype.is_integer:
            return no_op()
        kind = int_dtype or _WHOLE.get(found.dtype.base_dtype)
        if kind is None:
            raise TypeError(f"Unrecognized type {found.dtype.name}")
        words = message or f"{found} has non-integer components"
        whole = elementwise.cast(elementwise.cast(found, kind), found.dtype)
        return assert_equal(found, whole, data=data, summarize=summarize, message=words, name=name)


def counts(x: Any, name: str = "embed_check_nonnegative_integer_form") -> Tensor:
    """x, whose numbers are to be integers and not negative."""
    with scopes.name_scope(name, values=[x]):
        found = convert_to_tensor(x, name="x")
        needed = [assert_non_negative(found, message=f"'{found}' must be non-negative.")]
        if not found.dtype.is_integer:
            words = f"'{found}' cannot contain fractional components."
            needed.append(assert_integer_form(found, message=words))
        checked: Tensor = with_dependencies(needed, found)
        return checked


def classes(x: Any, name: str = "embed_check_categorical_event_shape") -> Tensor:
    """x, whose last axis is to have two classes or more, and as many as its dtype can number.

    Raises:
        TypeError: x is not floating.
        ValueError: the axis is known to be missing, or of another size.
    """
    with scopes.name_scope(name, values=[x]):
        found = convert_to_tensor(x, name="categorical_param")
        kind = found.dtype.base_dtype
        if not kind.is_floating:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({kind.name}).")
        most = min(_largest(kind), int(dtypes.int32.max))
        axis = "A categorical-distribution parameter must have at least 1 dimension."
        two = "A categorical-distribution parameter must have at least 2 events."
        precision = "Number of classes exceeds `dtype` precision, i.e., "
        if found.shape.ndims == 0:
            raise ValueError(axis)
        size = None if found.shape.ndims is None else found.shape[-1].value
        if size is not None:
            if size < 2:
                raise ValueError(two)
            if size > most:
                raise ValueError(
                    f"{precision}{kind.name} implies shape ({size}) cannot exceed {most}."
                )
            return found
        sizes = array.shape(found, name="x_shape")[-1]
        words = f"{precision}{kind.name} dtype cannot exceed {most} shape."
        needed = [
            assert_rank_at_least(found, 1, message=axis),
            assert_greater_equal(sizes, 2, message=two),
            assert_less_equal(sizes, most, message=words),
        ]
        checked: Tensor = with_dependencies(needed, found)
        return checked


def casts_unchanged(
    x: Any,
    target_dtype: Any,
    assert_nonnegative: bool = True,
    name: str = "embed_check_casting_closed",
) -> Tensor:
    """x, whose numbers are to be integers, and the same after a cast to a dtype.

    Args:
        x: tensor.
        target_dtype: of the cast.
        assert_nonnegative: whether they are not to be negative either.
        name: of the operations.

    Raises:
        TypeError: a dtype is neither floating nor an integer or bool, or both are floating.
    """
    with scopes.name_scope(name, values=[x]):
        found, target = convert_to_tensor(x, name="x"), dtypes.as_dtype(target_dtype)
        whole = _is_whole(found.dtype)
        if not whole and not found.dtype.is_floating:
            raise TypeError(f"{found.dtype.name}.dtype must be floating- or integer-type.")
        if not _is_whole(target) and not target.is_floating:
            raise TypeError(f"target_dtype ({target.name}) must be floating- or integer-type.")
        if not whole and not _is_whole(target):
            raise TypeError(
                f"At least one of {found}.dtype ({found.dtype.name}) and target_dtype "
                f"({target.name}) must be integer-type."
            )
        needed = []
        if assert_nonnegative:
            needed.append(assert_non_negative(found, message="Elements must be non-negative."))
        if found.dtype.is_floating:
            words = f"Elements must be {target.name}-equivalent."
            needed.append(assert_integer_form(found, int_dtype=target, message=words))
        else:
            needed += _within(found, target, assert_nonnegative)
        checked: Tensor = with_dependencies(needed, found) if needed else found
        return checked


def _within(x: Tensor, target: DType, not_negative: bool) -> list[Any]:
    most, least = _largest(target), _smallest(target)
    needed = []
    if _largest(x.dtype) > most:
        needed.append(assert_less_equal(x, most, message=f"Elements cannot exceed {most}."))
    if not not_negative and _smallest(x.dtype) < least:
        words = f"Elements cannot be smaller than {least}."
        needed.append(assert_greater_equal(x, least, message=words))
    return needed


def _is_whole(dtype: DType) -> bool:
    _largest(dtype)
    return dtype.is_integer or dtype.base_dtype == dtypes.bool


def _largest(dtype: DType) -> int:
    """The largest of the integers that a dtype has without a gap."""
    kind = dtype.base_dtype
    if kind not in _SIGNED and kind not in _UNSIGNED:
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    if kind == dtypes.bool:
        return 1
    if kind.is_floating:
        return int(2 ** (np.finfo(kind.as_numpy_dtype).nmant + 1))
    return int(np.iinfo(kind.as_numpy_dtype).max)


def _smallest(dtype: DType) -> int:
    return 0 if dtype.base_dtype in _UNSIGNED else -_largest(dtype)


def defined(
    value: Tensor, allow_nan: bool, *needs: tuple[Tensor, float, str], last_axis: bool = False
) -> Tensor:
    """A statistic that exists where tensors are above bounds.

    Args:
        value: the statistic.
        allow_nan: it is nan elsewhere; False: a run fails.
        needs: each a tensor, its bound, and the words of the failure.
        last_axis: whether the tensors' last axis must be above the bound as a whole.
    """
    if not allow_nan:
        for values, least, words in needs:
            value = _defined_above(value, least, values, words)
        return value
    for values, least, _ in needs:
        above = values > least
        if last_axis:
            above = reduction.reduce_all(above, -1, keepdims=True)
        value = where_v2(above, value, array.zeros_like(value) + np.nan)
    return value
