"""Recurrent nets over sequences: dynamic_rnn and similar functions, a Scan over the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import carrying, dtypes, nest
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.rnn_cell import _check_cell, sizes
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import reverse_sequence
from graphio.ops.base import primitive as p
from graphio.ops.control_flow.branches import restoring
from graphio.ops.control_flow.loops import Way, holds, scan_node, while_loop
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "bidirectional_dynamic_rnn",
    "dynamic_rnn",
    "raw_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
]


@api_guard.makes_variables
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """A recurrent net over sequences of any length.

    Args:
        cell: an RNNCell, see tf.nn.rnn_cell.
        inputs: tensor (batch, time, ...) or structure of such; (time, batch, ...) if time_major.
        sequence_length: ints (batch); None: all sequences have the length of the inputs.
        initial_state: the cell's first state; None: zeros. It may hold TensorArrays; those of a
            step are kept whatever a sequence's length.
        dtype: of the first state; only where initial_state is None.
        parallel_iterations, swap_memory: accepted.
        time_major: whether time is the first dimension of inputs and outputs.
        scope: variable scope of the cell; None: "rnn".

    Returns:
        (outputs, state): the outputs as the inputs are laid out, zeros past a sequence's end; the
        state after the last step of each sequence.

    Raises:
        TypeError: cell is not a cell.
        ValueError: neither initial_state nor dtype, inputs that differ in length or batch, or a
            state that changes its shape.
    """
    _check_cell(cell)
    with restoring(), variable_scope(scope or "rnn"):
        return _over_time(
            cell, inputs, sequence_length, initial_state, dtype, time_major, backward=False
        )


@api_guard.makes_variables
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Two recurrent nets over the same sequences, one of which starts at their ends.

    Args:
        cell_fw, cell_bw: the cells of either direction.
        initial_state_fw, initial_state_bw: their first states; None: zeros.
        inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major: see
            dynamic_rnn.
        scope: variable scope around "fw" and "bw"; None: "bidirectional_rnn".

    Returns:
        ((outputs_fw, outputs_bw), (state_fw, state_bw)); outputs lie where their inputs do.

    Raises:
        TypeError, ValueError: as dynamic_rnn.
    """
    _check_cell(cell_fw)
    _check_cell(cell_bw)
    both = {"fw": (cell_fw, initial_state_fw), "bw": (cell_bw, initial_state_bw)}
    outputs, states = [], []
    with restoring(), variable_scope(scope or "bidirectional_rnn"):
        for way, (cell, start) in both.items():
            with variable_scope(way):
                y, last = _over_time(
                    cell, inputs, sequence_length, start, dtype, time_major, backward=way == "bw"
                )
            outputs.append(y)
            states.append(last)
    return tuple(outputs), tuple(states)


