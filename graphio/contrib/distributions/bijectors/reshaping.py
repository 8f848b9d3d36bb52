"""The bijector that changes the shape of events."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import Bijector
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.index import boolean_mask
from graphio.ops.checks import assert_shapes, asserts
from graphio.ops.math import comparison, elementwise, reduction

__all__ = ["Reshape"]


class Reshape(Bijector):
    """Y has the numbers of X in another shape.

    Args:
        event_shape_out: ints, the shape of a y; one may be -1.
        event_shape_in: ints, the shape of an x; one may be -1.
        validate_args: whether runs check shapes that are not known before.
        name: of the scope of its operations; None: `reshape`.

    Raises:
        TypeError: a shape has no ints.
        ValueError: a shape is not a vector, or has two -1 or less than -1; of calls: x has another
            shape.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        given = {"event_shape_out": event_shape_out, "event_shape_in": event_shape_in}
        self._assertions: list[Any] = []
        with scopes.name_scope(name, "reshape", values=list(given.values())):
            self._event_shape_out, self._event_shape_in = (
                self._checked_shape(_ints(value, word), validate_args)
                for word, value in given.items()
            )
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _checked_shape(self, shape: Any, validate_args: bool) -> Any:
        if not shape.dtype.is_integer:
            raise TypeError(f"{shape} dtype ({shape.dtype.name}) should be `int`-like.")
        if shape.shape.ndims is not None and shape.shape.ndims > 1:
            raise ValueError(f"`{shape}` rank ({shape.shape.ndims}) should be <= 1.")
        known = constant_value(shape)
        if known is not None:
            if np.sum(known == -1) > 1:
                raise ValueError(f"`{shape}` must have at most one `-1` (given {known})")
            if np.any(known < -1):
                raise ValueError(
                    f"`{shape}` elements must be either positive integers or `-1`(given {known})."
                )
        elif validate_args:
            open_axes = elementwise.cast(comparison.equal(shape, -1), dtypes.int32)
            words = f"`{shape}` elements must"
            self._assertions += [
                assert_shapes.assert_rank(shape, 1, message=f"`{shape}` rank should be <= 1."),
                asserts.assert_less_equal(
                    reduction.reduce_sum(open_axes), 1, message=f"{words} have at most one `-1`."
                ),
                asserts.assert_greater_equal(
                    shape, -1, message=f"{words} be either positive integers or `-1`."
                ),
            ]
        return shape

    def _reshaped(self, x: Any, shape_in: Any, shape_out: Any) -> Any:
        known_in, axes = constant_value(shape_in), shape_in.shape[0].value
        ndims = x.shape.ndims
        event = None if None in (axes, ndims) else x.shape[ndims - axes :]
        assertions = list(self._assertions)
        if event is not None and event.is_fully_defined() and known_in is not None:
            _require_fit(event, known_in)
        elif self.validate_args:
            rank = ndims if ndims is not None else array.rank(x)
            count = axes if axes is not None else array.shape(shape_in)[0]
            fixed = shape_in >= 0
            assertions.append(
                asserts.assert_equal(
                    boolean_mask(array.shape(x)[rank - count :], fixed),
                    boolean_mask(shape_in, fixed),
                    message="Input `event_shape` does not match `event_shape_in`.",
                )
            )
        with scopes.control_dependencies(assertions):
            rank = ndims if ndims is not None else array.rank(x)
            count = axes if axes is not None else array.shape(shape_in)[0]
            made = array.reshape(x, array.concat([array.shape(x)[: rank - count], shape_out], 0))
        if ndims is not None and axes is not None:
            static = _static(event, shape_in, shape_out)
            made.set_shape(x.shape[: ndims - axes].concatenate(static))
        return made

    def _forward(self, x: Any) -> Any:
        return self._reshaped(x, self._event_shape_in, self._event_shape_out)

    def _inverse(self, y: Any) -> Any:
        return self._reshaped(y, self._event_shape_out, self._event_shape_in)

    def _zero(self, x: Any) -> Any:
        with scopes.control_dependencies(self._assertions):
            return array.identity(array.zeros([], x.dtype))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self._zero(x)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._zero(y)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return _with_lead(input_shape, self._event_shape_in, self._event_shape_out)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return _with_lead(output_shape, self._event_shape_out, self._event_shape_in)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return array.shape(self.forward(array.zeros(input_shape)))

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return array.shape(self.inverse(array.zeros(output_shape)))


def _ints(value: Any, name: str) -> Any:
    empty = isinstance(value, (list, tuple)) and not value
    return convert_to_tensor(value, dtypes.int32 if empty else None, name=name)


def _require_fit(event: TensorShape, shape_in: Any) -> None:
    sizes = np.array(event.as_list(), np.int32)
    if (
        len(sizes) != len(shape_in)
        or not np.equal(sizes[shape_in >= 0], shape_in[shape_in >= 0]).all()
    ):
        raise ValueError(
            f"Input `event_shape` does not match `event_shape_in` ({sizes} vs {shape_in})."
        )


def _with_lead(shape: TensorShape, shape_in: Any, shape_out: Any) -> TensorShape:
    """The shape after a change of its last axes, as far as it is known."""
    axes = shape_in.shape[0].value
    if shape.ndims is None or axes is None:
        return TensorShape(None)
    event = shape[shape.ndims - axes :]
    known_in = constant_value(shape_in)
    if event.is_fully_defined() and known_in is not None:
        _require_fit(event, known_in)
    found: TensorShape = shape[: shape.ndims - axes].concatenate(
        _static(event, shape_in, shape_out)
    )
    return found


def _static(event: Any, shape_in: Any, shape_out: Any) -> TensorShape:
    """The shape of an event after the change, as far as it is known."""
    known_out, known_in = constant_value(shape_out), constant_value(shape_in)
    if known_out is None:
        return (
            TensorShape([None] * shape_out.shape[0].value)
            if shape_out.shape.is_fully_defined()
            else TensorShape(None)
        )
    sizes = [None if n < 0 else int(n) for n in known_out]
    if event is not None and event.is_fully_defined():
        total: int | None = math.prod(event.as_list())
    elif known_in is not None and -1 not in known_in:
        total = math.prod(int(n) for n in known_in)
    else:
        total = None
    if total is not None and None in sizes:
        others = math.prod(n for n in sizes if n is not None)
        sizes[sizes.index(None)] = total // others if others else None
    return TensorShape(sizes)
