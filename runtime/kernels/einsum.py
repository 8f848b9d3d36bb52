"""Einsum and Det."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.schema import equation
from graphio.support import errors


@kernel("Einsum", since=12, types="N*", fresh=True)
def _einsum(call: Call) -> Function:
    text = call.text("equation", "")

    def einsum(*operands: Any) -> Any:
        try:
            found = equation.parse(text, [x.ndim for x in operands])
            return _compute(found, operands)
        except ValueError as error:
            raise errors.InvalidArgumentError(message=str(error)) from None

    return einsum


def _sizes(found: equation.Equation, operands: tuple[Array, ...]) -> dict[str, int]:
    """Sizes of all labels; those of size 1 give way to larger ones of other operands."""
    sizes: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(found.terms, operands, strict=True)):
        own: dict[str, int] = {}
        for label, n in zip(term, x.shape, strict=True):
            before = sizes.get(label, 1)
            if own.setdefault(label, n) != n or (before not in (1, n) and n != 1):
                other = own[label] if own[label] != n else before
                raise ValueError(
                    f"label {label} of the equation has size {other}, in input {i} it has {n}"
                )
        for label, n in own.items():
            if sizes.get(label, 1) == 1:
                sizes[label] = n
    return sizes


def _compute(found: equation.Equation, operands: tuple[Array, ...]) -> Any:
    """numpy's einsum by numbers; it gets no axes of size 1, which it would not always spread."""
    sizes = _sizes(found, operands)
    dtype = operands[0].dtype
    shape = tuple(sizes[label] for label in found.output)
    if 0 in sizes.values():
        return np.zeros(shape, dtype)
    numbers = {label: i for i, label in enumerate(k for k, n in sizes.items() if n != 1)}
    arguments: list[Any] = []
    for term, x in zip(found.terms, operands, strict=True):
        wide = [n != 1 for n in x.shape]
        arguments.append(x.reshape([n for n in x.shape if n != 1]))
        arguments.append([numbers[t] for t, w in zip(term, wide, strict=True) if w])
    output = [numbers[label] for label in found.output if label in numbers]
    result = np.einsum(*arguments, output, optimize=len(operands) > 1)
    return np.array(result, dtype).reshape(shape)


def _det(x: Any) -> Any:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise errors.InvalidArgumentError(
            message=f"the input has shape {list(x.shape)}, expected square matrices"
        )
    return np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype)


function("Det", 11, _det, "F")
