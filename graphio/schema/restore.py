"""Whether stored values fit the variables that are to be restored; all differences at once."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphio.schema import dtypes
from graphio.schema.checkpoint import Checkpoint, read_checkpoint
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.support import errors

Shape = Sequence[int | None] | None
#: name to dtype's number and shape (None: any; None as a dimension: any)
Required = Mapping[str, tuple[int, Shape]]
#: name to dtype's number and shape
Rows = Mapping[str, tuple[int, Sequence[int]]]

_SHOWN = 10  # names for which near ones are looked up
_MANY = 2000  # names that are compared with one
_MISSING = (
    "Restoring from checkpoint failed. This is most likely due to a Variable name or other graph "
    "key that is missing from the checkpoint. Please ensure that you have not altered the graph "
    "expected based on the checkpoint. Original error:\n\n"
)
_MISMATCH = (
    "Restoring from checkpoint failed. This is most likely due to a mismatch between the current "
    "graph and the graph from the checkpoint. Please ensure that you have not altered the graph "
    "expected based on the checkpoint. Original error:\n\n"
)
_REQUEST = "Restoring from checkpoint failed: nothing was restored.\n\n"


def rows_of(index: CheckpointIndex) -> Rows:
    """The variables of a checkpoint."""
    return {v.name: (v.dtype, tuple(v.dims)) for v in index.variable}


@dataclass
class Problems:
    """The differences that keep values from being restored.

    Attributes:
        missing: variables for which there is no value.
        other_dtype, other_shape: variables whose value is of another dtype or shape, each with
            the sentence that says so.
        lost_objects: objects of the program whose state is missing.
        wrong: other sentences, about the arguments of the restore.
    """

    missing: list[str] = field(default_factory=list)
    other_dtype: dict[str, str] = field(default_factory=dict)
    other_shape: dict[str, str] = field(default_factory=dict)
    lost_objects: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        lost = self.missing or self.lost_objects
        return bool(lost or self.other_dtype or self.other_shape or self.wrong)

    def error(self, names: Iterable[str], more: Iterable[str] = ()) -> errors.OpError:
        """The error that says all of them.

        Args:
            names: of the stored values, for those that are near to a missing one.
            more: lines to add.
        """
        lines = [*_absent(self.missing, names), *self.other_dtype.values()]
        lines += self.other_shape.values()
        if self.lost_objects:
            lines.append(f"it has no state of the objects {', '.join(self.lost_objects)}")
        text = "\n".join([*lines, *self.wrong, *more])
        if self.missing or self.lost_objects:
            return errors.NotFoundError(message=_MISSING + text)
        start = _MISMATCH if self.other_dtype or self.other_shape else _REQUEST
        return errors.InvalidArgumentError(message=start + text)


def find_problems(
    rows: Rows,
    required: Required,
    *,
    names: Mapping[str, str] | None = None,
    reshape: bool = False,
    castable: Callable[[int, int], bool] | None = None,
) -> Problems:
    """The required values that are missing in the stored values, or are different there.

    Args:
        rows: the stored values.
        required: the values to be restored; other stored values do not matter.
        names: variable to the name of its value; None: they are called the same.
        reshape: True accepts another shape of as many elements.
        castable: whether a stored dtype may become a required one; None: only the same.
    """
    found = Problems()
    for name, (dtype, shape) in required.items():
        stored = name if names is None else names.get(name, "")
        if stored not in rows:
            found.missing.append(name)
            continue
        number, dims = rows[stored]
        shown = name if stored == name else f"{name} (from {stored})"
        if number != dtype and not (castable and castable(number, dtype)):
            found.other_dtype[name] = (
                f"{shown}: the variable has dtype {dtypes.name(dtype)}, "
                f"the checkpoint {dtypes.name(number)}"
            )
        if not _agree(shape, dims) and not (reshape and same_count(shape, dims)):
            found.other_shape[name] = (
                f"{shown}: Assign requires shapes of both tensors to match. "
                f"lhs shape= {_text(shape or ())} rhs shape= {_text(dims)}"
            )
    return found


def same_count(shape: Shape, dims: Sequence[int]) -> bool:
    """Whether a shape that is known has as many elements as another."""
    if shape is None or None in shape:
        return False
    return math.prod(d or 0 for d in shape) == math.prod(dims)


def _absent(missing: Sequence[str], rows: Iterable[str]) -> Iterable[str]:
    names = list(rows)
    for i, name in enumerate(missing):
        found = near(name, names) if i < _SHOWN else []
        hint = f" (it has {', '.join(found)})" if found else ""
        yield f"Key {name} not found in checkpoint{hint}"


def near(name: str, names: Sequence[str]) -> list[str]:
    """Up to three names that are like one; of very many, among those that end like it."""
    if len(names) > _MANY:
        end = name.rpartition("/")[2]
        names = [other for other in names if other.rpartition("/")[2] == end][:_MANY]
    return difflib.get_close_matches(name, names, 3)


def _agree(shape: Shape, dims: Sequence[int]) -> bool:
    return shape is None or (
        len(shape) == len(dims)
        and all(a is None or a == b for a, b in zip(shape, dims, strict=True))
    )


def _text(shape: Iterable[int | None]) -> str:
    return f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def read_fitting(prefix: str | os.PathLike[str], required: Required) -> Checkpoint:
    """A checkpoint of which every byte is checked and that has all required values.

    Raises:
        NotFoundError: there is none, or variables are missing; all are named.
        InvalidArgumentError: dtypes or shapes differ; all are named.
        DataLossError: it is damaged.
    """
    found = read_checkpoint(prefix)
    rows = rows_of(found.index)
    problems = find_problems(rows, required)
    if problems:
        raise problems.error(rows)
    return found
