"""If, Loop and Scan: bodies are compiled once and run on separate slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.plan import Block
from graphio.runtime.registry import Array, Call, Function, kernel, numpy_dtype
from graphio.runtime.steps import Values
from graphio.schema.model_pb2 import Type
from graphio.support import errors


def _enter(block: Block, call: Call) -> list[tuple[int, int]]:
    """Where captures come from and go to: (position among call.captures, slot)."""
    position = {name: i for i, name in enumerate(call.captures)}
    return [(position[name], slot) for name, slot in block.captures]


def _scalar(value: Any, what: str, kind: str) -> Any:
    if value.__class__ is list or value.size != 1 or value.dtype.name != kind:
        found = "a sequence" if value.__class__ is list else value.dtype.name
        raise errors.InvalidArgumentError(
            message=f"{what} is {found}{list(np.shape(value))}, expected one {kind}"
        )
    return value.item()


@kernel("If", fold=False)
def _if(call: Call) -> Function:
    arms = [_arm(call, key) for key in ("else_branch", "then_branch")]
    count = len(call.outputs)

    def branch(condition: Any, *captured: Any) -> Any:
        results = arms[bool(_scalar(condition, "the condition", "bool"))](captured)
        return results[0] if count == 1 else results

    return branch


def _arm(call: Call, key: str) -> Function:
    block = _body(call, key)
    if len(block.outputs) != len(call.outputs):
        raise errors.InvalidArgumentError(
            message=f"{key} gives {len(block.outputs)} values, the node has {len(call.outputs)}"
        )
    entries = _enter(block, call)

    def arm(captured: Sequence[Any]) -> tuple[Any, ...]:
        values = block.template[:]
        for i, slot in entries:
            values[slot] = captured[i]
        block.execute(values)
        return tuple([values[slot] for slot in block.outputs])

    return arm


def _body(call: Call, key: str) -> Block:
    if key not in call.bodies:
        raise errors.InvalidArgumentError(message=f"the attribute {key!r} is missing")
    return call.bodies[key]


@kernel("Loop", fold=False)
def _loop(call: Call) -> Function:
    block = _body(call, "body")
    carried = len(block.inputs) - 2
    scans = len(block.outputs) - 1 - carried
    inputs = len(call.dtypes)
    if carried < 0 or inputs != carried + 2 or len(call.outputs) != carried + scans:
        raise errors.InvalidArgumentError(
            message=f"the body takes {len(block.inputs)} values and gives {len(block.outputs)}, "
            f"which does not go with {inputs} inputs and {len(call.outputs)} outputs"
        )
    entries = _enter(block, call)
    kinds = [block.output_types[1 + carried + i] for i in range(scans)]

    def loop(limit: Any, condition: Any, *rest: Any) -> Any:
        base = block.template[:]
        for i, slot in entries:
            base[slot] = rest[carried + i]
        most = None if limit is None else int(_scalar(limit, "the number of iterations", "int64"))
        go = condition is None or bool(_scalar(condition, "the condition", "bool"))
        final, stacked = _iterate(block, base, list(rest[:carried]), go, most)
        results = (*final, *map(_stack, stacked, kinds))
        return results[0] if len(results) == 1 else results

    return loop


def _iterate(
    block: Block, base: Values, state: list[Any], go: bool, most: int | None
) -> tuple[list[Any], list[list[Any]]]:
    """The final loop variables and, for each scan output, its values."""
    iteration_slot, condition_slot, *state_slots = block.inputs
    again, *outputs = block.outputs
    last = len(state)
    stacked: list[list[Any]] = [[] for _ in outputs[last:]]
    i = 0
    while go and (most is None or i < most):
        values = base[:]
        values[iteration_slot] = np.int64(i)
        values[condition_slot] = np.bool_(True)
        for slot, value in zip(state_slots, state, strict=True):
            values[slot] = value
        block.execute(values)
        results = [values[slot] for slot in outputs]
        state = results[:last]
        for column, value in zip(stacked, results[last:], strict=True):
            column.append(value)
        go = bool(_scalar(values[again], "the condition", "bool"))
        i += 1
    return state, stacked


def _none_of(kind: Type | None) -> Array:
    """No rows of a scan output, whose sizes are those of the body's type, 0 if it says none."""
    if kind is None:
        raise errors.InvalidArgumentError(message="the body says no type of a scan output")
    dims = [d.size if d.WhichOneof("value") == "size" else 0 for d in kind.tensor.shape.dim]
    return np.empty((0, *dims), numpy_dtype(kind.tensor.dtype))


