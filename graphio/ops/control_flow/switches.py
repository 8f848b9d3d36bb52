"""switch and merge of tensorflow.python.ops.control_flow_ops: branches made of operations.

Programs that choose one of several ways to distort a picture are written so. merge makes branches
of the operations between its inputs and the switches above; only the chosen branch runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes, nest, scopes
from graphio.framework.composite import Composite
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.undo import Table
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import once
from graphio.ops.control_flow.branches import restoring, switch_case
from graphio.ops.control_flow.copying import made_again
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["Merge", "is_check", "merge", "switch"]


class Merge(NamedTuple):
    """The result of merge.

    Attributes:
        output: the chosen input.
        value_index: its number, an int32 scalar.
    """

    output: Any
    value_index: Tensor


class _Condition(NamedTuple):
    pred: Tensor
    truth: bool


class _Guard(NamedTuple):
    """An output of a switch: data, in the runs that meet a condition."""

    data: Tensor
    condition: _Condition


#: by the operation of the output
_GUARDS: Attachment[Table[Operation, _Guard]] = attachments.table("switches")
#: the operations that check the conditions
_CHECKS: Attachment[Table[Operation, bool]] = attachments.table("checks_of_switches")


@api_guard.operator
def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Data for each of two branches, which merge joins.

    A run that reads the output for the other branch, but not through merge, fails.

    Args:
        data: tensor or composite tensor.
        pred: bool scalar tensor.
        dtype: of data; None: as it is.
        name: name scope.

    Returns:
        data where pred does not hold, and data where it holds.

    Raises:
        TypeError: pred is not a bool tensor.
        ValueError: pred is not a scalar.

    Example:
        no, yes = control_flow_ops.switch(x, x > 0)
        size, _ = control_flow_ops.merge([-no, tf.sqrt(yes)])
    """
    with restoring(), scopes.name_scope(name, "Switch"):
        value = data if isinstance(data, Composite) else convert_to_tensor(data, dtype=dtype)
        tensor = convert_to_tensor(pred)
        if tensor.dtype != dtypes.bool:
            raise TypeError(f"switch: pred is {tensor.dtype.name}, expected bool")
        if tensor.shape.ndims not in (None, 0):
            raise ValueError(f"switch: pred has shape {tensor.shape}, expected ()")
        words = "it is read, but the run took the other output of its switch:"
        no = _guarded(value, _Condition(tensor, False), words)
        yes = _guarded(value, _Condition(tensor, True), words)
    return no, yes


def _guarded(value: Any, condition: _Condition, words: str) -> Any:
    """A value that is there only in the runs that meet a condition."""
    holds = condition.pred if condition.truth else comparison.logical_not(condition.pred)

    def guard(data: Tensor) -> Tensor:
        output = once(data, holds, f"{data.name}: {words}")
        _GUARDS.of(output.graph)[output.op] = _Guard(data, condition)
        checks = [op for op in output.op.awaited if op.operands and op.operands[0] is holds]
        for check in checks:
            _CHECKS.of(output.graph)[check] = True
        return output

    return nest.map_structure(guard, value, expand_composites=True)


def is_check(operation: Operation) -> bool:
    """Whether an operation checks the condition of a value that is not there in all runs, so that
    it must not run unless the value is read."""
    return operation in _CHECKS.of(operation.graph)


@api_guard.operator
def merge(inputs: Sequence[Any], name: str | None = None) -> Merge:
    """The input whose switches all lead to it in this run.

    A run that chooses several inputs takes the first of them; one that chooses none fails.

    Args:
        inputs: tensors, or composite tensors, of one dtype.
        name: name scope.

    Returns:
        Merge: output, of the static shape that the inputs have in common, and value_index.

    Raises:
        TypeError: the inputs differ in dtype.
        ValueError: there are no inputs, one of them is None, or they differ in structure.

    Example:
        no, yes = control_flow_ops.switch(x, x > 0)
        size, _ = control_flow_ops.merge([-no, tf.sqrt(yes)])
    """
    if not inputs or any(value is None for value in inputs):
        raise ValueError(f"merge: inputs are {inputs}, expected tensors, at least one, and no None")
    with restoring(), scopes.name_scope(name, "Merge") as scope:
        values = [v if isinstance(v, Composite) else convert_to_tensor(v) for v in inputs]
        kinds = [[t.dtype.name for t in _tensors(value)] for value in values]
        if any(kind != kinds[0] for kind in kinds):
            raise TypeError(f"merge: inputs have dtypes {kinds}, expected equal ones")
        conditions = [_conditions(value) for value in values]
        switches = set[_Condition]().union(*conditions) - set[_Condition].intersection(*conditions)
        flags = array.stack([_all_met(found, switches) for found in conditions])
        first = elementwise.cast(flags, dtypes.int32)
        index = reduction.argmax(first, 0, output_type=dtypes.int32)
        with scopes.control_dependencies(_awaited(values, switches)):
            output = switch_case(index, [_branch(value, switches) for value in values])
        chosen = _Condition(reduction.reduce_any(flags), True)
        words = "the run chose none of the inputs of merge:"
        output, index = (_guarded(value, chosen, words) for value in (output, index))
        if isinstance(output, Tensor):
            output = array.identity(output, name=scope)
    return Merge(output, index)


