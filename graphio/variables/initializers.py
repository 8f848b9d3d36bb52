"""First values of variables.

An initializer is called with a shape (and a dtype) and builds a tensor. A class may be given
in the place of an instance where its arguments have defaults.
"""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant as _constant
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import as_shape
from graphio.ops.array import surface as array
from graphio.ops.linalg import factoring, matmul, matrices
from graphio.ops.math import elementwise
from graphio.ops.random import core as random
from graphio.ops.random import draws
from graphio.support import api_guard

__all__ = [
    "Initializer",
    "constant",
    "constant_initializer",
    "glorot_normal",
    "glorot_normal_initializer",
    "glorot_uniform",
    "glorot_uniform_initializer",
    "he_normal",
    "he_uniform",
    "identity",
    "identity_initializer",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "ones_initializer",
    "orthogonal",
    "orthogonal_initializer",
    "random_normal",
    "random_normal_initializer",
    "random_uniform",
    "random_uniform_initializer",
    "truncated_normal",
    "truncated_normal_initializer",
    "uniform_unit_scaling",
    "uniform_unit_scaling_initializer",
    "variance_scaling",
    "variance_scaling_initializer",
    "zeros",
    "zeros_initializer",
]


class Initializer:
    """Base class: call it with a shape to build a tensor."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of the shape.

        Args:
            shape: fully known.
            dtype: None: the initializer's own.
            partition_info: of a part of a partitioned variable: the shape of the complete variable
                as its full_shape, by which variances are chosen, and where the part begins as its
                var_offset. None: shape is the complete one.
        """
        requested = self.dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
        sizes = [d or 0 for d in as_shape(shape).as_list()]
        if partition_info is None:
            return self._build_part(sizes, requested, sizes, [0] * len(sizes))
        return self._build_part(
            sizes, requested, partition_info.full_shape, partition_info.var_offset
        )

    def _build_part(
        self, shape: list[int], dtype: dtypes.DType, whole: Sequence[int], begin: Sequence[int]
    ) -> Tensor:
        """A part that begins at an index of the complete value."""
        return self._build(shape, dtype)

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor; from_config takes them."""
        found = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {**found, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """An initializer as get_config describes it."""
        return cls(**config)


class zeros_initializer(Initializer):
    """Zeros; False for bool, empty for string."""

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return array.zeros(shape, dtype)


class ones_initializer(Initializer):
    """Ones."""

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return array.ones(shape, dtype)


class constant_initializer(Initializer):
    """Given numbers: value is a number, a list or an array; too few repeat the last."""

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not np.isscalar(value) and not isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}; expected a number, list "
                "or array"
            )
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def get_config(self) -> dict[str, Any]:
        """value and dtype."""
        return {"value": self.value, "dtype": self.dtype.name}

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return _constant(self.value, dtype, shape=shape, verify_shape=self.verify_shape)


class random_uniform_initializer(Initializer):
    """Numbers from [minval, maxval); maxval None is 1."""

    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


def _floating(dtype: Any) -> dtypes.DType:
    """The dtype. Raises ValueError if it is not floating: nothing else is drawn from a curve."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"dtype is {found.name}, expected a floating dtype")
    return found


