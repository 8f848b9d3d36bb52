"""Files and the clock in the graph, by Python."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import describe, scope
from graphio.ops.base.host import host_call
from graphio.storage import gfile
from graphio.support import api_guard

__all__ = ["matching_files", "read_file", "timestamp", "write_file"]


def _call(
    tf_type: str,
    work: Callable[[list[Any]], list[Any]],
    inputs: Sequence[Tensor],
    output: tuple[DType, list[int | None]] | None,
    at: str,
) -> Operation:
    outputs = [] if output is None else [(output[0], TensorShape(output[1]))]
    return host_call(
        lambda session: work, inputs, outputs, function=f"files/{tf_type}", name=at, tf_type=tf_type
    )


def _text(value: Any, parameter: str, tf_type: str, at: str) -> Tensor:
    tensor = convert_to_tensor(value, dtypes.string, name=parameter)
    if tensor.shape.ndims not in (0, None):
        raise ValueError(
            f"Shape must be rank 0 but is rank {tensor.shape.ndims} for {describe(at, tf_type)}: "
            f"{parameter}"
        )
    return tensor


@api_guard.operator
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The content of a file, a scalar string.

    Args:
        filename: scalar string tensor.
        name: of the operation.

    Raises:
        ValueError: filename is not a scalar.
        NotFoundError: of the run: there is no such file.
    """

    def work(inputs: list[Any]) -> list[Any]:
        path = os.fsdecode(inputs[0][()])
        with gfile.failing_as_tensorflow(path), open(path, "rb") as file:
            return [np.array(file.read(), object)]

    with scope(name, "ReadFile") as at:
        given = _text(filename, "filename", "ReadFile", at)
        return _call("ReadFile", work, [given], (dtypes.string, []), at).outputs[0]


@api_guard.operator
def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """An operation that writes a string to a file, with the folders that lead to it.

    Args:
        filename: scalar string tensor.
        contents: scalar string tensor.
        name: of the operation.

    Raises:
        ValueError: an argument is not a scalar.
        PermissionDeniedError: of the run: it cannot be written.
    """

    def work(inputs: list[Any]) -> list[Any]:
        path, text = os.fsdecode(inputs[0][()]), bytes(inputs[1][()])
        with gfile.failing_as_tensorflow(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as file:
                file.write(text)
        return []

    with scope(name, "WriteFile") as at:
        given = [
            _text(filename, "filename", "WriteFile", at),
            _text(contents, "contents", "WriteFile", at),
        ]
        return _call("WriteFile", work, given, None, at)


@api_guard.operator
def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The files that match a pattern, or one of a vector of them: a sorted string vector."""

    def work(inputs: list[Any]) -> list[Any]:
        patterns = [os.fsdecode(p) for p in np.ravel(inputs[0])]
        found = sorted({path for p in patterns for path in gfile.glob(p)})
        result = np.empty(len(found), object)
        result[:] = [os.fsencode(path) for path in found]
        return [result]

    with scope(name, "MatchingFiles") as at:
        given = convert_to_tensor(pattern, dtypes.string, name="pattern")
        return _call("MatchingFiles", work, [given], (dtypes.string, [None]), at).outputs[0]


@api_guard.operator
def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970, a float64 scalar."""
    with scope(name, "Timestamp") as at:
        now: tuple[DType, list[int | None]] = (dtypes.float64, [])
        return _call("Timestamp", lambda _: [np.array(time.time())], [], now, at).outputs[0]
