"""Fuses a transpose into the matrix multiplication that reads it: Gemm instead of Transpose and
MatMul. Gradients of layers have these. The order of the sums does not depend on transposition."""

from __future__ import annotations

from graphio.model.rewrite.work import Work, attributes, encoded
from graphio.schema import operators
from graphio.schema.nodes import PlainNode

__all__ = ["apply"]

_FLOATS = (1, 11)


def apply(work: Work) -> int:
    """Joins transposes with the MatMuls that read them; returns how many MatMuls changed."""
    count = 0
    for node in work.having((("", "MatMul"),)):
        if work.dtype(node.name) not in _FLOATS:
            continue
        makers = [_turn(work, value) for value in node.input]
        if any(makers) and all(len(work.shape(value) or ()) == 2 for value in node.input):
            _replace(work, node, makers)
            count += 1
    return count


def _turn(work: Work, value: str) -> PlainNode | None:
    """The node that transposes a matrix into the value."""
    node = work.of(value)
    if (
        node is None
        or node.domain
        or node.op != "Transpose"
        or work.constant(node.input[0]) is not None
    ):
        return None
    return node if attributes(node).get("perm") == (1, 0) else None


def _replace(work: Work, node: PlainNode, makers: list[PlainNode | None]) -> None:
    inputs = [m.input[0] if m else value for m, value in zip(makers, node.input, strict=True)]
    version = operators.version_for("Gemm", dtypes=[work.dtype(node.name)], inputs=2)
    transposed = {"transA": int(makers[0] is not None), "transB": int(makers[1] is not None)}
    attr = encoded({"alpha": 1.0, "beta": 1.0, **transposed})
    form = node.form.like("Gemm", "", version)
    work.put(PlainNode(node.name, form, inputs, node.control_input, attr), node)
    for maker in makers:
        if maker is not None and maker.name in work.nodes and not work.readers.get(maker.name):
            if work.is_free(maker):
                work.remove(maker)
