"""Values of any file that a restore can read, for looking at them and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.schema.checkpoint import Resource
from graphio.support import api_guard, errors
from graphio.train.interop.sources import Entry, Source, open_source

__all__ = ["LAYOUTS", "Values", "load_values"]

Array = np.ndarray[Any, Any]

#: how the axes of PyTorch's weights come to stand as TensorFlow's do
LAYOUTS: Mapping[str, tuple[int, ...]] = {
    "linear": (1, 0),  # [out, in] -> [in, out]
    "conv1d": (2, 1, 0),  # [out, in, width] -> [width, in, out]
    "conv2d": (2, 3, 1, 0),  # [out, in, height, width] -> [height, width, in, out]
    "conv3d": (2, 3, 4, 1, 0),
    "depthwise": (2, 3, 0, 1),  # [channels, 1, height, width] -> [height, width, channels, 1]
}


class Values(Mapping[str, Array]):
    """Read-only arrays by name; one is read and checked when it is requested.

    `Saver.restore` takes it in the place of a path.

    Attributes:
        source: where they come from.
    """

    def __init__(self, source: Source, axes: Mapping[str, tuple[int, ...]]) -> None:
        self.source = source
        self._axes = axes
        self._entries = {
            name: self._transposed(name, row) for name, row in source.entries().items()
        }

    def _transposed(self, name: str, entry: Entry) -> Entry:
        axes = self._axes.get(name)
        return entry if axes is None else Entry(entry.dtype, tuple(entry.dims[a] for a in axes))

    def __getitem__(self, name: str) -> Array:
        array = self.source.array(name)
        axes = self._axes.get(name)
        return array if axes is None else array.transpose(axes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __repr__(self) -> str:
        return f"<{len(self)} values of {self.what}>"

    def __str__(self) -> str:
        """A line a value: name, dtype, shape."""
        kinds = {row.dtype: dtypes.name(row.dtype) for row in self._entries.values()} | {
            0: "unknown"
        }
        return "\n".join(
            f"{_shown(name)} ({kinds[row.dtype]}) {list(row.dims)}"
            for name, row in self._entries.items()
        )

    @property
    def what(self) -> str:
        """The source, "safetensors file 'x'"."""
        return self.source.what

    @property
    def resources(self) -> Mapping[str, Resource]:
        """Generators, iterators and blobs of a checkpoint of ours."""
        return self.source.resources

    @property
    def skipped(self) -> Mapping[str, str]:
        """The entries of the file that are not tensors: names to types."""
        return self.source.skipped

    @property
    def full_names(self) -> Mapping[str, str]:
        """Of a TensorFlow 2 checkpoint: names to those that the variables had in the program."""
        found: Mapping[str, str] = getattr(self.source, "full_names", {})
        return found

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype's number and dimensions; nothing is read."""
        return self._entries

    def array(self, name: str) -> Array:
        """As [name]."""
        return self[name]


def _shown(name: str) -> str:
    """A name from a file as it may be printed: no control characters for the terminal."""
    return name if name.isprintable() else ascii(name)


@api_guard.guarded
def load_values(
    where: Any,
    *,
    transpose: Mapping[str, str | Sequence[int]] | None = None,
    unpacked: int | None = None,
) -> Values:
    """Opens any file that `Saver.restore` reads.

    Args:
        where: a checkpoint's prefix, ours or of TensorFlow (V2); a .safetensors, .npz or .npy
            file; a file of torch.save's; a folder of a Hugging Face model; a URL of any of these in
            an object store; a mapping of arrays.
        transpose: regular expressions of names to the order of axes that the arrays then have: a
            tuple as numpy.transpose takes, or what the weight was in PyTorch: "linear", "conv1d",
            "conv2d" (a transposed convolution, too), "conv3d", "depthwise".
        unpacked: bytes that the packed arrays of an .npz file, or of one of torch.save's, may
            become together; None: 256 MB, or 32 times the file's size where that is more.

    Returns:
        A mapping from names to read-only arrays.

    Raises:
        ResourceExhaustedError: they become more than that.
        NotFoundError: there is no such file.
        DataLossError: it is damaged.
        InvalidArgumentError: it is of no known format; an expression in `transpose` fits no
            name, or a name of another rank.
    """
    if unpacked is not None and (isinstance(unpacked, bool) or not isinstance(unpacked, int)):
        raise TypeError(f"unpacked is {unpacked!r}, expected a number of bytes or None")
    source = open_source(where, lazy=True, unpacked=unpacked)
    axes: dict[str, tuple[int, ...]] = {}
    for pattern, order in (transpose or {}).items():
        axes.update(_matching(source, pattern, order))
    return Values(source, axes)


def _matching(
    source: Source, pattern: str, order: str | Sequence[int]
) -> Mapping[str, tuple[int, ...]]:
    """The order of axes of every name that an expression fits."""
    if isinstance(order, str) and order not in LAYOUTS:
        raise errors.InvalidArgumentError(
            message=f"transpose: {order!r} is none of {', '.join(LAYOUTS)}"
        )
    axes = LAYOUTS[order] if isinstance(order, str) else tuple(order)
    names = [name for name in source.entries() if re.fullmatch(pattern, name)]
    if not names:
        raise errors.InvalidArgumentError(
            message=f"transpose: no name in {source.what} fits {pattern!r}; it has "
            f"{', '.join(map(_shown, list(source.entries())[:10]))}"
        )
    for name in names:
        dims = source.entries()[name].dims
        if sorted(axes) != list(range(len(dims))):
            raise errors.InvalidArgumentError(
                message=f"transpose: {name!r} has the shape {list(dims)}, its axes cannot be put "
                f"in the order {list(axes)}"
            )
    return dict.fromkeys(names, axes)
