"""Nodes that an attack begins with: the rows of tests/cases and the standard's one-node cases."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cases
import engines
import numpy as np

from graphio.schema import dtypes

Array = np.ndarray[Any, Any]
INT64 = (-(2**63), 2**63 - 1)
TYPES = [row.numpy for row in dtypes.TABLE if row.numpy is not None and row.number != dtypes.STRING]
if importlib.util.find_spec("ml_dtypes") is not None:
    import ml_dtypes

    TYPES += [np.dtype(getattr(ml_dtypes, dtypes.ML_DTYPES[n])) for n in (16, 17, 21, 22)]


@dataclass(frozen=True)
class Node:
    """A node, its inputs, and the element types that its outputs are declared with."""

    op: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    attrs: dict[str, Any]
    outputs: tuple[Any, ...]
    constant: tuple[int, ...] = ()  # inputs that are constants; the others are fed
    static: bool = False  # the shapes of those that are fed are in the file
    huge: tuple[int, tuple[int, ...]] | None = None  # an input, and its shape without elements

    def __str__(self) -> str:
        given = ", ".join(map(text, self.inputs))
        attrs = "".join(f", {k}={v!r:.200}" for k, v in self.attrs.items())
        kinds = ",".join(np.dtype(t).name for t in self.outputs)
        return f"{self.op}-{self.version}({given}{attrs}) -> {kinds}{self._position()}"

    def _position(self) -> str:
        constant = f" constant {list(self.constant)}" * bool(self.constant)
        return (
            f"{constant}{' static' * self.static}{f' huge {self.huge}' * (self.huge is not None)}"
        )

    def file(self) -> tuple[bytes, list[Array]]:
        """The model, and what to feed it."""
        builder, fed = self.model()
        return builder.bytes(), list(fed.values())

    def model(self) -> tuple[engines.Builder, dict[str, Array]]:
        """The same before it is bytes, and what to feed by the names of its inputs."""
        builder, names, fed = engines.Builder(), [], {}
        for i, x in enumerate(self.inputs):
            name = f"in{i:02}"
            if x is None:
                names.append("")
            elif self.huge is not None and self.huge[0] == i:
                names.append(huge(builder, x.dtype, self.huge[1]))
            elif i in self.constant:
                names.append(builder.constant(name, x))
            else:
                names.append(builder.placeholder(name, x.dtype, x.shape if self.static else None))
                fed[name] = x
        kinds = [engines.tensor_type(kind) for kind in self.outputs]
        builder.node(
            "node", self.op, names, kinds, self.attrs, domain=self.domain, version=self.version
        )
        results = {f"out{k}": f"node:{k}" if k else "node" for k in range(len(kinds))}
        builder.signature({name: name for name in fed}, results)
        return builder, fed


def huge(builder: engines.Builder, dtype: Any, dims: tuple[int, ...], name: str = "huge") -> str:
    """A value of a shape that no array of numpy can have; gives its name."""
    source = builder.constant(f"{name}_none", np.zeros(0, dtype))
    shape = builder.constant(f"{name}_dims", np.array(dims, np.int64))
    kind = engines.tensor_type(dtype)
    builder.node(name, "Reshape", [source, shape], [kind], {"allowzero": 1}, version=14)
    return name


def text(x: Array | None) -> str:
    """An array in a word, with its elements if they are few."""
    if x is None:
        return "-"
    values = f"={x.tolist()}" if 0 < x.size <= 12 else ""
    return f"{x.dtype}{list(x.shape)}{values}"


# ---- seeds ----


def seeds(rows: bool = False) -> list[Node]:
    """The rows of tests/cases and, where onnx is installed, the standard's one-node cases: those
    of numbers.

    Args:
        rows: the rows alone.
    """
    found = [*right(), *_refused()]
    if not rows and importlib.util.find_spec("onnx") is not None:
        found += _standard()
    return [
        node
        for node in found
        if all(x is None or is_array(x) for x in node.inputs)
        and all(not isinstance(x, np.ndarray) or is_array(x) for x in node.attrs.values())
    ]


def right() -> Iterator[Node]:
    """The rows of tests/cases that are answered."""
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"cases.{module.name}")
    for row in cases.CASES:
        kinds = tuple(x.dtype for x in row.outputs)
        yield Node(row.op, row.domain, row.version, row.inputs, dict(row.attrs), kinds)


def _refused() -> Iterator[Node]:
    for bad in cases.BAD:
        kind = next((x.dtype for x in bad.inputs if x is not None), np.dtype("float32"))
        kinds = (kind,) * bad.outputs
        yield Node(bad.op, bad.domain, bad.version, bad.inputs, dict(bad.attrs), kinds)


def _standard() -> Iterator[Node]:
    from conformance import suite
    from onnx import TensorProto, helper, numpy_helper

    for case in suite.cases().values():
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].domain not in ("", "ai.onnx") or not case.data:
            continue
        node, (inputs, outputs) = graph.node[0], case.data[0]
        fed = dict(zip((value.name for value in graph.input), inputs, strict=False))
        arrays = tuple(fed.get(name) for name in node.input)
        values = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        attrs = {
            k: numpy_helper.to_array(v) if isinstance(v, TensorProto) else v
            for k, v in values.items()
        }
        if all(map(is_array, outputs)) and all(map(_is_plain, attrs.values())):
            version = next(o.version for o in case.model.opset_import if o.domain == node.domain)
            kinds = tuple(x.dtype for x in outputs)
            yield Node(node.op_type, "", version, arrays, attrs, kinds)


def is_array(x: Any) -> bool:
    """Whether it is an array of numbers."""
    return isinstance(x, np.ndarray) and x.dtype.kind not in "OUSM"


def _is_plain(x: Any) -> bool:
    return is_array(x) or isinstance(x, (int, float, str, bytes, list))


def cast(x: Array, kind: Any) -> Array:
    """Another element type, whatever becomes of the numbers."""
    x = x.real if x.dtype.kind == "c" else x
    small = kind not in map(np.dtype, "?bBhHiIqQefd")  # ml_dtypes cannot cast them into each other
    return x.astype(np.float32).astype(kind) if small else x.astype(kind)
