"""Operators that hand on their input go: Identity, Dropout that drops nothing, StopGradient (the
gradients are made), a Transpose, Cast, Reshape or Expand that changes nothing."""

from __future__ import annotations

from graphio.model.rewrite.work import Work, attributes, values_of
from graphio.schema.model_pb2 import Node

__all__ = ["apply"]


_OPERATORS = frozenset(
    [("graphio", "StopGradient")]
    + [("", op) for op in ("Identity", "Dropout", "Transpose", "Cast")]
    + [("", op) for op in ("Reshape", "Expand", "Squeeze", "Unsqueeze")]
)


def apply(work: Work) -> int:
    """Lets readers read the inputs; returns how many nodes went."""
    count = 0
    for node in work.having(_OPERATORS):
        if not work.is_free(node) or not _hands_on(work, node):
            continue
        work.read_instead(node.name, node.input[0])
        work.remove(node)
        count += 1
    return count


def _hands_on(work: Work, node: Node) -> bool:
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
        return perm is not None and perm == sorted(perm)
    if node.op == "Cast":
        return attributes(node).get("to") == work.dtype(node.input[0]) != 0
    if node.op in ("Reshape", "Expand", "Squeeze", "Unsqueeze"):
        known = shape is not None and all(isinstance(size, int) for size in shape)
        return known and shape == work.shape(node.name)
    return False


def _drops_nothing(work: Work, node: Node) -> bool:
    """Dropout outside of training, whose mask has no reader."""
    if any(work.readers.get(value) for value in values_of(node)[1:]):
        return False
    if len(node.input) < 3 or not node.input[2]:
        return True
    training = work.constant(node.input[2])
    return training is not None and not training.any()
