"""Queues that threads fill with the rows of a tensor: string_input_producer and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import convert_to_tensor_or_indexed_slices
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.checks.assertion import Assert
from graphio.ops.math import comparison, elementwise
from graphio.ops.random.core import random_shuffle
from graphio.ops.state.files import matching_files
from graphio.queues.queue_ops import FIFOQueue, QueueBase
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.summary.ops import scalar
from graphio.support import api_guard
from graphio.variables.variables import Variable

__all__ = [
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "range_input_producer",
    "slice_input_producer",
    "string_input_producer",
]


@api_guard.makes_variables
def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """The names of files that match a pattern, in a local variable: they are searched for when
    local_variables_initializer runs.

    Args:
        pattern: string, or vector of them.
        name: of the variable.
    """
    with scopes.name_scope(name, "matching_filenames") as at:
        return Variable(
            name=at,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@api_guard.makes_variables
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor, so many times; a further run that needs it raises an OutOfRangeError.

    Args:
        tensor: any.
        num_epochs: how many times, which a local variable "epochs" counts; None: without end.
        name: of the operation.

    Raises:
        ValueError: num_epochs is less than 1.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with scope(name, "limit_epochs") as at:
        epochs = Variable(
            constant(0, dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with scopes.control_dependencies([epochs.count_up_to(num_epochs)]):
            return array.identity(tensor, name=at)


@api_guard.makes_variables
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of the rows of a tensor, and a QueueRunner in QUEUE_RUNNERS that fills it.

    Args:
        input_tensor: with rows of a known shape.
        element_shape: shape of a row; None: that of input_tensor.
        num_epochs: how often each row comes, then the queue is closed; None: without end. The
            variable that counts is initialized by local_variables_initializer.
        shuffle: whether each epoch has a random order.
        seed: of the order.
        capacity: of the queue.
        shared_name: of the queue.
        summary_name: of a summary that says how full the queue is; None: there is none.
        name: of the queue.
        cancel_op: of the QueueRunner.

    Raises:
        ValueError: the shape of a row is not known.
    """
    with scopes.name_scope(name, "input_producer"):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(element_shape)
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype.base_dtype], [shape], shared_name=shared_name, name=name
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, elementwise.cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


@api_guard.makes_variables
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of strings, such as names of files; see input_producer.

    Args:
        string_tensor: vector of strings, not empty.
        num_epochs, shuffle, seed, capacity, shared_name, cancel_op: as input_producer's.
        name: of the name scope.

    Raises:
        ValueError: string_tensor is empty.
        InvalidArgumentError: of a thread's run: it turned out to be empty.
    """
    reason = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not len(string_tensor):
        raise ValueError(reason)
    with scope(name, "input_producer") as at:
        strings = convert_to_tensor(string_tensor, dtypes.string)
        check = Assert(comparison.greater(array.size(strings), 0), [reason])
        with scopes.control_dependencies([check]):
            strings = array.identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", at, cancel_op,
        )  # fmt: skip


@api_guard.makes_variables
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the integers from 0 to limit - 1; see input_producer.

    Args:
        limit: int32 scalar.
        num_epochs, shuffle, seed, capacity, shared_name: as input_producer's.
        name: of the name scope.
    """
    with scope(name, "input_producer") as at:
        return input_producer(
            array.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", at,
        )  # fmt: skip


@api_guard.makes_variables
def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """A row of each tensor, the same one of all; each run that needs them gets the next rows.

    Args:
        tensor_list: list of tensors with as many rows.
        num_epochs, shuffle, seed, capacity, shared_name: as input_producer's.
        name: of the name scope.

    Raises:
        ValueError: the list is empty.
    """
    with scopes.name_scope(name, "input_producer"):
        tensors = [convert_to_tensor_or_indexed_slices(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            array.shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name
        )
        row = queue.dequeue()
        return [index.gather(tensor, row) for tensor in tensors]
