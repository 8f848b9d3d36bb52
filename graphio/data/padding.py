"""The shapes and values to which Dataset.padded_batch fills up the components of elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.data import structure
from graphio.data.structure import Spec
from graphio.framework import dtypes
from graphio.framework.constants import as_array
from graphio.framework.folding import constant_value
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape

__all__ = ["Padding"]

_WHAT = "padded_batch"


class Padding:
    """The padded shape and the filling of each component.

    Args:
        specs: of the elements.
        padded_shapes, padding_values: see Dataset.padded_batch.

    Attributes:
        shapes: static shapes, or vector tensors of sizes that a run knows.
        fillings: arrays or tensors.

    Raises:
        TypeError: a padding value of another dtype; a padded shape of other numbers than integers.
        ValueError: a padded shape of another rank than its component.
    """

    def __init__(self, specs: Any, padded_shapes: Any, padding_values: Any) -> None:
        self._specs = specs
        flat = structure.flatten(specs)
        if padded_shapes is None:
            self.shapes = [_known_rank(spec.shape) for spec in flat]
        else:
            given = structure.up_to(specs, padded_shapes, _WHAT, False)
            self.shapes = [_padded(shape) for shape in given]
        for spec, shape in zip(flat, self.shapes, strict=True):
            _check_padded(spec.shape, shape)
        if padding_values is None or isinstance(padding_values, (tuple, list, Mapping)):
            values = structure.up_to(specs, padding_values, _WHAT, nothing=True)
        else:
            values = [padding_values] * len(flat)
        self.fillings = [_filling(v, s.dtype) for v, s in zip(values, flat, strict=True)]

    def batched(self, size: int | None) -> Any:
        """The specs of batches of so many elements; None: of a number that is not known."""
        front = TensorShape([size])
        flat = structure.flatten(self._specs)
        specs = [
            Spec(spec.dtype, front.concatenate(_padded_rank(shape)))
            for spec, shape in zip(flat, self.shapes, strict=True)
        ]
        return structure.pack(self._specs, specs)

    @staticmethod
    def sizes(shape: Any) -> list[int]:
        """The dimensions of a shape, or of the value of a tensor; -1: the longest of the batch."""
        found = shape.as_list() if isinstance(shape, TensorShape) else shape.tolist()
        return [-1 if size is None else size for size in found]


def _padded(shape: Any) -> Any:
    """A static shape, or a vector tensor as it is, if its numbers are not known.

    Raises:
        TypeError: its numbers are not integers.
        ValueError: it is not a vector.
    """
    known = constant_value(shape) if isinstance(shape, Tensor) else None
    if isinstance(shape, Tensor):
        _check_vector(shape, shape.dtype.is_integer, shape.shape.ndims)
    shape = shape if known is None else known
    if isinstance(shape, np.ndarray):
        _check_vector(shape, shape.dtype.kind in "iu" or not shape.size, shape.ndim)
        shape = shape.tolist()
    if isinstance(shape, (list, tuple)):
        if any(isinstance(size, (list, tuple)) for size in shape):
            _check_vector(shape, True, 2)
        shape = [None if isinstance(size, int) and size < 0 else size for size in shape]
    return shape if isinstance(shape, Tensor) else as_shape(shape)


def _check_vector(shape: Any, integers: bool, rank: int | None) -> None:
    if not integers:
        raise TypeError(f"padded_batch: a padded shape is {shape!r}, expected integers")
    if rank not in (None, 1):
        raise ValueError(f"padded_batch: a padded shape is {shape!r}, expected a vector")


def _padded_rank(shape: Any) -> TensorShape:
    """The static shape of a padded shape."""
    if not isinstance(shape, Tensor):
        found: TensorShape = shape
        return found
    rank = shape.shape.with_rank(1).as_list()[0]
    return TensorShape(None if rank is None else [None] * rank)


def _known_rank(shape: TensorShape) -> TensorShape:
    if shape.ndims is None:
        raise ValueError("padded_batch: give `padded_shapes`, for a component has an unknown rank")
    return shape


def _check_padded(component: TensorShape, padded: Any) -> None:
    shape = _padded_rank(padded)
    if shape.ndims is None and not isinstance(padded, Tensor):
        raise ValueError("padded_batch: a padded shape must have a known rank")
    if component.ndims is None or shape.ndims is None:
        return
    if component.ndims != shape.ndims:
        raise ValueError(
            f"The padded shape {shape} is not compatible with the corresponding input component "
            f"shape {component}: the ranks differ."
        )
    for size, most in zip(component.as_list(), shape.as_list(), strict=True):
        if size is not None and most is not None and size > most:
            raise ValueError(
                f"The padded shape {shape} is not compatible with the corresponding input "
                f"component shape {component}: {size} is more than {most}."
            )


def _filling(value: Any, dtype: Any) -> Any:
    """A padding value of a component's dtype: an array or a tensor."""
    if isinstance(value, Tensor):
        if value.dtype != dtype:
            raise TypeError(
                f"The padding value is {value.dtype.name}, its component is {dtype.name}."
            )
        return value
    if value is None:
        return np.zeros((), dtype.as_numpy_dtype) if dtype != dtypes.string else as_array(b"", None)
    array = as_array(value, dtype)
    if array.ndim:
        raise ValueError(f"Padding value should be a scalar, but has the shape {array.shape}.")
    return array
