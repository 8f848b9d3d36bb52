"""Smaller model files: some signatures alone, variables frozen, narrower weights, no notes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphio.framework import graph as building
from graphio.model.casting import cast
from graphio.model.export import SignatureSpec, build_model
from graphio.model.importing import Imported, import_model
from graphio.model.node_order import variable_of
from graphio.model.rewrite import rewrite, with_packed_weights
from graphio.schema import container, dtypes, functions, tensors, verify
from graphio.schema.model_pb2 import Model, Node, Variable
from graphio.support import errors

__all__ = ["WEIGHTS", "reduced"]

Array = np.ndarray[Any, Any]
#: element types that weights may be stored in
WEIGHTS = ("float16", "bfloat16")
_NARROWED = 1024  # bytes; smaller constants stay as they are


def reduced(
    source: bytes,
    *,
    signatures: Iterable[str] | None = None,
    freeze: bool = False,
    weights: str | None = None,
    strip: bool = False,
    optimize: str = "exact",
) -> bytes:
    """A model file with less in it.

    Args:
        source: bytes of a model file.
        signatures: names of those to keep, with what they need; None: all.
        freeze: True makes constants of variables that no kept signature assigns.
        weights: "float16" or "bfloat16": float32 constants of 1 KB or more are stored so and
            widened when the model is loaded. Values are rounded, and infinite beyond the type.
        strip: True leaves out what only people read: lines of the program, TensorFlow's names of
            operations, collections.
        optimize: as for tf.saved_model.save.

    Raises:
        InvalidArgumentError: there is no such signature, or another type of weights.
        As container.unpack and verify.
    """
    model, arrays = container.unpack(source)
    verify.verify(model)
    specs, graph, metadata = _parts(model, arrays, signatures)
    made, values = build_model(graph, specs, state=_state(source), metadata=metadata)
    if freeze:
        _freeze(made)
        _forget_generators(made)
    made, values = rewrite(made, values, optimize)
    if weights is not None:
        _narrow(made, values, weights)
    if strip:
        _strip(made)
    return container.pack(made, values, with_packed_weights(made, values))


def _parts(
    model: Model, arrays: Sequence[Array], requested: Iterable[str] | None
) -> tuple[list[SignatureSpec], building.Graph, dict[str, str]]:
    methods = {s.name: s.method for s in model.signature}
    names = list(methods) if requested is None else list(requested)
    missing = [name for name in names if name not in methods]
    if missing:
        raise errors.InvalidArgumentError(
            message=f"there is no signature {', '.join(missing)}, only {', '.join(methods)}"
        )
    graph = building.Graph()
    with graph.as_default():
        found = import_model(model, arrays)
    specs = [_spec(found, name, methods[name]) for name in names]
    return specs, graph, {pair.key: pair.value for pair in model.metadata}


def _spec(found: Imported, name: str, method: str) -> SignatureSpec:
    return SignatureSpec(
        name,
        list(found.inputs[name].items()),
        list(found.outputs[name].items()),
        found.targets[name],
        method,
    )


def _state(source: bytes) -> Any:
    from graphio import runtime  # loads all kernels

    return runtime.load(source, trusted=True).state


# ---- freeze ----


def _freeze(model: Model) -> None:
    initializers = {v.initializer for v in model.variable}
    graphs = list(functions.all_graphs(model.graph))
    nodes = [node for graph in graphs for node in graph.node if node.name not in initializers]
    assigned = {variable_of(node) for node in nodes if node.op == "Assign"}
    held = {v.name: v for v in model.variable if v.name not in assigned and v.HasField("value")}
    for node in nodes:
        name = variable_of(node)
        if name in held:
            _be_constant(node, held[name])
    functions.list_captures(model.graph)
    kept = [v for v in model.variable if v.name not in held]
    del model.variable[:]
    model.variable.extend(kept)
    _remove_unneeded(model)


def _remove_unneeded(model: Model) -> None:
    """Keeps the nodes that signatures and variables need."""
    needed = {binding.value for s in model.signature for binding in s.output}
    needed |= {name for s in model.signature for name in s.target}
    for variable in model.variable:
        needed |= {variable.node, variable.initializer, variable.initial_value, variable.snapshot}
    kept: list[Node] = []
    nodes = {value.partition(":")[0] for value in needed}
    for node in reversed(model.graph.node):
        if node.name in nodes:
            kept.append(node)
            reads = [*node.input, *(c for body in functions.subgraphs(node) for c in body.capture)]
            nodes |= {value.partition(":")[0] for value in (*reads, *node.control_input)}
    kept.reverse()
    del model.graph.node[:]
    model.graph.node.extend(kept)


def _forget_generators(model: Model) -> None:
    """Generators that no node draws from any more."""
    nodes = [node for graph in functions.all_graphs(model.graph) for node in graph.node]
    used = {a.value.s.decode() for node in nodes for a in node.attr if a.key == "generator"}
    kept = [r for r in model.resource if r.WhichOneof("kind") != "generator" or r.name in used]
    del model.resource[:]
    model.resource.extend(kept)


def _be_constant(node: Node, variable: Variable) -> None:
    """Makes a node that has to do with a variable one that has to do with its value."""
    what = node.op
    node.op, node.domain, node.version, node.tf_type = "Constant", "", 1, "Const"
    del node.attr[:]
    del node.input[:]
    if what == "ReadVariable":
        node.op, node.tf_type = "Identity", ""
        node.input.append(variable.node)
    elif what == "IsInitialized":
        node.attr.add(key="value").value.t.CopyFrom(tensors.from_array(np.array(True)))
    else:
        node.attr.add(key="value").value.tensor = variable.value


# ---- weights ----


def _narrow(model: Model, values: list[Array], weights: str) -> None:
    """Stores constants in a narrower type; a node after each widens it."""
    if weights not in WEIGHTS:
        raise errors.InvalidArgumentError(
            message=f"weights is {weights!r}, expected one of {', '.join(WEIGHTS)}"
        )
    number, wide = (dtypes.BY_NAME[name].number for name in (weights, "float32"))
    of_variables = {v.value for v in model.variable if v.HasField("value")}
    chosen = {
        i
        for i, array in enumerate(values)
        if array.dtype == np.float32 and array.nbytes >= _NARROWED and i not in of_variables
    }
    for graph in functions.all_graphs(model.graph):
        nodes: list[Node] = []
        for node in graph.node:
            if _tensor_of(node) in chosen:
                nodes += _widened(node, number, wide)
            else:
                nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)
    for i in chosen:
        values[i] = cast(values[i], number)


def _tensor_of(node: Node) -> int | None:
    """The index of a constant among the file's tensors."""
    for attribute in node.attr if node.op == "Constant" else ():
        if attribute.value.WhichOneof("value") == "tensor":
            return attribute.value.tensor
    return None


def _widened(node: Node, number: int, wide: int) -> list[Node]:
    stored, widened = Node(), Node()
    stored.CopyFrom(node)
    stored.name = f"{node.name}/{dtypes.name(number)}"
    stored.output_type[0].tensor.dtype = number  # type: ignore[assignment]
    widened.CopyFrom(node)
    widened.op, widened.version, widened.tf_type = "Cast", 13, ""
    del widened.attr[:]
    widened.attr.add(key="saturate").value.i = 1
    widened.attr.add(key="to").value.i = wide
    widened.input.append(stored.name)
    return [stored, widened]


# ---- strip ----


def _strip(model: Model) -> None:
    for graph in functions.all_graphs(model.graph):
        for node in graph.node:
            node.ClearField("source")
            node.ClearField("tf_type")
            node.ClearField("device")
    for field in ("collection", "saver", "rewrite"):
        model.ClearField(field)


def __getattr__(name: str) -> Any:
    """The function by its name of version 0.1, after a warning."""
    if name != "slimmed":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    text = f"{__name__}.{name} is {__name__}.reduced now; its old name goes with the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return reduced