class random_normal_initializer(Initializer):
    """Numbers from a normal distribution."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(_floating(dtype))
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.random_normal(shape, self.mean, self.stddev, dtype, self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Numbers from a normal distribution, none two or more deviations away."""

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class uniform_unit_scaling_initializer(Initializer):
    """Uniform within sqrt(3 / inputs) * factor either side of 0, so that variance is kept."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(_floating(dtype))
        self.factor, self.seed = factor, seed

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        inputs = max(1.0, _math.prod(float(d) for d in shape[:-1]))
        limit = _math.sqrt(3 / inputs) * self.factor
        return random.random_uniform(shape, -limit, limit, dtype, self.seed)


class variance_scaling_initializer(Initializer):
    """Numbers whose variance is scale / n, n being the units in, out, or their mean.

    Args:
        scale: positive.
        mode: fan_in, fan_out or fan_avg.
        distribution: normal or truncated_normal (both truncated at two deviations, with the
            deviation made up for), untruncated_normal, or uniform.
        seed: of the random numbers.
        dtype: of the result.

    Raises:
        ValueError: an argument is none of these.
    """

    #: deviation of a normal distribution truncated at two deviations
    _TRUNCATED_DEVIATION = 0.87962566103423978

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive float, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}; expected fan_in, fan_out, fan_avg")
        kind = distribution.lower()
        if kind not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        super().__init__(_floating(dtype))
        self.scale, self.mode, self.distribution, self.seed = scale, mode, kind, seed

    def _build_part(
        self, shape: list[int], dtype: dtypes.DType, whole: Sequence[int], begin: Sequence[int]
    ) -> Tensor:
        fan_in, fan_out = fans(whole)
        units = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        variance = self.scale / max(1.0, units[self.mode])
        if self.distribution == "uniform":
            limit = _math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -limit, limit, dtype, self.seed)
        deviation = _math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, deviation, dtype, self.seed)
        deviation /= self._TRUNCATED_DEVIATION
        return random.truncated_normal(shape, 0.0, deviation, dtype, self.seed)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """Units in and out of weights: of a matrix its sizes, of filters times the window's size."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    window = _math.prod(float(d) for d in shape[:-2])
    return shape[-2] * window, shape[-1] * window


class glorot_uniform_initializer(variance_scaling_initializer):
    """Uniform within sqrt(6 / (in + out)) either side of 0 (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class glorot_normal_initializer(glorot_uniform_initializer):
    """Truncated normal of variance 2 / (in + out) (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(seed, dtype)
        self.distribution = "truncated_normal"


class orthogonal_initializer(Initializer):
    """A random matrix with orthonormal columns or rows, times gain; all such are alike probable.

    Of more than two axes the last one has the columns. Half types are rounded from float32.

    Raises:
        ValueError: the shape has fewer than two axes.
    """

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(_floating(dtype))
        self.gain, self.seed = gain, seed

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = _math.prod(shape[:-1]), shape[-1]
        tall, drawn = (max(rows, columns), min(rows, columns)), draws.drawn_in(dtype)
        q, r = factoring.qr(random.random_normal(tall, dtype=drawn, seed=self.seed))
        q = q * elementwise.sign(matrices.matrix_diag_part(r))  # makes the distribution uniform
        matrix = q if rows >= columns else matmul.matrix_transpose(q)
        return elementwise.cast(self.gain * array.reshape(matrix, shape), dtype)


class identity_initializer(Initializer):
    """The identity matrix, times gain.

    Raises:
        ValueError: the shape has not two axes.
    """

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def _build_part(
        self, shape: list[int], dtype: dtypes.DType, whole: Sequence[int], begin: Sequence[int]
    ) -> Tensor:
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        ones = np.eye(shape[0], shape[1], begin[0] - begin[1])
        return _constant((self.gain * ones).astype(dtype.as_numpy_dtype))


@api_guard.guarded
def he_normal(seed: int | None = None) -> Initializer:
    """Truncated normal of variance 2 / in (He et al. 2015)."""
    return variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed)


@api_guard.guarded
def he_uniform(seed: int | None = None) -> Initializer:
    """Uniform within sqrt(6 / in) either side of 0 (He et al. 2015)."""
    return variance_scaling_initializer(2.0, "fan_in", "uniform", seed)


@api_guard.guarded
def lecun_normal(seed: int | None = None) -> Initializer:
    """Truncated normal of variance 1 / in (LeCun 1998)."""
    return variance_scaling_initializer(1.0, "fan_in", "truncated_normal", seed)


@api_guard.guarded
def lecun_uniform(seed: int | None = None) -> Initializer:
    """Uniform within sqrt(3 / in) either side of 0 (LeCun 1998)."""
    return variance_scaling_initializer(1.0, "fan_in", "uniform", seed)


# ---- the short names of tf.initializers ----

constant = constant_initializer
glorot_normal = glorot_normal_initializer
glorot_uniform = glorot_uniform_initializer
identity = identity_initializer
ones = ones_initializer
orthogonal = orthogonal_initializer
random_normal = random_normal_initializer
random_uniform = random_uniform_initializer
truncated_normal = truncated_normal_initializer
uniform_unit_scaling = uniform_unit_scaling_initializer
variance_scaling = variance_scaling_initializer
zeros = zeros_initializer
