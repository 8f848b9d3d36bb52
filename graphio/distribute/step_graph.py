"""A training step as two parts of a graph: the values of a shard, and what their sums change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.distribute.reduction import Group
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys, get_collection
from graphio.framework.constants import convert_to_tensor, placeholder
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.variable import Variable
from graphio.model.export import reach
from graphio.ops.array.joining import concat, split
from graphio.ops.array.reshaping import reshape
from graphio.ops.control_flow.branches import group
from graphio.ops.math.elementwise import cast
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.variables.variables import global_variables, local_variables

__all__ = ["Sparse", "StepGraph"]

#: operators of variables that do not change them
_READS = {"Variable", "ReadVariable", "IsInitialized"}
#: TensorFlow's types of host functions that a shard may call
_CALLS = {"IteratorGetNext", "PyFunc", "PyFuncStateless"}
_NEXT = "IteratorGetNext"
#: types that are summed in a wider one
_WIDER = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32}
EXTRA = "data_parallel"  # the name scope of what is added


class Sparse(NamedTuple):
    """A gradient that is an IndexedSlices: of a shard, and where that of all shards is fed."""

    indices: Tensor
    values: Tensor
    all_indices: Tensor
    all_values: Tensor


class _Entry(NamedTuple):
    """A tensor of each shard whose sum, or mean, is needed."""

    tensor: Tensor
    shape: tuple[int, ...]
    averaged: bool

    @property
    def length(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class StepGraph:
    """Builds both parts; see DataParallel for the arguments.

    Attributes:
        fetches: of a shard: a vector for each group.
        groups: what is summed.
        averaged: of each group, how many numbers at its beginning are divided by the shards.
        fed: for the sums, a placeholder for each group.
        sparse: gradients that are IndexedSlices.
        train_op: changes variables and the global step.
        metrics: name to tensor, of the sums.
        iterators: operations that take the next element of a data set.
        generators: names of the random generators that a shard draws from.

    Raises:
        ValueError: the loss depends on no variable, a shape is unknown, an update is not an
            assignment, or a shard would change state.
    """

    def __init__(
        self,
        loss: Tensor,
        optimizer: Any,
        *,
        metrics: Mapping[str, Any],
        reduction: str,
        transform: Callable[[list[Any]], Iterable[Any]] | None,
        updates: Sequence[Operation] | None,
        var_list: Any,
    ) -> None:
        step = get_or_create_global_step()
        pairs = [
            p for p in optimizer.compute_gradients(loss, var_list=var_list) if p[0] is not None
        ]
        if not pairs:
            raise ValueError(f"the loss {loss.name!r} depends on no variable that is trained")
        named = {"loss": loss, **metrics}
        assigned = _assignments(
            get_collection(GraphKeys.UPDATE_OPS) if updates is None else updates
        )
        mean = reduction == "mean"
        entries = [_entry(g, v.op.name, v.shape, mean) for g, v in pairs if _is_dense(g)]
        entries += [_entry(value, v.op.name, v.shape, True) for v, value in assigned]
        entries += [
            _entry(t, name, t.shape, (mean if name == "loss" else t.dtype.is_floating))
            for name, t in named.items()
        ]
        with scopes.name_scope(EXTRA):
            wholes = self._sums(entries)
            self.sparse: list[Sparse] = []
            whole = iter(wholes)
            gradients = [next(whole) if _is_dense(g) else self._gathered(g) for g, _ in pairs]
            moved = [v.assign(next(whole)) for v, _ in assigned]
            self.metrics = dict(zip(named, whole, strict=True))
            summed = [(g, v) for g, (_, v) in zip(gradients, pairs, strict=True)]
            changed = summed if transform is None else list(transform(summed))
            applied = optimizer.apply_gradients(changed, global_step=step)
            self.train_op = group(applied, *moved)
        parts = [part for s in self.sparse for part in (s.indices, s.values)]
        reached = reach([*self.fetches, *parts], set())[0]
        _refuse_changes(reached)
        self.iterators = sorted(
            (op for op in reached if op.type == _NEXT), key=lambda operation: operation.name
        )
        self.generators = sorted(_generators(reached))

    def _sums(self, entries: Sequence[_Entry]) -> list[Tensor]:
        """Gives fetches, groups, averaged and fed; returns the sums of entries in their order."""
        self.fetches: list[Tensor] = []
        self.groups: list[Group] = []
        self.averaged: list[int] = []
        self.fed: list[Tensor] = []
        found: dict[int, Tensor] = {}
        wide = [_WIDER.get(e.tensor.dtype, e.tensor.dtype) for e in entries]
        for dtype in dict.fromkeys(wide):
            members = [i for i, each in enumerate(wide) if each == dtype]
            members.sort(key=lambda i: not entries[i].averaged)
            chosen = [entries[i] for i in members]
            sizes = [e.length for e in chosen]
            self.fetches.append(concat([reshape(cast(e.tensor, dtype), [-1]) for e in chosen], 0))
            self.groups.append(Group(np.dtype(dtype.as_numpy_dtype), sum(sizes)))
            self.averaged.append(sum(e.length for e in chosen if e.averaged))
            self.fed.append(placeholder(dtype, [sum(sizes)], name="sums"))
            parts = split(self.fed[-1], sizes) if len(sizes) > 1 else [self.fed[-1]]
            for i, part in zip(members, parts, strict=True):
                found[i] = cast(reshape(part, entries[i].shape), entries[i].tensor.dtype)
        return [found[i] for i in range(len(entries))]

    def _gathered(self, gradient: IndexedSlices) -> IndexedSlices:
        """The slices of all shards, in their order, which are fed."""
        rest = gradient.values.shape.as_list()[1:]
        indices = placeholder(gradient.indices.dtype, [None], name="all_indices")
        values = placeholder(gradient.values.dtype, [None, *rest], name="all_values")
        self.sparse.append(Sparse(gradient.indices, gradient.values, indices, values))
        return IndexedSlices(values, indices, gradient.dense_shape)


def _is_dense(gradient: Any) -> bool:
    return not isinstance(gradient, IndexedSlices)


def _entry(value: Any, name: str, shape: Any, averaged: bool) -> _Entry:
    if not shape.is_fully_defined():
        raise ValueError(
            f"{name!r} has the shape {shape}: what is summed over shards needs a static shape; "
            "give it one by set_shape"
        )
    return _Entry(convert_to_tensor(value), tuple(shape.as_list()), averaged)


def _assignments(updates: Iterable[Any]) -> list[tuple[Variable, Tensor]]:
    """The variables that updates change, and their new values.

    Raises:
        ValueError: an update is not an assignment, or two have one variable.
    """
    known = {v.op.name: v for v in [*global_variables(), *local_variables()]}
    found: dict[str, tuple[Variable, Tensor]] = {}
    waiting = list(updates)
    while waiting:
        update = waiting.pop(0)
        operation = update if isinstance(update, Operation) else update.op
        if operation.op == "NoOp":
            waiting += operation.control_inputs
            continue
        if operation.op == "Identity" and isinstance(operation.inputs[0], Tensor):
            waiting.append(operation.inputs[0])
            continue
        name = operation.attrs.get("variable")
        if operation.op != "Assign" or name not in known or name in found:
            raise ValueError(
                f"the update {operation.name!r} ({operation.op}) is not the one assignment to a "
                "variable, so that its values on the shards cannot be averaged: give `updates` "
                "those that are, and run the others separately"
            )
        found[name] = (known[name], operation.inputs[-1])
    return list(found.values())


def _refuse_changes(reached: Iterable[Operation]) -> None:
    """Raises ValueError if operations of a shard change state, which the ranks would not share."""
    wrong = sorted(f"{each.name!r} ({each.type})" for each in reached if _changes_state(each))
    if wrong:
        raise ValueError(
            "the gradients of a shard depend on operations that change state, of which each rank "
            f"would have another: {', '.join(wrong)}. Data come from tf.data or from feed; moving "
            "averages belong into the collection UPDATE_OPS"
        )


def _changes_state(operation: Operation) -> bool:
    if any(_changes_state(each) for body in operation.bodies() for each in body.operations):
        return True
    if operation.op == "HostCall":
        return bool(operation.attrs.get("stateful")) and operation.type not in _CALLS
    return "variable" in operation.attrs and operation.op not in _READS


def _generators(reached: Iterable[Operation]) -> set[str]:
    found = set()
    for operation in reached:
        if "generator" in operation.attrs:
            found.add(operation.attrs["generator"])
        for body in operation.bodies():
            found |= _generators(body.operations)
    return found
