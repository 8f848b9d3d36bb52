"""Every operator with every element type: what each engine makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import engines
import numpy as np
import untrusted_nodes
from untrusted_nodes import Node

from graphio.schema import dtypes, operators, small_types
from graphio.support import errors

Array = np.ndarray[Any, Any]
RUNS = "runs"
COMPLEX = ("complex64", "complex128")


def nodes(rows: int) -> Iterator[tuple[str, str, Node]]:
    """The first rows of tests/cases of each operator, with each element type in place of each that
    inputs have.

    Args:
        rows: how many of each operator.

    Yields:
        The name of the type variable, that of the element type, and the node.
    """
    seen: dict[tuple[str, str], int] = {}
    for node in untrusted_nodes.right():
        key = (node.domain, node.op)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= rows:
            yield from _retyped(node)


def _retyped(node: Node) -> Iterator[tuple[str, str, Node]]:
    declared = operators.lookup(node.domain, node.op, node.version)
    kinds = [_type_of(declared.inputs, i) for i in range(len(node.inputs))]
    results = [_type_of(declared.outputs, k) for k in range(len(node.outputs))]
    for variable in dict.fromkeys(kinds):
        positions = [i for i, kind in enumerate(kinds) if kind == variable]
        if not any(isinstance(node.inputs[i], np.ndarray) for i in positions):
            continue
        for row in dtypes.TABLE:
            kind = small_types.numpy_dtype(row)
            inputs = tuple(
                converted(x, row) if i in positions and isinstance(x, np.ndarray) else x
                for i, x in enumerate(node.inputs)
            )
            outputs = tuple(
                kind if result == variable else x
                for result, x in zip(results, node.outputs, strict=True)
            )
            made = Node(node.op, node.domain, node.version, inputs, node.attrs, outputs)
            yield variable, row.name, made


def _type_of(parameters: Sequence[operators.Parameter], i: int) -> str:
    """The type of an input or an output; beyond the parameters it is the last one's."""
    return parameters[min(i, len(parameters) - 1)].type if parameters else ""


def converted(x: Array, row: dtypes.ElementType) -> Array:
    """The same numbers as far as the type holds them; strings of ones where it holds strings."""
    kind = small_types.numpy_dtype(row)
    if row.number == dtypes.STRING:
        return np.array([str(e).encode() for e in x.ravel()], object).reshape(x.shape)
    if x.dtype == object:
        return np.ones(x.shape, kind)
    wide = x.astype(np.complex64 if row.name in COMPLEX else np.float32)
    if row.name.startswith("uint") or row.name == "float8e8m0":
        wide = np.asarray(abs(wide))
    with np.errstate(all="ignore"):
        return wide.astype(kind)


def outcome(engine: str, node: Node) -> str:
    """RUNS, or the class of the refusal; any other exception is raised."""
    data, fed = node.file()
    try:
        engines.run(engine, data, fed)
    except errors.OpError as error:
        return type(error).__name__
    return RUNS