def _over_time(
    cell: Any,
    inputs: Any,
    lengths: Any,
    initial_state: Any,
    dtype: Any,
    time_major: bool,
    backward: bool,
) -> Any:
    """One Scan along the axis of time, in its direction or against it.

    Against it, the steps past a sequence's end come first: they leave the state as it is, so that
    no sequence has to be reversed.
    """
    xs = [convert_to_tensor(x, name="inputs") for x in nest.flatten(inputs)]
    axis = 0 if time_major else 1
    batch, steps = _batch_and_steps(xs, axis)
    state = _first_state(cell, initial_state, dtype, xs[0], 1 - axis, batch)
    first = nest.flatten(state)
    cut: Way = (axis, backward)
    live = _live(lengths, xs[0], axis, batch)
    if any(carrying.kind_of(leaf) is not None for leaf in first):
        run = _Steps(cell, inputs, xs, live, cut, dtype)
        outputs, last = run.loop(state)
        for y in nest.flatten(outputs):
            _lay_out(y, axis, batch, steps)
        return outputs, last
    pieces, cuts = [*xs, *live], [cut] * len(xs) + [(0, backward)] * len(live)
    structure: list[Any] = []

    def step(before: list[Tensor], now: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        arguments = nest.pack_sequence_as(inputs, now[: len(xs)])
        output, after = cell(arguments, nest.pack_sequence_as(state, before))
        following = _next_state(state, before, after)
        structure.append(output)
        outputs = [convert_to_tensor(y) for y in nest.flatten(output)]
        for alive in now[len(xs) :]:
            outputs = [_chosen(alive, y, array.zeros_like(y)) for y in outputs]
            pairs = zip(following, before, strict=True)
            following = [_chosen(alive, new, old) for new, old in pairs]
        return following, outputs

    found = scan_node(step, first, pieces, cuts, cut, name="while")
    outputs = found[len(first) :]
    for y in outputs:
        _lay_out(y, axis, batch, steps)
    return (
        nest.pack_sequence_as(structure[0], outputs),
        nest.pack_sequence_as(state, found[: len(first)]),
    )


class _Steps:
    """The steps of a net whose state holds more than tensors, such as a TensorArray, as a loop.

    Args:
        cell, inputs: as dynamic_rnn's.
        xs: the inputs' tensors.
        live: what _live gives.
        cut: the axis of time, and whether the steps go backward.
        dtype: of the outputs; None: that of the inputs.
    """

    def __init__(
        self, cell: Any, inputs: Any, xs: list[Tensor], live: list[Tensor], cut: Way, dtype: Any
    ) -> None:
        self._cell, self._inputs, self._xs, self._live = cell, inputs, xs, live
        self._axis, self._backward = cut
        self._dtype = xs[0].dtype if dtype is None else dtypes.as_dtype(dtype)
        self._count = _size(xs[0], self._axis)

    def loop(self, state: Any) -> tuple[Any, Any]:
        """The outputs as the inputs are laid out, and the last state."""
        structure = self._cell.output_size
        several = nest.is_nested(structure) and not isinstance(structure, TensorShape)
        number = len(nest.flatten(structure)) if several else 1
        arrays = [TensorArray(self._dtype, self._count) for _ in range(number)]
        start = (constant(0), arrays, state)
        _, arrays, last = while_loop(lambda t, *_: t < self._count, self._step, start)
        outputs = [self._laid_out(a.stack()) for a in arrays]
        return nest.pack_sequence_as(structure, outputs) if several else outputs[0], last

    def _step(self, t: Tensor, arrays: list[Any], state: Any) -> tuple[Any, Any, Any]:
        at = self._count - 1 - t if self._backward else t
        pieces = [p.gather(x, elementwise.cast(at, dtypes.int64), self._axis) for x in self._xs]
        output, after = self._cell(nest.pack_sequence_as(self._inputs, pieces), state)
        nest.assert_same_structure(state, after)
        outputs = [convert_to_tensor(y) for y in nest.flatten(output)]
        following = nest.flatten(after)
        for whole in self._live:
            alive = p.gather(whole, elementwise.cast(at, dtypes.int64), 0)
            outputs = [_chosen(alive, y, array.zeros_like(y)) for y in outputs]
            following = [
                _chosen(alive, new, old) if carrying.kind_of(old) is None else new
                for new, old in zip(following, nest.flatten(state), strict=True)
            ]
        arrays = [a.write(at, y) for a, y in zip(arrays, outputs, strict=True)]
        return t + 1, arrays, nest.pack_sequence_as(state, following)

    def _laid_out(self, y: Tensor) -> Tensor:
        rank = y.shape.ndims
        assert rank is not None
        return y if self._axis == 0 else p.transpose(y, [1, 0, *range(2, rank)])


def _batch_and_steps(xs: Sequence[Tensor], axis: int) -> tuple[int | None, int | None]:
    """The static sizes that all inputs share."""
    shared = TensorShape([None, None])
    for x in xs:
        if x.shape.ndims is None or x.shape.ndims < 2:
            raise ValueError(
                f"dynamic_rnn: inputs '{x.name}' have shape {x.shape}, expected (batch, time, ...) "
                "or, with time_major, (time, batch, ...)"
            )
        try:
            shared = shared.merge_with(x.shape.as_list()[:2])
        except ValueError:
            raise ValueError(
                f"dynamic_rnn: inputs '{x.name}' have shape {x.shape}, other inputs begin with "
                f"{shared}; batch and time must be the same for all"
            ) from None
    both = shared.as_list()
    return both[1 - axis], both[axis]


def _first_state(cell: Any, given: Any, dtype: Any, x: Tensor, axis: int, batch: int | None) -> Any:
    """The initial state as tensors."""
    if given is not None:
        return nest.map_structure(
            lambda v: convert_to_tensor(v) if carrying.kind_of(v) is None else v, given
        )
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    size = _size(x, axis) if batch is None else batch
    getter = getattr(cell, "get_initial_state", None)
    if getter is not None:
        return getter(inputs=None, batch_size=size, dtype=dtype)
    return cell.zero_state(size, dtype)


def _live(lengths: Any, x: Tensor, axis: int, batch: int | None) -> list[Tensor]:
    """Bools (time, batch): which steps are before the end of their sequence; none if all are."""
    if lengths is None:
        return []
    ends = _lengths(lengths, x, 1 - axis, batch)
    numbers = array.expand_dims(array.range(_size(x, axis)), 1)
    return [comparison.less(numbers, array.expand_dims(ends, 0))]


def _size(x: Tensor, axis: int) -> Tensor:
    """The size of an axis: int32 scalar."""
    return p.squeeze(p.slice_axes(array.shape(x), [axis], [axis + 1], [0]), [0])


def _lengths(lengths: Any, x: Tensor, axis: int, batch: int | None) -> Tensor:
    """The sequences' lengths, int32: as many as x has along the axis of the batch."""
    ends = elementwise.cast(convert_to_tensor(lengths, name="sequence_length"), dtypes.int32)
    if not ends.shape.is_compatible_with(TensorShape([batch])):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {ends.shape} "
            f"with a batch of {batch}"
        )
    if batch is not None and ends.shape.is_fully_defined():
        return ends
    made: Tensor = array.reshape(ends, array.expand_dims(_size(x, axis), 0))
    return made


