"""The gradient of Einsum: Einsums of the result's gradient with the other operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_letters

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.primitive import compare
from graphio.ops.base.shapes import Dims, dims_of
from graphio.schema import equation

__all__ = ["joined_sizes"]

Labels = tuple[str, ...]


@gradient("Einsum")
def _einsum_gradient(op: Operation, dy: Tensor) -> Sequence[Tensor | None]:
    """For each operand dy times the others, summed over what it has not."""
    inputs = [x for x in op.inputs if x is not None]
    ranks = [x.shape.ndims for x in inputs]
    if None in ranks:
        raise ValueError(f"the gradient of Einsum '{op.name}' needs the ranks of its operands")
    text = op.attrs["equation"]
    text = text.decode() if isinstance(text, bytes) else str(text)
    found = equation.parse(text, [r or 0 for r in ranks])
    letters = _letters(found)
    terms = [tuple(letters[label] for label in term) for term in found.terms]
    output = tuple(letters[label] for label in found.output)
    results: list[Tensor] = []
    for i, x in enumerate(inputs):
        others = [(terms[j], inputs[j]) for j in range(len(inputs)) if j != i]
        results.append(_of_operand(x, terms[i], (output, dy), others))
    return results


def _letters(found: equation.Equation) -> dict[str, str]:
    """A letter for each label: its own, or a free one for an axis of the ellipsis."""
    labels = sorted({label for term in found.terms for label in term})
    free = iter(c for c in ascii_letters if c not in labels)
    return {label: next(free) if label.isdigit() else label for label in labels}


def _of_operand(
    x: Tensor, term: Labels, flow: tuple[Labels, Tensor], others: list[tuple[Labels, Tensor]]
) -> Tensor:
    dims = dims_of(x)
    assert dims is not None
    unique = tuple(dict.fromkeys(term))
    size = {label: dims[term.index(label)] for label in unique}
    reached = {label for labels, _ in (flow, *others) for label in labels}
    # An axis of size 1 was broadcast: its gradient is the sum.
    kept = tuple(label for label in unique if label in reached and size[label] != 1)
    result = _einsum(_ordered([flow, *others]), kept)
    missing = [i for i, label in enumerate(unique) if label not in kept]
    if missing:
        result = primitive.unsqueeze(result, missing)
    if any(size[unique[i]] != 1 for i in missing):
        full = primitive.int_vector([term.index(label) for label in unique])
        shape = primitive.gather(primitive.shape_of(x), full, 0)
        result = primitive.expand(result, shape, tuple(size[label] for label in unique))
    shared = _spreading(others)
    repeated = len(unique) < len(term)
    if any(label in shared and size[label] is None for label in kept):
        operand = _einsum([(term, x)], unique) if repeated else x
        result = primitive.unbroadcast_at_run_time(result, operand)
    return _on_diagonals(result, x, term, unique) if repeated else result


def _spreading(others: list[tuple[Labels, Tensor]]) -> set[str]:
    """The labels that may be larger than 1 in an operand: they spread a 1 of another's."""
    return {
        label
        for labels, x in others
        for label, n in zip(labels, dims_of(x) or [None] * len(labels), strict=True)
        if n != 1
    }


def _ordered(factors: list[tuple[Labels, Tensor]]) -> list[tuple[Labels, Tensor]]:
    """The first, then always one that shares a label with those before, if there is one."""
    done, rest = [factors[0]], list(factors[1:])
    seen = set(factors[0][0])
    while rest:
        at = next((i for i, (labels, _) in enumerate(rest) if seen & set(labels)), 0)
        done.append(rest.pop(at))
        seen |= set(done[-1][0])
    return done


def joined_sizes(operands: Iterable[tuple[Labels, Dims]]) -> dict[str, int | None]:
    """The size of each label, by the labels and dims of operands of which a 1 is spread."""
    sizes: dict[str, int | None] = {}
    for labels, dims in operands:
        for label, n in zip(labels, dims or [None] * len(labels), strict=True):
            if sizes.get(label, 1) == 1 or (sizes[label] is None and n != 1):
                sizes[label] = n
    return sizes


def _einsum(factors: Sequence[tuple[Labels, Tensor]], output: Labels) -> Tensor:
    sizes = joined_sizes((labels, dims_of(x)) for labels, x in factors)
    text = ",".join("".join(labels) for labels, _ in factors) + "->" + "".join(output)
    inputs = [x for _, x in factors]
    dims = tuple(sizes[label] for label in output)
    return node("Einsum", inputs, inputs[0].dtype, dims, equation=text)


def _on_diagonals(value: Tensor, x: Tensor, term: Labels, unique: Labels) -> Tensor:
    """value of the labels once each, where repeated indices are equal; else 0."""
    free = iter(c for c in ascii_letters if c not in term)
    factors, output = [(unique, value)], []
    for axis, label in enumerate(term):
        if label not in output:
            output.append(label)
            continue
        output.append(next(free))
        factors.append(((label, output[-1]), _identity(x, axis)))
    return _einsum(factors, tuple(output))


def _identity(x: Tensor, axis: int) -> Tensor:
    """The identity matrix as large as an axis of x."""
    size = (dims_of(x) or [None])[axis]
    zero, one, position = (constant(np.asarray(v, np.int64)) for v in (0, 1, axis))
    n = node("Gather", [primitive.shape_of(x), position], dtypes.int64, (), axis=0)
    numbers = node("Range", [zero, n, one], dtypes.int64, (size,))
    row, column = primitive.unsqueeze(numbers, [0]), primitive.unsqueeze(numbers, [1])
    return primitive.cast(compare("Equal", row, column), x.dtype)
