"""tf.graph_util: cutting graphs out of graphs, and freezing variables to constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Graph, Operation
from graphio.model.node_order import reads, variable_of
from graphio.protos.graph_def import GraphDef, functions_of, graph_def_of
from graphio.protos.graph_import import import_graph_def
from graphio.protos.meta_graph import drop_dangling
from graphio.protos.node_def import NodeDef
from graphio.schema import model_pb2, tensors
from graphio.schema.functions import all_graphs, list_captures, subgraphs
from graphio.support import api_guard, errors

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "set_cpu0",
    "tensor_shape_from_node_def_name",
]

_DEVICE = re.compile(r"/(?:device:)?(?:cpu|gpu|tpu|CPU|GPU|TPU):(?:\d+|\*)")
#: types that remove_training_nodes takes away
_PASSING = {"CheckNumerics", "Identity", "StopGradient"}


@api_guard.guarded
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """The part of a graph that some nodes need, as a separate message.

    Args:
        graph_def: what Graph.as_graph_def gives; it stays as it is.
        dest_nodes: names of nodes.

    Raises:
        TypeError: graph_def is not a graph, or dest_nodes is a string.
        AssertionError: a node that is not in the graph.
    """
    model = model_pb2.Model()
    model.CopyFrom(graph_def_of(graph_def))
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in model.graph.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    found: set[str] = set()
    pending = list(dest_nodes)
    while pending:
        name = pending.pop()
        if name in found or name not in nodes:
            continue
        found.add(name)
        pending.extend(value.partition(":")[0] for value in reads(nodes[name]))
        pending.extend(_variables_in(nodes[name]))
    kept = [node for node in model.graph.node if node.name in found]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    drop_dangling(model)
    return GraphDef.of(model, dict(functions_of(graph_def)))


def _variables_in(node: model_pb2.Node) -> set[str]:
    """Variables that a node and its bodies read or assign."""
    found = {variable_of(node) or ""}
    for body in subgraphs(node):
        for inner in body.node:
            found |= _variables_in(inner)
    return found - {""}


@api_guard.guarded
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> GraphDef:
    """A graph in which variables are constants with the values that they have in a session.

    A variable `v` becomes a constant `v`; `v/read` and all that reads it stay.

    Args:
        sess: the session.
        input_graph_def: the graph; it stays as it is.
        output_node_names: nodes whose values are required; what they do not need is left out.
        variable_names_whitelist: only these variables; None: all.
        variable_names_blacklist: not these.

    Raises:
        AssertionError: an output that is not in the graph.
        FailedPreconditionError: a variable has no value.
        ValueError: the outputs need an assignment to a variable that would be a constant.
    """
    model = extract_sub_graph(input_graph_def, list(output_node_names))._message
    only = None if variable_names_whitelist is None else set(variable_names_whitelist)
    never = set(variable_names_blacklist or ())
    held = set(sess.state.names())
    frozen = {
        node.name: _value(sess, held, variable_of(node) or node.name)
        for node in model.graph.node
        if _is(node, "Variable") and (only is None or node.name in only) and node.name not in never
    }
    for graph in all_graphs(model.graph):
        for node in graph.node:
            name = variable_of(node)
            if name is not None and name in frozen:
                _freeze(node, name, frozen[name])
    list_captures(model.graph)
    kept = [v for v in model.variable if v.node not in frozen]
    del model.variable[:]
    model.variable.extend(kept)
    return GraphDef.of(model, dict(functions_of(input_graph_def)))


def _is(node: model_pb2.Node, op: str) -> bool:
    return node.domain == "graphio" and node.op == op


def _value(sess: Any, held: set[str], name: str) -> np.ndarray[Any, Any]:
    if name not in held or not sess.state.initialized(name):
        raise errors.FailedPreconditionError(
            message=f"Attempting to use uninitialized value {name}"
        )
    array: np.ndarray[Any, Any] = sess.state.get(name)
    return array


def _freeze(node: model_pb2.Node, name: str, value: np.ndarray[Any, Any]) -> None:
    """Makes a node that has to do with a variable one that has to do with a constant."""
    if _is(node, "Variable"):
        _become(node, "Constant", "Const", value)
    elif _is(node, "ReadVariable"):
        _become(node, "Identity", "")
        node.input.append(name)
    elif _is(node, "IsInitialized"):
        _become(node, "Constant", "Const", np.array(True))
    else:
        raise ValueError(
            f"the outputs need {node.tf_type or node.op} '{node.name}', which assigns '{name}'; "
            "name outputs that only read it, or put it on the blacklist"
        )


def _become(
    node: model_pb2.Node, op: str, tf_type: str, value: np.ndarray[Any, Any] | None = None
) -> None:
    node.op, node.tf_type, node.domain, node.version = op, tf_type, "", 1
    del node.attr[:]
    del node.input[:]
    if value is not None:
        node.attr.add(key="value").value.t.CopyFrom(tensors.from_array(value))


@api_guard.guarded
def remove_training_nodes(
    input_graph: Any, protected_nodes: Iterable[str] | None = None
) -> GraphDef:
    """A graph without nodes that only pass a value on: Identity, StopGradient and CheckNumerics.

    Args:
        input_graph: the graph; it stays as it is.
        protected_nodes: names of nodes to keep.

    Returns:
        The graph; an Identity that another node waits for is kept, and so is one that waits for
        another. Checks go in any case.

    Raises:
        ValueError: such nodes read each other in a circle.
    """
    model = model_pb2.Model()
    model.CopyFrom(graph_def_of(input_graph))
    kept = set(protected_nodes or ())
    _drop_checks(model.graph, kept)
    for graph in all_graphs(model.graph):
        kept.update(name for node in graph.node for name in node.control_input)
    passed = {
        node.name: node.input[0]
        for node in model.graph.node
        if (node.tf_type or node.op) in _PASSING
        and node.name not in kept
        and not node.control_input
        and len(node.input) == 1
    }

    def source(value: str) -> str:
        begun: dict[str, None] = {}
        while value in passed:
            if value in begun:
                raise ValueError(
                    f"Node '{value}' reads '{passed[value]}', which reads it: a circle"
                )
            begun[value] = None
            value = passed[value]
        passed.update(dict.fromkeys(begun, value))  # so that a long chain is walked once
        return value

    for graph in all_graphs(model.graph):
        for node in graph.node:
            node.input[:] = [source(value) for value in node.input]
        graph.output[:] = [source(value) for value in graph.output]
    nodes = [node for node in model.graph.node if node.name not in passed]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    list_captures(model.graph)
    drop_dangling(model)
    return GraphDef.of(model, dict(functions_of(input_graph)))


def _drop_checks(graph: model_pb2.Graph, kept: set[str]) -> None:
    """Lets no node wait for a check, nor a check for a node."""
    checks = {
        node.name
        for node in graph.node
        if (node.tf_type or node.op) == "CheckNumerics" and node.name not in kept
    }
    for part in all_graphs(graph):
        for node in part.node:
            awaited = [] if node.name in checks else list(node.control_input)
            node.control_input[:] = [name for name in awaited if name not in checks]


@api_guard.guarded
def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> list[int | None]:
    """The static shape of a graph's tensor, None where a size is not known.

    Args:
        graph: the graph.
        input_name: of a node, whose first output is meant, or of a tensor.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape.as_list()


@api_guard.guarded
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether TensorFlow would run a node on the CPU only; here every node does.

    Args:
        node: an operation, a NodeDef or a type.
        pin_variables_on_cpu: True says so of variables, too.
    """
    if isinstance(node, Operation):
        node = node.node_def
    if not isinstance(node, NodeDef):
        raise TypeError(f"node must be an Operation or a NodeDef, not {type(node).__name__}")
    if pin_variables_on_cpu and node.op in ("Variable", "VariableV2", "VarHandleOp"):
        return True
    kinds = {"Const": "dtype", "DynamicStitch": "T", "ParallelDynamicStitch": "T", "Cast": "SrcT"}
    if node.op not in kinds or kinds[node.op] not in node.attr:
        return False
    small = [dtypes.int32.as_datatype_enum]
    strings = [dtypes.string.as_datatype_enum] if node.op == "Const" else []
    return node.attr[kinds[node.op]].type in small + strings


@api_guard.guarded
def set_cpu0(device_string: str) -> str:
    """A device's name with the CPU in the place of its device: "/job:a/gpu:1" and so on."""
    return _DEVICE.sub("", device_string) + "/device:CPU:0"
