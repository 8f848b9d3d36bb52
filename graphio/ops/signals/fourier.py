"""Fourier transforms of the last one, two or three axes, or of given ones.

Complex numbers are read as pairs, which is a view, and each axis is one DFT of these. Gradients are
those of the DFTs, in TensorFlow's convention: dL/dre + i dL/dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, is_symbolic, scope, static_ints, whole
from graphio.ops.base.shapes import dims_of
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise
from graphio.ops.signals import dft, lengths
from graphio.ops.signals.lengths import Length
from graphio.ops.signals.pairs import numbers, pairs
from graphio.support import api_guard

__all__ = [
    "fft", "fft2d", "fft3d", "fftnd", "ifft", "ifft2d", "ifft3d", "ifftnd",
    "irfft", "irfft2d", "irfft3d", "irfftnd", "rfft", "rfft2d", "rfft3d", "rfftnd",
]  # fmt: skip

#: Which transforms divide by the number of elements, or by its root: norm -> (power of the
#: transform, of its inverse).
_NORMS = {"backward": (0.0, 1.0), "ortho": (0.5, 0.5), "forward": (1.0, 0.0), None: (0.0, 1.0)}
_COMPLEX = (dtypes.complex64, dtypes.complex128)
_REAL = (dtypes.float32, dtypes.float64)


# ---- arguments ----


def _operand(value: Any, allowed: tuple[DType, DType], rank: int, op: str, at: str) -> Tensor:
    """value as a tensor; numbers of Python are of the first dtype allowed.

    Raises:
        TypeError: it has another dtype.
        ValueError: its rank is too small.
    """
    plain = not is_symbolic(value) and not hasattr(value, "dtype")
    x = convert_to_tensor(value, dtype=allowed[0] if plain else None, name="input")
    found = x.shape.ndims
    if found is None or found < rank:
        raise ValueError(
            f"Shape must be at least rank {rank} but is rank {found} for {describe(at, op)}: "
            f"Shape {x.shape} must have rank at least {rank}"
        )
    if x.dtype.base_dtype not in allowed:
        raise TypeError(
            f"Value passed to parameter 'input' of '{op}' has DataType {x.dtype.base_dtype.name}, "
            f"expected {allowed[0].name} or {allowed[1].name}; cast it"
        )
    return x


def _lengths(value: Any, count: int, op: str) -> list[Length] | None:
    """fft_length: one number for each axis; None: as many as there are.

    Raises:
        ValueError: it is not a vector of so many numbers, or one is known to be negative.
    """
    if value is None:
        return None
    vector = whole(value, op, "fft_length")
    dims = dims_of(vector)
    if dims is not None and len(dims) != 1:
        raise ValueError(f"{op}: fft_length: Shape {vector.shape} must have rank 1")
    if dims is not None and dims[0] not in (None, count):
        raise ValueError(f"{op}: fft_length: Dimension must be {count} but is {dims[0]}")
    known = static_ints(value if isinstance(value, (list, tuple)) else vector)
    found: list[Length] = []
    for i in range(count):
        size = known[i] if known is not None and len(known) == count else None
        if size is not None and size < 0:
            raise ValueError(f"{op}: fft_length is {size}, which must be greater or equal to 0")
        at = lengths.as_tensor(i)
        found.append(primitive.gather(vector, at, 0) if size is None else size)
    return found


def _axes(axes: Any, fft_length: Any, x: Tensor, op: str, at: str) -> list[int]:
    """Axes 0 or greater; None: the last ones, as many as there are lengths, or all.

    Raises:
        ValueError: they are not in ascending order, one after another, or out of range.
    """
    rank = x.shape.ndims
    assert rank is not None
    if axes is None:
        dims = None if fft_length is None else dims_of(whole(fft_length, op, "fft_length"))
        count = dims[0] if dims is not None and len(dims) == 1 else None
        return list(range(rank - (rank if count is None else count), rank))
    given = static_ints(axes)
    if given is None or None in given:
        raise ValueError(f"{op}: axes must be known while the graph is built, got {axes!r}")
    what = describe(at, op)
    found = [shapes.normalize_axis(a, rank, what) for a in given if a is not None]
    if len(set(found)) != len(found):
        raise ValueError(f"{op}: axes are {found}, of which one is there twice")
    return found


# ---- transforms ----


def _scaled(x: Tensor, sizes: Sequence[Length], power: float) -> Tensor:
    """Pairs or real numbers times a power of the product of the sizes."""
    if not power:
        return x
    total: Any = 1.0
    for size in sizes:
        total = total * lengths.as_number(size, dtypes.float64)
    return elementwise.multiply(x, primitive.cast(elementwise.pow(total, power), x.dtype))


def _transformed(
    x: Tensor, axes: Sequence[int], sizes: Sequence[Length] | None, inverse: bool, norm: str | None
) -> Tensor:
    """Pairs of pairs."""
    counts = [lengths.of(x, a) for a in axes] if sizes is None else sizes
    for axis, n in zip(axes, counts, strict=True):
        x = dft.transform(x, n, axis, inverse)
    return _scaled(x, counts, _power(norm, inverse))


def _real_transformed(
    x: Tensor, axes: Sequence[int], sizes: Sequence[Length] | None, norm: str | None
) -> Tensor:
    """Pairs of real numbers: the last axis first, of whose spectrum one half is kept."""
    counts = [lengths.of(x, a) for a in axes] if sizes is None else sizes
    x = primitive.unsqueeze(x, [-1])
    x = dft.transform(x, counts[-1], axes[-1], onesided=True)
    for axis, n in zip(axes[:-1], counts[:-1], strict=True):
        x = dft.transform(x, n, axis)
    return _scaled(x, counts, _power(norm, inverse=False))


def _real_again(
    x: Tensor, axes: Sequence[int], sizes: Sequence[Length] | None, norm: str | None
) -> Tensor:
    """Real numbers of pairs: the last axis, of which there is half a spectrum, comes last."""
    if sizes is None:
        whole_axes = [lengths.of(x, a) for a in axes[:-1]]
        sizes = [*whole_axes, lengths.largest(0, 2 * (lengths.of(x, axes[-1]) - 1))]
    for axis, n in zip(axes[:-1], sizes[:-1], strict=True):
        x = dft.transform(x, n, axis, inverse=True)
    x = dft.transform(x, sizes[-1], axes[-1], inverse=True, onesided=True)
    return _scaled(primitive.squeeze(x, [len(x.shape.as_list()) - 1]), sizes, _power(norm, True))


def _power(norm: str | None, inverse: bool) -> float:
    """Of the number of elements, which multiplies a transform that divides by it if inverse."""
    forward, backward = _NORMS[norm]
    return 1.0 - backward if inverse else -forward


def _check_norm(norm: Any, op: str) -> None:
    if norm not in _NORMS:
        raise ValueError(f"{op}: norm is {norm!r}, expected backward, ortho, forward or None")


# ---- complex numbers ----


def _complex(value: Any, rank: int, inverse: bool, op: str, name: str | None) -> Tensor:
    with scope(name, op) as at:
        x = _operand(value, _COMPLEX, rank, op, at)
        axes = range(len(x.shape.as_list()) - rank, len(x.shape.as_list()))
        return numbers(_transformed(pairs(x), axes, None, inverse, None), at)


@api_guard.operator
@of_any_rank("FFT", 1)
def fft(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform: y[k] = sum of x[j] exp(-2 pi i j k / n).

    Args:
        input: complex64 or complex128 tensor (..., n), n of any size.
        name: of the operation.

    Returns:
        A tensor of the same dtype and shape. Engines compute in float64.

    Raises:
        TypeError: the dtype is another one.
        ValueError: input is a scalar.

    Example:
        >>> tf.Session().run(tf.signal.fft([1.0, 2.0, 4.0, 0.0]))
        array([ 7.+0.j, -3.-2.j,  3.+0.j, -3.+2.j], dtype=complex64)
    """
    return _complex(input, 1, False, "FFT", name)


