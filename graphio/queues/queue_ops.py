"""Queues in the graph: FIFOQueue and its relatives.

An operation of a queue waits outside of the engine; see graphio/ops/base/waiting.py. Elements are
of the session, not of the graph: each session begins with empty queues, and no checkpoint has them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.operation import TENSORFLOW_ATTRIBUTES
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.ops.array import index, joining
from graphio.ops.base.emit import scope
from graphio.ops.base.waiting import Attempt, Steps, resources_of, wait, waiting_call
from graphio.ops.random.more import get_seed
from graphio.queues.building import builds_with
from graphio.queues.contents import Contents, Padded, Prioritized, Shuffled
from graphio.support import errors

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]

_CLASSES: dict[str, type[Contents]] = {
    "FIFOQueue": Contents,
    "PaddingFIFOQueue": Padded,
    "PriorityQueue": Prioritized,
    "RandomShuffleQueue": Shuffled,
}


@dataclass(frozen=True)
class _Facts:
    """The attributes of a queue's operation.

    Attributes:
        kind: a key of _CLASSES.
        node: name of the operation.
        shared_name: "" where it has none.
        least, seeds: of a RandomShuffleQueue.
    """

    kind: str
    node: str
    shared_name: str
    capacity: int
    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...] | None
    least: int = 0
    seeds: tuple[int, int] | None = None

    @property
    def key(self) -> str:
        """The queue's name in a session."""
        return self.shared_name or self.node

    def make(self, number: int) -> Queue:
        """The queue of a session."""
        name = self.shared_name or f"_{number}_{self.node}"
        shared = (self.kind, name, self.capacity, self.dtypes, self.shapes)
        if self.kind != "RandomShuffleQueue":
            return Queue(self, _CLASSES[self.kind](*shared))
        seed = None
        if self.seeds is not None and any(self.seeds):
            seed = self.seeds[0] % (1 << 64) << 64 | self.seeds[1] % (1 << 64)
        return Queue(self, Shuffled(self.least, seed, *shared))

    def check_same(self, other: _Facts) -> None:
        """Refuses another queue of the same shared name that is not the same.

        Raises:
            InvalidArgumentError: it is another one.
        """
        title = f"Shared queue '{self.shared_name}' has"
        if other.kind != self.kind:
            raise errors.InvalidArgumentError(
                message=f"{title} type '{self.kind}' that does not match type of Node "
                f"'{other.node}': {other.kind}V2"
            )
        for what, requested, one, two in (
            ("capacity", "capacity was", self.capacity, other.capacity),
            ("component types", "component types were", _types(self), _types(other)),
            ("component shapes", "component shapes were", _shapes(self), _shapes(other)),
            ("min_after_dequeue", "min_after_dequeue was", self.least, other.least),
            ("random seeds", "seeds are", self.seeds, other.seeds),
        ):
            if one != two and two != (0, 0):
                raise errors.InvalidArgumentError(
                    message=f"{title} {what} {one} but requested {requested} {two}."
                )


@dataclass(frozen=True)
class Queue:
    """A queue as a session has it."""

    facts: _Facts
    contents: Contents


def _types(facts: _Facts) -> str:
    return ", ".join(f"{i}-{dtype.name}" for i, dtype in enumerate(facts.dtypes))


def _shapes(facts: _Facts) -> str:
    return "[" + ",".join(str(s).replace(" ", "") for s in facts.shapes or ()) + "]"


# ---- the functions of the operations ----


class _Opener:
    """From a session to a function that makes the queue at its first call, and gives its name.

    Attributes:
        facts: of the queue, known once its operation has its name.
    """

    facts: _Facts

    def __call__(self, session: Any) -> Any:
        resources, facts = resources_of(session), self.facts

        def call(inputs: list[Any]) -> list[Any]:
            found = resources.get(("queue", facts.key), lambda: facts.make(resources.number()))
            found.facts.check_same(facts)
            return [np.array(facts.key.encode(), object)]

        return call


def contents_of(session: Any, key: Any) -> Contents:
    """The queue of a name in a session.

    Raises:
        NotFoundError: there is none.
    """
    name = np.asarray(key).item().decode()
    found = resources_of(session).find(("queue", name))
    if found is None:
        raise errors.NotFoundError(message=f"Resource queue {name} does not exist.")
    contents: Contents = found.contents
    return contents


