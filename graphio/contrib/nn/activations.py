"""Activations of tf.contrib.nn: a smooth relu, and dropout that keeps mean and variance."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise
from graphio.ops.nn.core import softplus
from graphio.ops.random.core import random_uniform
from graphio.support import api_guard

__all__ = ["alpha_dropout", "scaled_softplus"]

#: the limit of selu at -infinity: -scale * alpha of Klambauer et al. 2017
_LOWEST = -1.7580993408473766


@api_guard.operator
def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Tensor:
    """alpha * log(1 + exp(x / alpha)), at most clip: relu for an alpha near 0.

    Args:
        x: floating tensor.
        alpha: positive; broadcast with x. The smaller, the sharper the corner at 0.
        clip: the largest value; None: none.
        name: name scope of the operations.
    """
    with name_scope(name, "scaled_softplus"):
        value = convert_to_tensor(x, name="x")
        width = convert_to_tensor(alpha, dtype=value.dtype, name="alpha")
        smooth = width * softplus(value / width)
        if clip is None:
            return smooth
        highest = convert_to_tensor(clip, dtype=value.dtype, name="clip")
        return elementwise.minimum(smooth, highest)


@api_guard.operator
def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Dropout after selu: inputs of mean 0 and variance 1 keep both.

    What is dropped becomes selu's lowest value; then all is scaled and moved (Klambauer,
    Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks", 2017).

    Args:
        x: floating tensor.
        keep_prob: probability to keep an element, in (0, 1]; a number or a scalar tensor.
        noise_shape: shape of the choices, broadcast to x's; None: x's own.
        seed: of the choices; see set_random_seed.
        name: name scope of the operations.

    Raises:
        ValueError: keep_prob is not in (0, 1], or no scalar.
    """
    with name_scope(name, "alpha_dropout"):
        value = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, int | float) and not 0 < keep_prob <= 1:
            raise ValueError(
                "keep_prob must be a scalar tensor or a float in the range (0, 1], got "
                f"{keep_prob:g}"
            )
        keep = convert_to_tensor(keep_prob, dtype=value.dtype, name="keep_prob")
        keep.shape.assert_has_rank(0)
        if constant_value(keep) == 1:
            return value
        size = array.shape(value) if noise_shape is None else noise_shape
        draws = random_uniform(size, seed=seed, dtype=value.dtype)
        kept = elementwise.cast(comparison.greater_equal(draws, 1.0 - keep), value.dtype)
        masked = value * kept + _LOWEST * (1.0 - kept)
        scale = elementwise.pow(keep + keep * (1.0 - keep) * _LOWEST**2, -0.5)
        return scale * masked - scale * _LOWEST * (1.0 - keep)