@api_guard.operator
@of_any_rank("IFFT", 1)
def ifft(input: Any, name: str | None = None) -> Tensor:
    """The inverse of fft: y[k] = sum of x[j] exp(2 pi i j k / n) / n."""
    return _complex(input, 1, True, "IFFT", name)


@api_guard.operator
@of_any_rank("FFT2D", 2)
def fft2d(input: Any, name: str | None = None) -> Tensor:
    """As fft, along the last two axes."""
    return _complex(input, 2, False, "FFT2D", name)


@api_guard.operator
@of_any_rank("IFFT2D", 2)
def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of fft2d."""
    return _complex(input, 2, True, "IFFT2D", name)


@api_guard.operator
@of_any_rank("FFT3D", 3)
def fft3d(input: Any, name: str | None = None) -> Tensor:
    """As fft, along the last three axes."""
    return _complex(input, 3, False, "FFT3D", name)


@api_guard.operator
@of_any_rank("IFFT3D", 3)
def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of fft3d."""
    return _complex(input, 3, True, "IFFT3D", name)


# ---- real numbers ----


def _real(value: Any, fft_length: Any, rank: int, op: str, name: str | None) -> Tensor:
    with scope(name, op) as at:
        x = _operand(value, _REAL, rank, op, at)
        axes = range(len(x.shape.as_list()) - rank, len(x.shape.as_list()))
        sizes = _lengths(fft_length, rank, op)
        return numbers(_real_transformed(x, axes, sizes, None), at)


