"""Operators that hand on their input go: Identity, Dropout that drops nothing, StopGradient (the
gradients are made), a Transpose, Cast, Reshape or Expand that changes nothing; Real and Imag of
complex numbers that were made of their parts, and views of these that undo each other."""

from __future__ import annotations

from graphio.model.rewrite.work import Work, attributes
from graphio.schema import operators
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
    """Lets readers read the inputs; returns how many nodes went or became Identity."""
    count = 0
    for node in work.having(_OPERATORS):
        undone = _undone(work, node)
        if work.is_free(node):
            source = undone or (node.input[0] if _hands_on(work, node) else None)
            if source is None:
                continue
            work.read_instead(node.name, source)
            work.remove(node)
        elif undone:
            form = node.form.like("Identity", "", operators.version_for("Identity"))
            work.put(PlainNode(node.name, form, [undone], node.control_input), node)
        else:
            continue
        count += 1
    return count


def _undone(work: Work, node: PlainNode) -> str | None:
    """The value from which a node's input was made, which the node gives back; None: there is
    none."""
    if node.domain != "graphio" or node.op not in _UNDONE:
        return None
    op, index = _UNDONE[node.op]
    maker = work.of(node.input[0])
    if maker is None or (maker.domain, maker.op) != ("graphio", op):
        return None
    return maker.input[index]


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
