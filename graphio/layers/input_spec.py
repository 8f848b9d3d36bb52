"""tf.layers.InputSpec: what a layer expects of an input, and the check of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphio.framework import dtypes, nest
from graphio.framework.graph import Tensor

__all__ = ["InputSpec", "check"]


class InputSpec:
    """The input that a layer expects; None expects nothing.

    Args:
        dtype: of the elements.
        shape: the sizes, None for any; sets ndim.
        ndim, max_ndim, min_ndim: how many dimensions.
        axes: sizes by axis.

    Attributes:
        dtype, shape, ndim, max_ndim, min_ndim, axes: the arguments; dtype as its name, axes as a
            dict.

    Raises:
        TypeError: axes has a key that is not an integer.
        ValueError: axes has an axis beyond ndim or max_ndim.

    A layer keeps it in its attribute input_spec, or one for each of its inputs; each call checks
    the inputs against it. One of a program's sets the attribute.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Sequence[int | None] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[Any, int | None] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError(f"The keys in axes must be integers, got {list(axes or {})}.") from None
        most = next((n for n in (self.ndim, max_ndim) if n is not None), None)
        if self.axes and most is not None and max(self.axes) >= most:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {most - 1}"
            )

    def __repr__(self) -> str:
        given = (f"{name}={value}" for name, value in self.get_config().items() if value)
        return f"InputSpec({', '.join(given)})"

    def get_config(self) -> dict[str, Any]:
        """The arguments of an equal one."""
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> InputSpec:
        """The one whose get_config is config."""
        return cls(**config)

    def faults(self, x: Tensor) -> Iterator[str]:
        """The differences of a tensor, in the order in which TensorFlow looks for them."""
        rank = x.shape.ndims
        dims = None if rank is None else x.shape.as_list()
        if dims is None and (self.ndim, self.min_ndim, self.max_ndim) != (None, None, None):
            yield "its rank is undefined, but the layer requires a defined rank"
        if dims is not None:
            if self.ndim not in (None, rank):
                yield f"expected ndim={self.ndim}, found ndim={rank}"
            if self.max_ndim is not None and len(dims) > self.max_ndim:
                yield f"expected max_ndim={self.max_ndim}, found ndim={rank}"
            if self.min_ndim is not None and len(dims) < self.min_ndim:
                yield f"expected min_ndim={self.min_ndim}, found ndim={rank}"
        if self.dtype not in (None, x.dtype.base_dtype.name):
            yield f"expected dtype={self.dtype}, found dtype={x.dtype.base_dtype.name}"
        if dims is not None:
            for axis, size in self.axes.items():
                if size is not None and dims[axis : axis + 1 or None] not in ([None], [size]):
                    yield f"expected axis {axis} of input shape to have value {size}"
            if not all(
                a in (None, b) or b is None for a, b in zip(self.shape or (), dims, strict=False)
            ):
                yield f"expected shape={self.shape}, found shape={dims}"


def check(specs: Any, inputs: Any, layer: str) -> None:
    """Checks a layer's inputs against its input_spec.

    Args:
        specs: an InputSpec, or a nested structure of them; None, for an input, expects nothing.
        inputs: a tensor, or a nested structure of them.
        layer: its name, for the error.

    Raises:
        ValueError: an input is not as expected, or there are more or fewer.
    """
    tensors, expected = nest.flatten(inputs), nest.flatten(specs)
    if len(tensors) != len(expected):
        raise ValueError(
            f"Layer {layer} expects {len(expected)} inputs, but it received {len(tensors)} input "
            f"tensors. Inputs received: {inputs}"
        )
    for number, (x, spec) in enumerate(zip(tensors, expected, strict=True)):
        for fault in [] if spec is None else spec.faults(x):
            raise ValueError(
                f"Input {number} of layer {layer} is incompatible with the layer: {fault}. Full "
                f"shape received: {x.shape.as_list() if x.shape.ndims is not None else x.shape}"
            )
