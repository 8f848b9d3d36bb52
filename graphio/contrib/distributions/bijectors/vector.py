"""Bijectors of vectors: their order, their softmax, permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import Bijector, checked
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather
from graphio.ops.array.order import invert_permutation, top_k
from graphio.ops.checks import asserts
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import softmax, softplus

__all__ = ["Ordered", "Permute", "SoftmaxCentered"]


class _OfLength(Bijector):
    """A bijector of vectors, which become longer by a number."""

    _LONGER = 0

    def __init__(self, validate_args: bool, name: str) -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        if input_shape.ndims is None or input_shape[-1].value is None:
            return input_shape
        return TensorShape([input_shape[-1] + self._LONGER])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape[-1:] + self._LONGER

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        if output_shape.ndims is None or output_shape[-1].value is None:
            return output_shape
        if output_shape[-1] <= 1:
            raise ValueError(f"output_shape[-1] = {output_shape[-1]} <= 1")
        return TensorShape([output_shape[-1] - self._LONGER])

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        if self.validate_args:
            message = "Need last dimension greater than 1."
            longer = asserts.assert_greater(output_shape[-1], 1, message=message)
            output_shape = checked(output_shape, [longer])
        return output_shape[-1:] - self._LONGER


class Ordered(_OfLength):
    """Increasing vectors to any: Y0 = X0, Yk = log(Xk - Xk-1).

    Args:
        validate_args: whether runs check that x increases.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(validate_args, name)

    def _steps(self, x: Any) -> Any:
        steps = x[..., 1:] - x[..., :-1]
        if not self.validate_args:
            return steps
        message = "Forward transformation input must be strictly increasing."
        return checked(steps, [asserts.assert_positive(steps, message=message)])

    def _forward(self, x: Any) -> Any:
        return array.concat([x[..., :1], elementwise.log(self._steps(x))], -1)

    def _inverse(self, y: Any) -> Any:
        parts = array.concat([y[..., :1], elementwise.exp(y[..., 1:])], -1)
        return reduction.cumsum(parts, axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return reduction.reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -reduction.reduce_sum(elementwise.log(self._steps(x)), -1)


class SoftmaxCentered(_OfLength):
    """Y = softmax of X with a further 0: vectors of n + 1 positive numbers whose sum is 1.

    Args:
        validate_args: whether runs check shapes.
        name: of the scope of its operations.
    """

    _LONGER = 1

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        zeros = array.zeros_like(x[..., :1])
        return softmax(array.concat([x, zeros], -1))

    def _inverse(self, y: Any) -> Any:
        logs = elementwise.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -reduction.reduce_sum(elementwise.log(y), -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        normalization = softplus(reduction.reduce_logsumexp(x, -1, keepdims=True))
        total = reduction.reduce_sum(x - normalization, -1, keepdims=True)
        return array.squeeze(total - normalization, [-1])


class Permute(Bijector):
    """Y is X in another order along the last axis.

    Args:
        permutation: ints (n), each of 0 ... n - 1 once.
        validate_args: whether runs check a permutation that is not known before.
        name: of the scope of its operations; None: `permute`.

    Raises:
        TypeError: no ints.
        ValueError: a known vector is not a permutation.
    """

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        with scopes.name_scope(name, "permute", values=[permutation]):
            permutation = convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError(
                    f"permutation.dtype ({permutation.dtype.name}) should be `int`-like."
                )
            message = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
            known = constant_value(permutation)
            if known is not None and set(known.tolist()) != set(np.arange(known.size).tolist()):
                raise ValueError(message)
            if known is None and validate_args:
                size = array.shape(permutation)[-1]
                descending, _ = top_k(-permutation, k=size, sorted=True)
                fits = asserts.assert_equal(-descending, array.range(size), message=message)
                permutation = checked(permutation, [fits])
            self._permutation = permutation
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self) -> Any:
        """The permutation."""
        return self._permutation

    def _forward(self, x: Any) -> Any:
        return gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return gather(y, invert_permutation(self._permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return array.zeros([], y.dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return array.zeros([], x.dtype)
