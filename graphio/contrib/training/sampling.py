"""Batches of examples that are kept by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.checks import assertion, asserts
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import arithmetic, comparison, elementwise, reduction
from graphio.ops.random.core import random_uniform
from graphio.queues.batching import batch, maybe_batch
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope
from graphio.variables.variables import Variable

__all__ = ["rejection_sample", "stratified_sample"]

#: of each class, before any example was seen
_SEEN = 10


@api_guard.makes_variables
def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Tensor]], Any],
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Batches of examples, each kept with a probability.

    Args:
        tensors: list of the tensors of an example.
        accept_prob_fn: from these tensors to the probability, a scalar.
        batch_size: how many examples.
        queue_threads: how many threads.
        enqueue_many: True: the tensors' first dimension counts examples.
        prebatch_capacity, prebatch_threads: of the queue of single examples, if enqueue_many.
        runtime_checks: whether a run checks that the probability is in [0, 1].
        name: variable scope.

    Returns:
        List of the batches of the tensors.

    Raises:
        ValueError: the first dimensions differ.
    """
    with variable_scope(name, "rejection_sample"):
        listed = [convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            rows = listed[0].shape.with_rank_at_least(1)[0]
            for tensor in listed:
                tensor.shape.with_rank_at_least(1)[0].assert_is_compatible_with(rows)
            listed = _one_by_one(listed, prebatch_threads, prebatch_capacity)
        probability = convert_to_tensor(accept_prob_fn(listed))
        if runtime_checks:
            checks = [
                asserts.assert_less_equal(0.0, probability),
                asserts.assert_less_equal(probability, 1.0),
            ]
            checked = with_dependencies(checks, probability)
            probability = array.identity(checked, name="prob_with_checks")
        found = maybe_batch(
            listed, comparison.less(random_uniform([]), probability), batch_size, queue_threads
        )
        return [found] if isinstance(found, Tensor) else list(found)


def _one_by_one(tensors: list[Tensor], threads: int, capacity: int) -> list[Tensor]:
    """Single examples of tensors of several."""
    found = batch(tensors, 1, threads, capacity, enqueue_many=True)
    return [array.squeeze(t, [0]) for t in ([found] if isinstance(found, Tensor) else found)]


@api_guard.makes_variables
def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Batches of examples whose classes have given shares: examples of others are dropped.

    Args:
        tensors: list of the tensors of an example.
        labels: its class, an integer scalar.
        target_probs: vector of the classes' shares, whose sum is 1.
        batch_size: how many examples.
        init_probs: vector of the shares in the data; None: they are estimated as data come.
        enqueue_many: True: the first dimension of tensors and labels counts examples.
        queue_capacity, threads_per_queue: of the queues.
        name: name scope.

    Returns:
        List of the batches of the tensors, and the labels.

    Raises:
        ValueError: the lengths of the vectors differ, or are not known.
        InvalidArgumentError: of a run: a label, or the vectors, are not valid.
    """
    with scope(name, "stratified_sample"):
        listed = [convert_to_tensor(tensor) for tensor in tensors]
        classes = convert_to_tensor(labels)
        target = convert_to_tensor(target_probs, dtypes.float32)
        if not enqueue_many:
            listed = [array.expand_dims(tensor, 0) for tensor in listed]
            classes = array.expand_dims(classes, 0)
        if init_probs is None:
            initial = _estimated(classes, target.shape)
        else:
            initial = convert_to_tensor(init_probs, dtypes.float32)
        initial, target = _checked(initial), _checked(target)
        if initial.shape.as_list() != target.shape.as_list():
            raise ValueError("Probability parameters must have the same length.")
        listed, classes = _checked_examples(listed, classes, array.size(target))
        accepted = _acceptance(initial, target)
        *values, label = _one_by_one([*listed, classes], threads_per_queue, queue_capacity)
        found = maybe_batch(
            [*values, label],
            comparison.less(random_uniform([]), index.gather(accepted, label)),
            batch_size,
            threads_per_queue,
        )
        return list(found[:-1]), found[-1]


def _estimated(labels: Tensor, shape: Any) -> Tensor:
    """The shares of the classes seen so far, each seen some times at the start."""
    shape.assert_is_fully_defined()
    classes = shape.num_elements()
    seen = Variable([_SEEN] * classes, trainable=False, name="class_count", dtype=dtypes.int64)
    new = reduction.reduce_sum(index.one_hot(labels, classes, dtype=dtypes.int64), 0)
    counted = elementwise.cast(seen.assign_add(new), dtypes.float64)
    return elementwise.cast(counted / reduction.reduce_sum(counted), dtypes.float32)


def _checked(probabilities: Tensor) -> Tensor:
    """A vector of shares, checked in each run."""
    probabilities.shape.assert_is_fully_defined()
    probabilities.shape.assert_has_rank(1)
    total = reduction.reduce_sum(probabilities)
    checks = [
        asserts.assert_non_negative(probabilities),
        asserts.assert_less(total, 1.0 + 1e-6),
        asserts.assert_less(1.0 - 1e-6, total),
    ]
    made: Tensor = with_dependencies(checks, probabilities)
    return made


def _checked_examples(
    tensors: list[Tensor], labels: Tensor, classes: Tensor
) -> tuple[list[Tensor], Tensor]:
    """The tensors of examples and their classes, checked in each run."""
    labels.shape.assert_has_rank(1)
    for tensor in tensors:
        tensor.shape.with_rank_at_least(1)[0].assert_is_compatible_with(labels.shape[0])
    count = array.shape(labels)[0]
    some = asserts.assert_positive(count)
    checked = [
        with_dependencies([some, asserts.assert_equal(array.shape(tensor)[0], count)], tensor)
        for tensor in tensors
    ]
    checks = [
        some,
        asserts.assert_non_negative(labels),
        asserts.assert_less(labels, elementwise.cast(classes, labels.dtype)),
    ]
    return checked, with_dependencies(checks, labels)


def _acceptance(initial: Tensor, target: Tensor) -> Tensor:
    """The probability by class with which an example is kept."""
    possible = comparison.logical_or(
        comparison.not_equal(initial, 0.0), comparison.equal(target, 0.0)
    )
    valid = assertion.Assert(
        reduction.reduce_all(possible),
        [
            "All classes with zero initial probability must also have zero target probability: ",
            initial,
            target,
        ],
    )
    with scopes.control_dependencies([valid]):
        ratio = arithmetic.div_no_nan(target, initial)
        return ratio / reduction.reduce_max(ratio)
