"""Whether a Model makes sense: everything that an engine may rely upon.

The container has checked the bytes; here are the checks of their meaning.
"""

from __future__ import annotations

from graphio.schema.functions import all_nodes
from graphio.schema.model_pb2 import (
    Attribute,
    Function,
    Model,
    Node,
    Signature,
    Tensor,
    Type,
    Variable,
)
from graphio.schema.verify_graph import GraphChecker, Scope, node_title, shown, sorted_by
from graphio.support import errors

SHOWN = 20  # problems that a message names


def problems(model: Model) -> list[str]:
    """Everything that is wrong with a model, each once, in the order of the file."""
    return list(dict.fromkeys(_Checker(model).found))


def verify(model: Model) -> None:
    """Does nothing when the model makes sense.

    Raises:
        InvalidArgumentError: listing what is wrong.
    """
    found = problems(model)
    if not found:
        return
    listed = "".join(f"\n  {errors.one_line(p)}" for p in found[:SHOWN])
    more = f"\n  and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise errors.InvalidArgumentError(
        message=f"the model is not valid, {len(found)} problem(s):{listed}{more}"
    )


def text_problems(model: Model) -> list[str]:
    """Names that C programs get, where a string ends at a zero byte, have none inside."""
    strings = []
    for v in model.variable:
        strings += [("variable", v.name), ("slot_of", v.slot_of), ("slot", v.slot)]
    strings += [("resource", r.name) for r in model.resource]
    strings += [("metadata", text) for row in model.metadata for text in (row.key, row.value)]
    for signature in model.signature:
        strings.append(("signature", signature.name))
        for binding in (*signature.input, *signature.output):
            strings.append((f"value of signature '{shown(signature.name)}'", binding.key))
    return [f"{what} {text!r} has a zero byte" for what, text in strings if "\0" in text]


class _Checker:
    """Walks the parts of a model."""

    def __init__(self, model: Model) -> None:
        self.found: list[str] = []
        self.model = model
        self.types: set[object] = set()  # those of variables that were found right
        self.graphs = GraphChecker(self.found.append, len(model.tensor))
        self.scope = self.graphs.root(model.graph)
        for function in model.function:
            self.function(function)
        self.sorted()
        for variable in model.variable:
            self.variable(variable)
        for resource in model.resource:
            if resource.WhichOneof("kind") is None or not resource.name:
                self.found.append(f"resource '{resource.name}' has no kind or no name")
        self.state_names()
        for signature in model.signature:
            self.signature(signature)
        self.selftests()
        self.found += text_problems(model)

    def sorted(self) -> None:
        """The tables of the model are sorted by name and unique."""
        model = self.model
        tables = {
            "variables": sorted_by(model.variable, "name"),
            "resources": sorted_by(model.resource, "name"),
            "signatures": sorted_by(model.signature, "name"),
            "collections": sorted_by(model.collection, "name"),
            "metadata": sorted_by(model.metadata, "key"),
            "functions": [f"{f.domain}\0{f.name}\0{f.version:010d}" for f in model.function],
        }
        for what, keys in tables.items():
            self.graphs.ascending(keys, what)

    def function(self, function: Function) -> None:
        """A body, whose names are local."""
        where = f"function {shown(function.domain)}.{shown(function.name)}"
        checker = GraphChecker(
            self.found.append, len(self.model.tensor), frozenset(function.attribute)
        )
        scope = Scope()
        for name in function.input:
            checker.name(name, f"an input of {where}")
            scope.outputs[name] = 1
        for node in function.node:
            checker.node(node, scope, 1)
            scope.outputs[node.name] = len(node.output_type)
            scope.nodes.add(node.name)
        for value in function.output:
            checker.reads(value, scope, f"{where} gives")

    def variable(self, variable: Variable) -> None:
        """Its nodes exist and its value fits."""
        where = f"variable '{shown(variable.name)}'"
        self.type_of(variable, where)
        for node in (variable.node, variable.initializer):
            if node and node not in self.scope.nodes:
                self.found.append(f"{where} refers to the node '{node}', which is not there")
        for value in (variable.initial_value, variable.snapshot):
            if value and not (":" not in value and value in self.scope.outputs):
                self.graphs.reads(value, self.scope, f"{where} refers to")
        if not variable.HasField("value"):
            return
        if variable.value >= len(self.model.tensor):
            self.found.append(
                f"{where} refers to tensor {variable.value} of {len(self.model.tensor)}"
            )
        elif not fits(variable, self.model.tensor[variable.value]):
            self.found.append(f"the value of {where} has another dtype or shape")

    def type_of(self, variable: Variable, where: str) -> None:
        """Its type is one; variables share types."""
        key = variable.dtype, variable.shape.SerializePartialToString()
        if key in self.types:
            return
        before = len(self.found)
        kind = Type.TensorType(dtype=variable.dtype, shape=variable.shape)
        self.graphs.type(Type(tensor=kind), where)
        if len(self.found) == before:
            self.types.add(key)

    def state_names(self) -> None:
        """Nodes refer to variables and generators that the tables have."""
        known = {
            "variable": {v.name for v in self.model.variable},
            "generator": {r.name for r in self.model.resource if r.HasField("generator")},
        }
        named = self.graphs.named
        if not self.found and all(named[key] <= known[key] for key in known):
            return
        for node in all_nodes(self.model.graph):
            for attribute in node.attr if node.domain == "graphio" else ():
                if attribute.key in known:
                    self.state_name(node, attribute, known[attribute.key])

    def state_name(self, node: Node, attribute: Attribute, known: set[str]) -> None:
        """Reports an attribute that names nothing."""
        name = attribute.value.s.decode(errors="replace")
        if name not in known and attribute.value.WhichOneof("value") == "s":
            self.found.append(
                f"{node_title(node)} refers to the {attribute.key} '{name}', which is not there"
            )

    def signature(self, signature: Signature) -> None:
        """Its values exist, its keys are unique, no value is fed twice."""
        where = f"signature '{shown(signature.name)}'"
        for what, bindings in (("inputs", signature.input), ("outputs", signature.output)):
            keys = [b.key for b in bindings]
            if len(set(keys)) < len(keys) or "" in keys:
                self.found.append(f"{where} has {what} of the same name or without one")
            for binding in bindings:
                self.graphs.reads(binding.value, self.scope, f"{where} refers to")
                self.graphs.type(binding.type, f"'{binding.key}' of {where}")
        fed = [b.value for b in signature.input]
        if len(set(fed)) < len(fed):
            self.found.append(f"{where} feeds a value twice")
        for target in signature.target:
            if target not in self.scope.nodes:
                self.found.append(f"{where} has a target '{target}', which is not a node")

    def selftests(self) -> None:
        """Their signatures and tensors exist."""
        names = {s.name for s in self.model.signature}
        for test in self.model.selftest:
            if test.signature not in names:
                self.found.append(f"a self-test refers to the signature '{test.signature}'")
            if any(i >= len(self.model.tensor) for i in (*test.input, *test.output)):
                self.found.append(f"a self-test of '{test.signature}' refers to missing tensors")


def fits(variable: Variable, tensor: Tensor) -> bool:
    """Whether a tensor has a variable's dtype and a shape that the variable allows."""
    if variable.dtype != tensor.dtype:
        return False
    if not variable.HasField("shape"):
        return True
    dims = variable.shape.dim
    return len(dims) == len(tensor.dims) and all(
        d.WhichOneof("value") != "size" or d.size == n
        for d, n in zip(dims, tensor.dims, strict=True)
    )
