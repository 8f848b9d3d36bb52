"""The position of a part in a partitioned variable, as TensorFlow's checkpoints write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphio.framework.tensor_shape import TensorShape

__all__ = ["Partitioned", "SaveSliceInfo", "parts_of", "read_part", "write_part"]


class SaveSliceInfo:
    """A part of a variable that is partitioned.

    Args:
        full_name: of the complete variable.
        full_shape: of the complete variable.
        var_offset: where the part begins, one number an axis.
        var_shape: how large the part is.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
    ) -> None:
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @classmethod
    def from_spec(cls, spec: str) -> SaveSliceInfo:
        """The part that a spec describes, without the name of the complete variable.

        Raises:
            ValueError: spec is none.
        """
        *sizes, positions = spec.split() or [""]
        pairs = [pair.split(",") for pair in positions.split(":")]
        try:
            whole = [int(size) for size in sizes]
            begins, parts = ([int(pair[i]) for pair in pairs if len(pair) == 2] for i in (0, 1))
        except ValueError:
            whole, begins, parts = [], [], []
        if not whole or not len(whole) == len(begins) == len(parts) == len(pairs):
            raise ValueError(
                f"spec is {spec!r}, expected the sizes of the variable, then begin and size of the "
                'part for each axis, such as "4 3 0,2:0,3"'
            )
        return cls(None, whole, begins, parts)

    @property
    def indices(self) -> tuple[slice, ...]:
        """The index of the part in an array of the complete variable."""
        pairs = zip(self.var_offset or (), self.var_shape or (), strict=True)
        return tuple(slice(begin, begin + size) for begin, size in pairs)

    @property
    def spec(self) -> str:
        """The full shape, then begin and size of the part for each axis: "4 0,2"."""
        sizes = " ".join(str(int(n)) for n in self.full_shape or ())
        pairs = zip(self.var_offset or (), self.var_shape or (), strict=True)
        return f"{sizes} " + ":".join(f"{int(begin)},{int(size)}" for begin, size in pairs)


def write_part(info: SaveSliceInfo | None, message: Any, prefix: str = "") -> None:
    """Puts it into a message of a variable, whose full name loses a prefix."""
    if info is not None:
        message.part.whole = (info.full_name or "").removeprefix(prefix)
        message.part.shape.extend(info.full_shape or ())
        message.part.begin.extend(info.var_offset or ())


def read_part(message: Any, shape: TensorShape, prefix: str = "") -> SaveSliceInfo | None:
    """Reads it from a message of a variable, with a prefix of the name. None if the variable is not
    partitioned, or has an unknown shape, for which no position can be given.

    Args:
        message: a Variable of a model file.
        shape: of the part.
        prefix: of the name.

    Raises:
        ValueError: the part is not inside the complete variable.
    """
    if not message.HasField("part") or not shape.is_fully_defined():
        return None
    part, size = message.part, [d or 0 for d in shape.as_list()]  # none is unknown
    axes = list(zip(part.begin, size, part.shape, strict=False))
    fits = len(size) == len(part.shape) == len(part.begin)
    if not fits or any(b < 0 or n < 0 or b + n > full for b, n, full in axes):
        full_name = part.whole
        raise ValueError(
            f"variable '{message.name}': the part of shape {shape} that begins at "
            f"{list(part.begin)} does not lie inside '{full_name}' of shape {list(part.shape)}"
        )
    return SaveSliceInfo(prefix + part.whole, list(part.shape), list(part.begin), size)


class Partitioned:
    """Base class by which a variable made of several parts is recognized."""

    def __iter__(self) -> Iterator[Any]:
        """The parts."""
        raise NotImplementedError


def parts_of(params: Any) -> list[Any]:
    """The parts of what is looked up in: those of a list or a PartitionedVariable, or the one."""
    return list(params) if isinstance(params, (list, tuple, Partitioned)) else [params]
