"""TensorFlow's operators as calls of graphio's functions: a row each."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row
from graphio.tensorflow_files.operators import (
    arrays,
    elementwise,
    linear,
    networks,
    slopes,
    sources,
    sparse_rows,
    state,
    text,
    training,
    various,
)

__all__ = ["ROWS"]


def _same(path: str, c: Call) -> Any:
    function = reduce(getattr, path.split("."), tf)
    return function(*c.tensors, name=c.name)  # type: ignore[operator]


#: type of operation -> what builds it
ROWS: dict[str, Row] = {
    **{
        op: partial(_same, path)
        for family in (elementwise, arrays, linear, text, various)
        for op, path in family.SAME.items()
    },
    **{
        op: row
        for family in (
            *(elementwise, arrays, linear, networks, slopes, sources, sparse_rows, state, text),
            *(training, various),
        )
        for op, row in family.ROWS.items()
    },
}
