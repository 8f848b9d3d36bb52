"""Fingerprints of rows, computed by Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import scope
from graphio.ops.strings import hashes, python_strings
from graphio.support import api_guard

__all__ = ["fingerprint"]

Array = np.ndarray[Any, Any]


@api_guard.operator
def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """The FarmHash fingerprint of each part of the first dimension: uint8 (n, 8), the lowest byte
    first.

    Args:
        data: tensor of at least one dimension; of strings, those of one row are each hashed, and
            then the hashes.
        method: "farmhash64".
        name: of the operation.

    Raises:
        ValueError: another method, or data is a scalar.
    """
    if method != "farmhash64":
        raise ValueError(f"Unsupported method: {method}")
    with scope(name, "Fingerprint") as at:
        x = convert_to_tensor(data, name="data")
        if x.shape.ndims == 0:
            raise ValueError("fingerprint: data is a scalar, expected at least one dimension")

        def work(array: Array) -> Sequence[Array]:
            return [np.array([_fingerprint(row) for row in array], np.uint8).reshape(-1, 8)]

        count = x.shape.as_list()[0] if x.shape.ndims else None
        made = python_strings.call("Fingerprint", work, [x], [(dtypes.uint8, (count, 8))], at)
        return made.outputs[0]


def _fingerprint(row: Any) -> list[int]:
    if isinstance(row, bytes):
        text = row
    elif row.dtype == object:
        hashed = [hashes.fingerprint64(part) for part in row.reshape(-1)]
        text = b"".join(number.to_bytes(8, "little") for number in hashed)
    else:
        text = np.ascontiguousarray(row).tobytes()
    return list(hashes.fingerprint64(text).to_bytes(8, "little"))
