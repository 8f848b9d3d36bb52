"""Attention as programs write it out: softmax(q k' scale + mask) v in one operator."""

from __future__ import annotations

from graphio.model.rewrite.dimensions import Dimensions
from graphio.model.rewrite.patterns import ANY_NUMBER, Match, replace, search
from graphio.model.rewrite.work import Work, attributes, encoded
from graphio.schema import operators
from graphio.schema.nodes import PlainNode, encoded_ints, tensor_type

__all__ = ["apply"]

_SCORES = ("MatMul", "q", ("Transpose", "k"))
_SCALE = ANY_NUMBER("scale")
_SCALED = [("Div", _SCORES, ANY_NUMBER("root")), ("Mul", _SCORES, _SCALE), _SCORES]
_PATTERNS = [
    ("MatMul", ("Softmax", inside), "v")
    for scores in _SCALED
    for inside in (("Add", scores, "mask"), scores)
]


def apply(work: Work) -> int:
    """Replaces the formula of attention by Attention; returns the number of matches."""
    if not work.has((("", "Softmax"),)):
        return 0
    count = 0
    for node in reversed(work.ordered()):
        if node.name not in work.nodes or node.domain or node.op != "MatMul":
            continue
        found = search(work, node, _PATTERNS)
        if found is not None and _fits(work, found):
            _put(work, found)
            count += 1
    return count


def _fits(work: Work, found: Match) -> bool:
    """Whether the types, the axis of the softmax and the shapes are those of Attention."""
    softmax = attributes(found.node("Softmax")).get("axis", -1)
    return (
        softmax in (-1, 3)
        and work.dtype(found.values["q"]) in (1, 10, 11)
        and "perm" in attributes(found.node("Transpose"))
        and _shapes_fit(work, found)
    )


def _shapes_fit(work: Work, found: Match) -> bool:
    """Whether only heads of keys and a mask are broadcast: MatMul also broadcasts batches and heads
    that Attention refuses, and it takes a mask's short last axis for keys that are hidden. Sizes
    that symbols declare to be the same are taken as equal."""
    dimensions = Dimensions(work, declared=True)
    q, k, v = (dimensions.of(found.values[name]) or () for name in "qkv")
    mask = dimensions.of(found.values["mask"]) if "mask" in found.values else (1, 1)
    if not len(q) == len(k) == len(v) == 4 or mask is None or not 2 <= len(mask) <= 4:
        return False
    k = tuple(k[axis] for axis in attributes(found.node("Transpose"))["perm"])
    scores = (q[0], q[1], q[2], k[3])
    spread = zip(mask[:-1], scores[4 - len(mask) : -1], strict=True)
    return (
        q[0] == k[0] == v[0]
        and k[1] == v[1]
        and k[1] in (1, q[1])
        and ("mask" not in found.values or mask[-1] == k[3])
        and all(size in (1, score) for size, score in spread)
    )


def _put(work: Work, found: Match) -> None:
    last, values = found.nodes[0], found.values
    scale = found.numbers.get("scale", 1.0)
    if "root" in found.numbers:
        scale = 1.0 / found.numbers["root"]
    keys = [values["q"], _keys(work, found), values["v"]]
    inputs = [*keys, *([values["mask"]] if "mask" in values else [])]
    version = operators.version_for("Attention", dtypes=[work.dtype(last.name)], inputs=len(inputs))
    replace(work, found, "Attention", version, inputs, encoded({"scale": scale}))


def _keys(work: Work, found: Match) -> str:
    """The keys with their rows as rows: what the Transpose reads, in that order of axes."""
    transposed = found.node("Transpose")
    perm = list(attributes(transposed)["perm"])
    rows = [perm[0], perm[1], perm[3], perm[2]]
    if rows == sorted(rows):
        return found.values["k"]
    kind = transposed.form.types[0]
    sizes = kind.shape
    if sizes is not None and len(sizes) == 4:
        kind = tensor_type(kind.dtype, (sizes[0], sizes[1], sizes[3], sizes[2]))
    name = work.shared.new_name(f"{transposed.name}/rows")
    attr = {**transposed.attr, "perm": encoded_ints(tuple(rows))}
    form = transposed.form.giving([kind])
    made = PlainNode(name, form, transposed.input, transposed.control_input, attr)
    work.add(made, transposed)
    return name