def _inverse_real(value: Any, fft_length: Any, rank: int, op: str, name: str | None) -> Tensor:
    with scope(name, op) as at:
        x = _operand(value, _COMPLEX, rank, op, at)
        axes = range(len(x.shape.as_list()) - rank, len(x.shape.as_list()))
        sizes = _lengths(fft_length, rank, op)
        return array.identity(_real_again(pairs(x), axes, sizes, None), name=at)


@api_guard.operator
@of_any_rank("rfft", 1)
def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """fft of real numbers: the first n // 2 + 1 numbers, of which the others are conjugates.

    Args:
        input_tensor: float32 or float64 tensor (..., elements).
        fft_length: [n], integers or a tensor of them: the elements are cut to n, or zeros are
            added; None: all of them.
        name: of the operation.

    Returns:
        A complex64 or complex128 tensor (..., n // 2 + 1).

    Raises:
        TypeError: the dtype is another one.
        ValueError: the input's rank or the shape of fft_length does not fit.
    """
    return _real(input_tensor, fft_length, 1, "rfft", name)


@api_guard.operator
@of_any_rank("irfft", 1)
def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of rfft.

    Args:
        input_tensor: complex64 or complex128 tensor (..., m).
        fft_length: [n] of rfft; None: 2 (m - 1), which is right if n was even.
        name: of the operation.

    Returns:
        A float32 or float64 tensor (..., n).

    Raises:
        TypeError: the dtype is another one.
        ValueError: the input's rank or the shape of fft_length does not fit.
    """
    return _inverse_real(input_tensor, fft_length, 1, "irfft", name)


@api_guard.operator
@of_any_rank("rfft2d", 2)
def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """As rfft, along the last two axes; of the last one half the spectrum is given."""
    return _real(input_tensor, fft_length, 2, "rfft2d", name)


@api_guard.operator
@of_any_rank("irfft2d", 2)
def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of rfft2d; see irfft."""
    return _inverse_real(input_tensor, fft_length, 2, "irfft2d", name)


@api_guard.operator
@of_any_rank("rfft3d", 3)
def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """As rfft, along the last three axes; of the last one half the spectrum is given."""
    return _real(input_tensor, fft_length, 3, "rfft3d", name)


@api_guard.operator
@of_any_rank("irfft3d", 3)
def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of rfft3d; see irfft."""
    return _inverse_real(input_tensor, fft_length, 3, "irfft3d", name)


# ---- given axes ----


@api_guard.operator
def fftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """As fft, along given axes.

    Args:
        input_tensor: complex64 or complex128 tensor of known rank.
        fft_length: how many numbers each axis has, cut or padded with zeros; None: all.
        axes: list of integers; None: the last ones, as many as there are lengths, or all.
        norm: "backward" or None: the inverse divides by the number of elements; "forward": the
            transform does; "ortho": both divide by its root.
        name: of the operation.

    Raises:
        TypeError: the dtype is another one.
        ValueError: an argument is none of these.
    """
    return _nd(_COMPLEX, input_tensor, fft_length, axes, norm, "fftnd", name)


@api_guard.operator
def ifftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of fftnd."""
    return _nd(_COMPLEX, input_tensor, fft_length, axes, norm, "ifftnd", name)


@api_guard.operator
def rfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """As rfft, along given axes; of the last of them half the spectrum is given. See fftnd."""
    return _nd(_REAL, input_tensor, fft_length, axes, norm, "rfftnd", name)


@api_guard.operator
def irfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of rfftnd; see irfft and fftnd."""
    return _nd(_COMPLEX, input_tensor, fft_length, axes, norm, "irfftnd", name)


def _nd(
    allowed: tuple[DType, DType], value: Any, fft_length: Any, axes: Any, norm: Any, op: str,
    name: str | None,
) -> Tensor:  # fmt: skip
    _check_norm(norm, op)
    with scope(name, op) as at:
        x = _operand(value, allowed, 1, op, at)
        positions = _axes(axes, fft_length, x, op, at)
        sizes = _lengths(fft_length, len(positions), op)
        if op == "rfftnd":
            return numbers(_real_transformed(x, positions, sizes, norm), at)
        if op == "irfftnd":
            return array.identity(_real_again(pairs(x), positions, sizes, norm), name=at)
        return numbers(_transformed(pairs(x), positions, sizes, op == "ifftnd", norm), at)
