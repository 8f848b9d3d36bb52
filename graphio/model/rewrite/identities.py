"""Operators that hand on their input go: Identity, Dropout that drops nothing, StopGradient (the
gradients are made), a Transpose, Cast, Reshape or Expand that changes nothing; Real and Imag of
complex numbers that were made of their parts, and views of these that undo each other."""

from __future__ import annotations

from graphio.model.rewrite.work import Work, attributes
from graphio.schema.nodes import PlainNode

__all__ = ["apply"]


#: operators of complex numbers -> (the operator that they undo, its input that they give)
_UNDONE = {
    "Real": ("Complex", 0),
    "Imag": ("Complex", 1),
    "ComplexToPairs": ("PairsToComplex", 0),
    "PairsToComplex": ("ComplexToPairs", 0),
}
_OPERATORS = frozenset(
    [("graphio", op) for op in ("StopGradient", *_UNDONE)]
    + [("", op) for op in ("Identity", "Dropout", "Transpose", "Cast")]
    + [("", op) for op in ("Reshape", "Expand", "Squeeze", "Unsqueeze")]
)


def apply(work: Work) -> int:
    """Lets readers read the inputs; returns how many nodes went."""
    count = 0
    for node in work.having(_OPERATORS):
        source = _source(work, node) if work.is_free(node) else None
        if source is None:
            continue
        work.read_instead(node.name, source)
        work.remove(node)
        count += 1
    return count


def _source(work: Work, node: PlainNode) -> str | None:
    """The value that a node hands on, None: it makes another one."""
    if node.domain == "graphio" and node.op in _UNDONE:
        op, index = _UNDONE[node.op]
        maker = work.of(node.input[0])
        undone = maker is not None and (maker.domain, maker.op) == ("graphio", op)
        return maker.input[index] if undone and maker is not None else None
    return node.input[0] if _hands_on(work, node) else None


def _hands_on(work: Work, node: PlainNode) -> bool:
    if not node.input or not node.input[0]:
        return False
    if node.domain:
        return (node.domain, node.op) == ("graphio", "StopGradient")
    if node.op == "Identity":
        return True
    if node.op == "Dropout":
        return _drops_nothing(work, node)
    shape = work.shape(node.input[0])
    if node.op == "Transpose":
        perm = attributes(node).get("perm")
        return perm is not None and perm == tuple(sorted(perm))
    if node.op == "Cast":
        return attributes(node).get("to") == work.dtype(node.input[0]) != 0
    if node.op in ("Reshape", "Expand", "Squeeze", "Unsqueeze"):
        known = shape is not None and all(isinstance(size, int) for size in shape)
        return known and shape == work.shape(node.name)
    return False


def _drops_nothing(work: Work, node: PlainNode) -> bool:
    """Dropout outside of training, whose mask has no reader."""
    if any(work.readers.get(value) for value in node.values()[1:]):
        return False
    if len(node.input) < 3 or not node.input[2]:
        return True
    training = work.constant(node.input[2])
    return training is not None and not training.any()
