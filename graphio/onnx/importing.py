"""From an ONNX model to nodes, variables and placeholders of the default graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from graphio.engine import custom
from graphio.framework import gradient_registry, scopes
from graphio.framework.constants import placeholder
from graphio.framework.graph import Operation, Tensor
from graphio.framework.operation_names import title, valid_name
from graphio.framework.tensor_shape import TensorShape
from graphio.onnx import adapting, bodies, expansion, lowering, retyping, training
from graphio.onnx.attributes import from_proto
from graphio.onnx.checking import checked_order, node_problems
from graphio.onnx.inference import by_signature, infer
from graphio.onnx.ml.maps import columns, without_maps
from graphio.onnx.reading import Source, read
from graphio.onnx.scope import Scope
from graphio.onnx.sequences import without_sequences
from graphio.onnx.types import static_type
from graphio.onnx.upgrade import NotUpgradable, upgrade
from graphio.onnx.weights import Weights, parameter_names
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.emit import operation
from graphio.ops.base.shapes import dims_of
from graphio.ops.state.custom_operators import CustomOperator
from graphio.schema import operators
from graphio.schema.verify_graph import MAX_RANK
from graphio.support import api_guard, errors, progress
from graphio.support.problems import Problems
from graphio.variables.variables import Variable

__all__ = ["OPSET", "Imported", "Importer", "Scope", "import_model"]

OPSET = 28
#: The standard's own cases give Range vectors of one number, which its inference refuses.
_TOLERANT = ("Range",)


@dataclass
class Imported:
    """An imported ONNX model; keys are the names in its file.

    Attributes:
        inputs: placeholders by name of the model's input; of one that is a map, "name.keys" and
            "name.values", vectors of one length.
        outputs: tensors by name of the model's output, in order.
        variables: the weights that became variables.
        values: every value of the main graph.
        columns: of each output that a ZipMap makes, which is a tensor here, the labels of its
            columns.
        metadata: the model's own key-value pairs.
    """

    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    columns: dict[str, list[int] | list[str]] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)


@api_guard.guarded
def import_model(source: Any, *, trainable: Any = False, prefix: str | None = None) -> Imported:
    """Adds an ONNX model to the default graph.

    Every opset from 1 on is taken: the nodes are brought to the newest meaning first, and
    functions, the model's own and those of the standard that no kernel computes, are expanded.

    Args:
        source: path of a file, its bytes, or an onnx.ModelProto.
        trainable: True makes trainable variables of the weights (floating initializers that an
            operator multiplies, adds or convolves with) and untrainable ones of a batch
            normalisation's statistics; False makes constants of all; a callable says for each
            floating initializer's name whether it is a trainable variable.
        prefix: a name scope for what is added; None: names are kept where they are not taken.

    Returns:
        What the names of the model stand for. Variables have their weights once
        `global_variables_initializer` or their own initializers ran.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is not an ONNX model.
        UnimplementedError: operators or types that graphio lacks; all problems are listed.
        InvalidArgumentError: the model contradicts itself; all problems are listed.
        TypeError: trainable is neither a bool nor callable.
        After an error the graph is as it was.
    """
    graph = scopes.get_default_graph()
    if graph.outer is not None:
        raise ValueError("a model cannot be imported into the body of a loop or branch")
    if not isinstance(trainable, bool) and not callable(trainable):
        raise TypeError(f"trainable is {trainable!r}, expected True, False or a callable")
    origin = read(source)
    with (
        graph.unchanged_on_error(),
        scopes.control_dependencies(None),
        scopes.name_scope(prefix),
    ):
        return Importer(origin, trainable).run()


def _own(
    made: custom.CustomOperator, node: onnx.NodeProto, inputs: Sequence[Tensor | None]
) -> Sequence[Tensor | None]:
    """The outputs of a custom operator."""
    attributes = {a.name: from_proto(a) for a in node.attribute}
    try:
        found = CustomOperator(made)(*inputs, name=name_of(node), **attributes)
    except TypeError as error:
        raise ValueError(str(error)) from None
    return found if isinstance(found, tuple) else (found,)


class Importer:
    """One import: the model, the weights, and what went wrong so far."""

    def __init__(self, source: Source, trainable: Any) -> None:
        self.problems = Problems(source.name)
        self.source = source
        self.found = Imported()
        try:
            self.model = upgrade(source.model, keep_unknown=True)
        except ValueError as error:
            for text in error.nodes if isinstance(error, NotUpgradable) else [str(error)]:
                self.problems.add(text)
            self.problems.raise_if_any()
        without_sequences(self.model.graph)
        without_maps(self.model.graph)
        self.functions: dict[tuple[str, str, str], onnx.FunctionProto] = {}
        for f in self.model.functions:
            if self.functions.setdefault((f.domain, f.name, f.overload), f) is not f:
                self.problems.add(f"two functions are named '{f.name}' in domain '{f.domain}'")
        for text in expansion.endless(self.functions, self.model.graph):
            self.problems.add(text)
        self.problems.raise_if_any()
        self.weights = Weights(source, trainable, self.problems)
        #: versions of the domains
        self.domains = {o.domain: o.version for o in self.model.opset_import}
        graph = self.model.graph
        #: ranks that the model declares, for values of which nothing else is known
        self.ranks = {
            v.name: len(v.type.tensor_type.shape.dim)
            for v in (*graph.value_info, *graph.output)
            if v.type.HasField("tensor_type") and v.type.tensor_type.HasField("shape")
        }

    def run(self) -> Imported:
        """Imports the main graph."""
        graph = self.model.graph
        scope = Scope()
        self.weights.parameters = parameter_names(self.model)
        self.initializers(graph, scope)
        for value in graph.input:
            if not value.name:
                self.problems.add("an input has no name")
            elif value.name in self.found.inputs:
                self.problems.add(f"two inputs are named '{value.name}'")
            elif value.name not in scope.values:
                scope.values[value.name] = self.input(value)
        self.nodes(graph.node, scope)
        self.outputs(graph, scope)
        self.problems.raise_if_any()
        self.found.values = {n: t for n, t in scope.values.items() if t is not None and n}
        self.found.variables = self.weights.variables
        self.found.columns = columns(graph)
        self.found.metadata = {p.key: p.value for p in self.model.metadata_props}
        return self.found

    # ---- inputs and initializers ----

    def initializers(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """The weights of a graph."""
        for tensor in graph.initializer:
            if tensor.name in scope.values:
                self.problems.add(f"two initializers are named '{tensor.name}'")
            scope.values[tensor.name] = self.weights.tensor(tensor, scope.outer is None)
        for sparse in graph.sparse_initializer:
            if sparse.values.name in scope.values:
                self.problems.add(f"two initializers are named '{sparse.values.name}'")
            scope.values[sparse.values.name] = self.weights.sparse(sparse)

    def input(self, value: onnx.ValueInfoProto) -> Tensor | None:
        """A placeholder for an input of the main graph."""
        try:
            found = static_type(value.type)
        except errors.UnimplementedError as error:
            self.problems.add(f"input '{value.name}': {error.message}", unknown=True)
            return None
        if found is None:
            kind = value.type.WhichOneof("value") or "no type"
            self.problems.add(
                f"input '{value.name}' is {kind.replace('_type', '')}, expected a tensor, or a "
                "sequence or optional of tensors",
                unknown=True,
            )
            return None
        try:
            made = placeholder(found[0], found[1], name=valid_name(value.name))
        except ValueError as error:
            self.problems.add(str(error))
            return None
        self.found.inputs[value.name] = made
        return made

    def outputs(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """The outputs of the main graph."""
        for value in graph.output:
            try:
                tensor = scope.find(value.name)
            except KeyError:
                self.problems.add(f"output '{value.name}': nothing makes it")
                continue
            if tensor is not None:
                self.found.outputs[value.name] = tensor
        if not graph.output:
            self.problems.add("the graph has no outputs")

    # ---- nodes ----

    def nodes(self, nodes: Sequence[onnx.NodeProto], scope: Scope) -> None:
        """Nodes of one graph or function body, in an order that their values allow."""
        with progress.task("import ONNX nodes", len(nodes), "node") as advance:
            for node in checked_order(nodes, scope, self.problems):
                self.node(node, scope)
                advance(1)

    def node(self, node: onnx.NodeProto, scope: Scope) -> None:
        """One node; what is wrong with it is noted and its outputs count as made."""
        outputs: Sequence[Tensor | None]
        before = self.problems.noted
        inputs = [scope.find(name) if name else None for name in node.input]
        broken = any(name and x is None for name, x in zip(node.input, inputs, strict=True))
        try:
            outputs = [] if broken else self.emit(node, inputs, scope)
        except errors.UnimplementedError as error:
            self.problems.add(f"{title(node)}: {error.message}", unknown=True)
            outputs = []
        except (ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
            text = error.message if isinstance(error, errors.OpError) else str(error)
            self.problems.add(f"{title(node)}: {text}")
            outputs = []
        requested = len(node.output)
        if len(outputs) < requested and not broken and self.problems.noted == before:
            if any(node.output[len(outputs) :]):
                self.problems.add(f"{title(node)}: makes {len(outputs)} of its {requested} outputs")
        made = [*outputs, *[None] * requested][:requested]
        for name, tensor in zip(node.output, made, strict=True):
            if name:
                scope.values[name] = tensor
                self.take_rank(name, tensor)

    def take_rank(self, name: str, tensor: Tensor | None) -> None:
        """Gives a value whose rank is unknown the one that the model declares."""
        rank = self.ranks.get(name)
        if tensor is None or tensor.shape.ndims is not None or rank is None:
            return
        if rank > MAX_RANK:
            self.problems.add(f"value '{name}' has rank {rank}, at most {MAX_RANK} is possible")
        else:
            tensor.set_shape(TensorShape([None] * rank))

    def emit(
        self, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope
    ) -> Sequence[Tensor | None]:
        """The outputs of a node, by whatever makes them."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            return self.call(function, node, inputs, scope)
        own = custom.find(domain, node.op_type, self.domains.get(domain, 1))
        if own is not None:
            return _own(own, node, inputs)
        row = operators.find(domain, node.op_type, OPSET)
        wrong = [] if row is None else node_problems(node, row)
        if wrong:
            raise ValueError("; ".join(wrong))
        if not domain:
            inputs = list(adapting.adapted(node, inputs) or inputs)

            def again(given: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
                return self.emit(node, list(given), scope)

            other = retyping.retyped(node, inputs, again)
            if other is not None:
                return other
        lowered = lowering.TABLE.get((domain, node.op_type))
        made = None if lowered is None else lowered(node, inputs)
        if made is not None:
            return made
        if (domain, node.op_type) == (training.DOMAIN, "Gradient"):
            return training.gradient(self, node, inputs, scope)
        if node.op_type in bodies.CONTROL and not domain:
            return bodies.control(self, node, inputs, scope)
        if row is not None and not domain and node.op_type in operators.table().forms:
            return self.plain(node, row, inputs).outputs
        body = expansion.body(node, inputs, domain)
        if body is None:
            raise errors.UnimplementedError(message=_unknown(domain, node.op_type))
        if (domain, node.op_type) in gradient_registry.without():
            inputs = [x if x is None or not x.dtype.is_floating else _stopped(x) for x in inputs]
        self.lenient += 1
        try:
            return self.call(body, node, inputs, Scope())
        finally:
            self.lenient -= 1

    def plain(
        self, node: onnx.NodeProto, row: operators.Operator, inputs: Sequence[Tensor | None]
    ) -> Operation:
        """A node that the engines know, as it is, without empty lists of strings."""
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        outputs = list(node.output)
        while len(outputs) > max(1, row.min_outputs) and not outputs[-1]:
            outputs.pop()
        plain = onnx.NodeProto(
            op_type=node.op_type,
            input=[f"x{i}" if t is not None else "" for i, t in enumerate(given)],
            output=[f"y{i}" for i in range(len(outputs))],
        )
        strings_kind = onnx.AttributeProto.STRINGS
        plain.attribute.extend(a for a in node.attribute if a.type != strings_kind or a.strings)
        attrs = {a.name: from_proto(a) for a in plain.attribute}
        try:
            types = infer(plain, row.version, given)
        except ValueError:
            if not self.lenient and node.op_type not in _TOLERANT:
                raise
            types = [(d, None) for d in by_signature(plain, row.version, given)]
        return operation(
            node.op_type, given, types, name=name_of(node), version=row.version, attrs=attrs
        )

    # ---- functions ----

    def call(
        self,
        function: onnx.FunctionProto,
        node: onnx.NodeProto,
        inputs: Sequence[Tensor | None],
        around: Scope,
    ) -> list[Tensor | None]:
        """The body of a function in the place of a node that calls it."""
        if len(inputs) > len(function.input) or len(node.output) > len(function.output):
            raise ValueError(
                f"is called with {len(inputs)} inputs and {len(node.output)} outputs, the function "
                f"has {len(function.input)} and {len(function.output)}"
            )
        attributes = {a.name: a for a in function.attribute_proto}
        attributes |= {a.name: a for a in node.attribute}
        scope = Scope()
        scope.values.update(dict.fromkeys(function.input))
        scope.values.update(zip(function.input, inputs, strict=False))
        absent = {
            n for n, x in zip(function.input, [*inputs, *[None] * 99], strict=False) if x is None
        }
        depth = self._depth
        if depth >= 32:
            raise ValueError("functions call each other deeper than 32")
        self._depth = depth + 1
        try:
            with scopes.name_scope(name_of(node)):
                self.nodes([expansion.bound(n, attributes, absent) for n in function.node], scope)
        finally:
            self._depth = depth
        requested = function.output[: len(node.output)]
        lost = [name for name, used in zip(requested, node.output, strict=False)
                if used and name not in scope.values]  # fmt: skip
        if lost:
            raise ValueError(f"nothing makes the function's output '{lost[0]}'")
        return [scope.values.get(name) for name in requested]

    _depth = 0
    #: Above 0 where a contradiction of static shapes is left to the run: in branches, which may
    #: never be taken, and in the standard's own bodies, which do not always satisfy its inference.
    lenient = 0


def name_of(node: onnx.NodeProto) -> str:
    """A name for the operation."""
    return valid_name(node.name or next((n for n in node.output if n), "") or node.op_type)


def _stopped(x: Tensor) -> Tensor:
    """x for a body that stands for an operator without a gradient."""
    return make_node("StopGradient", [x], x.dtype, dims_of(x), domain="graphio")


def _unknown(domain: str, op: str) -> str:
    if expansion.schema(domain, op) is not None:
        return f"graphio has no kernel for {domain or 'ai.onnx'}.{op}"
    if domain in expansion.OPSETS:
        return f"the standard has no operator {op} in {domain or 'ai.onnx'}"
    return (
        f"operator {domain}.{op} is not the standard's and the model has no function of that name; "
        "export the model with its function, or register it (tf.register_operator)"
    )
