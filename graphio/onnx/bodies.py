"""If, Loop and Scan: nodes whose attributes are graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx

from graphio.framework import dtypes, scopes
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Tensor
from graphio.framework.operation_names import valid_name
from graphio.framework.tensor_shape import TensorShape
from graphio.onnx.attributes import from_proto
from graphio.onnx.scope import Scope
from graphio.onnx.types import static_type
from graphio.ops.control_flow.branches import common_shape
from graphio.schema import operators

if TYPE_CHECKING:
    from graphio.onnx.importing import Importer

__all__ = ["CONTROL", "control"]

CONTROL = ("If", "Loop", "Scan")
Spec = tuple[DType, TensorShape]


def control(
    importer: Importer, node: onnx.NodeProto, inputs: Sequence[Tensor | None], scope: Scope
) -> list[Tensor | None]:
    """The outputs of an If, a Loop or a Scan.

    Raises:
        ValueError: the numbers of inputs and outputs of node and bodies do not match.
    """
    if node.op_type == "If" and inputs[0] is not None:
        taken = constant_value(inputs[0])
        if taken is not None and taken.size == 1:
            return _branch(importer, node, bool(taken.item()), scope)
    make = {"If": _if, "Loop": _loop, "Scan": _scan}[node.op_type]
    before = importer.problems.noted
    graph = scopes.get_default_graph()
    with scopes.name_scope(valid_name(node.name or node.output[0] or node.op_type)):
        attrs, specs, given = make(importer, node, list(inputs), scope)
        if importer.problems.noted > before:
            return [None] * len(node.output)
        version = operators.lookup("", node.op_type, 28).version
        made = graph.add_operation(
            node.op_type, given, specs, attrs, name=node.op_type, version=version
        )
    return list(made.outputs)


def _subgraph(node: onnx.NodeProto, key: str) -> onnx.GraphProto:
    for attribute in node.attribute:
        if attribute.name == key:
            return attribute.g
    raise ValueError(f"has no attribute '{key}'")


def _body(
    importer: Importer, proto: onnx.GraphProto, formals: Sequence[Spec], scope: Scope, name: str
) -> tuple[Graph, list[Tensor | None]]:
    """A body's graph with inputs of the types given, and its outputs; None for broken ones."""
    if len(proto.input) != len(formals):
        raise ValueError(f"its {name} has {len(proto.input)} inputs, expected {len(formals)}")
    graph = Graph(outer=scopes.get_default_graph())
    inner = Scope(scope)
    with graph.as_body(), scopes.name_scope(name):
        for value, (dtype, shape) in zip(proto.input, formals, strict=True):
            inner.values[value.name] = graph.add_input(dtype, shape, valid_name(value.name))
        importer.initializers(proto, inner)
        importer.nodes(proto.node, inner)
        outputs: list[Tensor | None] = []
        for value in proto.output:
            try:
                outputs.append(inner.find(value.name))
            except KeyError:
                raise ValueError(f"nothing makes the output '{value.name}' of its {name}") from None
        graph.outputs.extend(t for t in outputs if t is not None)
    return graph, outputs


def _branch(
    importer: Importer, node: onnx.NodeProto, condition: bool, scope: Scope
) -> list[Tensor | None]:
    """The branch of an If whose condition is known, which replaces the If."""
    proto = _subgraph(node, "then_branch" if condition else "else_branch")
    inner = Scope(scope)
    with scopes.name_scope(valid_name(node.name or node.output[0] or "If")):
        importer.initializers(proto, inner)
        importer.nodes(proto.node, inner)
    if len(proto.output) != len(node.output):
        raise ValueError(
            f"has {len(node.output)} outputs, the branch taken has {len(proto.output)}"
        )
    return [inner.find(value.name) for value in proto.output]


Made = tuple[dict[str, object], list[Spec], list["Tensor | None"]]


def _if(
    importer: Importer, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope
) -> Made:
    attrs: dict[str, object] = {}
    both = []
    importer.lenient += 1
    for key in ("then_branch", "else_branch"):
        attrs[key], outputs = _body(importer, _subgraph(node, key), [], scope, key)
        both.append(outputs)
    importer.lenient -= 1
    if not len(both[0]) == len(both[1]) == len(node.output):
        raise ValueError(
            f"has {len(node.output)} outputs, its branches {len(both[0])} and {len(both[1])}"
        )
    specs = []
    for a, b in zip(*both, strict=True):
        if a is None or b is None:
            continue
        if a.dtype != b.dtype:
            raise ValueError(f"one branch gives {a.dtype.name}, the other {b.dtype.name}")
        specs.append((a.dtype, common_shape(a.shape, b.shape)))
    return attrs, specs, inputs


def _carried(value: onnx.ValueInfoProto, initial: Tensor) -> Spec:
    """A shape that the body declares holds in every iteration; without one nothing is known."""
    declared = static_type(value.type)
    shape = TensorShape(None) if declared is None else declared[1]
    if not shape.is_compatible_with(initial.shape):
        shape = TensorShape(None)
    return initial.dtype.base_dtype, shape


def _state(value: onnx.ValueInfoProto, initial: Tensor) -> Spec:
    """As _carried, of a value that keeps its rank though the body declares none."""
    dtype, shape = _carried(value, initial)
    if shape.ndims is None and initial.shape.ndims is not None:
        shape = TensorShape([None] * initial.shape.ndims)
    return dtype, shape


