"""Which part of a whole variable one part of it is, as TensorFlow's checkpoints write it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["SaveSliceInfo"]


class SaveSliceInfo:
    """A part of a variable that is partitioned.

    Args:
        full_name: of the whole variable.
        full_shape: of the whole variable.
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

    @property
    def spec(self) -> str:
        """The whole shape, then begin and size of the part for each axis: "4 0,2"."""
        whole = " ".join(str(int(n)) for n in self.full_shape or ())
        pairs = zip(self.var_offset or (), self.var_shape or (), strict=True)
        return f"{whole} " + ":".join(f"{int(begin)},{int(size)}" for begin, size in pairs)