def _chosen(condition: Tensor, yes: Any, no: Any) -> Tensor:
    """Rows (batch, ...) of yes where the condition (batch) holds, else of no; of scalars, which
    have no rows, yes."""
    new, old = convert_to_tensor(yes), convert_to_tensor(no)
    rank = new.shape.ndims
    if rank == 0:
        return new
    if rank is None:
        made: Tensor = array.where(condition, new, old)
        return made
    axes = list(range(1, rank))
    return p.select(p.unsqueeze(condition, axes) if axes else condition, new, old)


def _next_state(structure: Any, before: Sequence[Tensor], after: Any) -> list[Tensor]:
    """The cell's next state as tensors of the dtypes and shapes of the one before."""
    try:
        nest.assert_same_structure(structure, after)
    except ValueError as error:
        raise ValueError(f"the cell's next state has another structure: {error}") from None
    following = []
    for old, value in zip(before, nest.flatten(after), strict=True):
        new = convert_to_tensor(value)
        if new.dtype != old.dtype or not holds(old.shape, new.shape):
            raise ValueError(
                f"the cell's state is {old.dtype.name}{old.shape} and after a step "
                f"{new.dtype.name}{new.shape} ('{new.name}'); it must keep dtype and shape"
            )
        following.append(new)
    return following


def _lay_out(y: Tensor, axis: int, batch: int | None, steps: int | None) -> None:
    """Gives outputs the static sizes of batch and time."""
    if y.shape.ndims is not None:
        both = [steps, batch] if axis == 0 else [batch, steps]
        y.set_shape(TensorShape([*both, *[None] * (y.shape.ndims - 2)]))


# ---- as many steps as there are tensors ----


