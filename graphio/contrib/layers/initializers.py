"""Initial values whose spread depends on the sizes of a variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.random import core as random
from graphio.support import api_guard

__all__ = [
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]


@api_guard.unguarded
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable[..., Tensor]:
    """Values of variance 2 / (fan in + fan out) (Glorot and Bengio 2010).

    Args:
        uniform: whether they are uniform; False: normal, cut off at two standard deviations.
        seed: of the random numbers.
        dtype: floating.

    Raises:
        TypeError: dtype is not floating.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


@api_guard.unguarded
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> Callable[..., Tensor]:
    """Values of variance factor / n, where n is the number of inputs or outputs of a unit.

    Args:
        factor: of the variance.
        mode: n is the number of inputs (FAN_IN), of outputs (FAN_OUT), or their mean (FAN_AVG).
        uniform: whether they are uniform; False: normal, cut off at two standard deviations, of
            which the variance before the cut is 1.3 times as large.
        seed: of the random numbers.
        dtype: floating.

    Raises:
        TypeError: dtype is not floating, or there is no such mode.
    """
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initial(shape: Any, dtype: Any = kind, partition_info: Any = None) -> Tensor:
        made = dtypes.as_dtype(dtype)
        if not made.is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        variance = factor / _fan(shape, mode)
        if uniform:
            limit = math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -limit, limit, made, seed=seed)
        return random.truncated_normal(shape, 0.0, math.sqrt(1.3 * variance), made, seed=seed)

    return initial


def _fan(shape: Any, mode: str) -> float:
    sizes = [int(size) for size in shape]
    window = math.prod(sizes[:-2])
    fan_in = float(window * (sizes[-2] if len(sizes) > 1 else sizes[-1])) if sizes else 1.0
    fan_out = float(window * sizes[-1]) if sizes else 1.0
    return {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode]