def _stack(column: list[Any], kind: Type | None) -> Array:
    """The values of a scan output, one a row."""
    if not column:
        return _none_of(kind)
    shapes = {v.shape for v in column}
    if len(shapes) > 1:
        raise errors.InvalidArgumentError(
            message=f"a scan output has the shapes {sorted(shapes)} in different iterations, "
            "expected one shape: pad it to the largest, or keep it out of the gradient with "
            "stop_gradient, for a gradient through a loop stacks the values of its body"
        )
    rows = np.empty((len(column), *column[0].shape), column[0].dtype)
    for i, value in enumerate(column):
        rows[i] = value[()]  # a string itself, not an array of one
    return rows


@kernel("Scan", since=9, fold=False)
def _scan(call: Call) -> Function:
    block = _body(call, "body")
    sliced = call.integer("num_scan_inputs", 0)
    carried = len(call.dtypes) - sliced
    scans = len(call.outputs) - carried
    if not 1 <= sliced <= len(call.dtypes):
        raise errors.InvalidArgumentError(
            message=f"attribute num_scan_inputs is {sliced} with {len(call.dtypes)} inputs"
        )
    if (
        scans < 0
        or len(block.inputs) != len(call.dtypes)
        or len(block.outputs) != len(call.outputs)
    ):
        raise errors.InvalidArgumentError(
            message=f"{len(call.dtypes)} inputs and {len(call.outputs)} outputs, of which {carried}"
            f" are carried, with a body of {len(block.inputs)} inputs and {len(block.outputs)} "
            "outputs"
        )
    cuts = _ways(call, "scan_input", sliced)
    joins = _ways(call, "scan_output", scans)
    entries = _enter(block, call)
    kinds = block.output_types[carried:]

    def scan(*values: Any) -> Any:
        base = block.template[:]
        for i, slot in entries:
            base[slot] = values[carried + sliced + i]
        state = list(values[:carried])
        pieces = [
            _cut(x, axis, backward)
            for x, (axis, backward) in zip(values[carried:], cuts, strict=False)
        ]
        stacked: list[list[Any]] = [[] for _ in range(scans)]
        for row in zip(*_of_one_length(pieces, carried), strict=True):
            slots = base[:]
            for slot, value in zip(block.inputs, (*state, *row), strict=True):
                slots[slot] = value
            block.execute(slots)
            results = [slots[slot] for slot in block.outputs]
            state = results[:carried]
            for column, value in zip(stacked, results[carried:], strict=True):
                column.append(value)
        joined = [_join(*parts) for parts in zip(stacked, kinds, joins, strict=True)]
        found = (*state, *joined)
        return found[0] if len(found) == 1 else found

    return scan


def _ways(call: Call, side: str, count: int) -> list[tuple[int, bool]]:
    """Axis and whether it runs backward, of each input that is cut or output that is joined."""
    found = []
    for key in (f"{side}_axes", f"{side}_directions"):
        values = call.integers(key)
        if values is not None and len(values) != count:
            raise errors.InvalidArgumentError(
                message=f"attribute {key} has {len(values)} values, expected {count}"
            )
        found.append([0] * count if values is None else values)
    for direction in found[1]:
        if direction not in (0, 1):
            raise errors.InvalidArgumentError(
                message=f"attribute {side}_directions has the value {direction}, expected 0 or 1"
            )
    return [(axis, bool(d)) for axis, d in zip(*found, strict=True)]


def _cut(x: Any, axis: int, backward: bool) -> Any:
    """x with the axis of the steps first, in their order."""
    if x is None or isinstance(x, list):
        what = "nothing" if x is None else "a sequence"
        raise errors.InvalidArgumentError(message=f"{what} cannot be cut into steps")
    moved = np.moveaxis(x, axis_of(axis, x.ndim), 0)
    return moved[::-1] if backward else moved


def _of_one_length(pieces: list[Any], carried: int) -> list[Any]:
    for i, piece in enumerate(pieces):
        if len(piece) != len(pieces[0]):
            raise errors.InvalidArgumentError(
                message=f"input {carried + i} has {len(piece)} steps, another one {len(pieces[0])}"
            )
    return [_rows(piece) for piece in pieces]


def _rows(piece: Any) -> Any:
    """The steps of an input; a string of a vector of them is an array, too."""
    if piece.ndim > 1:
        return list(map(np.ascontiguousarray, piece))
    return [np.asarray(x, object) for x in piece] if piece.dtype == object else piece


def _join(column: list[Any], kind: Type | None, way: tuple[int, bool]) -> Array:
    """The values of a scan output along the axis of the steps."""
    rows = _stack(column[::-1] if way[1] else column, kind)
    return np.ascontiguousarray(np.moveaxis(rows, 0, axis_of(way[0], rows.ndim)))
