"""A small model and the state of a checkpoint, made without the builder, for tests of the files."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from graphio.schema import dtypes, tensors
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


METRICS = {"accuracy": 0.5, "loss": -1.25e-300, "never": float("inf")}


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


def digest(arrays: list[np.ndarray]) -> str:
    """SHA-256 of dtypes, shapes and little-endian elements."""
    whole = hashlib.sha256()
    for array in arrays:
        row = dtypes.of_numpy(array.dtype)
        whole.update(f"{row.name}{list(array.shape)}".encode() + bytes(tensors.encode(array)))
    return whole.hexdigest()


def everything() -> tuple[pb.Model, list[np.ndarray]]:
    """A model that uses every field of the format, few of which a kernel looks at."""
    made, arrays = model()
    exotic = node("NoOp", "exotic", domain="graphio")
    del exotic.output_type[:]
    exotic.device, exotic.tf_type = "/cpu:1", "ExoticV2"
    exotic.source.CopyFrom(pb.Source(file="train.py", line=88, function="build"))
    exotic.control_input.append("y")
    for key, value in sorted(_exotic_attributes().items()):
        exotic.attr.add(key=key, value=value)
    made.graph.node.append(exotic)
    made.graph.name = "everything"
    made.function.append(_function())
    made.variable.add(name="w/Momentum", dtype=FLOAT, slot_of="w", slot="momentum")
    _add_resources(made)
    made.signature[0].method, made.signature[0].doc = "tensorflow/serving/predict", "y = x w + c"
    made.signature[0].input[0].doc = "a batch"
    made.signature[0].input[0].type.tensor.shape.dim[0].symbol = "batch"
    made.signature[0].target.append("exotic")
    _add_collections(made)
    made.saver.CopyFrom(
        pb.Saver(variable=["w"], key=["weights"], max_to_keep=5, keep_every_hours=1.5, sharded=True)
    )
    made.rewrite.add(name="fold", approximate=True, detail="2 nodes")
    x = np.linspace(-1, 1, 80, dtype=np.float32).reshape(2, 40)
    made.selftest.add(signature="predict", input=[2], numerics=1)
    made.seed, made.has_seed = -5, True
    return made, [*arrays, x]


def _exotic_attributes() -> dict[str, pb.AttributeValue]:
    sequence = pb.Type(sequence=pb.Type(optional=tensor_type(None, 3, dtype=16)))
    values = {
        "double": pb.AttributeValue(d=0.1),
        "floats": pb.AttributeValue(floats=pb.AttributeValue.FloatList(f=[1.5, -2.0])),
        "int": pb.AttributeValue(i=-(1 << 63)),
        "ints": pb.AttributeValue(ints=pb.AttributeValue.IntList(i=[1, -1, 1 << 40])),
        "sequence": pb.AttributeValue(type=sequence),
        "string": pb.AttributeValue(s=b"\xff\x00"),
        "strings": pb.AttributeValue(strings=pb.AttributeValue.StringList(s=[b"a", b""])),
        "tensor": pb.AttributeValue(t=tensors.from_array(np.array([[b"x", b"yz"]], object))),
    }
    # Three 4-bit numbers in two bytes, five 2-bit ones in two.
    values["int4"] = pb.AttributeValue(t=pb.Tensor(dtype=22, dims=[3], data=b"\x21\x0f"))
    values["uint2"] = pb.AttributeValue(t=pb.Tensor(dtype=25, dims=[5], data=b"\xe4\x02"))
    for row in dtypes.TABLE:
        values[f"type_{row.number:02}"] = pb.AttributeValue(type=tensor_type(2, dtype=row.number))
    return values


def _function() -> pb.Function:
    body = pb.Function(domain="golden", name="Scale", version=3, input=["a"], output=["b"])
    body.attribute.append("k")
    body.node.append(node("Constant", "c", version=12))
    body.node[0].attr.add(key="value_float", value=pb.AttributeValue(reference="k"))
    body.node.append(node("Mul", "b", "a", "c", version=7))
    return body


def _add_resources(made: pb.Model) -> None:
    made.resource.add(name="blob").blob.data = b"bytes of the user's"
    generator = made.resource.add(name="dropout").generator
    generator.seeded, generator.key = True, 1 << 63
    generator.state.CopyFrom(pb.GeneratorState(key=1 << 63, counter=12))
    iterator = made.resource.add(name="images").iterator
    iterator.source = "images"
    iterator.state.CopyFrom(pb.IteratorState(epoch=1, offset=2, shuffle_seed=3, detail=b"d"))


def _add_collections(made: pb.Model) -> None:
    items = made.collection.add(name="marks").item
    items.add(variable="w")
    items.add(tensor="y:0")
    items.add(operation="y")
    items.add(i=7)
    items.add(d=0.5)
    items.add(s=b"text")


def pair() -> pb.Function:
    """pair(a, b) gives a - b and, scaled by the attribute k, its square."""
    made = pb.Function(domain="mine", name="Pair", version=1)
    made.input.extend(["a", "b"])
    made.output.extend(["d", "s"])
    made.attribute.append("k")
    made.node.extend([node("Sub", "d", "a", "b", version=7), node("Constant", "k", version=12)])
    made.node[1].attr.add(key="value_float", value=pb.AttributeValue(reference="k"))
    made.node.extend([node("Mul", "q", "d", "d", version=7), node("Mul", "s", "q", "k", version=7)])
    return made
