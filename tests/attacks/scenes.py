"""Valid models of operators that need more than inputs: bodies, state, sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from engines import Builder, tensor_type

from graphio.schema.model_pb2 import AttributeValue, Graph, Type

Array = np.ndarray[Any, Any]
Scene = tuple[Builder, dict[str, Array]]
FLOATS, INT, BOOL = (tensor_type(kind) for kind in (np.float32, np.int64, np.bool_))
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)

SCENES: dict[str, Callable[[], Scene]] = {}


def sequence(kind: Type = FLOATS) -> Type:
    """The type of a sequence."""
    made = Type()
    made.sequence.CopyFrom(kind)
    return made


def optional(kind: Type = FLOATS) -> Type:
    """The type of an optional value."""
    made = Type()
    made.optional.CopyFrom(kind)
    return made


def body(
    inputs: dict[str, Type], nodes: Sequence[tuple[str, str, Sequence[str], Type]], outputs: str
) -> Graph:
    """A subgraph.

    Args:
        inputs: types by name.
        nodes: name, operator of the standard (version 14 or 25), inputs, type.
        outputs: names, in words.
    """
    made = Graph(output=outputs.split())
    for name, kind in inputs.items():
        made.input.add(name=name).type.CopyFrom(kind)
    for name, op, reads, kind in nodes:
        node = made.node.add(name=name, op=op, version=25 if op == "Identity" else 14, input=reads)
        node.output_type.add().CopyFrom(kind)
    return made


def _scene(make: Callable[[Builder, dict[str, Array]], Sequence[Type]]) -> Callable[[], Scene]:
    """Registers a scene: `make` adds the node "node" and those before it, and returns the types of
    the node's outputs."""

    def whole() -> Scene:
        builder, feeds = Builder(), dict[str, Array]()
        outputs = make(builder, feeds)
        names = {f"out{k}": f"node:{k}" if k else "node" for k in range(len(outputs))}
        targets = () if outputs else ("node",)
        builder.signature({name: name for name in feeds}, names, targets)
        return builder, feeds

    SCENES[(make.__doc__ or "").rstrip(".").lower()] = whole
    return whole


def _feed(builder: Builder, feeds: dict[str, Array], name: str, value: Any) -> str:
    """A placeholder of any shape."""
    feeds[name] = np.asarray(value)
    return builder.placeholder(name, feeds[name].dtype, None)


def _node(
    builder: Builder,
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[Type],
    attrs: dict[str, Any] | None = None,
    *,
    version: int = 1,
    domain: str = "",
    name: str = "node",
) -> Sequence[Type]:
    """Adds the node; an attribute may be a Graph."""
    graphs = {k: v for k, v in (attrs or {}).items() if isinstance(v, Graph)}
    plain = {k: v for k, v in (attrs or {}).items() if k not in graphs}
    made = builder.node(name, op, inputs, outputs, plain, domain=domain, version=version)
    for key, graph in graphs.items():
        made.attr.add(key=key, value=AttributeValue(g=graph))
    made.attr.sort(key=lambda attribute: attribute.key)
    return outputs


def _sequence(builder: Builder, feeds: dict[str, Array]) -> str:
    x, y = _feed(builder, feeds, "x", X), _feed(builder, feeds, "y", X + 6)
    _node(builder, "SequenceConstruct", [x, y], [sequence()], version=11, name="sequence")
    return "sequence"


# ---- bodies ----


