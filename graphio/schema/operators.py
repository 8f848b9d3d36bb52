"""The operator table: what operators exist, in which versions, with which inputs and attributes.

It is data (operators.json, generated); this module answers questions about it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphio.schema import dtypes
from graphio.schema.model_pb2 import AttributeValue, Function, Node, Type
from graphio.support import errors

UNLIMITED = 2**31 - 1
_LISTED = 4  # inputs: of more, each type is looked up once
_KEPT = 4096  # answers of version_for and of find
#: draws that ONNX's operators make from a separate generator each: two of them are not one
_RANDOM = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
    + ("Multinomial", "Bernoulli")
)
#: operators of ours that depend on what is outside of the graph
_OUTSIDE = frozenset(("Placeholder", "BelowLimit", "Recv", "Send"))


@dataclass(frozen=True)
class Parameter:
    """A formal input or output.

    Attributes:
        type: a letter of Operator.types, an element type, or a nested one such as "seq(...)".
        optional: whether it may be absent.
        least: how many values at least; 1 unless optional or variadic.
        variadic: whether it stands for any number of values.
    """

    name: str
    type: str
    optional: bool
    least: int
    variadic: bool


@dataclass(frozen=True)
class AttributeSpec:
    """An attribute: its kind ("int", "floats", "graph" ...); default None: none."""

    kind: str
    required: bool
    default: Any


@dataclass(frozen=True)
class Operator:
    """One row: an operator from one version on."""

    op: str
    domain: str
    version: int
    family: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: Mapping[str, AttributeSpec]
    types: Mapping[str, frozenset[str]]
    differentiable: bool
    stateful: bool
    deprecated: bool
    summary: str

    @property
    def min_inputs(self) -> int:
        """The minimum number of inputs, absent ones between others included."""
        return _least(self.inputs, self.domain)

    @property
    def max_inputs(self) -> int:
        """The maximum number of inputs."""
        return _most(self.inputs)

    @property
    def min_outputs(self) -> int:
        """The minimum number of outputs."""
        return _least(self.outputs, self.domain)

    @property
    def max_outputs(self) -> int:
        """The maximum number of outputs."""
        return _most(self.outputs)

    @property
    def has_one_type(self) -> bool:
        """Whether all inputs must have the same element type."""
        return len({p.type for p in self.inputs}) == 1 and self.inputs[0].type in self.types

    def takes(self, dtype: int) -> bool:
        """Whether any input may have the element type of that number."""
        name = dtypes.name(dtype)
        return any(_allows(self.types.get(p.type, {p.type}), name) for p in self.inputs)


def _least(parameters: Sequence[Parameter], domain: str) -> int:
    # The standard counts all inputs before any number of values: a Loop's M and cond.
    counted = [p.least or (p.variadic and not domain) for p in parameters]
    needed = [i + p.least for i, p in enumerate(parameters) if counted[i]]
    return max(needed, default=0)


def _most(parameters: Sequence[Parameter]) -> int:
    return UNLIMITED if any(p.variadic for p in parameters) else len(parameters)


def _allows(types: Iterable[str], name: str) -> bool:
    return any(t in (name, "all", "any") for t in types)


class Table:
    """The table read from operators.json."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.forms: Mapping[str, int] = data["forms"]
        self._rows: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in data["operators"]:
            self._rows.setdefault((row.get("domain", ""), row["op"]), []).append(row)
        self._made: dict[tuple[str, str, int], Operator] = {}
        self._versions: dict[object, int] = {}  # results of version_for
        self._found: dict[tuple[str, str, int], Operator] = {}  # results of find

    def add(self, data: Mapping[str, Any]) -> Operator:
        """Adds a row, in the place of one of the same domain, name and version."""
        key = (data["domain"], data["op"])
        others = [r for r in self._rows.get(key, ()) if r["version"] != data["version"]]
        self._rows[key] = sorted([*others, data], key=lambda row: row["version"])
        self._made.pop((*key, data["version"]), None)
        self._versions.clear()
        self._found = {}  # a look-up of another thread may be about to add to the old one
        return _operator(data)

    def names(self, domain: str) -> list[str]:
        """Names of a domain's operators, sorted."""
        return sorted(op for d, op in self._rows if d == domain)

    def versions(self, domain: str, op: str) -> list[int]:
        """Versions in which the operator changed, ascending; none if it is unknown."""
        return [row["version"] for row in self._rows.get((domain, op), ())]

    def find(self, domain: str, op: str, version: int) -> Operator | None:
        """The row that holds for a version of an operator, or None."""
        requested = (domain, op, version)
        found = self._found.get(requested)
        if found is not None:
            return found
        row = self._row(domain, op, version)
        if row is None:  # not remembered: names of operators that are not there come from files
            return None
        kept, key = self._found, (domain, op, row["version"])
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = _operator(row)
        if len(kept) >= _KEPT:
            kept.clear()
        kept[requested] = found
        return found

    def _row(self, domain: str, op: str, version: int) -> Mapping[str, Any] | None:
        fitting = [r for r in self._rows.get((domain, op), ()) if r["version"] <= version]
        return fitting[-1] if fitting else None

    def version_for(
        self,
        op: str,
        domain: str = "",
        dtypes: Iterable[int] = (),
        *,
        attributes: Iterable[str] = (),
        inputs: int | None = None,
    ) -> int:
        """See the module's function of the same name."""
        numbers, requested = tuple(dtypes), tuple(attributes)
        if len(numbers) > _LISTED:
            numbers = tuple(sorted(set(numbers)))
        key = op, domain, numbers, requested, inputs
        found = self._versions.get(key)
        if found is None:
            if len(self._versions) >= _KEPT:
                self._versions.clear()
            sets = frozenset(numbers), frozenset(requested)
            found = self._versions[key] = self._version(op, domain, *sets, inputs)
        return found

    def _version(
        self,
        op: str,
        domain: str,
        numbers: frozenset[int],
        requested: frozenset[str],
        inputs: int | None,
    ) -> int:
        versions = self.versions(domain, op)
        if not versions:
            return 1
        oldest = self.forms.get(op, versions[-1]) if domain == "" else versions[0]
        found = (self.find(domain, op, v) for v in versions if v >= oldest)
        rows = [r for r in found if r is not None]
        shaped = [
            r
            for r in rows
            if requested <= set(r.attributes)
            and (inputs is None or r.min_inputs <= inputs <= r.max_inputs)
        ]
        typed = [
            r
            for r in shaped
            if all(map(r.takes, numbers)) and (len(numbers) < 2 or not r.has_one_type)
        ]
        # Our element types are a superset of the standard's, so none may list this one.
        return (typed or shaped or rows)[0].version

    def body(self, domain: str, op: str, version: int) -> Function | None:
        """See the module's function of the same name."""
        row = self._row(domain, op, version)
        return None if row is None or "body" not in row else _function(row)


