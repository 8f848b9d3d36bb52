"""Layer normalisation as programs write it out: one operator, which goes over each row once."""

from __future__ import annotations

from graphio.model.rewrite.patterns import ANY_NUMBER, Match, replace, search
from graphio.model.rewrite.work import Work, attributes, encoded
from graphio.schema import operators

__all__ = ["apply"]

_CENTRED = ("Sub", "x", ("ReduceMean", "x"))
_EPSILON = ANY_NUMBER("epsilon")
_ROOTS = [
    ("Sqrt", ("Add", ("ReduceMean", square), _EPSILON))
    for square in (("Pow", _CENTRED, 2.0), ("Mul", _CENTRED, _CENTRED))
]
_PATTERNS = [
    ("Add", ("Mul", scaled, "scale"), "bias")
    for root in _ROOTS
    for scaled in (
        ("Div", _CENTRED, root),
        ("Mul", _CENTRED, ("Reciprocal", root)),
        ("Mul", _CENTRED, ("Div", 1.0, root)),
    )
]


def apply(work: Work) -> int:
    """Replaces its formula by LayerNormalization; returns the number of matches."""
    if not work.has((("", "ReduceMean"),)):
        return 0
    count = 0
    for node in reversed(work.ordered()):
        if node.name not in work.nodes or node.domain or node.op != "Add":
            continue
        found = search(work, node, _PATTERNS)
        if found is None or not _fits(work, found):
            continue
        inputs = [found.values[name] for name in ("x", "scale", "bias")]
        version = operators.version_for(
            "LayerNormalization", dtypes=[work.dtype(node.name)], inputs=3
        )
        attr = encoded({"axis": -1, "epsilon": found.numbers["epsilon"], "stash_type": 1})
        replace(work, found, "LayerNormalization", version, inputs, attr)
        count += 1
    return count


def _fits(work: Work, found: Match) -> bool:
    """Whether the means are over the last axis, and scale and bias are one number an element."""
    shape = work.shape(found.values["x"])
    if shape is None or not isinstance(shape[-1], int):
        return False
    rank = len(shape)
    for node in found.nodes:
        if node.op == "ReduceMean":
            attrs = attributes(node)
            axes = attrs.get("axes")
            if len(node.input) > 1:
                given = work.constant(node.input[1])
                axes = None if given is None else tuple(given.reshape(-1).tolist())
            if axes not in ((-1,), (rank - 1,)) or attrs.get("keepdims", 1) != 1:
                return False
    return all(work.shape(found.values[name]) == (shape[-1],) for name in ("scale", "bias"))
