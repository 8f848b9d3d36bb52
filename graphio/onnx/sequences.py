"""Sequences that only carry tensors from one node to another, done without.

torch writes `chunk` and `split` as a sequence whose elements are taken out by constant numbers.
Without the sequence these are a Split, which has a gradient.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphio.onnx.checking import read_names

__all__ = ["without_sequences"]

_LIMIT = 1024  # pieces


def without_sequences(graph: onnx.GraphProto) -> None:
    """Rewrites SplitToSequence and SequenceConstruct, where the number of pieces is known and
    SequenceAt by a known number and ConcatFromSequence are all that reads them. In place."""
    if not any(n.op_type in ("SplitToSequence", "SequenceConstruct") for n in graph.node):
        return
    known = _constants(graph)
    splits = _splits(graph, known)
    pieces = {k: [f"{k}/{i}" for i in range(len(sizes))] for k, sizes in splits.items()}
    pieces |= {
        n.output[0]: list(n.input)
        for n in graph.node
        if n.op_type == "SequenceConstruct" and not n.domain and len(n.output) == 1
    }
    for value in graph.output:
        pieces.pop(value.name, None)
    for node in graph.node:
        for name in set(read_names(node)) & set(pieces):
            if not _reads_pieces(node, len(pieces[name]), known):
                del pieces[name]
    nodes = []
    for node in graph.node:
        names = pieces.get(node.output[0]) if node.output else None
        read = pieces.get(node.input[0]) if node.input else None
        if names and node.op_type == "SplitToSequence":
            sizes = np.asarray(splits[node.output[0]], np.int64)
            split = numpy_helper.from_array(sizes, f"{node.output[0]}/split")
            graph.initializer.append(split)
            nodes.append(_as("Split", node, [node.input[0], split.name], names, "axis"))
        elif read and node.op_type == "SequenceAt":
            taken = read[int(known[node.input[1]])]
            nodes.append(_as("Identity", node, [taken], list(node.output)))
        elif read and node.op_type == "ConcatFromSequence":
            nodes.append(_as("Concat", node, read, list(node.output), "axis"))
        elif not names:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _constants(graph: onnx.GraphProto) -> dict[str, Any]:
    """Small integers of the file, as int64."""
    found = [(t, t.name) for t in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            found += [(a.t, node.output[0]) for a in node.attribute if a.name == "value"]
    integers = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    values: dict[str, Any] = {}
    for t, name in found:
        short = len(t.dims) < 2 and all(0 <= d <= _LIMIT for d in t.dims)
        if t.data_type in integers and short and t.data_location != onnx.TensorProto.EXTERNAL:
            with contextlib.suppress(ValueError):  # wrong data are noted where they are read
                values[name] = numpy_helper.to_array(t).astype(np.int64)
    return values


def _splits(graph: onnx.GraphProto, known: dict[str, Any]) -> dict[str, list[int]]:
    """Sizes of the parts that each SplitToSequence makes, where they are known."""
    dims = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*graph.input, *graph.value_info)
    }
    found = {}
    for node in graph.node:
        if node.op_type == "SplitToSequence" and not node.domain:
            if (len(node.input), len(node.output)) != (2, 1):
                continue
            size = known.get(node.input[1])
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            shape = dims.get(node.input[0], [])
            if size is not None and size.ndim:
                found[node.output[0]] = size.tolist()
            elif size is not None and size > 0 and -len(shape) <= axis < len(shape):
                whole, rest = divmod(shape[axis], int(size))
                if 0 < whole <= _LIMIT:
                    found[node.output[0]] = [int(size)] * whole + [rest] * (rest > 0)
    return found


def _reads_pieces(node: onnx.NodeProto, count: int, known: dict[str, Any]) -> bool:
    """Whether a node can read elements in the place of the sequence."""
    if node.domain or not node.output:
        return False
    if node.op_type == "SequenceAt" and len(node.input) == 2:
        at = known.get(node.input[1])
        return at is not None and at.ndim == 0 and -count <= int(at) < count
    new_axis = any(a.name == "new_axis" and a.i for a in node.attribute)
    return node.op_type == "ConcatFromSequence" and not new_axis


def _as(
    op: str, node: onnx.NodeProto, inputs: list[str], outputs: list[str], *kept: str
) -> onnx.NodeProto:
    """Another operator instead of a node."""
    made = helper.make_node(op, inputs, outputs, node.name)
    made.attribute.extend(a for a in node.attribute if a.name in kept)
    return made