def _loop(
    importer: Importer, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope
) -> Made:
    limit, condition, *initial = [*inputs, None][: max(2, len(inputs))]
    proto = _subgraph(node, "body")
    carried = _given(initial, "carried value")
    if len(proto.input) != len(carried) + 2:
        raise ValueError(f"its body has {len(proto.input)} inputs, expected {len(carried) + 2}")
    body, outputs = _loop_body(importer, proto, carried, scope)
    if len(outputs) < 1 + len(carried) or len(node.output) > len(outputs) - 1:
        raise ValueError(
            f"its body has {len(outputs)} outputs for {len(carried)} carried values and "
            f"{len(node.output)} outputs of the node"
        )
    specs = [
        (x.dtype.base_dtype, common_shape(x.shape, y.shape) if y is not None else x.shape)
        for x, y in zip(carried, outputs[1:], strict=False)
    ]
    specs += [_stacked(y) for y in outputs[1 + len(carried) :] if y is not None]
    return {"body": body}, specs, [limit, condition, *initial]


def _loop_body(
    importer: Importer, proto: onnx.GraphProto, carried: list[Tensor], scope: Scope
) -> tuple[Graph, list[Tensor | None]]:
    """With carried values that keep their ranks; again without, if the body does not keep them."""
    step = [(dtypes.int64, TensorShape([])), (dtypes.bool, TensorShape([]))]
    least = [_carried(v, x) for v, x in zip(proto.input[2:], carried, strict=True)]
    assumed = [_state(v, x) for v, x in zip(proto.input[2:], carried, strict=True)]
    before = importer.problems.mark()
    body, outputs = _body(importer, proto, [*step, *assumed], scope, "body")
    guessed = [
        (shape.ndims, y)
        for (_, shape), (_, declared), y in zip(assumed, least, outputs[1:], strict=False)
        if shape.ndims != declared.ndims
    ]
    if all(y is not None and y.shape.ndims == rank for rank, y in guessed):
        return body, outputs
    importer.problems.back_to(before)
    return _body(importer, proto, [*step, *least], scope, "body")


def _given(values: Sequence[Tensor | None], what: str) -> list[Tensor]:
    found = [x for x in values if x is not None]
    if len(found) != len(values):
        raise ValueError(f"a {what} is missing")
    return found


def _stacked(tensor: Tensor) -> Spec:
    """The type of iterations' results, stacked along a new first axis."""
    if tensor.shape.ndims is None:
        return tensor.dtype, TensorShape(None)
    return tensor.dtype, TensorShape([None, *tensor.shape.as_list()])


def _scan(
    importer: Importer, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope
) -> Made:
    attrs = {a.name: from_proto(a) for a in node.attribute if a.name != "body"}
    proto = _subgraph(node, "body")
    values = _given(inputs, "input")
    scanned = attrs.get("num_scan_inputs")
    if not isinstance(scanned, int) or not 1 <= scanned <= len(values):
        raise ValueError(f"num_scan_inputs is {scanned}, with {len(values)} inputs")
    states = len(values) - scanned
    axes = attrs.get("scan_input_axes") or [0] * scanned
    if len(axes) != scanned:
        raise ValueError(f"scan_input_axes has {len(axes)} entries for {scanned} scan inputs")
    if len(proto.input) != len(values):
        raise ValueError(f"its body has {len(proto.input)} inputs, expected {len(values)}")
    formals = [_state(v, x) for v, x in zip(proto.input, values[:states], strict=False)]
    formals += [_slice(x, axis) for x, axis in zip(values[states:], axes, strict=True)]
    body, outputs = _body(importer, proto, formals, scope, "body")
    if len(outputs) < states or len(node.output) > len(outputs):
        raise ValueError(
            f"its body has {len(outputs)} outputs for {states} states and {len(node.output)} "
            "outputs of the node"
        )
    specs = [
        (x.dtype.base_dtype, common_shape(x.shape, y.shape) if y is not None else x.shape)
        for x, y in zip(values, outputs[:states], strict=False)
    ]
    out_axes = attrs.get("scan_output_axes") or [0] * (len(outputs) - states)
    if len(out_axes) != len(outputs) - states:
        raise ValueError(
            f"scan_output_axes has {len(out_axes)} entries for {len(outputs) - states} outputs"
        )
    for y, axis in zip(outputs[states:], out_axes, strict=True):
        if y is not None:
            specs.append(_stacked_at(y, axis))
    return {**attrs, "body": body}, specs, list(values)


def _slice(tensor: Tensor, axis: int) -> Spec:
    rank = tensor.shape.ndims
    if rank is None:
        return tensor.dtype.base_dtype, TensorShape(None)
    if not -rank <= axis < rank:
        raise ValueError(f"scan_input_axes has {axis} for an input of rank {rank}")
    dims = tensor.shape.as_list()
    del dims[axis % rank]
    return tensor.dtype.base_dtype, TensorShape(dims)


def _stacked_at(tensor: Tensor, axis: int) -> Spec:
    rank = tensor.shape.ndims
    if rank is None:
        return tensor.dtype, TensorShape(None)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"scan_output_axes has {axis} for an output of rank {rank + 1}")
    dims = tensor.shape.as_list()
    dims.insert(axis % (rank + 1), None)
    return tensor.dtype, TensorShape(dims)
