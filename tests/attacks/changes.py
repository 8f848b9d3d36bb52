"""Changes to a valid model: each attribute, input and output of its node is made wrong."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import engines
import numpy as np
import untrusted_nodes
from untrusted_nodes import INT64, TYPES, cast

from attacks.subjects import Subject
from graphio.schema import tensors
from graphio.schema.model_pb2 import AttributeValue, Graph, Node, Tensor, Type
from graphio.schema.operators import AttributeSpec
from graphio.schema.verify_graph import FIELDS

Array = np.ndarray[Any, Any]
Change = Callable[[Subject], object]

# Multiplying two of them overflows, and a loop over them does not end: a Loop may have 2^40 steps.
MANY = 2**41
INTS = (0, 1, -1, -2, 3, 17, 255, 2**31 - 1, -(2**31), 2**31, 2**32, 2**40, 2**62, *INT64)
FLOATS = (0.0, -0.0, -1.0, 0.5, 1e-40, 3e38, *map(float, ("inf", "-inf", "nan")))
WORDS = (b"", b"x", b"a" * 300, b"%n%s%s", b"a\0b", b"\xff\xfe", b"-1", b"1e999", b"\x1b[31m")


@dataclass(frozen=True)
class Attack:
    """One change.

    Attributes:
        kind: the class of attack that it is counted in.
        name: what is changed and how; with operator and subject it is unique.
        change: does it to a copy of the subject.
        fed: whether the model stays as it is and only what is fed changes.
    """

    kind: str
    name: str
    change: Change
    fed: bool = False


def attacks(subject: Subject) -> Iterator[Attack]:
    """All of a subject, in the same order every time."""
    for name, spec in sorted(subject.row.attributes.items()):
        yield from _attribute(subject, name, spec)
    for index, value in enumerate(subject.node.input):
        yield from _connections(index)
        if value in subject.feeds:
            yield from _input(subject, index, subject.feeds[value])
    yield from _huge_inputs(subject)
    yield from _node(subject)


# ---- attributes ----


def set_attribute(subject: Subject, name: str, value: AttributeValue | None) -> None:
    """Sets an attribute of the node, in place of one of that name; None removes it."""
    kept = [a for a in subject.node.attr if a.key != name]
    del subject.node.attr[:]
    subject.node.attr.extend(kept)
    if value is not None:
        subject.node.attr.add(key=name, value=value)
    subject.node.attr.sort(key=lambda a: a.key.encode())


def _tensor(
    dims: Sequence[int], data: bytes = b"", dtype: int = 7, **fields: Any
) -> AttributeValue:
    return AttributeValue(t=Tensor(dtype=dtype, dims=dims, data=data, **fields))  # type: ignore[arg-type]


def _list(kind: str, values: Sequence[Any]) -> AttributeValue:
    made = AttributeValue()
    getattr(made, kind).SetInParent()
    values = [v.encode() if isinstance(v, str) else v for v in values]
    getattr(getattr(made, kind), LISTS[kind]).extend(values)
    return made


LISTS = {"ints": "i", "floats": "f", "strings": "s"}

#: something for every field of an attribute
ANY = {
    "i": AttributeValue(i=1),
    "f": AttributeValue(f=1.0),
    "d": AttributeValue(d=1.0),
    "s": AttributeValue(s=b"x"),
    "t": AttributeValue(t=tensors.from_array(np.arange(4))),
    "tensor": AttributeValue(tensor=0),
    "g": AttributeValue(g=Graph()),
    "type": AttributeValue(type=engines.tensor_type(np.float32)),
    "ints": _list("ints", [1]),
    "floats": _list("floats", [1.0]),
    "strings": _list("strings", [b"x"]),
    "reference": AttributeValue(reference="x"),
    "nothing": AttributeValue(),
}
TENSORS = {
    "of no elements": _tensor([0]),
    "of another type": AttributeValue(t=tensors.from_array(np.array([1.5, 2.5], np.float16))),
    "of strings": AttributeValue(t=tensors.from_array(np.array([b"a", b"b"], object))),
    "of rank 0": AttributeValue(t=tensors.from_array(np.array(3))),
    "of rank 16": AttributeValue(t=tensors.from_array(np.ones([1] * 16, np.int64))),
    "of rank 17": _tensor([1] * 17, bytes(8)),
    "of INT64_MIN": AttributeValue(t=tensors.from_array(np.full(4, INT64[0]))),
    "of INT64_MAX": AttributeValue(t=tensors.from_array(np.full(4, INT64[1]))),
    "of NaN": AttributeValue(t=tensors.from_array(np.full(4, np.nan, np.float32))),
    "shorter than its shape": _tensor([4], bytes(31)),
    "longer than its shape": _tensor([4], bytes(33)),
    "of 2^62 elements": _tensor([2**31, 2**31], bytes(8)),
    "whose size wraps to 8": _tensor([2**61 + 1], bytes(8)),
    "of -1 elements": _tensor([-1], bytes(8)),
    "of no type": _tensor([1], bytes(8), 0),
    "of type 99": _tensor([1], bytes(8), 99),
    "of a bool 2": _tensor([1], b"\2", 9),
    "of strings longer than their bytes": _tensor([1], (2**63).to_bytes(8, "little"), 8),
    "stored outside": _tensor([1], b"", 7, stored=True, offset=2**40, nbytes=8),
}
TYPES_OF_VALUES = {
    "of no kind": Type(),
    "of type 0": Type(tensor=Type.TensorType()),
    "of type 99": Type(tensor=Type.TensorType(dtype=99)),  # type: ignore[arg-type]
    "of strings": engines.tensor_type(object),
    "of another shape": engines.tensor_type(np.float32, (7, 7, 7)),
    "of a negative shape": engines.tensor_type(np.float32, (-1,)),
    "of a huge shape": engines.tensor_type(np.float32, (2**62, 2**62)),
    "of rank 17": engines.tensor_type(np.float32, (1,) * 17),
    "of a sequence": Type(sequence=engines.tensor_type(np.float32)),
    "of an optional": Type(optional=engines.tensor_type(np.float32)),
    "of a sequence of sequences": Type(sequence=Type(sequence=engines.tensor_type(np.float32))),
}


def _attribute(subject: Subject, name: str, spec: AttributeSpec) -> Iterator[Attack]:
    def attack(kind: str, how: str, value: AttributeValue | None) -> Attack:
        change = functools.partial(set_attribute, name=name, value=value)
        return Attack(kind, f"{name} {how}", change)

    yield attack("missing", "is missing", None)
    for field, value in ANY.items():
        if field not in FIELDS.get(spec.kind, ()):
            yield attack("wrong kind", f"is of kind {field}", value)
    if spec.kind == "graph":
        for how, change in GRAPHS.items():
            yield Attack("graph", f"{name} {how}", functools.partial(change, name=name))
    for how, value in _values(subject, name, spec):
        yield attack(spec.kind, how, value)


def _present(subject: Subject, name: str) -> list[Any]:
    """The list that the node has."""
    for attribute in subject.node.attr:
        if attribute.key == name:
            found = getattr(attribute.value, attribute.value.WhichOneof("value") or "ints")
            return list(getattr(found, LISTS[attribute.value.WhichOneof("value") or "ints"]))
    return []


def _values(
    subject: Subject, name: str, spec: AttributeSpec
) -> Iterator[tuple[str, AttributeValue]]:
    """Extreme values of the right kind."""
    if spec.kind == "int":
        yield from ((f"= {v}", AttributeValue(i=v)) for v in INTS)
    elif spec.kind == "float":
        yield from ((f"= {v}", AttributeValue(f=v)) for v in FLOATS)
        yield "= 1e300", AttributeValue(d=1e300)
    elif spec.kind == "string":
        yield from ((f"= {w[:8]!r}", AttributeValue(s=w)) for w in WORDS)
    elif spec.kind == "tensor":
        yield from TENSORS.items()
        yield "beyond the tensors", AttributeValue(tensor=2**32 - 1)
    elif spec.kind in ("type", "type_proto"):
        yield from ((how, AttributeValue(type=kind)) for how, kind in TYPES_OF_VALUES.items())
    elif spec.kind in ("ints", "floats", "strings"):
        special = {"ints": INTS, "floats": FLOATS, "strings": WORDS}[spec.kind]
        yield from _lists(
            spec.kind, _present(subject, name) or spec.default or [special[1]], special
        )


def _lists(
    kind: str, values: Sequence[Any], special: Sequence[Any]
) -> Iterator[tuple[str, AttributeValue]]:
    first, *others = values
    forms = {
        "empty": [],
        "shorter": values[:-1],
        "longer": [*values, first],
        "twice": [*values, *values],
        "of 300": [first] * 300,
        "of one value": [first] * len(values),
        "backwards": values[::-1],
    }
    for v in special:
        forms[f"[0] = {v!r:.12}"] = [v, *others]
        forms[f"[all] = {v!r:.12}"] = [v] * len(values)
    if kind == "ints" and others:
        forms |= dict(_in_turn(len(values)))
    seen = [list(values)]
    for how, form in forms.items():
        if form not in seen:
            seen.append(list(form))
            yield how, _list(kind, form)


# ---- bodies ----


def _graph(subject: Subject, name: str) -> Graph:
    return next(a.value.g for a in subject.node.attr if a.key == name)


def _in_body(change: Callable[[Graph], object]) -> Callable[..., object]:
    return lambda subject, name: change(_graph(subject, name))


def _itself(subject: Subject, name: str) -> None:
    """The body holds the node itself, with its body."""
    whole = Node()
    whole.CopyFrom(subject.node)
    _graph(subject, name).node.append(whole)


def _type_of_first(graph: Graph) -> None:
    graph.node[0].output_type[0].CopyFrom(engines.tensor_type(np.int32, (9,)))


GRAPHS: dict[str, Callable[..., object]] = {
    "without nodes": _in_body(lambda g: g.ClearField("node")),
    "without outputs": _in_body(lambda g: g.ClearField("output")),
    "with an output more": _in_body(lambda g: g.output.append(g.output[0])),
    "with outputs backwards": _in_body(lambda g: g.output.sort(reverse=True)),
    "with an output that is none": _in_body(lambda g: g.output.append("nobody")),
    "with an input more": _in_body(lambda g: g.input.add(name="more")),
    "with an input less": _in_body(lambda g: g.input and g.input.pop()),
    "with an input twice": _in_body(lambda g: g.input.extend(list(g.input))),
    "with a capture of nothing": _in_body(lambda g: g.capture.append("zz")),
    "without captures": _in_body(lambda g: g.ClearField("capture")),
    "that captures the node": _in_body(lambda g: g.capture.insert(0, "node")),
    "that reads itself": _in_body(lambda g: g.node[0].input.__setitem__(0, g.node[0].name)),
    "that reads the node": _in_body(lambda g: g.node[0].input.__setitem__(0, "node")),
    "of another type": _in_body(_type_of_first),
    "with a target that is none": _in_body(lambda g: g.target.append("nobody")),
    "that holds the node itself": _itself,
}


# ---- inputs ----


def _connections(index: int) -> Iterator[Attack]:
    for how, value in {"absent": "", "of no node": "unknown", "the node itself": "node"}.items():
        kind = "missing" if value == "" else "alias"
        yield Attack(kind, f"input {index} {how}", functools.partial(_reads, index, value))


def _reads(index: int, value: str, subject: Subject) -> None:
    subject.node.input[index] = value


def _fed(index: int, value: Array, subject: Subject) -> None:
    subject.feeds[subject.node.input[index]] = value


def constant(index: int, value: Array, subject: Subject) -> None:
    """The input is a constant in the place of its placeholder."""
    name = subject.node.input[index]
    del subject.feeds[name]
    _not_fed(subject, name)
    made = subject.named(name)
    made.Clear()
    made.name, made.op, made.version = name, "Constant", 1
    made.output_type.add().CopyFrom(engines.tensor_type(value.dtype, value.shape))
    made.attr.add(key="value").value.tensor = len(subject.builder.arrays)
    subject.builder.arrays.append(value)


def _retyped(index: int, value: Array, subject: Subject) -> None:
    name = subject.node.input[index]
    placeholder = subject.named(name)
    placeholder.output_type[0].CopyFrom(engines.tensor_type(value.dtype))
    placeholder.attr[0].value.i = engines.tensor_type(value.dtype).tensor.dtype
    placeholder.attr[1].value.type.CopyFrom(placeholder.output_type[0])
    subject.feeds[name] = value


def _huge(shapes: Mapping[int, tuple[int, ...]], subject: Subject) -> None:
    before = len(subject.builder.model.graph.node)
    for index, dims in shapes.items():
        dtype = subject.feeds[subject.node.input[index]].dtype
        made = untrusted_nodes.huge(subject.builder, dtype, dims, f"huge{index}")
        subject.node.input[index] = made
    for name in set(subject.feeds).difference(subject.node.input):
        del subject.feeds[name]
        _not_fed(subject, name)
    _to_front(subject, before)
    _shapes_alone(subject)


def _shapes_alone(subject: Subject) -> None:
    """The node runs, but only shapes are given: numpy has no arrays of some of them."""
    int64 = engines.tensor_type(np.int64)
    signature = subject.builder.model.signature[0]
    if "node" not in signature.target:
        signature.target.append("node")
    for index, binding in enumerate(signature.output):
        name, _, number = binding.value.partition(":")
        kinds = subject.named(name).output_type
        at = int(number or 0)
        if at < len(kinds) and kinds[at].WhichOneof("kind") == "tensor":
            shape = f"shape{index}"
            subject.builder.node(shape, "Shape", [binding.value], [int64], version=1)
            binding.value = shape


def _not_fed(subject: Subject, name: str) -> None:
    signature = subject.builder.model.signature[0]
    kept = [binding for binding in signature.input if binding.value != name]
    del signature.input[:]
    signature.input.extend(kept)


def _to_front(subject: Subject, before: int) -> None:
    """Moves the nodes after the first `before` ones, which the attack added, to the front."""
    nodes = list(subject.builder.model.graph.node)
    del subject.builder.model.graph.node[:]
    subject.builder.model.graph.node.extend([*nodes[before:], *nodes[:before]])


def _input(subject: Subject, index: int, x: Array) -> Iterator[Attack]:
    what = f"input {index}"
    for how, value in _shapes(x):
        yield Attack("shape", f"{what} {how}, fed", functools.partial(_fed, index, value), True)
        yield Attack("shape", f"{what} {how}", functools.partial(constant, index, value))
    if x.dtype == object:
        values = ((f"= {w[:8]!r}", w) for w in WORDS)
    elif x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        values = ((f"= {v}", v) for v in INTS if info.min <= v <= info.max)
    elif x.dtype.kind == "b":
        values = ((f"= {v}", v) for v in (True, False))
    else:
        values = ((f"= {v}", v) for v in FLOATS)
    kind = "index" if x.dtype.kind in "iu" else "number"
    for how, value in (*_numbers(x, values), *_orders(x)):
        yield Attack(kind, f"{what}{how}, fed", functools.partial(_fed, index, value), True)
        if kind == "index":
            yield Attack(kind, f"{what}{how}", functools.partial(constant, index, value))
    for dtype in (*TYPES, np.dtype(object)):
        if dtype != x.dtype:
            change = functools.partial(_retyped, index, _of_type(x, dtype))
            yield Attack("type", f"{what} of {dtype.name}", change)


def _huge_inputs(subject: Subject) -> Iterator[Attack]:
    """Sizes that nothing can hold, in tensors of no elements."""
    found = {i: x.shape for i, x in subject.inputs().items() if x.ndim and x.dtype != object}
    seen = []
    for shapes in _huge_shapes(found):
        if shapes not in seen:
            seen.append(shapes)
            what = ", ".join(f"input {i} of {dims}" for i, dims in shapes.items())
            yield Attack("huge", what, functools.partial(_huge, shapes))


def _huge_shapes(found: dict[int, tuple[int, ...]]) -> Iterator[dict[int, tuple[int, ...]]]:
    """Of one input, of all that are like it, and of all where they have the same sizes."""
    for index, dims in found.items():
        alike = [i for i, other in found.items() if other == dims]
        ranks = {min(len(dims), 5), 2, 3}
        forms = [
            form for rank in sorted(ranks) for form in itertools.product((0, MANY), repeat=rank)
        ]
        for form in forms:
            if len(set(form)) == 2:
                yield {index: form}
                yield dict.fromkeys(alike, form)
        for none, many in itertools.permutations(range(len(dims)), 2):
            yield {
                index: tuple(
                    0 if i == none else MANY if i == many else n for i, n in enumerate(dims)
                )
            }
    sizes = sorted({n for dims in found.values() for n in dims})
    for none, many in itertools.permutations(sizes, 2):
        new = {none: 0, many: MANY}
        all_of_them = {i: tuple(new.get(n, n) for n in dims) for i, dims in found.items()}
        if all(0 in dims or MANY not in dims for dims in all_of_them.values()):
            yield {i: dims for i, dims in all_of_them.items() if dims != found[i]}


def _of_type(x: Array, dtype: Any) -> Array:
    with np.errstate(all="ignore"):
        if dtype.kind == "O":
            return np.array([b"1"] * x.size, object).reshape(x.shape)
        return cast(np.zeros(x.shape, np.int64) if x.dtype == object else x, dtype)


def _numbers(x: Array, values: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Array]]:
    """One element, or all, of an extreme value."""
    for how, value in values if x.size else ():
        one = np.array(x, order="C")
        with np.errstate(all="ignore"):
            one.reshape(-1)[0] = value
            yield f"[0] {how}", one
            if x.size > 1:
                yield f"[all] {how}", np.full(x.shape, one.reshape(-1)[0], x.dtype)


def _orders(x: Array) -> Iterator[tuple[str, Array]]:
    """The same elements in another order, the first of them for all, sizes of nothing."""
    if x.size > 1:
        flat = x.reshape(-1)
        yield " backwards", np.ascontiguousarray(flat[::-1]).reshape(x.shape)
        yield " of one value", np.full(x.shape, flat[0], x.dtype)
    if x.size > 1 and x.dtype == np.int64:
        for how, values in _in_turn(x.size):
            yield f" {how}", np.array(values).reshape(x.shape)


def _in_turn(count: int) -> Iterator[tuple[str, list[int]]]:
    """Where they are the sizes of something: it has no elements, and many of them."""
    for pair in ((0, MANY), (MANY, 0)):
        yield f"of {pair} in turn", [pair[i % 2] for i in range(count)]


def _shapes(x: Array) -> Iterator[tuple[str, Array]]:
    """Other ranks and sizes; what is in it is repeated."""
    dims = list(x.shape)
    forms = {"of rank 0": [], "of rank 1": [max(1, x.size)], "of rank 16": [1] * 16}
    forms["with an axis before"], forms["with an axis behind"] = [1, *dims], [*dims, 1]
    forms["without its first axis"] = dims[1:]
    forms["without its last axis"] = dims[:-1]
    forms["of no elements"] = [0] * x.ndim
    for axis, size in enumerate(dims):
        for new in (0, size - 1, size + 1, 1):
            forms[f"with dims[{axis}] = {new}"] = [*dims[:axis], max(new, 0), *dims[axis + 1 :]]
    seen = [dims]
    for how, form in forms.items():
        if form not in seen and len(form) <= 16:
            seen.append(form)
            nothing: Any = b"" if x.dtype.kind == "O" else 0
            yield how, np.resize(x, form) if x.size else np.full(form, nothing, x.dtype)


# ---- the node as a whole ----


def _every_input_the_same(subject: Subject) -> None:
    for index in range(len(subject.node.input)):
        subject.node.input[index] = subject.node.input[0]


def _declared(kind: Type, subject: Subject) -> None:
    for output in subject.node.output_type:
        output.CopyFrom(kind)


def _fed_itself(subject: Subject) -> None:
    """Feeds the node's own output as well as its inputs."""
    name = "itself"
    subject.builder.model.signature[0].input.add(key=name, value="node")
    subject.feeds[name] = next(iter(subject.feeds.values()), np.zeros(1, np.float32))


