"""What only passes a value on; variables and generators are tests/test_runtime.py's."""

from __future__ import annotations

from cases import FLOATS, bad, case, floats
from graphio.schema import errors
from graphio.schema.model_pb2 import Type

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