@_scene
def _if(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """An If whose branches read x."""
    cond, _ = _feed(b, feeds, "cond", True), _feed(b, feeds, "x", X)
    branches = {}
    for key, op in (("else_branch", "Neg"), ("then_branch", "Abs")):
        branches[key] = body({}, [(key, op, ["x"], FLOATS)], key)
        branches[key].capture.append("x")
    return _node(b, "If", [cond], [FLOATS], branches, version=25)


@_scene
def _loop(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A Loop that carries x and stacks it."""
    inputs = [_feed(b, feeds, "trips", 3), _feed(b, feeds, "cond", True), _feed(b, feeds, "x", X)]
    inside = body(
        {"i": INT, "go": BOOL, "h": FLOATS}, [("next", "Add", ["h", "h"], FLOATS)], "go next h"
    )
    return _node(b, "Loop", inputs, [FLOATS, FLOATS], {"body": inside}, version=25)


@_scene
def _scan(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A Scan over the rows of x with a sum."""
    inputs = [_feed(b, feeds, "sum", np.zeros(3, np.float32)), _feed(b, feeds, "x", X)]
    inside = body(
        {"s": FLOATS, "row": FLOATS}, [("next", "Add", ["s", "row"], FLOATS)], "next next"
    )
    axes = dict.fromkeys(("scan_input_axes", "scan_output_axes"), [0])
    ways = dict.fromkeys(("scan_input_directions", "scan_output_directions"), [1])
    attrs = {"body": inside, "num_scan_inputs": 1, **axes, **ways}
    return _node(b, "Scan", inputs, [FLOATS, FLOATS], attrs, version=25)


# ---- sequences and optional values ----


@_scene
def _construct(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A sequence of two."""
    inputs = [_feed(b, feeds, "x", X), _feed(b, feeds, "y", X[:1])]
    return _node(b, "SequenceConstruct", inputs, [sequence()], version=11)


@_scene
def _empty(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A sequence of nothing."""
    return _node(b, "SequenceEmpty", [], [sequence()], {"dtype": 1}, version=11)


@_scene
def _at(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """One of a sequence."""
    inputs = [_sequence(b, feeds), _feed(b, feeds, "at", 1)]
    return _node(b, "SequenceAt", inputs, [FLOATS], version=11)


@_scene
def _erase(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A sequence that loses one."""
    inputs = [_sequence(b, feeds), _feed(b, feeds, "at", 1)]
    return _node(b, "SequenceErase", inputs, [sequence()], version=11)


@_scene
def _insert(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A sequence that gets one."""
    inputs = [_sequence(b, feeds), _feed(b, feeds, "z", X), _feed(b, feeds, "at", 1)]
    return _node(b, "SequenceInsert", inputs, [sequence()], version=11)


@_scene
def _length(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """The length of a sequence."""
    return _node(b, "SequenceLength", [_sequence(b, feeds)], [INT], version=11)


@_scene
def _concat(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A sequence in one."""
    attrs = {"axis": 1, "new_axis": 0}
    return _node(b, "ConcatFromSequence", [_sequence(b, feeds)], [FLOATS], attrs, version=11)


@_scene
def _split(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A tensor in parts."""
    inputs = [_feed(b, feeds, "x", X), _feed(b, feeds, "split", np.array([1, 2]))]
    attrs = {"axis": 1, "keepdims": 1}
    return _node(b, "SplitToSequence", inputs, [sequence()], attrs, version=11)


@_scene
def _optional(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """An optional value."""
    attrs = {"type": FLOATS}
    return _node(b, "Optional", [_feed(b, feeds, "x", X)], [optional()], attrs, version=15)


@_scene
def _has(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """Whether there is one."""
    x = _feed(b, feeds, "x", X)
    _node(b, "Optional", [x], [optional()], {}, version=15, name="optional")
    return _node(b, "OptionalHasElement", ["optional"], [BOOL], version=18)


@_scene
def _element(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """The element of an optional."""
    x = _feed(b, feeds, "x", X)
    _node(b, "Optional", [x], [optional()], {}, version=15, name="optional")
    return _node(b, "OptionalGetElement", ["optional"], [FLOATS], version=18)


# ---- state ----


def _variable(b: Builder) -> None:
    made = b.model.variable.add(name="v", dtype=1, value=len(b.arrays))
    b.arrays.append(X)
    made.shape.CopyFrom(tensor_type(np.float32, X.shape).tensor.shape)


def _typed() -> dict[str, Any]:
    return {"dtype": 1, "shape": tensor_type(np.float32, X.shape), "variable": "v"}


@_scene
def _variable_node(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A variable."""
    _variable(b)
    return _node(b, "Variable", [], [FLOATS], _typed(), domain="graphio")


@_scene
def _read(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A variable read later."""
    _variable(b)
    return _node(b, "ReadVariable", [], [FLOATS], _typed(), domain="graphio")


@_scene
def _assign(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A variable assigned."""
    _variable(b)
    inputs = [_feed(b, feeds, "x", X)]
    return _node(b, "Assign", inputs, [FLOATS], {"variable": "v"}, domain="graphio")


@_scene
def _is_initialized(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """Whether a variable has a value."""
    _variable(b)
    return _node(b, "IsInitialized", [], [BOOL], {"variable": "v"}, domain="graphio")


def _random(op: str) -> None:
    def make(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
        inputs = [_feed(b, feeds, "shape", np.array([2, 3]))]
        attrs: dict[str, Any] = {"dtype": 1}
        if op.startswith("Stateless"):
            inputs.append(_feed(b, feeds, "seed", np.array([1, 2])))
        else:
            generator = b.model.resource.add(name="g").generator
            generator.seeded, generator.key = True, 7
            attrs["generator"] = "g"
        if op.endswith("RandomInteger"):
            inputs += [_feed(b, feeds, "low", -5), _feed(b, feeds, "high", 5)]
            return _node(b, op, inputs, [INT], {**attrs, "dtype": 7}, domain="graphio")
        return _node(b, op, inputs, [FLOATS], attrs, domain="graphio")

    make.__doc__ = f"{op}."
    _scene(make)


for _op in ("RandomInteger", "RandomNormal", "RandomTruncatedNormal", "RandomUniform"):
    _random(_op)
    _random(f"Stateless{_op}")


# ---- nodes without a result, and nodes that the host runs ----


@_scene
def _no_op(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """Nothing."""
    return _node(b, "NoOp", [], [], domain="graphio")


@_scene
def _assert(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A condition that holds."""
    inputs = [_feed(b, feeds, "cond", True), _feed(b, feeds, "x", X)]
    return _node(b, "Assert", inputs, [], {"summarize": 3}, domain="graphio")


@_scene
def _placeholder(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A placeholder that is fed."""
    feeds["node"] = X
    attrs = {"dtype": 1, "shape": tensor_type(np.float32, (2, None))}
    return _node(b, "Placeholder", [], [attrs["shape"]], attrs, domain="graphio")


@_scene
def _host_call(b: Builder, feeds: dict[str, Array]) -> Sequence[Type]:
    """A call that no function answers."""
    inputs = [_feed(b, feeds, "x", X)]
    return _node(
        b, "HostCall", inputs, [FLOATS], {"function": "f", "stateful": 1}, domain="graphio"
    )