def _call(method: str, settings: Mapping[str, Any], session: Any) -> Any:
    """A function that makes an attempt at a queue and waits for its end."""
    step = globals()[f"_{method}"]

    def call(inputs: list[Any]) -> Steps[list[Any]]:
        found = step(contents_of(session, inputs[0]), inputs[1:], **settings)
        if isinstance(found, Attempt):
            found = yield from wait(found)
        results: list[Any] = found
        return results

    return call


def _enqueue(queue: Contents, inputs: list[Any]) -> Attempt:
    return queue.enqueue(inputs)


def _enqueue_many(queue: Contents, inputs: list[Any]) -> Attempt:
    return queue.enqueue_many(inputs)


def _dequeue(queue: Contents, inputs: list[Any]) -> Attempt:
    return queue.dequeue()


def _dequeue_many(queue: Contents, inputs: list[Any], up_to: bool) -> Attempt:
    return queue.dequeue_many(int(inputs[0]), up_to)


def _close(queue: Contents, inputs: list[Any], cancel: bool) -> Attempt:
    return queue.close(cancel)


def _size(queue: Contents, inputs: list[Any]) -> list[Any]:
    return [np.array(queue.size(), np.int32)]


def _is_closed(queue: Contents, inputs: list[Any]) -> list[Any]:
    return [np.array(queue.closed)]


# ---- the classes ----

_method = builds_with("queue_ref")


