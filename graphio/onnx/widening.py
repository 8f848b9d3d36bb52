"""Element types that an ONNX operator lacks: computed in a wider type between two casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from onnx import helper

from graphio.schema import dtypes, operators
from graphio.schema.operators import Operator

__all__ = ["nodes"]

#: replacements of a type: the first that the operator takes
WIDER = {
    "int8": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "uint8": ("int32", "uint32", "int64", "float32"),
    "uint16": ("int32", "uint32", "int64", "float32"),
    "int32": ("int64", "float64", "double"),
    "uint32": ("int64", "uint64", "float64"),
    "bool": ("int32", "int64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}


def nodes(
    node: onnx.NodeProto, opset: int, numbers: Sequence[int], fresh: Callable[[str], str]
) -> list[onnx.NodeProto]:
    """The node, between casts if the operator lacks a type.

    Args:
        node: a standard operator's.
        opset: whose definition counts.
        numbers: element types of its inputs; 0: unknown.
        fresh: makes names for values.
    """
    row = operators.find(node.domain, node.op_type, opset)
    wide = {} if row is None else _substitutes(row, numbers)
    if row is None or not wide:
        return [node]
    before, after = [], []
    for i, number in enumerate(numbers):
        letter = row.inputs[min(i, len(row.inputs) - 1)].type
        if letter in wide and number:
            name = fresh(f"{node.name}/wide")
            before.append(helper.make_node("Cast", [node.input[i]], [name], to=wide[letter]))
            node.input[i] = name
    for k, name in enumerate(node.output):
        letter = row.outputs[min(k, len(row.outputs) - 1)].type
        if letter in wide and name:
            inner = fresh(f"{node.name}/narrow")
            narrow = next(
                n for i, n in enumerate(numbers)
                if row.inputs[min(i, len(row.inputs) - 1)].type == letter
            )  # fmt: skip
            after.append(helper.make_node("Cast", [inner], [name], to=narrow))
            node.output[k] = inner
    return [*before, node, *after]


def _substitutes(row: Operator, numbers: Sequence[int]) -> dict[str, int]:
    """For each type letter whose type the operator lacks the number of a wider one."""
    found: dict[str, int] = {}
    for i, number in enumerate(numbers):
        if not number or not row.inputs:
            continue
        letter = row.inputs[min(i, len(row.inputs) - 1)].type
        allowed = row.types.get(letter, frozenset((letter,)))
        name = dtypes.name(number)
        if name in allowed or allowed & {"all", "any"}:
            continue
        for wider in WIDER.get(name, ()):
            if wider in allowed:
                found[letter] = dtypes.BY_NAME[wider].number
                break
    return found
