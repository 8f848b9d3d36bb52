"""Operators that the standard defines by a function body, for those that no kernel computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import onnx
import onnx.defs
from onnx import helper

from graphio.framework.graph import Tensor
from graphio.onnx.types import type_proto
from graphio.onnx.upgrade import upgrade
from graphio.ops.base.shapes import dims_of

__all__ = ["OPSETS", "body", "bound", "endless", "schema"]

#: the newest opset of each domain
OPSETS = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1, "ai.onnx.preview": 1}


def schema(domain: str, op: str) -> Any:
    """The standard's definition of an operator; None if it has none."""
    try:
        return onnx.defs.get_schema(op, OPSETS.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None


def body(
    node: onnx.NodeProto, inputs: Sequence[Tensor | None], domain: str
) -> onnx.FunctionProto | None:
    """The function that a node stands for, in nodes of the newest opset; None if it has none.

    Args:
        node: the call; a body may depend on its attributes.
        inputs: tensors, on whose types a body may depend.
        domain: "" for ai.onnx.
    """
    definition = schema(domain, node.op_type)
    found = onnx.FunctionProto()
    if definition is None:
        return None
    if definition.has_function:
        found.CopyFrom(definition.function_body)
    elif definition.has_context_dependent_function:
        types = [
            (type_proto(t.dtype, dims_of(t)) if t is not None else onnx.TypeProto())
            .SerializeToString()
            for t in inputs
        ]  # fmt: skip
        plain = onnx.NodeProto()
        plain.CopyFrom(node)
        plain.domain = domain
        _context_body(definition, plain, types, found)
    else:
        return None
    made = _newest(found)
    if node.op_type == "MeanVarianceNormalization":
        _type_constants(made)
    own = {a.name for a in made.attribute_proto}
    made.attribute_proto.extend(
        spec.default_value
        for name, spec in sorted(definition.attributes.items())
        if spec.default_value.name and name not in own
    )
    return made


def _type_constants(function: onnx.FunctionProto) -> None:
    """Constants of float32 take the type of the input; the standard's body forgets the others."""
    nodes = list(function.node)
    del function.node[:]
    for node in nodes:
        function.node.append(node)
        if node.op_type != "Constant" or node.attribute[0].t.data_type != onnx.TensorProto.FLOAT:
            continue
        name = node.output[0]
        function.node[-1].output[0] = f"{name}_float"
        function.node.append(
            helper.make_node("CastLike", [f"{name}_float", function.input[0]], [name])
        )


def _context_body(
    definition: Any, node: onnx.NodeProto, types: list[bytes], into: onnx.FunctionProto
) -> None:
    versions = definition.context_dependent_function_opset_versions
    data = definition.get_context_dependent_function_with_opset_version(
        versions[-1], node.SerializeToString(), types
    )
    into.ParseFromString(data)
    if not into.node:
        raise ValueError("the standard's function body does not cover these types and attributes")


def _newest(function: onnx.FunctionProto) -> onnx.FunctionProto:
    """The function in the newest opset; the standard writes many in an older one."""
    opsets = {o.domain: o.version for o in function.opset_import}
    if opsets.get("", 28) == 28:
        return function
    function.domain = "body"
    model = onnx.ModelProto(
        ir_version=10,
        functions=[function],
        opset_import=[helper.make_opsetid("", opsets[""]), helper.make_opsetid("body", 1)],
    )
    return upgrade(model).functions[0]


Key = tuple[str, str, str]
_MOST_NODES = 1_000_000  # of a model whose functions are expanded


def endless(functions: Mapping[Key, onnx.FunctionProto], graph: onnx.GraphProto) -> list[str]:
    """Errors that prevent the expansion of a model's functions: recursion, too many nodes."""
    sizes: dict[Key, int] = {}
    around: list[Key] = []
    wrong: list[str] = []

    def size(nodes: Sequence[onnx.NodeProto]) -> int:
        total = len(nodes)
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key in functions:
                total += of(key)
            for attribute in node.attribute:
                graphs = ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)
                total += sum(size(inner.node) for inner in graphs)
        return total

    def of(key: Key) -> int:
        if key in around or len(around) > 32:
            what = "calls itself" if key in around else "is in calls deeper than 32"
            wrong.append(f"function '{key[1]}' of domain '{key[0]}' {what}")
            sizes[key] = 0
        if key not in sizes:
            around.append(key)
            sizes[key] = size(functions[key].node)
            around.pop()
        return sizes[key]

    if functions and (total := size(graph.node)) > _MOST_NODES:
        wrong.append(f"its functions expand to {total} nodes, at most {_MOST_NODES} are taken")
    return wrong


def bound(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: Set[str]
) -> onnx.NodeProto:
    """A node of a body for one call: attributes that refer to the call's have their values, and
    inputs that the call leaves out are absent."""
    made = onnx.NodeProto()
    made.CopyFrom(node)
    made.input[:] = ["" if name in absent else name for name in node.input]
    del made.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept = made.attribute.add()
            kept.CopyFrom(attribute)
            for graph in ([kept.g] if kept.HasField("g") else []) + list(kept.graphs):
                inner = [bound(n, attributes, absent) for n in graph.node]
                del graph.node[:]
                graph.node.extend(inner)
        elif attribute.ref_attr_name in attributes:
            kept = made.attribute.add()
            kept.CopyFrom(attributes[attribute.ref_attr_name])
            kept.name = attribute.name
    return made
