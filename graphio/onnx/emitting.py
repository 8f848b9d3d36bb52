"""One signature of a Model message as an ONNX graph.

Nodes come in the file's order, which is the order of execution; a variable is whatever was assigned
to it last on that way, so reads and assignments become plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphio.engine import custom
from graphio.onnx import widening
from graphio.onnx.checking import read_names
from graphio.onnx.complex_values import ComplexValues
from graphio.onnx.ours import OURS, is_only_seen
from graphio.schema import functions, operators, tensors
from graphio.schema.model_pb2 import AttributeValue, Graph, Model, Node, Shape, Signature, Type
from graphio.support import errors, progress
from graphio.support.problems import Problems
from graphio.support.version import graphio_version

__all__ = ["Emitter"]

Array = np.ndarray[Any, Any]
#: The opset of an exported model by default; the oldest on request, since the nodes that
#: operators become are of it.
FIRST_OPSET, OLDEST_OPSET = 22, 18
#: Operators of state, which an exported model has as inputs and outputs.
_STATE = ("Variable", "ReadVariable")


class Emitter:
    """Writes one model.

    Attributes:
        types: of values, as far as the file says.
        variables: the value that each variable has at this point of the order.
        assigned: variables that were assigned, in order.
        domains: besides ai.onnx, and the version of each that is imported.
    """

    def __init__(
        self, message: Model, arrays: Sequence[Array], signature: Signature, opset: int | None
    ) -> None:
        self.message = functions.inline(message, _known)
        self.arrays = arrays
        self.signature = self._same_signature(signature.name)
        self.opset = opset
        self.problems = Problems(f"signature {signature.name!r}", "exported to ONNX")
        self.renamed: dict[str, str] = {}
        self.types: dict[str, Type] = {}
        self.variables: dict[str, str] = {}
        self.assigned: list[str] = []
        self._first_values: dict[str, onnx.TensorProto] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.needed_opset = max(OLDEST_OPSET, min(opset or FIRST_OPSET, FIRST_OPSET))
        self.domains: dict[str, int] = {}
        self._complex = ComplexValues(self)
        self._taken: set[str] = set()
        self._changed: set[str] = set()
        self._constants = {
            n.name: n for n in self.message.graph.node if n.op == "Constant" and not n.domain
        }

    def _same_signature(self, name: str) -> Signature:
        """The signature after inlining, which may rename values."""
        return next(s for s in self.message.signature if s.name == name)

    # ---- the model ----

    def model(self) -> onnx.ModelProto:
        """The ONNX model. Raises UnimplementedError with everything that ONNX cannot express."""
        self._note_types(self.message.graph)
        self._name_inputs()
        needed = self._needed()
        self._changed = {
            a.value.s.decode()
            for n in needed
            if n.op == "Assign" and n.domain == "graphio"
            for a in n.attr
            if a.key == "variable"
        }
        with progress.task("export ONNX nodes", len(needed), "node") as advance:
            for node in needed:
                self.node(node)
                advance(1)
        outputs = [self._output(b.key, b.value) for b in self.signature.output]
        outputs += [self._state_output(name) for name in self.assigned]
        self.problems.raise_if_any()
        opset = self._opset()
        graph = helper.make_graph(
            self.nodes, self.signature.name or "graphio", self.inputs, outputs, self._used()
        )
        made = helper.make_model(
            graph,
            producer_name="graphio",
            producer_version=graphio_version,
            opset_imports=[helper.make_opsetid(*d) for d in (("", opset), *self.domains.items())],
            ir_version=_ir_version(opset),
        )
        entries = {e.key: e.value for e in self.message.metadata}
        entries |= {f"graphio.variable.{v}": f"{v}/new" for v in self.assigned}
        helper.set_model_props(made, entries)
        return made

    def _used(self) -> list[onnx.TensorProto]:
        """The initializers that something reads."""
        read = {name for node in self.nodes for name in read_names(node)}
        read.update(value.name for value in self.inputs)
        return [t for t in self.initializers if t.name in read]

    def _opset(self) -> int:
        if self.opset is None:
            return self.needed_opset
        if self.opset < self.needed_opset:
            raise errors.UnimplementedError(
                message=f"opset {self.opset} lacks operators of the signature; it needs "
                f"{self.needed_opset}"
            )
        return self.opset

    def _note_types(self, graph: Graph) -> None:
        for inner in functions.all_graphs(graph):
            for argument in inner.input:
                self.types[argument.name] = argument.type
            for node in inner.node:
                for k, kind in enumerate(node.output_type):
                    self.types[f"{node.name}:{k}" if k else node.name] = kind

    def _needed(self) -> list[Node]:
        """The nodes that the signature runs."""
        nodes = {n.name: n for n in self.message.graph.node}
        fed = {b.value for b in self.signature.input}
        requested: set[str] = set()
        waiting = [_maker(b.value) for b in self.signature.output if b.value not in fed]
        waiting += list(self.signature.target)
        while waiting:
            name = waiting.pop()
            if name in requested or name not in nodes:
                continue
            requested.add(name)
            node = nodes[name]
            waiting += node.control_input
            if is_only_seen(node):
                continue
            waiting += [_maker(v) for v in _reads(node) if v and v not in fed]
        return [n for n in self.message.graph.node if n.name in requested]

    # ---- names, inputs, outputs ----

    def name(self, value: str) -> str:
        """A value's name in the ONNX graph."""
        return self.renamed.get(value, value)

    def fresh(self, base: str) -> str:
        """A name for a value that the file does not have."""
        count = 0
        while (made := f"{base}__{count}") in self._taken or made in self.types:
            count += 1
        self._taken.add(made)
        return made

    def _name_inputs(self) -> None:
        keys = {b.key for b in self.signature.input} | {b.key for b in self.signature.output}
        # Other values with the name of an input or output are renamed.
        for value in self.types:
            if value in keys:
                self.renamed[value] = self.fresh(value)
        for binding in self.signature.input:
            self.renamed[binding.value] = binding.key
            kind = self.types.get(binding.value)
            self.inputs.append(self._ranked(f"input '{binding.key}'", binding.key, kind))

    def _output(self, key: str, value: str) -> onnx.ValueInfoProto:
        if self._complex.is_parts_alone(value):
            self.problems.add(
                f"output '{key}' is complex, and ONNX has no operator that makes complex numbers; "
                "export tf.real and tf.imag of it",
                unknown=True,
            )
        elif self.name(value) != key:  # an input may be an output as it is
            if key in (binding.key for binding in self.signature.input):
                self.problems.add(
                    f"'{key}' names an input and an output, which differ; in ONNX a name is of one "
                    "value"
                )
            self.nodes.append(
                helper.make_node("Identity", [self.name(value)], [key], name=f"{key}/out")
            )
        return self._ranked(f"output '{key}'", key, self.types.get(value))

    def _ranked(self, what: str, name: str, kind: Type | None) -> onnx.ValueInfoProto:
        """A typed input or output of the graph; a tensor's rank must be known there."""
        made = _value_info(name, kind)
        if made.type.HasField("tensor_type") and not made.type.tensor_type.HasField("shape"):
            self.problems.add(
                f"{what} has an unknown rank, and an ONNX file must say it; give the tensor a "
                "shape of the right rank with set_shape or tf.ensure_shape, such as [None, None]"
            )
        return made

    def _state_output(self, variable: str) -> onnx.ValueInfoProto:
        key = f"{variable}/new"
        self.nodes.append(
            helper.make_node("Identity", [self.variables[variable]], [key], name=f"{key}/out")
        )
        return self._ranked(f"variable '{variable}'", key, self._variable_type(variable))

    # ---- variables ----

    def _variable_type(self, name: str) -> Type:
        proto = next(v for v in self.message.variable if v.name == name)
        kind = Type()
        kind.tensor.dtype = proto.dtype
        if proto.HasField("shape"):
            kind.tensor.shape.CopyFrom(proto.shape)
        return kind

    def read(self, name: str) -> str:
        """The value of a variable at this point."""
        if name not in self.variables:
            self.variables[name] = self._first(name)
        return self.variables[name]

    def _first(self, name: str) -> str:
        """An initializer; for a variable that the signature assigns also an input."""
        proto = next((v for v in self.message.variable if v.name == name), None)
        if proto is None or not proto.HasField("value"):
            raise errors.FailedPreconditionError(
                message=f"Attempting to use uninitialized value {name}"
            )
        value = self.fresh(name) if name in self.renamed.values() else name
        if name in self.types:  # the Variable node's own value bears the same name
            self.renamed[name] = value
        made = numpy_helper.from_array(self.arrays[proto.value], value)
        self.initializers.append(made)
        self._first_values[name] = made
        if name in self._changed:
            self.inputs.append(self._ranked(f"variable '{name}'", value, self._variable_type(name)))
        return value

    # ---- nodes ----

    def node(self, node: Node) -> None:
        """One node of the file, in the list under construction."""
        attrs = {a.key: a.value for a in node.attr}
        outputs = [self.name(f"{node.name}:{k}" if k else node.name)
                   for k in range(len(node.output_type))]  # fmt: skip
        if any(o in {b.key for b in self.signature.input} for o in outputs):
            return  # fed
        if self._complex.takes(node):
            self._attempt(self._complex.node, node)
        elif node.domain == "graphio" and node.op in _STATE:
            variable = attrs["variable"].s.decode()
            self.renamed[node.name] = self.read(variable)
            if variable not in self._changed:
                self._complex.constant(node.name, self._first_values[variable])
        elif node.domain == "graphio" and node.op == "Assign":
            variable = attrs["variable"].s.decode()
            self.read(variable)
            self.variables[variable] = self.renamed[node.name] = self.name(node.input[0])
            if variable not in self.assigned:
                self.assigned.append(variable)
        elif node.domain == "graphio":
            self._ours(node, outputs)
        elif custom.find(node.domain, node.op, node.version):
            self._own(node, outputs)
        elif node.op == "Constant":
            made = self._constant(attrs, outputs[0])
            self.initializers.append(made)
            self._complex.constant(node.name, made)
        else:
            self._standard(node, outputs)

    def _ours(self, node: Node, outputs: list[str]) -> None:
        lower = OURS.get(node.op)
        if node.op == "Placeholder":
            self.problems.add(f"placeholder '{node.name}'{_where(node)} is not among the inputs")
            return
        if lower is None:
            self.problems.add(
                f"{node.op} '{node.name}'{_where(node)}: ONNX has nothing that says the same",
                unknown=True,
            )
            return
        inputs = [self.name(v) if v else "" for v in node.input]
        self._attempt(lower, self, node, inputs, outputs)

    def _attempt(self, write: Callable[..., None], *arguments: Any) -> None:
        """Notes what ONNX cannot express, so that the export goes on and finds the rest."""
        try:
            write(*arguments)
        except errors.UnimplementedError as error:
            self.problems.add(error.message, unknown=True)

    def _own(self, node: Node, outputs: list[str]) -> None:
        """A custom operator, which the reader must have, too."""
        self.domains[node.domain] = max(self.domains.get(node.domain, 1), node.version)
        inputs = [self.name(v) if v else "" for v in node.input]
        made = helper.make_node(node.op, inputs, outputs, name=node.name, domain=node.domain)
        for attribute in node.attr:
            made.attribute.append(self.attribute(node, attribute.key, attribute.value))
        self.nodes.append(made)

    def _constant(self, attrs: Mapping[str, AttributeValue], name: str) -> onnx.TensorProto:
        ((key, value),) = attrs.items()
        array: Any
        if key == "value":
            array = self._tensor(value)
        elif key in ("value_int", "value_ints"):
            array = np.asarray(value.i if key == "value_int" else value.ints.i, np.int64)
        elif key in ("value_float", "value_floats"):
            array = np.asarray(value.f if key == "value_float" else value.floats.f, np.float32)
        else:
            array = np.asarray(value.s if key == "value_string" else value.strings.s, object)
        return numpy_helper.from_array(array, name)

    def _tensor(self, value: AttributeValue) -> Array:
        if value.WhichOneof("value") == "tensor":
            return np.asarray(self.arrays[value.tensor])
        return tensors.to_array(value.t)

    def _standard(self, node: Node, outputs: list[str]) -> None:
        inputs = [self.name(v) if v else "" for v in node.input]
        made = helper.make_node(node.op, inputs, outputs, name=node.name, domain=node.domain)
        for attribute in node.attr:
            made.attribute.append(self.attribute(node, attribute.key, attribute.value))
        version = self._version(node)
        self.needed_opset = max(self.needed_opset, version)
        numbers = [self.types[v].tensor.dtype if v in self.types else 0 for v in node.input]
        self.nodes += widening.nodes(made, self.needed_opset, numbers, self.fresh)

    def _version(self, node: Node) -> int:
        """The oldest version that says what the node says."""
        numbers = [int(self.types[v].tensor.dtype) for v in node.input if v in self.types]
        targets = [a.value.i for a in node.attr if a.key == "to"]
        keys = [a.key for a in node.attr]
        found = max(
            operators.version_for(
                node.op, node.domain, filter(None, each), attributes=keys, inputs=len(node.input)
            )
            for each in (numbers, targets)
        )
        return min(found, node.version) if node.version else found

    def attribute(self, node: Node, key: str, value: AttributeValue) -> onnx.AttributeProto:
        """An attribute as ONNX has it."""
        kind = value.WhichOneof("value")
        if kind == "g":
            return helper.make_attribute(key, self._body(node, value.g))
        if kind in ("t", "tensor"):
            return helper.make_attribute(key, numpy_helper.from_array(self._tensor(value)))
        if kind in ("ints", "floats", "strings"):
            listed: Any = getattr(value, kind)
            values = list(
                listed.i if kind == "ints" else listed.f if kind == "floats" else listed.s
            )
            return helper.make_attribute(
                key, values, attr_type=getattr(onnx.AttributeProto, kind.upper())
            )
        if kind == "type":
            return helper.make_attribute(key, _type(value.type))
        if kind not in ("i", "f", "d", "s"):
            raise errors.UnimplementedError(
                message=f"{node.op} '{node.name}': attribute {key!r} of kind {kind}"
            )
        return helper.make_attribute(key, getattr(value, kind))

    # ---- bodies ----

    def _body(self, node: Node, graph: Graph) -> onnx.GraphProto:
        """A subgraph; values from outside are found by name."""
        around, self.nodes = self.nodes, []
        for inner in graph.node:
            if inner.domain == "graphio" and inner.op == "Assign":
                self.problems.add(
                    f"{inner.op} '{inner.name}'{_where(inner)}: a variable is assigned inside "
                    f"{node.op} '{node.name}'; ONNX's bodies have no effects. Return the value "
                    "from the body and assign it outside",
                    unknown=True,
                )
            else:
                self.node(inner)
        outputs = []
        for k, value in enumerate(graph.output):
            name = self.fresh(f"{node.name}/{graph.name or 'body'}_out{k}")
            self.nodes.append(helper.make_node("Identity", [self.name(value)], [name]))
            outputs.append(_value_info(name, self.types.get(value), shaped=False))
        inputs = [_value_info(self.name(a.name), a.type) for a in graph.input]
        made, self.nodes = self.nodes, around
        return helper.make_graph(made, self.fresh(f"{node.name}/body"), inputs, outputs)

    # ---- for what lowers our operators ----

    def splice(
        self, message: Model, arrays: Sequence[Array], base: str, inputs: Mapping[str, str]
    ) -> dict[str, str]:
        """Adds the nodes of a model without variables and subgraphs.

        Args:
            message: with one signature.
            arrays: its file's.
            base: what the names of its nodes begin with.
            inputs: names in the ONNX graph by the signature's keys.

        Returns:
            names in the ONNX graph by the signature's outputs.
        """
        made = functions.inline(message, _known)
        offset, self.arrays = len(self.arrays), [*self.arrays, *arrays]
        (signature,) = made.signature
        names: dict[str, str] = {}
        fed = {binding.value for binding in signature.input}
        for binding in signature.input:
            names[binding.value] = self.fresh(f"{base}/{binding.value}")
            self.renamed[names[binding.value]] = inputs[binding.key]
        for node in made.graph.node:
            if node.name in fed:
                continue
            own, node.name = node.name, self.fresh(f"{base}/{node.name}")
            for k, kind in enumerate(node.output_type):
                suffix = f":{k}" if k else ""
                names[own + suffix] = node.name + suffix
                self.types[node.name + suffix] = kind
            node.input[:] = [names.get(v, v) for v in node.input]
            for attribute in node.attr:
                if attribute.value.WhichOneof("value") == "tensor":
                    attribute.value.tensor += offset
            self.node(node)
        return {b.key: self.name(names[b.value]) for b in signature.output}

    def add(
        self, op: str, inputs: Sequence[str], base: str, *, second: bool = False, **attrs: Any
    ) -> str:
        """Adds a node of whose outputs one matters, the first or the second; returns its name."""
        output = self.fresh(base)
        outputs = [self.fresh(base), output] if second else [output]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=output, **attrs))
        return output

    def add_of(
        self, domain: str, version: int, op: str, inputs: Sequence[str], output: str, **attrs: Any
    ) -> None:
        """Adds a node of another domain of the standard, which the model then imports."""
        self.domains[domain] = version
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=output, domain=domain, **attrs)
        )

    def constant(self, value: Any, dtype: Any, base: str) -> str:
        """Adds an initializer of a fresh name, which it returns."""
        name = self.fresh(base)
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def rename_last(self, value: str, output: str) -> None:
        """Makes a value bear the name that readers expect."""
        self.nodes.append(helper.make_node("Identity", [value], [output], name=output))

    def dims(self, value: str) -> list[int | None] | None:
        """The static shape of a value of the file."""
        kind = self.types.get(value)
        if kind is None or not kind.tensor.HasField("shape"):
            return None
        return [d.size if d.WhichOneof("value") == "size" else None for d in kind.tensor.shape.dim]

    def known(self, value: str) -> Array | None:
        """The value of a constant of the file; None for other values and for absent ones."""
        node = self._constants.get(value)
        if node is None:
            return None
        held = self._constant({a.key: a.value for a in node.attr}, value)
        found: Array = numpy_helper.to_array(held)
        return found


