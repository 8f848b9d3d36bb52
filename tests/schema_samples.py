"""A small model and the state of a checkpoint, made without the builder, for tests of the files."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.schema import model_pb2 as pb

FLOAT = 1


def tensor_type(*dims: int | None, dtype: int = FLOAT) -> pb.Type:
    made = pb.Type()
    made.tensor.dtype = dtype
    made.tensor.shape.SetInParent()
    for dim in dims:
        made.tensor.shape.dim.add(**({} if dim is None else {"size": dim}))
    return made


def node(
    op: str, name: str, *inputs: str, domain: str = "", version: int = 1, **attrs: Any
) -> pb.Node:
    made = pb.Node(name=name, op=op, domain=domain, version=version, input=inputs)
    for key, value in sorted(attrs.items()):
        made.attr.add(key=key, value=pb.AttributeValue(**value))
    made.output_type.add()
    return made


def model() -> tuple[pb.Model, list[np.ndarray]]:
    """y = x w + c with a variable w (40, 20) and a constant c (20), and strings in an attribute."""
    made = pb.Model(producer="test", metadata=[pb.KeyValue(key="author", value="nobody")])
    made.opset.add(domain="", version=7)
    x, w = {"type": tensor_type(None, 40)}, {"type": tensor_type(40, 20)}
    number, name = {"i": FLOAT}, {"s": b"w"}
    made.graph.node.extend(
        [
            node("Placeholder", "x", domain="graphio", dtype=number, shape=x),
            node("Variable", "w", domain="graphio", dtype=number, shape=w, variable=name),
            node("MatMul", "xw", "x", "w"),
            node("Constant", "c", value={"tensor": 0}),
            node("Add", "y", "xw", "c", version=7),
        ]
    )
    made.graph.node[2].source.file, made.graph.node[2].source.line = "train.py", 12
    made.variable.add(
        name="w",
        dtype=FLOAT,
        shape=tensor_type(40, 20).tensor.shape,
        trainable=True,
        node="w",
        value=1,
    )
    signature = made.signature.add(name="predict")
    signature.input.add(key="x", value="x", type=tensor_type(None, 40))
    signature.output.add(key="y", value="y", type=tensor_type(None, 20))
    w = np.random.RandomState(0).randn(40, 20).astype(np.float32)
    return made, [np.arange(20, dtype=np.float32), w]


def state() -> dict[str, np.ndarray]:
    """Variables of many types and sizes."""
    random = np.random.RandomState(1)
    return {
        "w": random.randn(5, 7).astype(np.float32),
        "layer/w": random.randn(8, 16).astype(np.float32),
        "v": random.randn(3),
        "half": np.float16([1.5, -2]),
        "step": np.array(7, np.int64),
        "empty": np.zeros((0, 3), np.float32),
        "mask": np.array([True, False, True]),
        "bytes": np.arange(5, dtype=np.uint8),
        "wave": np.array([1 + 2j, -3j]),
        "names": np.array([b"zero", b"", "\u03c0".encode(), b"\xff\x00"], object),
        'odd "name"\\\n': np.int32([1]),
    }


def same(a: Any, b: Any) -> bool:
    """Whether arrays have the same dtype, shape and elements."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))
