"""Maps of ai.onnx.ml, done without: a map that a model takes is a vector of keys and one of values,
and the maps that ZipMap makes are a tensor whose columns have labels."""

from __future__ import annotations

import onnx
from onnx import helper

from graphio.onnx.ml import nodes as ml

__all__ = ["columns", "without_maps"]

_READERS = ("CastMap", "DictVectorizer")


def without_maps(graph: onnx.GraphProto) -> None:
    """Makes two inputs, "m.keys" and "m.values", of each input m that is a map. In place."""
    taken = {v.name: v.type.map_type for v in graph.input if v.type.HasField("map_type")}
    if not taken:
        return
    inputs = []
    for value in graph.input:
        if value.name not in taken:
            inputs.append(value)
            continue
        kind = taken[value.name]
        for part, dtype in (("keys", kind.key_type), ("values", _element(kind.value_type))):
            inputs.append(helper.make_tensor_value_info(f"{value.name}.{part}", dtype, [None]))
    del graph.input[:]
    graph.input.extend(inputs)
    for node in graph.node:
        if node.domain == ml.DOMAIN and node.op_type in _READERS and list(node.input)[:1]:
            name = node.input[0]
            if name in taken and len(node.input) == 1:
                node.input[:] = [f"{name}.keys", f"{name}.values"]


def _element(kind: onnx.TypeProto) -> int:
    return int(kind.tensor_type.elem_type)


def columns(graph: onnx.GraphProto) -> dict[str, list[int] | list[str]]:
    """By output that a ZipMap makes: the labels of its columns."""
    outputs = {v.name for v in graph.output}
    found: dict[str, list[int] | list[str]] = {}
    for node in graph.node:
        if node.op_type == "ZipMap" and node.domain == ml.DOMAIN and node.output[0] in outputs:
            attrs = ml.attributes(node)
            names = [text.decode() for text in attrs.get("classlabels_strings") or ()]
            found[node.output[0]] = names or list(attrs["classlabels_int64s"])
    return found