def _operator(row: Mapping[str, Any]) -> Operator:
    return Operator(
        op=row["op"],
        domain=row.get("domain", ""),
        version=row["version"],
        family=row["family"],
        inputs=tuple(map(_parameter, row.get("inputs", ()))),
        outputs=tuple(map(_parameter, row.get("outputs", ()))),
        attributes={
            name: AttributeSpec(spec[0], len(spec) == 1, spec[1] if len(spec) > 1 else None)
            for name, spec in row.get("attributes", {}).items()
        },
        types={name: frozenset(text.split()) for name, text in row.get("types", {}).items()},
        differentiable=row["differentiable"],
        stateful=row.get("stateful", False),
        deprecated=row.get("deprecated", False),
        summary=row.get("summary", ""),
    )


def _parameter(text: str) -> Parameter:
    name, kind = text.split(": ")
    optional, variadic = kind.endswith("?"), kind.endswith(("*", "*0"))
    least = 0 if optional or kind.endswith("*0") else 1
    if optional or variadic:
        kind = kind.rstrip("?*0")
    return Parameter(name, kind, optional, least, variadic)


def _function(row: Mapping[str, Any]) -> Function:
    made = Function(
        domain=row["domain"],
        name=row["op"],
        version=row["version"],
        input=[_parameter(p).name for p in row["inputs"]],
        output=row["body"]["output"],
        attribute=sorted(row.get("attributes", {})),
    )
    for inner in row["body"]["node"]:
        node = Node(
            name=inner["name"],
            op=inner["op"],
            domain=inner.get("domain", ""),
            version=inner["version"],
            input=inner["input"],
            output_type=[Type()] * inner.get("outputs", 1),  # they follow from the inputs
        )
        for key, value in inner.get("attr", {}).items():
            node.attr.add(key=key, value=_attribute_value(value))
        made.node.append(node)
    return made


def _attribute_value(value: Mapping[str, Any]) -> AttributeValue:
    ((kind, content),) = value.items()
    if kind == "ints":
        return AttributeValue(ints=AttributeValue.IntList(i=content))
    if kind == "floats":
        return AttributeValue(floats=AttributeValue.FloatList(f=content))
    return AttributeValue(**{kind: content.encode() if kind == "s" else content})


@functools.cache
def table() -> Table:
    """The table of this package, read at the first question."""
    path = Path(__file__).with_name("operators.json")
    return Table(json.loads(path.read_text(encoding="utf-8")))


def find(domain: str, op: str, version: int) -> Operator | None:
    """The row that holds for a version of an operator; None if there is no such operator."""
    return table().find(domain, op, version)


def lookup(domain: str, op: str, version: int) -> Operator:
    """As find.

    Raises:
        UnimplementedError: there is no such operator.
    """
    found = find(domain, op, version)
    if found is None:
        raise errors.UnimplementedError(
            message=f"there is no operator {domain or 'ai.onnx'}.{op} version {version}"
        )
    return found


def is_pure(domain: str, op: str, version: int) -> bool:
    """Whether an operator gives the same whenever it runs on the same, and does nothing besides;
    what it does in bodies is not looked at."""
    row = find(domain, op, version)
    if row is None or row.stateful:
        return False
    return op not in (_RANDOM if not domain else _OUTSIDE if domain == "graphio" else ())


def version_for(
    op: str,
    domain: str = "",
    dtypes: Iterable[int] = (),
    *,
    attributes: Iterable[str] = (),
    inputs: int | None = None,
) -> int:
    """The oldest version of an operator that expresses a node, among those that engines know.

    Args:
        dtypes: element types of the inputs. One that the standard allows in no version chooses
            the oldest that fits otherwise: our types are a superset.
        attributes: names of the attributes that the node has.
        inputs: how many inputs it has; None: not looked at.

    Returns:
        The version; 1 for an operator that the table lacks, such as a user's own.
    """
    return table().version_for(op, domain, dtypes, attributes=attributes, inputs=inputs)


def defaults(domain: str, op: str, version: int) -> dict[str, Any]:
    """Values of the attributes that a node may leave out: int, float, str, or lists of them.

    The writer puts them into every node, so that files do not depend on them.
    """
    row = lookup(domain, op, version)
    return {name: a.default for name, a in row.attributes.items() if a.default is not None}


def body(domain: str, op: str, version: int) -> Function | None:
    """The body of an operator in terms of others; None if it has none.

    Inside, an attribute with a `reference` stands for the node's attribute of that name and is
    absent where that is. The types of outputs are left open: they follow from the inputs.
    """
    return table().body(domain, op, version)