def _known(domain: str, op: str, version: int) -> bool:
    """Whether a node may stay: the standard's, those with state, those that are lowered here."""
    return domain != "graphio" or op in OURS or operators.body(domain, op, version) is None


def _maker(value: str) -> str:
    """The node that makes a value."""
    return value.rsplit(":", 1)[0] if ":" in value else value


def _reads(node: Node) -> Iterable[str]:
    yield from node.input
    for body in functions.subgraphs(node):
        yield from body.capture


def _where(node: Node) -> str:
    return f" ({node.source.file}:{node.source.line})" if node.source.file else ""


def _value_info(name: str, kind: Type | None, shaped: bool = True) -> onnx.ValueInfoProto:
    """A typed name; results of bodies leave their shapes open."""
    made = onnx.ValueInfoProto(name=name)
    if kind is not None:
        made.type.CopyFrom(_type(kind, shaped))
    return made


def _type(kind: Type, shaped: bool = True) -> onnx.TypeProto:
    """A type; without any field set where the file says nothing."""
    made = onnx.TypeProto()
    if kind.HasField("sequence"):
        made.sequence_type.elem_type.CopyFrom(_type(kind.sequence, shaped))
    elif kind.HasField("optional"):
        made.optional_type.elem_type.CopyFrom(_type(kind.optional, shaped))
    elif kind.tensor.dtype:
        made.tensor_type.elem_type = kind.tensor.dtype
        if shaped and kind.tensor.HasField("shape"):
            _shape(kind.tensor.shape, made.tensor_type.shape)
    return made


def _shape(shape: Shape, made: onnx.TensorShapeProto) -> None:
    made.SetInParent()
    for d in shape.dim:
        dimension = made.dim.add()
        if d.WhichOneof("value") == "size":
            dimension.dim_value = d.size
        elif d.symbol:
            dimension.dim_param = d.symbol


def _ir_version(opset: int) -> int:
    """The oldest IR version that may hold the opset, but 10 at least."""
    table = helper.OP_SET_ID_VERSION_MAP
    return max(10, table.get(("ai.onnx", opset), 10))