class QueueBase:
    """A queue: each element is a tuple of tensors, of given dtypes and maybe shapes.

    Args:
        dtypes: list of the components' dtypes.
        shapes: list of their shapes; None: any.
        names: list of their names: elements are then dicts; None: they are tuples.
        queue_ref: the output of a queue's operation.

    Raises:
        ValueError: the lists differ in length.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        self._dtypes: list[DType] = list(dtypes)
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, "
                f"received len(shapes)={len(shapes)}, len(dtypes)={len(self._dtypes)}"
            )
        unknown = [TensorShape(None)] * len(self._dtypes)
        self._shapes = unknown if shapes is None else [TensorShape(s) for s in shapes]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError(
                "Queue names must have the same length as dtypes,"
                f"received len(names)={len(names)},len {len(self._dtypes)}"
            )
        self._names: list[str] | None = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rsplit("/", 1)[-1]

    @staticmethod
    @api_boundary.rolling_back
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue of a number, which a tensor says.

        Args:
            index: integer scalar.
            queues: list of queues of the same dtypes and names.

        Raises:
            TypeError: it is not such a list. ValueError: names differ.
        """
        if not queues or not isinstance(queues, list):
            raise TypeError("A list of queues expected")
        if not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(queue.dtypes == first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(queue.names == first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [
            functools.reduce(_common, of_one)
            for of_one in zip(*(queue.shapes for queue in queues), strict=True)
        ]
        chosen = _gather(joining.stack([queue.queue_ref for queue in queues]), index)
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that stands for the queue: a string, the name that a session has for it."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation."""
        name: str = self._queue_ref.op.name
        return name

    @property
    def dtypes(self) -> list[DType]:
        """The components' dtypes."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The components' shapes."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The components' names."""
        return self._names

    def _components(self, vals: Any) -> list[Tensor]:
        """The components of an element as tensors.

        Raises:
            TypeError, ValueError: they do not fit the queue.
        """
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[key] for key in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        given = vals if isinstance(vals, (list, tuple)) else [vals]
        if len(given) != len(self._dtypes):
            raise ValueError(
                f"{self.name}: an element has {len(self._dtypes)} components, got {len(given)}"
            )
        return [
            convert_to_tensor(value, dtype, name=f"component_{i}")
            for i, (value, dtype) in enumerate(zip(given, self._dtypes, strict=True))
        ]

    @_method
    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds an element, once the queue has capacity for it.

        Args:
            vals: the components: a list, one alone, or a dict where the queue has names.
            name: of the operation.

        Raises:
            TypeError, ValueError: they do not fit the queue.
            CancelledError: of the run: the queue was closed, before or while the run waited.
        """
        with scope(name, f"{self._name}_enqueue") as at:
            tensors = self._components(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=True):
                tensor.shape.assert_is_compatible_with(shape)
            return self._operation("enqueue", "QueueEnqueueV2", tensors, [], at)

    @_method
    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds an element for each row of the components, one after the other.

        Args:
            vals: as enqueue's, with one dimension more.
            name: of the operation.

        Raises:
            As enqueue.
        """
        with scope(name, f"{self._name}_EnqueueMany") as at:
            tensors = self._components(vals)
            rows = Dimension(None)
            for tensor, shape in zip(tensors, self._shapes, strict=True):
                found = tensor.shape.with_rank_at_least(1)
                rows = rows.merge_with(found[0])
                found[1:].assert_is_compatible_with(shape)
            return self._operation("enqueue_many", "QueueEnqueueManyV2", tensors, [], at)

    @_method
    def dequeue(self, name: str | None = None) -> Any:
        """The next element, once there is one.

        Args:
            name: of the operation.

        Returns:
            A tensor, a list of them where there are several components, or a dict where the queue
            has names.

        Raises:
            OutOfRangeError: of the run: the queue is closed and has no more.
            CancelledError: of the run: the session was closed.
        """
        outputs = list(zip(self._dtypes, self._shapes, strict=True))
        at = name or f"{self._name}_Dequeue"
        return self._element(self._operation("dequeue", "QueueDequeueV2", [], outputs, at))

    @_method
    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """The next n elements, stacked, once there are as many; the queue must have shapes.

        Args:
            n: integer scalar.
            name: of the operation.

        Returns, Raises:
            As dequeue; InvalidArgumentError: of the run: the queue has no shapes.
        """
        return self._many("QueueDequeueManyV2", n, name, f"{self._name}_DequeueMany")

    @_method
    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As dequeue_many, but fewer elements where the queue is closed and has no more."""
        return self._many("QueueDequeueUpToV2", n, name, f"{self._name}_DequeueUpTo")

    def _many(self, tf_type: str, n: Any, name: str | None, default: str) -> Any:
        up_to = tf_type == "QueueDequeueUpToV2"
        with scope(name, default) as at:
            count = convert_to_tensor(n, dtypes.int32, name="n")
            known = None if up_to else constant_value(count)
            rows = TensorShape([None if known is None else int(known)])
            outputs = [
                (dtype, rows.concatenate(shape))
                for dtype, shape in zip(self._dtypes, self._shapes, strict=True)
            ]
            return self._element(
                self._operation("dequeue_many", tf_type, [count], outputs, at, up_to=up_to)
            )

    @_method
    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation that closes the queue: no element is added any more.

        Args:
            cancel_pending_enqueues: True: runs that wait for capacity fail with a CancelledError;
                False: they come first.
            name: of the operation.
        """
        cancel = bool(cancel_pending_enqueues)
        at = name or f"{self._name}_Close"
        return self._operation("close", "QueueCloseV2", [], [], at, cancel=cancel)

    @_method
    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed: a bool scalar."""
        outputs = [(dtypes.bool, TensorShape([]))]
        at = name or f"{self._name}_Is_Closed"
        return self._operation("is_closed", "QueueIsClosedV2", [], outputs, at).outputs[0]

    @_method
    def size(self, name: str | None = None) -> Tensor:
        """How many elements the queue has: an int32 scalar."""
        outputs = [(dtypes.int32, TensorShape([]))]
        at = name or f"{self._name}_Size"
        return self._operation("size", "QueueSizeV2", [], outputs, at).outputs[0]

    def _operation(
        self, method: str, tf_type: str, inputs: Sequence[Tensor],
        outputs: Sequence[tuple[DType, TensorShape]], name: str, **settings: Any,
    ) -> Operation:  # fmt: skip
        return waiting_call(
            functools.partial(_call, method, settings),
            [self._queue_ref, *inputs],
            outputs,
            function=f"{self.name}/{method}",
            name=name,
            tf_type=tf_type,
        )

    def _element(self, operation: Operation) -> Any:
        tensors = list(operation.outputs)
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors


def _gather(stacked: Tensor, at: Any) -> Tensor:
    found: Tensor = index.gather(stacked, at)
    return found


def _common(one: TensorShape, two: TensorShape) -> TensorShape:
    """The sizes that two shapes have in common."""
    if one.ndims is None or one.ndims != two.ndims:
        return TensorShape(None)
    pairs = zip(one.as_list(), two.as_list(), strict=True)
    return TensorShape([m if m == n else None for m, n in pairs])


class _Made(QueueBase):
    """A queue that has an operation.

    Args:
        kind: a key of _CLASSES.
        capacity, names, shared_name, name: as of the classes.
        dtypes, shapes: as lists.
        least, seeds: see _Facts.
        attributes: those of TensorFlow's operation besides the common ones.
        shapes_shown: the shapes that get_attr gives.
    """

    _KIND = ""

    def __init__(
        self, capacity: Any, kinds: list[DType], shapes: list[TensorShape] | None, names: Any,
        shared_name: Any, name: str | None, least: int = 0, seeds: tuple[int, int] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        listed = _names(names, kinds)
        if shapes is not None and len(shapes) != len(kinds):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, "
                f"received len(shapes)={len(shapes)}, len(dtypes)={len(kinds)}"
            )
        opener, chosen = _Opener(), name or self._KIND
        made = waiting_call(
            opener,
            [],
            [(dtypes.string, TensorShape([]))],
            function=chosen.rstrip("/"),
            name=chosen,
            tf_type=f"{self._KIND}V2",
        )
        facts = opener.facts = _Facts(
            self._KIND, made.name, _text(shared_name), int(capacity), tuple(kinds),
            None if shapes is None else tuple(shapes), least, seeds,
        )  # fmt: skip
        TENSORFLOW_ATTRIBUTES.of(made.graph)[made] = {
            "component_types": kinds, "shapes": shapes or [], "capacity": facts.capacity,
            "container": b"", "shared_name": facts.shared_name.encode(), **(attributes or {}),
        }  # fmt: skip
        super().__init__(kinds, shapes, listed, made.outputs[0])


def _text(shared_name: Any) -> str:
    if shared_name is None:
        return ""
    return shared_name.decode() if isinstance(shared_name, bytes) else str(shared_name)


def _dtypes(given: Any) -> list[DType]:
    listed = given if isinstance(given, (list, tuple)) else [given]
    return [dtypes.as_dtype(kind).base_dtype for kind in listed]


def _names(names: Any, kinds: Sequence[DType]) -> list[str] | None:
    if names is None:
        return None
    listed = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(listed) != len(kinds):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return listed


def _full_shapes(shapes: Any) -> list[TensorShape] | None:
    """The shapes of components, all of which are known.

    Raises:
        TypeError: they are not shapes. ValueError: one is not known.
    """
    if shapes is None:
        return None
    made = _listed(shapes)
    if any(not shape.is_fully_defined() for shape in made):
        raise ValueError(f"All shapes must be fully defined: {made}")
    return made


def _listed(shapes: Any) -> list[TensorShape]:
    given = [shapes] if isinstance(shapes, TensorShape) else shapes
    if not isinstance(given, (list, tuple)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(size is None or isinstance(size, (int, Dimension)) for size in given):
        given = [given]
    return [TensorShape(shape) for shape in given]


class FIFOQueue(_Made):
    """A queue that gives its elements in their order.

    Args:
        capacity: how many elements, negative: any number.
        dtypes: dtype, or list of those of the components.
        shapes: list of the components' shapes, all known; one shape alone for one component; None:
            any, and there is no dequeue_many.
        names: list of the components' names; None: elements are tuples.
        shared_name: queues of one name are one in a session; None: it is separate.
        name: of the operation.

    Raises:
        ValueError: the lists differ in length, or a shape is not known.

    Example:
        >>> queue = tf.FIFOQueue(10, tf.float32, shapes=[()])
        >>> add, taken = queue.enqueue_many([[1.0, 2.0, 3.0]]), queue.dequeue_many(2)
        >>> with tf.Session() as session:
        ...     session.run(add)
        ...     print(session.run(taken))
        [1. 2.]
    """

    _KIND = "FIFOQueue"

    @api_boundary.rolling_back
    def __init__(
        self, capacity: Any, dtypes: Any, shapes: Any = None, names: Any = None,
        shared_name: Any = None, name: str | None = "fifo_queue",
    ) -> None:  # fmt: skip
        super().__init__(capacity, _dtypes(dtypes), _full_shapes(shapes), names, shared_name, name)


class RandomShuffleQueue(_Made):
    """A queue that gives its elements in a random order.

    Args:
        capacity, dtypes, shapes, names, shared_name, name: as FIFOQueue's.
        min_after_dequeue: how many elements stay, so that the order is random, until it is closed.
        seed: of the order, which depends on it and on the graph's seed; None: on the latter alone.
            The same seed gives the same order, but not TensorFlow's.

    Raises:
        As FIFOQueue.
    """

    _KIND = "RandomShuffleQueue"

    @api_boundary.rolling_back
    def __init__(
        self, capacity: Any, min_after_dequeue: int, dtypes: Any, shapes: Any = None,
        names: Any = None, seed: int | None = None, shared_name: Any = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        one, two = (value or 0 for value in get_seed(seed))
        if seed is None and shared_name is not None and (one or two):
            digest = hashlib.md5(f"{one}{_text(shared_name)}".encode(), usedforsecurity=False)
            two = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        least = int(min_after_dequeue)
        if int(capacity) > 0 and least >= int(capacity):
            raise ValueError(
                f"RandomShuffleQueue: min_after_dequeue is {least}, expected less than the "
                f"capacity {capacity}"
            )
        super().__init__(
            capacity, _dtypes(dtypes), _full_shapes(shapes), names, shared_name, name, least,
            (one, two), {"min_after_dequeue": least, "seed": one, "seed2": two},
        )  # fmt: skip


class PaddingFIFOQueue(_Made):
    """As FIFOQueue, of components with unknown sizes: dequeue_many fills them up with zeros, or
    empty strings, to the largest of its elements.

    Args:
        capacity, dtypes, names, shared_name, name: as FIFOQueue's.
        shapes: list of shapes of known rank, None for an unknown size.

    Raises:
        As FIFOQueue; ValueError: shapes is not such a list.
    """

    _KIND = "PaddingFIFOQueue"

    @api_boundary.rolling_back
    def __init__(
        self, capacity: Any, dtypes: Any, shapes: Any, names: Any = None, shared_name: Any = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        kinds = _dtypes(dtypes)
        if (
            not isinstance(shapes, (list, tuple, TensorShape))
            or not shapes
            or any(shape is None or isinstance(shape, int) for shape in shapes)
        ):
            raise ValueError("When providing partial shapes, a list of shapes must be provided.")
        made = _listed(shapes)
        if any(shape.ndims is None for shape in made):
            raise ValueError(f"All shapes must have a defined rank: {made}")
        if len(made) != len(kinds):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(made)} shapes and "
                f"{len(kinds)} dtypes."
            )
        super().__init__(capacity, kinds, made, names, shared_name, name)


class PriorityQueue(_Made):
    """A queue that gives the element with the smallest priority first; equal ones come in their
    order.

    The first component of an element, before those of types, is its priority: int64 scalar.

    Args:
        capacity: as FIFOQueue's.
        types: dtype, or list of those of the components.
        shapes, names, shared_name, name: as FIFOQueue's, without and with the priority.

    Raises:
        As FIFOQueue.
    """

    _KIND = "PriorityQueue"

    @api_boundary.rolling_back
    def __init__(
        self, capacity: Any, types: Any, shapes: Any = None, names: Any = None,
        shared_name: Any = None, name: str | None = "priority_queue",
    ) -> None:  # fmt: skip
        kinds, made = _dtypes(types), _full_shapes(shapes)
        if made is not None and len(made) != len(kinds):
            raise ValueError(
                f"PriorityQueue: got {len(made)} shapes for {len(kinds)} dtypes; the priority has "
                "no entry"
            )
        with_priority = [TensorShape([]), *(made or [])] if made or not kinds else None
        super().__init__(capacity, [dtypes.int64, *kinds], with_priority, names, shared_name, name)
