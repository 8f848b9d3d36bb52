"""tf.GradientTape: gradients of the operations that were added while it recorded."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphio.autodiff.gradients import UnconnectedGradients, gradients, sources
from graphio.framework import api_boundary, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.variable_reads import is_plain
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.control_flow.functional import map_fn
from graphio.variables.variables import Variable, variables_of

__all__ = ["GradientTape"]


class GradientTape:
    """Records which operations are added, for their gradients: only through these, from what is
    watched, does a gradient flow.

    Args:
        persistent: whether gradients are given more than once.
        watch_accessed_variables: whether the trainable variables that they read are watched.

    Example:
        >>> x = tf.constant([1.0, 3.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> with tf.Session() as session:
        ...     print(session.run(tape.gradient(y, x)))
        [2. 6.]
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._accessed = persistent, watch_accessed_variables
        self._recording = self._used = False
        self._graph = scopes.get_default_graph()
        self._clear()

    def _clear(self) -> None:
        """Forgets all operations and what is watched."""
        #: the order of creation at which recording began and ended
        self._begins: list[float] = []
        self._ends: list[float] = []
        #: tensors and variables, and since when they are watched
        self._watched: dict[Any, float] = {}

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *details: object) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._graph = scopes.get_default_graph()
        self._begins.append(self._now())
        self._recording = True

    def _stop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._ends.append(self._now())
        self._recording = False

    def _now(self) -> float:
        return self._graph.root._order

    def watch(self, tensor: Any) -> None:
        """Has gradients by a tensor or variable, or by those of a nested structure.

        Raises:
            ValueError: something is neither.
        """
        for value in nest.flatten(tensor):
            if not isinstance(value, (Tensor, Variable)):
                raise ValueError(f"Passed in object of type {type(value)}, not tf.Tensor")
            self._watched.setdefault(value, self._now())

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context whose operations are not recorded.

        Raises:
            RuntimeError: it does not record.
        """
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets all that was recorded and watched, and goes on.

        Raises:
            ValueError: it does not record.
        """
        self._stop()
        self._clear()
        self._start()

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that are watched, in the order of their creation."""
        graph = self._graph
        found = {v for v in self._watched if isinstance(v, Variable)}
        for operation in self._recorded(graph):
            found.update(filter(None, (self._variable(t) for t in _inputs(operation))))
        return tuple(v for v in variables_of(graph.root).values() if v in found)

    @api_boundary.rolling_back
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of the sum of the targets.

        Args:
            target: a tensor, or a nested structure of them.
            sources: tensors or variables, or a nested structure of them.
            output_gradients: gradients that arrive at the targets; None: ones.
            unconnected_gradients: tf.UnconnectedGradients.NONE or ZERO: what is given for a source
                that is not watched, or on which no target depends.

        Returns:
            The sources' structure, of tensors, IndexedSlices or None.

        Raises:
            RuntimeError: it is not persistent, and has given gradients.
            TypeError: target is None.
            ValueError: output_gradients are not as many as the targets; unconnected_gradients is
                none of the two.
        """
        if target is None:
            raise TypeError(
                "Target should be a tensor or a nested structure of tensors or variables, but "
                "received None."
            )
        self._use()
        unconnected = _unconnected(unconnected_gradients)
        targets = [convert_to_tensor(t) for t in nest.flatten(target)]
        arriving: Sequence[Any] = [None] * len(targets)
        if output_gradients is not None:
            arriving = nest.flatten(output_gradients)
            if len(arriving) != len(targets):
                raise ValueError(
                    f"GradientTape.gradient: there are {len(arriving)} output_gradients for "
                    f"{len(targets)} targets, expected as many"
                )
        flat = nest.flatten(sources)
        found = self._gradients(targets, flat, arriving)
        if unconnected is UnconnectedGradients.ZERO:
            found = [
                array.zeros_like(convert_to_tensor(x)) if dx is None else dx
                for x, dx in zip(flat, found, strict=True)
            ]
        return nest.pack_sequence_as(sources, found)

    def _use(self) -> None:
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        self._used = True
        if self._recording and not self._persistent:
            self._stop()

    def _gradients(
        self, targets: list[Tensor], flat: Sequence[Any], arriving: Sequence[Any]
    ) -> list[Any]:
        """Derivatives by each source, None where it is not watched or not connected."""
        graph = targets[0].graph if targets else self._graph
        tracked, constants = self._tracked(graph)
        on_tape = [t in tracked for t in targets]
        known = [x for x in flat if x in tracked]
        chosen = [(t, dt) for t, dt, on in zip(targets, arriving, on_tape, strict=True) if on]
        if not chosen or not known:
            return [None] * len(flat)
        found = gradients(
            [t for t, _ in chosen],
            known,
            [dt for _, dt in chosen],
            stop_gradients=[t for t in constants if t not in known],
        )
        by_source = dict(zip(known, found, strict=True))
        return [by_source.get(x) for x in flat]

    def _tracked(self, graph: Graph) -> tuple[set[Any], dict[Tensor, None]]:
        """The watched values and those that depend on them by recorded operations; and the other
        tensors that these operations read."""
        tracked: set[Any] = set(self._watched)
        constants: dict[Tensor, None] = {}
        for operation in self._recorded(graph):
            inputs = _inputs(operation)
            on = [self._is_tracked(t, operation, tracked) for t in inputs]
            if any(on) and operation.type != "StopGradient":
                tracked.update(operation.outputs)
                constants.update(
                    dict.fromkeys(t for t, yes in zip(inputs, on, strict=True) if not yes)
                )
        return tracked, constants

    def _is_tracked(self, tensor: Tensor, by: Operation, tracked: set[Any]) -> bool:
        variable = self._variable(tensor)
        if variable is not None:
            tracked.add(variable)
            return True
        return tensor in tracked and self._watched.get(tensor, 0) <= by.order

    def _variable(self, tensor: Tensor) -> Variable | None:
        """The variable that is watched and of which a tensor is a read that counts; None: none."""
        operation = tensor.op
        variables = variables_of(tensor.graph.root)
        first = operation.operands[0] if operation.op == "Identity" else None
        if isinstance(first, Tensor) and first.op.op == "Variable":  # `v/read`
            operation = first.op
        elif operation.op == "ReadVariable" and not is_plain(operation):
            if not self._is_recorded(operation):
                return None
        found = variables.get(operation.attrs.get("variable", ""))
        if operation.op not in ("Variable", "ReadVariable") or found is None:
            return None
        watched = found in self._watched or (self._accessed and found.trainable)
        return found if watched else None

    def _recorded(self, graph: Graph) -> Iterator[Operation]:
        """The operations of a graph or body, and of those around it, that were recorded."""
        if graph.outer is not None:
            yield from self._recorded(graph.outer)
        yield from filter(self._is_recorded, list(graph.operations))

    def _is_recorded(self, operation: Operation) -> bool:
        ends = [*self._ends, math.inf]
        return any(
            begin <= operation.order < end for begin, end in zip(self._begins, ends, strict=False)
        )

    @api_boundary.rolling_back
    def jacobian(
        self,
        target: Tensor,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Derivatives of each element of a tensor.

        Args:
            target: tensor.
            sources: tensors or variables, or a nested structure of them.
            unconnected_gradients: as gradient's.
            parallel_iterations, experimental_use_pfor: accepted: the rows are computed in a loop.

        Returns:
            The sources' structure, of tensors of the target's shape and then the source's; None
            for a source that is not connected.

        Raises:
            RuntimeError: as gradient's.
        """
        self._use()
        flat = nest.flatten(sources)
        zero = _unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
        rows = self._rows(target, flat, array.size(target), lambda eye: array.reshape(
            eye, array.shape(target)
        ))  # fmt: skip
        found = [self._shaped(target, x, dx, zero) for x, dx in zip(flat, rows, strict=True)]
        return nest.pack_sequence_as(sources, found)

    def _rows(
        self, target: Tensor, flat: Sequence[Any], count: Tensor, arriving: Callable[[Tensor], Any]
    ) -> list[Any]:
        """For each source the gradients of count rows of the target, stacked; None: none."""
        probe = self._gradients([target], flat, [None])
        connected = [x for x, dx in zip(flat, probe, strict=True) if dx is not None]
        if not connected:
            return [None] * len(flat)

        def row(i: Tensor) -> Any:
            incoming = arriving(index.one_hot(i, count, dtype=target.dtype))
            found = self._gradients([target], connected, [incoming])
            return [convert_to_tensor(dx) for dx in found]

        kinds = [x.dtype.base_dtype for x in connected]
        stacked = map_fn(row, array.range(count), dtype=kinds)
        by_source = dict(zip(connected, stacked, strict=True))
        return [by_source.get(x) for x in flat]

    def _shaped(self, target: Tensor, x: Any, rows: Any, zero: bool) -> Any:
        """The rows of a Jacobian in the shapes of the target and of the source."""
        source = convert_to_tensor(x)
        shape = array.concat([array.shape(target), array.shape(source)], 0)
        if rows is None:
            return array.zeros(shape, source.dtype) if zero else None
        shaped = array.reshape(rows, shape)
        shaped.set_shape(target.shape.concatenate(source.shape))
        return shaped

    @api_boundary.rolling_back
    def batch_jacobian(
        self,
        target: Tensor,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example of a batch, stacked.

        Args:
            target: (batch, ...) of rank 2 or more; example i depends on that of the source alone.
            source: (batch, ...) of rank 2 or more.
            unconnected_gradients: accepted: they are zeros.
            parallel_iterations, experimental_use_pfor: accepted: the rows are computed in a loop.

        Returns:
            (batch, the target's other sizes, the source's other sizes).

        Raises:
            ValueError: a rank is less than 2, or the first sizes differ.
            RuntimeError: as gradient's.
        """
        first, other = target.shape.with_rank_at_least(2), source.shape.with_rank_at_least(2)
        if not first[:1].is_compatible_with(other[:1]):
            raise ValueError(
                f"Need first dimension of target shape ({first}) and source shape ({other}) to "
                "match."
            )
        self._use()
        shape, given = array.shape(target), array.shape(source)
        with scopes.control_dependencies([asserts.assert_equal(shape[0], given[0])]):
            shape = array.identity(shape)
        full = array.concat([shape, given[1:]], 0)
        width = array.size(target) // shape[0]
        (rows,) = self._rows(target, [source], width, lambda eye: array.reshape(
            array.tile(array.expand_dims(eye, 0), [shape[0], 1]), shape
        ))  # fmt: skip
        if rows is None:
            return array.zeros(full, source.dtype)
        flat = array.reshape(rows, array.stack([width, shape[0], -1]))
        found = array.reshape(array.transpose(flat, [1, 0, 2]), full)
        found.set_shape(first.concatenate(other[1:]))
        return found


def _unconnected(given: Any) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(given)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {given!r}; expected "
            "tf.UnconnectedGradients.NONE or ZERO"
        ) from None


def _inputs(operation: Operation) -> list[Tensor]:
    """The tensors that an operation and its bodies read."""
    return [tensor for tensor in sources(operation) if tensor is not None]
