"""GELU as programs write it out: one operator, with fewer roundings."""

from __future__ import annotations

from typing import Any

from graphio.model.rewrite.patterns import replace, search
from graphio.model.rewrite.work import Work, encoded
from graphio.schema import operators

__all__ = ["apply"]

_CUBES = (("Pow", "x", 3.0), ("Mul", ("Mul", "x", "x"), "x"))
_INSIDE: dict[str, list[Any]] = {
    "none": [
        ("Erf", ("Div", "x", 1.4142135)),
        ("Erf", ("Mul", "x", 0.70710678)),
    ],
    "tanh": [
        ("Tanh", ("Mul", ("Add", "x", ("Mul", cube, 0.044715)), 0.7978845608)) for cube in _CUBES
    ],
}
#: approximate to forms of x (1 + f(x)) / 2, with the half in any position
_PATTERNS = {
    approximate: [
        pattern
        for inside in insides
        for half in [("Add", inside, 1.0)]
        for pattern in (
            ("Mul", ("Mul", "x", half), 0.5),
            ("Mul", "x", ("Mul", half, 0.5)),
            ("Mul", ("Mul", "x", 0.5), half),
        )
    ]
    for approximate, insides in _INSIDE.items()
}


def apply(work: Work) -> int:
    """Replaces the formula of Gelu by Gelu; returns the number of matches."""
    if not work.has((("", "Erf"), ("", "Tanh"))):
        return 0
    count = 0
    for node in reversed(work.ordered()):
        if node.name not in work.nodes or node.op != "Mul":
            continue
        for approximate, patterns in _PATTERNS.items():
            found = search(work, node, patterns)
            if found is not None:
                version = operators.version_for("Gelu", dtypes=[work.dtype(node.name)])
                attr = encoded({"approximate": approximate})
                replace(work, found, "Gelu", version, [found.values["x"]], attr)
                count += 1
                break
    return count
