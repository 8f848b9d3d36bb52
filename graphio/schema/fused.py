"""Programs of fused operators: what their attributes say, and the nodes that they stand for.

FusedElementwise is a program alone. FusedMatMul, FusedGemm and the others of LINEAR compute a
linear operator first, then the program on its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphio.schema import functions, operators, tensors
from graphio.schema.model_pb2 import Graph, Model, Node, Type
from graphio.schema.nodes import (
    PlainGraph,
    PlainNode,
    decoded,
    encoded_floats,
    encoded_ints,
    encoded_strings,
)
from graphio.support import errors

__all__ = [
    "ATTRIBUTES",
    "BY_NODE",
    "LINEAR",
    "MOST_INPUTS",
    "MOST_RESULTS",
    "MOST_STEPS",
    "OPS",
    "Op",
    "Program",
    "Step",
    "unfused",
]

MOST_STEPS, MOST_INPUTS, MOST_RESULTS = 32, 8, 8
ATTRIBUTES = ("literals", "nodes", "numbers", "operands", "ops")
FLOAT = 1  # the element type's number

#: a fused operator to (domain, operator) of its linear operator, and where its extra inputs begin
LINEAR: Mapping[str, tuple[str, str, int]] = {
    "FusedMatMul": ("", "MatMul", 2),
    "FusedGemm": ("", "Gemm", 3),
    "FusedConv": ("", "Conv", 3),
    "FusedConv2D": ("graphio", "Conv2D", 2),
}
_FUSED = frozenset(("FusedElementwise", *LINEAR))


@dataclass(frozen=True)
class Op:
    """An operator that a step may be.

    Attributes:
        op, domain: of the node that the step stands for.
        arity: how many operands it has.
        numbers: attributes of the node that `numbers` holds, by their defaults.
        fixed: attributes that the node has besides.
    """

    op: str
    arity: int = 1
    domain: str = ""
    numbers: Mapping[str, float] = ()  # type: ignore[assignment]
    fixed: Mapping[str, str] = ()  # type: ignore[assignment]


_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Pow")
_UNARY = (
    *("Abs", "Neg", "Sqrt", "Reciprocal", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Softplus"),
    *("Relu", "Mish", "HardSwish", "Softsign", "Floor", "Ceil", "Round", "Sign"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
)
_SELU = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}
#: name in `ops` to what it is
OPS: Mapping[str, Op] = {
    **{name: Op(name, 2) for name in _BINARY},
    **{name: Op(name) for name in _UNARY},
    "ReluGrad": Op("ReluGrad", 2, "graphio"),
    "Elu": Op("Elu", numbers={"alpha": 1.0}),
    "Selu": Op("Selu", numbers=_SELU),
    "LeakyRelu": Op("LeakyRelu", numbers={"alpha": float(np.float32(0.01))}),
    "Swish": Op("Swish", numbers={"alpha": 1.0}),
    "HardSigmoid": Op("HardSigmoid", numbers={"alpha": float(np.float32(0.2)), "beta": 0.5}),
    "Gelu": Op("Gelu", fixed={"approximate": "none"}),
    "GeluTanh": Op("Gelu", fixed={"approximate": "tanh"}),
    "Clip": Op("Clip"),  # its numbers are inputs of the node
}
#: (domain, operator) of nodes to names in OPS that they may be
BY_NODE: dict[tuple[str, str], list[str]] = {}
for _name, _op in OPS.items():
    BY_NODE.setdefault((_op.domain, _op.op), []).append(_name)


class Step(NamedTuple):
    """One operator of a program.

    Attributes:
        op: a name in OPS.
        operands: below the number of inputs an input, then results of steps; negative: literals.
        numbers: the operator's two numbers.
        node: the name of the node that it stands for, "" if it is not known.
    """

    op: str
    operands: tuple[int, ...]
    numbers: tuple[float, float] = (0.0, 0.0)
    node: str = ""


class Program(NamedTuple):
    """The steps of a fused node and the numbers among their operands.

    Attributes:
        linear: the node whose result is input 0, "" if there is none or its name is not known.
    """

    steps: tuple[Step, ...]
    literals: tuple[float, ...] = ()
    linear: str = ""

    @classmethod
    def read(cls, attrs: Mapping[str, Any], inputs: int, linear: bool = False) -> Program:
        """The program in a node's attributes.

        Args:
            attrs: attributes as Python values.
            inputs: how many inputs the program has.
            linear: whether it follows a linear operator, whose name `nodes` then has first.

        Raises:
            InvalidArgumentError: the attributes do not fit together.
            UnimplementedError: a step is not an operator that a program may have.
        """
        ops = [_text(op) for op in attrs.get("ops", ())]
        operands, literals = list(attrs.get("operands", ())), tuple(attrs.get("literals") or ())
        numbers = list(attrs.get("numbers") or [0.0] * 2 * len(ops))
        most = len(ops) + linear
        nodes = [_text(name) for name in attrs.get("nodes") or [""] * most]
        if not 1 <= len(ops) <= MOST_STEPS:
            raise _wrong(f"ops has {len(ops)} names, expected 1 to {MOST_STEPS}")
        if len(numbers) != 2 * len(ops):
            raise _wrong(
                f"numbers has {len(numbers)} numbers, expected two for each of the {len(ops)} steps"
            )
        if len(nodes) != most:
            of_linear = " and one for the linear operator" if linear else ""
            raise _wrong(
                f"nodes has {len(nodes)} names, expected one for each of the {len(ops)} steps"
                f"{of_linear}"
            )
        name = nodes.pop(0) if linear else ""
        steps: list[Step] = []
        for s, op in enumerate(ops):
            if op not in OPS:
                raise errors.UnimplementedError(
                    message=f"step {s} is '{op[:40]}', which a program cannot have"
                )
            taken, operands = operands[: OPS[op].arity], operands[OPS[op].arity :]
            if len(taken) < OPS[op].arity:
                raise _wrong(f"operands are too few: step {s} needs more")
            for operand in taken:
                if not -len(literals) <= operand < inputs + s:
                    raise _wrong(
                        f"operand {operand} of step {s}: there are {inputs} inputs, {s} results "
                        f"before it and {len(literals)} literals"
                    )
            pair = (numbers[2 * s], numbers[2 * s + 1])
            steps.append(Step(op, tuple(taken), pair, nodes[s]))
        if operands:
            raise _wrong(f"operands has {len(operands)} numbers more than the steps need")
        _check_all_read(steps, inputs, int(linear))
        return cls(tuple(steps), literals, name)

    def attributes(self, linear: bool = False) -> dict[str, bytes]:
        """The attributes of the node that the program is; linear: it follows a linear operator."""
        names = [s.node for s in self.steps]
        found = {
            "ops": encoded_strings([s.op for s in self.steps]),
            "operands": encoded_ints(tuple([o for s in self.steps for o in s.operands])),
            "nodes": encoded_strings([self.linear, *names] if linear else names),
        }
        if any(map(any, [s.numbers for s in self.steps])):
            found["numbers"] = encoded_floats([n for s in self.steps for n in s.numbers])
        if self.literals:
            found["literals"] = encoded_floats(self.literals)
        return found

    def nodes(self, inputs: Sequence[str], name: str) -> Iterator[Node]:
        """The nodes that the steps stand for, constants of literals and bounds among them.

        Args:
            inputs: names of the program's inputs.
            name: of the last one, which is the fused node's.
        """
        values = list(inputs)
        literals: dict[int, str] = {}
        for s, step in enumerate(self.steps):
            last = s == len(self.steps) - 1
            own = name if last else step.node if step.node not in ("", name) else f"{name}/step_{s}"
            given = []
            for operand in step.operands:
                if operand < 0 and operand not in literals:
                    literals[operand] = f"{name}/literal_{-1 - operand}"
                    yield _constant(literals[operand], self.literals[-1 - operand])
                given.append(literals[operand] if operand < 0 else values[operand])
            if step.op == "Clip":
                for k, bound in enumerate(step.numbers):
                    yield _constant(f"{own}/bound_{k}", bound)
                    given.append(f"{own}/bound_{k}")
            yield _node(step, own, given)
            values.append(own)


def _check_all_read(steps: Sequence[Step], inputs: int, first: int) -> None:
    """Refuses inputs and results without a part in the last one: they need not broadcast to it."""
    read = {operand for step in steps for operand in step.operands}
    for s in range(len(steps) - 1):
        if inputs + s not in read:
            raise _wrong(f"no step reads the result of step {s}")
    for i in range(first, inputs):
        if i not in read:
            raise _wrong(f"no step reads input {i} of the program")


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _wrong(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


def attributes_of(step: Step) -> dict[str, Any]:
    """The attributes of the node that a step stands for."""
    op = OPS[step.op]
    named = dict(zip(op.numbers, step.numbers, strict=False))
    return {**named, **dict(op.fixed)}


def _node(step: Step, name: str, inputs: Sequence[str]) -> Node:
    op = OPS[step.op]
    attrs = attributes_of(step)
    version = operators.version_for(op.op, op.domain, [FLOAT], attributes=attrs, inputs=len(inputs))
    made = Node(name=name, op=op.op, domain=op.domain, version=version, input=inputs)
    made.output_type.add().tensor.dtype = FLOAT  # type: ignore[assignment]
    for key in sorted(attrs):
        value = made.attr.add(key=key).value
        if isinstance(attrs[key], str):
            value.s = attrs[key].encode()
        else:
            value.f = attrs[key]
    return made


def _constant(name: str, number: float) -> Node:
    made = Node(name=name, op="Constant", version=operators.version_for("Constant"))
    made.output_type.append(Type())
    made.output_type[0].tensor.dtype = FLOAT  # type: ignore[assignment]
    made.output_type[0].tensor.shape.SetInParent()
    made.attr.add(key="value").value.t.CopyFrom(tensors.from_array(np.float32(number)))
    return made


# ---- back to single nodes ----


def parts(model: Model) -> dict[str, list[str]]:
    """The nodes of the user's that fused ones of the root graph are, by the fused one's name; where
    the first of them is a linear operator, the list starts with ""."""
    return _parts(
        (node.name, node.op, next((a.value.strings.s for a in node.attr if a.key == "nodes"), ()))
        for node in filter(_is_fused, model.graph.node)
    )


def fused_nodes(graph: PlainGraph) -> list[PlainNode]:
    """The fused nodes of a graph."""
    return [node for node in graph.nodes if node.op in _FUSED and node.domain == "graphio"]


def parts_of_nodes(nodes: Iterable[PlainNode]) -> dict[str, list[str]]:
    """As parts, of fused nodes."""
    return _parts((n.name, n.op, decoded(n.attr.get("nodes", b"")) or ()) for n in nodes)


def _parts(fused: Iterable[tuple[str, str, Sequence[bytes]]]) -> dict[str, list[str]]:
    """By name, from names, operators and lists of nodes."""
    return {
        name: [*([""] if op in LINEAR else ()), *map(_text, nodes)]
        for name, op, nodes in fused
        if nodes
    }


def unfused(model: Model) -> Model:
    """The model with the nodes that its fused ones stand for; itself if it has none."""
    if not any(map(_is_fused, functions.all_nodes(model.graph))):
        return model
    result = Model()
    result.CopyFrom(model)
    types = _types(result)
    for graph in functions.all_graphs(result.graph):
        if any(map(_is_fused, graph.node)):
            made = Graph(node=[inner for node in graph.node for inner in _expanded(node, types)])
            del graph.node[:]
            graph.node.extend(made.node)
    return result


def _types(model: Model) -> dict[str, Type]:
    """The types of first outputs and of formal inputs, by name."""
    found: dict[str, Type] = {}
    for graph in functions.all_graphs(model.graph):
        found.update((argument.name, argument.type) for argument in graph.input)
        for node in graph.node:
            for k, kind in enumerate(node.output_type):
                found[f"{node.name}:{k}" if k else node.name] = kind
    return found


def _is_fused(node: Node) -> bool:
    return node.domain == "graphio" and node.op in _FUSED


def _expanded(node: Node, types: dict[str, Type]) -> Iterator[Node]:
    """A node, or those that it stands for; the outer ones keep its device and source."""
    if not _is_fused(node):
        yield node
        return
    inputs = list(node.input)
    made: list[Node] = []
    values = {a.key: _value(a.value) for a in node.attr if a.key in ATTRIBUTES}
    extras = LINEAR[node.op][2] - 1 if node.op in LINEAR else 0
    program = Program.read(values, max(1, len(inputs) - extras), node.op in LINEAR)
    if node.op in LINEAR:
        domain, op, first = LINEAR[node.op]
        base = program.linear or f"{node.name}/product"
        linear = Node(name=base, op=op, domain=domain, input=inputs[:first])
        while linear.input and not linear.input[-1]:
            linear.input.pop()
        linear.attr.extend(a for a in node.attr if a.key not in ATTRIBUTES)
        linear.version = operators.version_for(
            op, domain, [FLOAT], attributes=[a.key for a in linear.attr], inputs=len(linear.input)
        )
        linear.output_type.extend(node.output_type)
        made.append(linear)
        inputs = [base, *inputs[first:]]
    made.extend(program.nodes(inputs, node.name))
    for inner in made:
        if inner.op not in ("Constant", linear_of(node.op)):
            _set_shape(inner, types)
        types[inner.name] = inner.output_type[0]
        inner.device = node.device
        inner.source.CopyFrom(node.source)
        if inner.op != "Constant":
            inner.control_input.extend(node.control_input)
    del made[-1].output_type[:]
    made[-1].output_type.extend(node.output_type)
    made[-1].tf_type = node.tf_type
    yield from made


def linear_of(op: str) -> str:
    """The linear operator of a fused operator, "" of another one."""
    return LINEAR[op][1] if op in LINEAR else ""


def _set_shape(node: Node, types: Mapping[str, Type]) -> None:
    """Gives an elementwise node the static shape that follows from those of its inputs."""
    shapes = []
    for value in node.input:
        tensor = types[value].tensor if value in types else None
        if tensor is None or not tensor.HasField("shape"):
            return
        shapes.append(tensor.shape.dim)
    made = node.output_type[0].tensor.shape
    made.SetInParent()
    rank = max(map(len, shapes))
    for axis in range(-rank, 0):
        sizes = [
            s[axis]
            for s in shapes
            if len(s) >= -axis and not (s[axis].HasField("size") and s[axis].size == 1)
        ]
        known = [s for s in sizes if s.HasField("size")]
        one = made.dim.add()
        if not sizes:
            one.size = 1
        elif known:
            one.CopyFrom(known[0])
        elif all(s == sizes[0] for s in sizes):
            one.CopyFrom(sizes[0])


def _value(value: Any) -> list[Any]:
    kind = value.WhichOneof("value")
    found = {"ints": value.ints.i, "floats": value.floats.f, "strings": value.strings.s}
    return list(found.get(kind, ()))
