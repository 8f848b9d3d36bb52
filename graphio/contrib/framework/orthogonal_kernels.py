"""Initializers of convolutions that keep the norm of their inputs (Xiao et al. 2018)."""

from __future__ import annotations

import itertools
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.linalg import factoring, matmul, matrices
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_normal
from graphio.variables.initializers import Initializer

__all__ = [
    "convolutional_delta_orthogonal",
    "convolutional_orthogonal_1d",
    "convolutional_orthogonal_2d",
    "convolutional_orthogonal_3d",
]

#: window position -> a matrix
_Kernel = dict[tuple[int, ...], Tensor]


class _OfConvolution(Initializer):
    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.gain, self.seed = gain, seed

    def _orthogonal(self, size: int, dtype: dtypes.DType) -> Tensor:
        """A random orthogonal matrix."""
        q, r = factoring.qr(random_normal([size, size], dtype=dtype, seed=self._next_seed()))
        found: Tensor = q * elementwise.sign(matrices.matrix_diag_part(r))
        return found

    def _next_seed(self) -> int | None:
        """The seed; each draw of a kernel has another."""
        seed = self.seed
        if self.seed:
            self.seed += 1
        return seed


def _check_filters(shape: list[int]) -> None:
    if shape[-2] > shape[-1]:
        raise ValueError(
            f"In_filters cannot be greater than out_filters: {shape[-2]} and {shape[-1]}."
        )


class convolutional_delta_orthogonal(_OfConvolution):
    """A random orthogonal matrix, times gain, in the middle of the window; the rest is zeros.

    Args:
        gain: the factor of the norm.
        seed: of the numbers.
        dtype: a floating type.

    Raises:
        ValueError: the shape has not 3, 4 or 5 axes, or fewer outputs than inputs.
    """

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        if not 3 <= len(shape) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most "
                "five-dimensional"
            )
        _check_filters(shape)
        rows = self._orthogonal(shape[-1], dtype)[: shape[-2]] * self.gain
        middle = [(size - 1) // 2 for size in shape[:-2]]
        around = [[at, size - 1 - at] for at, size in zip(middle, shape[:-2], strict=True)]
        one = array.reshape(rows, [1] * len(middle) + shape[-2:])
        return array.pad(one, [*around, [0, 0], [0, 0]])


class _Orthogonal(_OfConvolution):
    """A matrix, and kernels of size 2, each of which has a projection along each
    axis."""

    AXES = 0

    def _build(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        if len(shape) != self.AXES + 2:
            raise ValueError(
                f"The tensor to initialize must be {self.AXES + 2}-dimensional, found {shape}"
            )
        _check_filters(shape)
        window = shape[:-2]
        if len(set(window)) > 1:
            raise ValueError(f"Kernel sizes must be equal: {window}.")
        rows = self._orthogonal(shape[-1], dtype)[: shape[-2]]
        kernel = {(0,) * self.AXES: rows}
        for _ in range(window[0] - 1):
            kernel = _composed(kernel, self._pair(shape[-1], dtype))
        positions = itertools.product(range(window[0]), repeat=self.AXES)
        return array.reshape(array.stack([kernel[at] for at in positions]), shape) * self.gain

    def _pair(self, size: int, dtype: dtypes.DType) -> _Kernel:
        """A kernel of size 2: at each position a projection, or the rest of it, multiplied
        along each axis."""
        eye = array.eye(size, dtype=dtype)
        choices = []
        for _ in range(self.AXES):
            projection = self._projection(size, dtype)
            choices.append((projection, eye - projection))
        found = {}
        for at in itertools.product((0, 1), repeat=self.AXES):
            made = choices[0][at[0]]
            for axis in range(1, self.AXES):
                made = matmul.matmul(made, choices[axis][at[axis]])
            found[at] = made
        return found

    def _projection(self, size: int, dtype: dtypes.DType) -> Tensor:
        """A random symmetric matrix that is its own square."""
        basis = self._orthogonal(size, dtype)
        positive = random_normal([size], seed=self._next_seed()) > 0
        chosen = basis * elementwise.cast(positive, dtype)
        return matmul.matmul(chosen, chosen, transpose_b=True)


def _composed(one: _Kernel, two: _Kernel) -> _Kernel:
    """The kernel of two convolutions one after the other."""
    found: _Kernel = {}
    for (at, left), (step, right) in itertools.product(one.items(), two.items()):
        position = tuple(a + b for a, b in zip(at, step, strict=True))
        term = matmul.matmul(left, right)
        found[position] = found[position] + term if position in found else term
    return found


class convolutional_orthogonal_1d(_Orthogonal):
    """The kernel [width, in, out] of a convolution that multiplies the norm by gain, exactly where
    its input is a circle.

    Args:
        gain: the factor of the norm.
        seed: of the numbers.
        dtype: a floating type.

    Raises:
        ValueError: the shape has other axes, or fewer outputs than inputs.
    """

    AXES = 1


class convolutional_orthogonal_2d(_Orthogonal):
    """As convolutional_orthogonal_1d, of [size, size, in, out]."""

    AXES = 2


class convolutional_orthogonal_3d(_Orthogonal):
    """As convolutional_orthogonal_1d, of [size, size, size, in, out]."""

    AXES = 3
