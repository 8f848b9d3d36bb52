"""Operators that pass a value on; variables and generators: tests/execution/test_runtime.py."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.schema.model_pb2 import Type
from graphio.support import errors

X = floats(2, 3)
ANY = Type()
ANY.tensor.dtype = 1  # type: ignore[assignment]
TRANSFER = {"recv_device": "/device:CPU:1", "send_device": "/device:CPU:0", "tensor_name": "x"}
for op in ("Send", "Recv"):
    case(op, [X], TRANSFER, domain="graphio", expect=lambda x: x, types=FLOATS)
case("StopGradient", [X], domain="graphio", expect=lambda x: x, types=FLOATS)
case(
    "PlaceholderWithDefault",
    [X.astype("float32")],
    {"shape": ANY},
    domain="graphio",
    expect=lambda x: x,
    dtype="float32",
)
bad(
    "Placeholder",
    [],
    {"dtype": 1, "shape": ANY},
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=["You must feed a value for placeholder tensor 'node' with dtype float"],
    label="unfed",
)
for dtype in (np.int32, np.int64):
    case("BelowLimit", [dtype(2)], {"limit": 3}, domain="graphio", expect=lambda x: x, body=False)
bad(
    "BelowLimit",
    [np.int64(3)],
    {"limit": 3},
    domain="graphio",
    error=errors.OutOfRangeError,
    words=["Reached limit of 3"],
    label="reached",
)
bad(
    "BelowLimit",
    [np.zeros(1, np.int64)],
    {"limit": 3},
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=["expected a scalar"],
    label="vector",
)
case("EnsureShape", [X], {"dims": [-1, 3]}, domain="graphio", expect=lambda x: x, types=FLOATS)
for wrong in ([2, 4], [2], [-1, 3, 1]):
    bad(
        "EnsureShape",
        [X],
        {"dims": wrong},
        domain="graphio",
        error=errors.InvalidArgumentError,
        words=["Shape of tensor [2,3] is not compatible with expected shape ["],
        label=str(wrong),
    )
for integer in (np.int32([[3, -1]]), np.uint8([1, 255]), np.int64(4), np.zeros((0, 2), np.int16)):
    case(
        "NonZeroDivisor", [integer], domain="graphio", expect=lambda x: x, body=False,
        label=f"{integer.dtype}",
    )  # fmt: skip
bad(
    "NonZeroDivisor",
    [np.int32([1, 0])],
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=["Integer division by zero"],
    label="zero",
)