def _branch(value: Any, switches: set[_Condition]) -> Callable[[], Any]:
    return lambda: nest.map_structure(
        lambda tensor: _remade(tensor, switches), value, expand_composites=True
    )


def _tensors(value: Any) -> list[Any]:
    return nest.flatten(value, expand_composites=True)


# ---- between an input of merge and its switches ----


def _conditions(value: Any) -> set[_Condition]:
    """The conditions of all switches that a value comes out of."""
    return {
        guard.condition
        for tensor in _tensors(value)
        for _, _, guard in _above(tensor, predicates=True)
        if guard is not None
    }


def _all_met(conditions: set[_Condition], switches: set[_Condition]) -> Tensor:
    """Whether conditions are all met, a bool scalar that all runs can compute."""
    met = constant(True)
    for pred, truth in sorted(conditions, key=lambda c: (c.pred.op.order, c.truth)):
        known = _remade(pred, switches)
        met = comparison.logical_and(met, known if truth else comparison.logical_not(known))
    return met


def _remade(tensor: Tensor, switches: set[_Condition]) -> Tensor:
    """The tensor made again in the current graph, of the data of switches."""
    known: dict[Tensor, Tensor] = {}
    made: dict[Operation, Operation] = {}
    for op, guard in _below(tensor, switches):
        if guard is not None:
            known[op.outputs[0]] = known.get(guard.data, guard.data)
        else:
            made[op] = again = made_again(op, known, made)
            known.update(zip(op.outputs, again.outputs, strict=True))
    return known.get(tensor, tensor)


def _awaited(values: list[Any], switches: set[_Condition]) -> list[Operation]:
    """The operations that run in any case, for those that merge makes again wait for them."""
    remade: set[Operation] = set()
    awaited: dict[Operation, None] = {}
    for tensor in (tensor for value in values for tensor in _tensors(value)):
        below = _below(tensor, switches)
        remade.update(op for op, _ in below)
        awaited.update(
            (other, None) for op, guard in below if guard is None for other in op.awaited
        )
    return [op for op in awaited if op not in remade]


def _below(tensor: Tensor, switches: set[_Condition]) -> list[tuple[Operation, _Guard | None]]:
    """The operations from outputs of switches, with these, to a tensor."""
    found: dict[Operation, _Guard | None] = {}
    for op, read, guard in _above(tensor, predicates=False):
        if guard is not None and guard.condition in switches or any(r in found for r in read):
            found[op] = guard
    return list(found.items())


def _above(
    tensor: Tensor, predicates: bool
) -> Iterator[tuple[Operation, list[Operation], _Guard | None]]:
    """The operations that a tensor is made of, as far as they may come out of a switch, in the
    order of creation, each with those that it reads or waits for, and its guard.

    Args:
        tensor: any one.
        predicates: whether the operations that compute predicates of switches count, too.
    """
    guards = _GUARDS.of(tensor.graph)
    oldest = min((op.order for op in guards), default=math.inf)
    above: dict[Operation, list[Operation]] = {}
    pending = [tensor.op]
    while pending:
        op = pending.pop()
        if op in above or op.order < oldest:
            continue
        guard = guards.get(op)
        if guard is None:
            read = [t.op for t in (*op.operands, *op.captures) if t is not None] + op.awaited
        else:
            read = [guard.data.op] + [guard.condition.pred.op] * predicates
        above[op] = read
        pending.extend(read)
    for op in sorted(above, key=lambda op: op.order):
        yield op, above[op], guards.get(op)