def _inputs_more(subject: Subject, count: int) -> None:
    before = len(subject.builder.model.graph.node)
    subject.node.input.extend([subject.builder.constant("more", np.arange(2))] * count)
    _to_front(subject, before)


#: changes to the node's message
NODE: dict[tuple[str, str], Change] = {
    ("arity", "an input more"): lambda s: _inputs_more(s, 1),
    ("arity", "an absent input more"): lambda s: s.node.input.append(""),
    ("arity", "64 inputs more"): lambda s: _inputs_more(s, 64),
    ("arity", "an input less"): lambda s: s.node.input and s.node.input.pop(),
    ("arity", "no inputs"): lambda s: s.node.ClearField("input"),
    ("arity", "an output more"): lambda s: s.node.output_type.add(),
    ("arity", "64 outputs more"): lambda s: s.node.output_type.extend([Type()] * 64),
    ("arity", "an output less"): lambda s: s.node.output_type and s.node.output_type.pop(),
    ("arity", "no outputs"): lambda s: s.node.ClearField("output_type"),
    ("version", "version 0"): lambda s: setattr(s.node, "version", 0),
    ("version", "version 1"): lambda s: setattr(s.node, "version", 1),
    ("version", "version 2^31 - 1"): lambda s: setattr(s.node, "version", 2**31 - 1),
    ("version", "version 2^32 - 1"): lambda s: setattr(s.node, "version", 2**32 - 1),
    ("version", "another domain"): lambda s: setattr(s.node, "domain", "nobody's"),
    ("alias", "inputs that are one value"): _every_input_the_same,
    ("alias", "inputs backwards"): lambda s: s.node.input.sort(reverse=True),
    ("alias", "an output that is fed"): _fed_itself,
    ("alias", "waiting for itself"): lambda s: s.node.control_input.append("node"),
    ("alias", "an attribute twice"): lambda s: s.node.attr.extend(list(s.node.attr)),
    ("missing", "no attributes"): lambda s: s.node.ClearField("attr"),
}


def _node(subject: Subject) -> Iterator[Attack]:
    for (kind, name), change in NODE.items():
        yield Attack(kind, name, change)
    if subject.node.output_type:
        for how, declared in TYPES_OF_VALUES.items():
            change = functools.partial(_declared, declared)
            yield Attack("declared", f"outputs {how}", change)
