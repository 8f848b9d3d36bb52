"""Computes nodes that depend on constants alone: by cinfer, whose bits are the same everywhere, or,
where it was not built, by numpy, for operators that do not round."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from graphio.engine.interface import Model as Loaded
from graphio.model.rewrite.work import Array, Work, attributes, type_of_array
from graphio.schema import container, operators
from graphio.schema.draft import Draft
from graphio.schema.model_pb2 import Model
from graphio.schema.nodes import Form, PlainGraph, PlainNode, stored_value

__all__ = ["apply"]

_SMALL = 1 << 16  # bytes: a result may be so large though its inputs are smaller
#: of an open: these bytes were made here
_LIMITS = {"max_load": (1 << 32) - 1}
#: Moving, counting and integers: every engine gives these bits.
_WITHOUT_ROUNDING = frozenset(
    ("Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Range")
    + ("Reshape", "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze")
    + ("ConstantOfShape", "Where", "Pad", "Not", "And", "Or", "Equal", "Neg", "Abs")
)
_OURS = frozenset(("graphio", op) for op in ("Complex", "Real", "Imag"))
_ON_INTEGERS = frozenset(("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Cast", "Less"))
_INTEGERS = frozenset((2, 3, 4, 5, 6, 7, 9, 12, 13))


def apply(work: Work) -> int:
    """Puts constants in the place of what has one value; returns how many nodes they replace."""
    count = _known_shapes(work)
    found = _found(work)
    if not found:
        return count
    needed = [n for n in found if _is_read_outside(work, n, {f.name for f in found})]
    for node, array in zip(needed, _computed(work, found, needed), strict=True):
        if array is not None:
            _replace(work, node, array)
            count += 1
    return count


def _known_shapes(work: Work) -> int:
    """Shape and Size of what has a static shape."""
    count = 0
    for node in work.having((("", "Shape"), ("", "Size"))):
        if not _may_replace(work, node):
            continue
        shape = work.shape(node.input[0])
        if shape is None or not all(isinstance(size, int) for size in shape):
            continue
        if node.op == "Size":
            value = np.array(int(np.prod(shape, dtype=np.int64)), np.int64)
        else:
            ends = attributes(node)
            part = slice(ends.get("start", 0), ends.get("end"))
            value = np.array(shape[part], np.int64)
        _replace(work, node, value)
        count += 1
    return count


def _may_replace(work: Work, node: PlainNode) -> bool:
    return (
        not node.control_input
        and len(node.form.types) == 1
        and node.name not in work.shared.fed
        and node.name not in work.shared.pinned_nodes
    )


def _found(work: Work) -> list[PlainNode]:
    """The nodes that depend on constants alone, in order."""
    found: dict[str, PlainNode] = {}
    for node in work.ordered():
        for value in node.input:
            if value and value not in found and work.constant(value) is None:
                break
        else:
            if any(node.input) and _may_replace(work, node) and work.is_pure(node):
                if _is_worth(work, node):
                    found[node.name] = node
    return list(found.values())


def _is_worth(work: Work, node: PlainNode) -> bool:
    """Whether the constant takes no more bytes than its inputs, or few."""
    shape = work.shape(node.name)
    if shape is None or not all(isinstance(size, int) for size in shape):
        return False
    count = int(np.prod(shape, dtype=np.int64)) * 8
    before = [work.constant(value) for value in node.input if value]
    return count <= max(_SMALL, *(0 if a is None else 2 * a.nbytes for a in before))


def _is_read_outside(work: Work, node: PlainNode, found: set[str]) -> bool:
    readers = work.readers.get(node.name, {})
    return node.name in work.shared.pinned or any(reader not in found for reader in readers)


def _computed(
    work: Work, nodes: Sequence[PlainNode], needed: Sequence[PlainNode]
) -> list[Array | None]:
    """The values of some of the nodes; None where this machine may not compute them."""
    try:
        from graphio import cinfer
    except ImportError:
        return _without_rounding(work, nodes, needed)
    try:
        return list(_run(work, nodes, needed, functools.partial(cinfer.load, limits=_LIMITS)))
    except Exception:  # a node that fails here reports its error in the run
        return [None] * len(needed)


def _without_rounding(
    work: Work, nodes: Sequence[PlainNode], needed: Sequence[PlainNode]
) -> list[Array | None]:
    from graphio import runtime  # loads all kernels

    exact = {n.name for n in nodes if _is_exact(work, n)}
    chosen = [n for n in nodes if _rests_on(work, n, exact)]
    names = {n.name for n in chosen}
    requested = [n for n in needed if n.name in names]
    if not requested:
        return [None] * len(needed)
    try:
        values = dict(
            zip(
                [n.name for n in requested],
                _run(work, chosen, requested, runtime.load),
                strict=True,
            )
        )
    except Exception:
        return [None] * len(needed)
    return [values.get(n.name) for n in needed]


def _is_exact(work: Work, node: PlainNode) -> bool:
    if node.domain:
        return (node.domain, node.op) in _OURS
    whole = all(work.dtype(v) in _INTEGERS for v in (*node.input, node.name) if v)
    return node.op in _WITHOUT_ROUNDING or (whole and node.op in _ON_INTEGERS)


def _rests_on(work: Work, node: PlainNode, exact: set[str]) -> bool:
    """Whether a node and all that it needs are exact."""
    pending = [node.name]
    while pending:
        name = pending.pop()
        maker = work.nodes[name]
        if maker.op == "Constant":
            continue
        if name not in exact:
            return False
        pending.extend(work.maker[v] for v in maker.input if v)
    return True


def _run(
    work: Work,
    nodes: Sequence[PlainNode],
    needed: Sequence[PlainNode],
    load: Callable[[bytes], Loaded],
) -> list[Array]:
    """The values by an engine, from a model of these nodes alone."""
    draft = Draft(Model(), PlainGraph(), [])
    inside = {node.name for node in nodes}
    constants: dict[str, None] = {}
    for node in nodes:
        constants.update(dict.fromkeys(v for v in node.input if v and v not in inside))
    for value in constants:
        array = work.constant(value)
        assert array is not None
        attr = {"value": stored_value(len(draft.arrays))}
        draft.graph.nodes.append(PlainNode(value, _constant_form(array), attr=attr))
        draft.arrays.append(array)
    draft.graph.nodes += nodes
    signature = draft.tables.signature.add()
    for k, node in enumerate(needed):
        kind = node.form.types[0].message()
        signature.output.add(key=str(k), value=node.name, type=kind)
    draft.name_opsets()
    loaded = load(container.pack_draft(draft))
    return [np.array(value) for value in loaded.signature().run([])]


def _constant_form(array: Array) -> Form:
    return Form("Constant", "", operators.version_for("Constant"), [type_of_array(array)])


def _replace(work: Work, node: PlainNode, array: Array) -> None:
    """Replaces a node by a constant of the same name."""
    version = operators.version_for("Constant")
    form = node.form.like("Constant", "", version, [type_of_array(array)])
    work.put(PlainNode(node.name, form, attr=work.held(array)), node)
