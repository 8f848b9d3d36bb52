"""Whether a checkpoint fits the variables that are to be restored; all differences at once."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterable, Mapping, Sequence

from graphio.schema import dtypes, errors
from graphio.schema.checkpoint import Checkpoint, read_checkpoint
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointVariable

#: name in the checkpoint to dtype's number and shape (None: any; None as a dimension: any)
Wanted = Mapping[str, tuple[int, Sequence[int | None] | None]]

_SHOWN = 10  # names for which near ones are looked up
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


def check_fit(index: CheckpointIndex, wanted: Wanted, *, reshape: bool = False) -> None:
    """Does nothing when every wanted variable is there with its dtype and shape.

    Args:
        index: of the checkpoint.
        wanted: what is to be restored. Other variables of the checkpoint do not matter.
        reshape: True accepts another shape of as many elements.

    Raises:
        NotFoundError: variables are missing; all are named, with names that are near.
        InvalidArgumentError: dtypes or shapes differ; all are named.
    """
    rows = {v.name: v for v in index.variable}
    missing = [name for name in wanted if name not in rows]
    differences = [
        text
        for name, (dtype, shape) in wanted.items()
        if name in rows
        for text in _differences(rows[name], dtype, shape, reshape)
    ]
    if missing:
        raise errors.NotFoundError(
            message=_MISSING + "\n".join([*_absent(missing, rows), *differences])
        )
    if differences:
        raise errors.InvalidArgumentError(message=_MISMATCH + "\n".join(differences))


def _absent(missing: Sequence[str], rows: Iterable[str]) -> Iterable[str]:
    names = list(rows)
    for i, name in enumerate(missing):
        near = difflib.get_close_matches(name, names, 3) if i < _SHOWN else []
        hint = f" (it has {', '.join(near)})" if near else ""
        yield f"Key {name} not found in checkpoint{hint}"


def _differences(
    row: CheckpointVariable, dtype: int, shape: Sequence[int | None] | None, reshape: bool
) -> Iterable[str]:
    if row.dtype != dtype:
        yield (
            f"{row.name}: the variable has dtype {dtypes.name(dtype)}, "
            f"the checkpoint {dtypes.name(row.dtype)}"
        )
    if shape is None or _agree(shape, row.dims):
        return
    if reshape and None not in shape and math.prod(d or 0 for d in shape) == math.prod(row.dims):
        return
    yield (
        f"{row.name}: Assign requires shapes of both tensors to match. "
        f"lhs shape= {_text(shape)} rhs shape= {_text(row.dims)}"
    )


def _agree(shape: Sequence[int | None], dims: Sequence[int]) -> bool:
    return len(shape) == len(dims) and all(
        a is None or a == b for a, b in zip(shape, dims, strict=True)
    )


def _text(shape: Iterable[int | None]) -> str:
    return f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def read_fitting(prefix: str | os.PathLike[str], wanted: Wanted) -> Checkpoint:
    """A checkpoint of which every byte is checked and that has all that is wanted.

    Raises:
        NotFoundError: there is none, or variables are missing; all are named.
        InvalidArgumentError: dtypes or shapes differ; all are named.
        DataLossError: it is damaged.
    """
    found = read_checkpoint(prefix)
    check_fit(found.index, wanted)
    return found
