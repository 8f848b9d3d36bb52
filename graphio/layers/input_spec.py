"""tf.layers.InputSpec: what a layer expects of an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import dtypes

__all__ = ["InputSpec"]


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

    Layers of a program keep it in their attribute input_spec; those of tf.layers check their
    inputs themselves.
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
