"""The incomplete gamma and beta functions, regularized; kernels compute them in float64."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.gradient_registry import gradient, lacks_gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.primitive import unbroadcast
from graphio.ops.math import elementwise
from graphio.ops.math.arithmetic import multiply_no_nan, xlogy
from graphio.ops.math.special import lgamma
from graphio.ops.math.special_nodes import broadcasting
from graphio.support import api_guard

__all__ = ["betainc", "igamma", "igammac"]

Gradients = list["Tensor | None"]

lacks_gradient(
    "IgammaGradA",
    "the second derivative of igamma by a is not known; cut the path with stop_gradient",
)


@api_guard.operator
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The share of the gamma distribution of shape a, and inverse scale 1, that is below x.

    Args:
        a: floating tensor, above 0; elsewhere the result is nan.
        x: tensor of a's dtype, not negative; elsewhere the result is nan. Broadcasts with a.
            At 0 the result is 0 for every a.
        name: of the operation.

    Returns:
        A tensor with gradients by both, of which that by a has no gradient by a.

    Raises:
        TypeError: the dtypes differ or are not floating.
    """
    return broadcasting("Igamma", {"a": a, "x": x}, name)


@api_guard.operator
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """1 - igamma(a, x), without its cancellation; nan unless a is above 0."""
    return broadcasting("Igammac", {"a": a, "x": x}, name)


def igamma_grad_a(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of igamma by a; it has no gradient itself."""
    return broadcasting("IgammaGradA", {"a": a, "x": x}, name)


@api_guard.operator
def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The share of the beta distribution of a and b that is below x.

    Args:
        a: floating tensor, above 0; elsewhere the result is nan.
        b: tensor of a's dtype, above 0; broadcasts with a.
        x: tensor of a's dtype, from 0 to 1; broadcasts with both.
        name: of the operation.

    Returns:
        A tensor. It has a gradient by x, and none by a and b.

    Raises:
        TypeError: the dtypes differ or are not floating.
    """
    return broadcasting("Betainc", {"a": a, "b": b, "x": x}, name)


def _wide(tensors: list[Tensor]) -> list[Tensor]:
    return [elementwise.cast(each, dtypes.float64) for each in tensors]


def _part(op: Operation, dy: Tensor, slope: Tensor, operand: Tensor) -> Tensor:
    """dy slope, and 0 where dy is 0, in the operand's shape."""
    part = multiply_no_nan(elementwise.cast(slope, dy.dtype), dy)
    return unbroadcast(part, operand, op.outputs[0])


def _gamma_parts(op: Operation, dy: Tensor) -> Gradients:
    a, x = op.inputs
    form, z = _wide([a, x])
    density = elementwise.exp(xlogy(form - 1.0, z) - z - lgamma(form))
    return [_part(op, dy, igamma_grad_a(a, x), a), _part(op, dy, density, x)]


@gradient("Igamma", domain="graphio")
def _igamma_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy IgammaGradA, and dy x^(a - 1) exp(-x) / gamma(a)."""
    return _gamma_parts(op, dy)


@gradient("Igammac", domain="graphio")
def _igammac_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The negatives of Igamma's."""
    return _gamma_parts(op, elementwise.negative(dy))


@gradient("Betainc", domain="graphio")
def _betainc_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy x^(a - 1) (1 - x)^(b - 1) / beta(a, b) by x."""
    a, b, z = _wide(list(op.inputs))
    logarithm = xlogy(a - 1.0, z) + _x_log1p(b - 1.0, -z)
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    density = elementwise.exp(logarithm - log_beta)
    return [None, None, _part(op, dy, density, op.inputs[2])]


def _x_log1p(x: Tensor, y: Tensor) -> Tensor:
    """x log(1 + y), and 0 where x is 0."""
    return multiply_no_nan(elementwise.log1p(y), x)
