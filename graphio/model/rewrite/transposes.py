"""Transposes that undo each other go, with elementwise operators between them: those then work on
the other order of axes. What exports of channels-last programs have around every convolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphio.model.rewrite.work import Work, attributes
from graphio.schema.nodes import PlainNode, encoded_ints

__all__ = ["apply"]

_MOST = 64  # nodes between two transposes
#: operators that look at one element of each input at a time, whatever their types are
_ELEMENTWISE = frozenset(
    ("Abs", "Add", "And", "Cast", "Ceil", "Clip", "Cos", "Div", "Elu", "Equal", "Erf", "Exp")
    + ("Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity")
    + ("LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mul", "Neg")
    + ("Not", "Or", "Pow", "PRelu", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign")
    + ("Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tanh", "Where")
)


def apply(work: Work) -> int:
    """Removes transposes; returns how many went."""
    count = 0
    for node in work.having((("", "Transpose"),)):
        if node.name in work.nodes and _perm(node) and work.is_free(node):
            count += _composed(work, node) or _between(work, node)
    return count


def _perm(node: PlainNode | None) -> list[int] | None:
    """The permutation of a Transpose that says it, None of another node."""
    if node is None or node.domain or node.op != "Transpose":
        return None
    found = attributes(node).get("perm")
    return list(found) if found else None


def _composed(work: Work, node: PlainNode) -> int:
    """A transpose of a transpose: one, or none."""
    first = work.of(node.input[0])
    inner, outer = _perm(first), _perm(node)
    if first is None or inner is None or outer is None:
        return 0
    both = [inner[axis] for axis in outer]
    if both == sorted(both):
        work.read_instead(node.name, first.input[0])
        work.remove(node)
    elif work.readers[first.name].keys() == {node.name} and work.is_free(first):
        work.change_inputs(node, [first.input[0]])
        node.attr["perm"] = encoded_ints(tuple(both))
        work.remove(first)
    else:
        return 0
    return 1


def _between(work: Work, last: PlainNode) -> int:
    """Elementwise nodes between transposes and the one that undoes them."""
    perm = _perm(last)
    assert perm is not None
    undone = [perm.index(axis) for axis in range(len(perm))]
    region = _region(work, last, undone)
    if not region:
        return 0
    made: dict[str, str] = {}
    for node in region:
        inputs = [_transposed(work, value, node, perm, made, region) for value in node.input]
        work.change_inputs(node, inputs)
        work.change_shape(node, perm)
    work.read_instead(last.name, region[-1].name)
    work.remove(last)
    gone = 1
    for value in made:
        node = work.nodes[value]
        if not work.readers.get(value) and work.is_free(node):
            work.remove(node)
            gone += 1
    return gone


def _region(work: Work, last: PlainNode, undone: Sequence[int]) -> list[PlainNode]:
    """The nodes in front of a transpose whose inputs all are transposed back, in order; none if
    there is anything else."""
    end = work.of(last.input[0])
    if end is None or not _may_turn(work, end):
        return []
    rank = len(undone)
    region = {end.name: end}
    pending = [end]
    changed = False
    while pending:
        node = pending.pop()
        for k, value in enumerate(node.input):
            if not value or value in region or _is_still(work, node, k):
                continue
            maker = work.of(value)
            if _perm(maker) == list(undone):
                changed = True
            elif maker is not None and _may_turn(work, maker):
                if len(region) == _MOST or len(work.shape(value) or ()) != rank:
                    return []
                region[value] = maker
                pending.append(maker)
            elif work.constant(value) is None or len(work.shape(value) or ()) > rank:
                return []
    names = region.keys() | {last.name}
    if not changed or any(work.readers[name].keys() - names for name in region):
        return []
    return sorted(region.values(), key=lambda n: work.position[n.name])


def _may_turn(work: Work, node: PlainNode) -> bool:
    return (
        not node.domain
        and node.op in _ELEMENTWISE
        and len(node.form.types) == 1
        and work.is_free(node)
        and work.shape(node.name) is not None
    )


def _is_still(work: Work, node: PlainNode, k: int) -> bool:
    """Whether an input is one number, which broadcasts in any order of axes."""
    return work.shape(node.input[k]) == () or (node.op == "Clip" and k > 0)


def _transposed(
    work: Work,
    value: str,
    node: PlainNode,
    perm: Sequence[int],
    made: dict[str, str],
    region: Sequence[PlainNode],
) -> str:
    """The value that a node of the region reads instead of another."""
    if not value or value in {n.name for n in region}:
        return value
    maker = work.of(value)
    if maker is not None and _perm(maker) is not None:
        made[value] = maker.input[0]
        return maker.input[0]
    array = work.constant(value)
    if array is None or array.ndim == 0 or (node.op == "Clip" and value in node.input[1:]):
        return value
    whole = array.reshape((1,) * (len(perm) - array.ndim) + array.shape)
    return work.constant_node(f"{value}/turned", np.ascontiguousarray(whole.transpose(perm)), node)
