"""Checks of sparse tensors: what they give is their first input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_OUT_OF_ORDER = (
    "is out of order. Many sparse ops require sorted indices. Use `tf.sparse.reorder` to create a "
    "correctly ordered copy."
)


@kernel("CheckSparseIndices", types="LL", domain="graphio")
def _check_sparse_indices(call: Call) -> Function:
    ordered = call.integer("ordered", 1)

    def check(indices: Any, shape: Any) -> Any:
        if indices.ndim != 2 or shape.shape != indices.shape[1:]:
            raise errors.InvalidArgumentError(
                message=f"indices have shape {list(indices.shape)} and shape {list(shape.shape)}, "
                "expected a matrix with a column for each size of the shape"
            )
        if not shape.size and (not ordered or len(indices) < 2):
            return indices  # however many there are
        if math.prod(max(size, 0) for size in shape.tolist()) >= 1 << 63:
            raise errors.InvalidArgumentError(
                message=f"shape {_text(shape)} has more elements than an int64 counts"
            )
        outside = ((indices < 0) | (indices >= shape)).any(axis=1)
        order = _order(indices) if ordered else np.ones(len(indices), np.int64)
        wrong = outside | (order <= 0)
        if wrong.any():
            row = int(wrong.argmax())
            what = "is repeated" if order[row] == 0 else _OUT_OF_ORDER
            if outside[row]:
                what = f"is out of bounds: need 0 <= index < {_text(shape)}"
            raise errors.InvalidArgumentError(
                message=f"indices[{row}] = {_text(indices[row])} {what}"
            )
        return indices

    return check


def _order(indices: Array) -> Array:
    """How each row follows the one before it: 1: as it should, 0: the same, -1: too late."""
    order = np.ones(len(indices), np.int64)
    if indices.shape[1] == 0:
        order[1:] = 0
    elif len(indices) > 1:
        steps = np.sign(indices[1:] - indices[:-1])
        order[1:] = steps[np.arange(len(steps)), (steps != 0).argmax(axis=1)]
    return order


def _text(values: Any) -> str:
    return f"[{','.join(str(v) for v in values.tolist())}]"


@kernel("CheckEqual", types="LL", domain="graphio")
def _check_equal(call: Call) -> Function:
    message = call.text("message", "")

    def check(x: Any, y: Any) -> Any:
        if x.ndim != 1 or y.ndim != 1:
            raise errors.InvalidArgumentError(
                message=f"the inputs have ranks {x.ndim} and {y.ndim}, expected vectors"
            )
        if not np.array_equal(x, y):
            raise errors.InvalidArgumentError(message=f"{message}: {_text(x)} and {_text(y)}")
        return x

    return check
