"""One-node models, and running them in an engine: bytes in, arrays out."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from graphio.schema import container, dtypes
from graphio.schema.model_pb2 import Function, Model, Node, Type
from graphio.support import errors

Array = np.ndarray[Any, Any]
NAMES = ("runtime", "cinfer")
BOTH = pytest.mark.parametrize("engine", NAMES)


def module(name: str) -> Any:
    """The engine; a test that needs one that was not built is skipped."""
    if name == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    return importlib.import_module(f"graphio.{name}")


def instruction_sets() -> Iterator[str]:
    """Those that cinfer has kernels for and this machine runs."""
    data, _ = one_node("Abs", [np.zeros(1, np.float32)], {}, [np.float32], version=6)
    for isa in ("portable", "avx2", "avx512", "neon", "simd128"):
        try:
            module("cinfer").load(data, isa=isa)
        except errors.UnimplementedError:
            continue
        yield isa


def tensor_type(dtype: Any, shape: Sequence[int | None] | None = None) -> Type:
    """The type of a tensor; shape None: of any rank."""
    made = Type()
    made.tensor.dtype = dtypes.of_numpy(dtype).number  # type: ignore[assignment]
    if shape is not None:
        made.tensor.shape.SetInParent()
        for size in shape:
            dimension = made.tensor.shape.dim.add()
            if size is not None:
                dimension.size = size
    return made


def set_attribute(node: Node, key: str, value: Any) -> None:
    """Adds an attribute; nodes must get theirs in the order of their keys."""
    slot = node.attr.add(key=key).value
    if isinstance(value, np.ndarray):
        from graphio.schema import tensors

        slot.t.CopyFrom(tensors.from_array(value))
    elif isinstance(value, Type):
        slot.type.CopyFrom(value)
    elif isinstance(value, (bool, int)):
        slot.i = int(value)
    elif isinstance(value, float):
        slot.f = value
    elif isinstance(value, (str, bytes)):
        slot.s = value.encode() if isinstance(value, str) else value
    elif value and isinstance(value[0], (str, bytes)):
        slot.strings.s.extend(v.encode() if isinstance(v, str) else v for v in value)
    elif value and isinstance(value[0], float):
        slot.floats.f.extend(value)
    elif value and isinstance(value[0], (str, bytes)):
        slot.strings.s.extend(v.encode() if isinstance(v, str) else v for v in value)
    else:
        slot.ints.SetInParent()
        slot.ints.i.extend(value)


class Builder:
    """A model under construction; arrays go to the data section."""

    def __init__(self) -> None:
        self.model = Model()
        self.arrays: list[Array] = []

    def node(
        self,
        name: str,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[Type],
        attrs: Mapping[str, Any] | None = None,
        *,
        domain: str = "",
        version: int = 1,
    ) -> Node:
        """Adds a node."""
        made = self.model.graph.node.add(name=name, op=op, domain=domain, version=version)
        made.input.extend(inputs)
        made.output_type.extend(outputs)
        for key, value in sorted((attrs or {}).items()):
            set_attribute(made, key, value)
        return made

    def placeholder(self, name: str, dtype: Any, shape: Sequence[int | None] | None) -> str:
        """Adds a placeholder."""
        kind = tensor_type(dtype, shape)
        attrs = {"dtype": dtypes.of_numpy(dtype).number, "shape": kind}
        self.node(name, "Placeholder", [], [kind], attrs, domain="graphio")
        return name

    def constant(self, name: str, value: Array) -> str:
        """Adds a constant whose bytes are in the data section."""
        made = self.node(name, "Constant", [], [tensor_type(value.dtype, value.shape)])
        made.attr.add(key="value").value.tensor = len(self.arrays)
        self.arrays.append(value)
        return name

    def signature(
        self,
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
        targets: Sequence[str] = (),
        name: str = "run",
    ) -> None:
        """Adds a signature: keys to values."""
        made = self.model.signature.add(name=name)
        for key, value in inputs.items():
            made.input.add(key=key, value=value)
        for key, value in outputs.items():
            made.output.add(key=key, value=value)
        made.target.extend(targets)

    def bytes(self) -> bytes:
        """The bytes of the model's file."""
        for table in (self.model.signature, self.model.variable, self.model.resource):
            table.sort(key=lambda entry: entry.name)
        return container.pack(self.model, self.arrays)


def one_node(
    op: str,
    inputs: Sequence[Array | None],
    attrs: Mapping[str, Any],
    outputs: Sequence[Any],
    *,
    domain: str = "",
    version: int = 1,
    constant: bool = False,
    unknown: bool = False,
    functions: Sequence[Function] = (),
) -> tuple[bytes, list[Array]]:
    """A model of one node, and what to feed it.

    Args:
        op, inputs, attrs, domain, version: of the node.
        outputs: dtypes of its outputs, whose shapes are left open.
        constant: True makes constants of all inputs but the first, and gives the first its static
            shape; False feeds all of them, with shapes that are not known before the run.
        unknown: True reshapes the first to a shape that is fed, too: a plan does not know it.
        functions: bodies that the model brings along.
    """
    builder = Builder()
    names, fed = [], {}
    for i, x in enumerate(inputs):
        name = f"in{i}"
        if x is None:
            names.append("")
        elif constant and i:
            names.append(builder.constant(name, x))
        else:
            shape = x.shape if constant else None
            names.append(builder.placeholder(name, x.dtype, shape))
            fed[name] = x
    if unknown and fed:
        fed["shape"] = np.array(fed[names[0]].shape, np.int64)
        made = [tensor_type(fed[names[0]].dtype, [None] * len(fed["shape"]))]
        shape_of = builder.placeholder("shape", np.int64, fed["shape"].shape)
        builder.node("made", "Reshape", [names[0], shape_of], made, {"allowzero": 1}, version=25)
        names[0] = "made"
    kinds = [tensor_type(dtype) for dtype in outputs]
    builder.node("node", op, names, kinds, attrs, domain=domain, version=version)
    results = {f"out{k}": f"node:{k}" if k else "node" for k in range(len(outputs))}
    builder.signature({name: name for name in fed}, results)
    builder.model.function.extend(functions)
    return builder.bytes(), list(fed.values())


def run(engine: str, data: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Loads and runs the model's only signature."""
    outputs: list[Array] = module(engine).load(data).signature().run(inputs)
    assert are_values(outputs), "a bool is a byte other than 0 and 1, which compares like 1"
    return outputs


def are_values(outputs: Sequence[Any]) -> bool:
    """Whether every bool is a byte of 0 or 1."""
    bools = [x for x in outputs if isinstance(x, np.ndarray) and x.dtype == np.bool_]
    return all((x.view(np.uint8) <= 1).all() for x in bools)