@api_guard.makes_variables
def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """A recurrent net over a list of inputs, one a step.

    Args:
        cell: an RNNCell.
        inputs: list of tensors (batch, size) or structures of such.
        initial_state: the cell's first state; None: zeros.
        dtype: of the first state; only where initial_state is None.
        sequence_length: ints (batch); outputs are zeros past them, and the state stays.
        scope: variable scope of the cell; None: "rnn".

    Returns:
        (list of outputs, last state).

    Raises:
        TypeError: cell is not a cell, or inputs not a list.
        ValueError: inputs is empty, or neither initial_state nor dtype is given.
    """
    _check_cell(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with restoring(), variable_scope(scope or "rnn") as opened:
        x = convert_to_tensor(nest.flatten(inputs[0])[0])
        batch = None if x.shape.ndims is None else x.shape.as_list()[0]
        state = _first_state(cell, initial_state, dtype, x, 0, batch)
        ends = None if sequence_length is None else _lengths(sequence_length, x, 0, batch)
        for t, piece in enumerate(inputs):
            if t > 0:
                opened.reuse_variables()
            output, after = cell(piece, state)
            if ends is not None:
                alive = comparison.greater(ends, t)
                zeros = nest.map_structure(array.zeros_like, output)
                output = _either(alive, output, zeros)
                after = _either(alive, after, state)
            outputs.append(output)
            state = after
    return outputs, state


def _either(condition: Tensor, yes: Any, no: Any) -> Any:
    return nest.map_structure(lambda a, b: _chosen(condition, a, b), yes, no)


@api_guard.makes_variables
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Two recurrent nets over a list of inputs, one of which starts at the end.

    Args:
        cell_fw, cell_bw: the cells of either direction.
        initial_state_fw, initial_state_bw: their first states; None: zeros.
        inputs, dtype, sequence_length: see static_rnn.
        scope: variable scope around "fw" and "bw"; None: "bidirectional_rnn".

    Returns:
        (list of outputs of both joined along axis 1, state_fw, state_bw).
    """
    with restoring(), variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            there, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, fw
            )
        with variable_scope("bw") as bw:
            backwards = _reversed(inputs, sequence_length)
            back, state_bw = static_rnn(
                cell_bw, backwards, initial_state_bw, dtype, sequence_length, bw
            )
        back = _reversed(back, sequence_length)
        joined = [
            nest.map_structure(lambda a, b: array.concat([a, b], 1), *pair)
            for pair in zip(there, back, strict=True)
        ]
    return joined, state_fw, state_bw


def _reversed(pieces: Sequence[Any], lengths: Any) -> list[Any]:
    """The pieces from the last to the first, of each sequence within its length."""
    if lengths is None:
        return list(pieces)[::-1]
    columns = []
    for column in zip(*(nest.flatten(piece) for piece in pieces), strict=True):
        backwards = reverse_sequence(array.stack(column), lengths, seq_axis=0, batch_axis=1)
        columns.append(array.unstack(backwards, num=len(pieces)))
    rows = zip(*columns, strict=True)
    return [nest.pack_sequence_as(pieces[0], list(row)) for row in rows]


# ---- a loop that the caller steers ----


@api_guard.makes_variables
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """A recurrent net whose inputs, ends and outputs a function decides.

    Args:
        cell: an RNNCell.
        loop_fn: from (time, cell output, cell state, loop state) to (finished (batch) bool, next
            input, next cell state, what to emit, next loop state). The first call gets None for
            all but the time, and gives the first state, and for what to emit an example without
            the batch (None: the cell's output).
        parallel_iterations, swap_memory: accepted.
        scope: variable scope of the cell; None: "rnn".

    Returns:
        (TensorArrays of what was emitted, zeros past a sequence's end; last cell state; last loop
        state).

    Raises:
        TypeError: cell is not a cell, or loop_fn not callable.
    """
    _check_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with restoring(), variable_scope(scope or "rnn"):
        time = constant(0)
        finished, x, state, emitted, extra = loop_fn(time, None, None, None)
        state = nest.map_structure(convert_to_tensor, state)
        kind = nest.flatten(state)[0].dtype
        example = cell.output_size if emitted is None else emitted
        flat = [_emission(one, kind, emitted is None) for one in nest.flatten(example)]
        arrays = [
            TensorArray(dtype, 0, dynamic_size=True, element_shape=[None, *shape])
            for dtype, shape in flat
        ]
        without = extra is None
        extra = constant(0) if without else extra

        def body(time: Any, done: Any, x: Any, arrays: Any, state: Any, extra: Any) -> Any:
            output, after = cell(x, state)
            done_next, x_next, chosen, emit, more = loop_fn(time + 1, output, after, extra)
            nest.assert_same_structure(example, emit)
            alive = comparison.logical_not(done)
            rows = [_chosen(alive, y, array.zeros_like(y)) for y in nest.flatten(emit)]
            arrays = [a.write(time, y) for a, y in zip(arrays, rows, strict=True)]
            chosen = nest.map_structure(lambda new, old: _chosen(alive, new, old), chosen, state)
            done = comparison.logical_or(done_next, done)
            return time + 1, done, x_next, arrays, chosen, extra if more is None else more

        start = (time, convert_to_tensor(finished), x, arrays, state, extra)
        unfinished = lambda _, done, *rest: comparison.logical_not(reduction.reduce_all(done))  # noqa: E731
        _, _, _, arrays, state, extra = while_loop(unfinished, body, start)
    return nest.pack_sequence_as(example, arrays), state, None if without else extra


def _emission(example: Any, kind: Any, is_size: bool) -> tuple[Any, list[int | None]]:
    """Dtype and shape, without the batch, of what is emitted."""
    if is_size:
        return kind, list(sizes(example))
    tensor = convert_to_tensor(example)
    if tensor.shape.ndims is None:
        raise ValueError(f"raw_rnn: what is emitted has no known rank: '{tensor.name}'")
    return tensor.dtype, list(tensor.shape.as_list())
