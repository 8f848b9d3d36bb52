"""Scenes of tf.contrib.rnn: cells, wrappers, nets over lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

B, T, D, H = 2, 3, 4, 3


def sequence(tf: Any, depth: int = D) -> list[Any]:
    """Inputs (batch, depth) of three steps."""
    return [tf.constant(numbers(f"x{t}", (B, depth))) for t in range(T)]


def over_time(make: Callable[[Any], Any], **options: Any) -> Callable[[Any, Any], Any]:
    """A cell over three steps of a static net, from zeros and with sequence lengths.

    Args:
        make: from contrib.rnn to the cell.
        options: depth of the inputs; lengths: False for none.
    """

    def scene(tf: Any, contrib: Any) -> Any:
        rnn = contrib("rnn")
        inputs = sequence(tf, options.get("depth", D))
        lengths = tf.constant([3, 2]) if options.get("lengths", True) else None
        return rnn.static_rnn(make(rnn), inputs, sequence_length=lengths, dtype=tf.float32)

    return scene


def as_loop(make: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A cell in tf.nn.dynamic_rnn."""

    def scene(tf: Any, contrib: Any) -> Any:
        inputs = tf.stack(sequence(tf), 1)
        net = tf.nn.dynamic_rnn if hasattr(tf.nn, "raw_rnn") else contrib("rnn").dynamic_rnn
        return net(make(contrib("rnn")), inputs, tf.constant([2, 3]), dtype=tf.float32)

    return scene


def one_step(make: Callable[[Any], Any], shape: Any, states: Any) -> Callable[[Any, Any], Any]:
    """A step of a cell from given states; states: their shapes."""

    def scene(tf: Any, contrib: Any) -> Any:
        cell = make(contrib("rnn"))
        given = [tf.constant(numbers(f"state{i}", s)) for i, s in enumerate(states)]
        size = cell.state_size
        state = type(size)(*given) if hasattr(size, "_fields") else given[0]
        output, after = cell(tf.constant(numbers("x", shape)), state)
        again, _ = cell(tf.constant(numbers("y", shape)), after)
        return output, after, again

    return scene


SCENES: dict[str, Callable[[Any, Any], Any]] = {
    "basic_rnn": over_time(lambda rnn: rnn.BasicRNNCell(H)),
    "basic_lstm": over_time(lambda rnn: rnn.BasicLSTMCell(H, forget_bias=0.5)),
    "gru": over_time(lambda rnn: rnn.GRUCell(H)),
    "lstm": over_time(lambda rnn: rnn.LSTMCell(H, use_peepholes=True, num_proj=2, proj_clip=0.3)),
    "stacked": over_time(
        lambda rnn: rnn.MultiRNNCell(
            [rnn.ResidualWrapper(rnn.GRUCell(D)), rnn.DropoutWrapper(rnn.LSTMCell(H))]
        )
    ),
    "lstm_block": over_time(lambda rnn: rnn.LSTMBlockCell(H, forget_bias=0.7)),
    "lstm_block_peepholes": as_loop(
        lambda rnn: rnn.LSTMBlockCell(H, cell_clip=0.2, use_peephole=True)
    ),
    "gru_block": over_time(lambda rnn: rnn.GRUBlockCell(H)),
    "gru_block_v2": as_loop(lambda rnn: rnn.GRUBlockCellV2(cell_size=H)),
    "coupled": over_time(lambda rnn: rnn.CoupledInputForgetGateLSTMCell(H)),
    "coupled_peepholes": over_time(
        lambda rnn: rnn.CoupledInputForgetGateLSTMCell(
            H, use_peepholes=True, num_proj=2, proj_clip=0.1, num_unit_shards=4,
            num_proj_shards=2, state_is_tuple=False,
        )
    ),
    "coupled_normalized": as_loop(
        lambda rnn: rnn.CoupledInputForgetGateLSTMCell(H, layer_norm=True, forget_bias=0.5)
    ),
    "layer_norm": over_time(lambda rnn: rnn.LayerNormBasicLSTMCell(H)),
    "layer_norm_loop": as_loop(lambda rnn: rnn.LayerNormBasicLSTMCell(H, forget_bias=0.3)),
    "layer_norm_off": over_time(lambda rnn: rnn.LayerNormBasicLSTMCell(H, layer_norm=False)),
    "nas": over_time(lambda rnn: rnn.NASCell(H)),
    "nas_projected": as_loop(lambda rnn: rnn.NASCell(H, num_proj=2, use_bias=True)),
    "ugrnn": over_time(lambda rnn: rnn.UGRNNCell(H, forget_bias=0.4)),
    "intersection": over_time(lambda rnn: rnn.IntersectionRNNCell(D)),
    "intersection_projected": over_time(lambda rnn: rnn.IntersectionRNNCell(H, num_in_proj=H)),
    "glstm": over_time(lambda rnn: rnn.GLSTMCell(4, number_of_groups=2)),
    "glstm_projected": as_loop(lambda rnn: rnn.GLSTMCell(4, num_proj=2, number_of_groups=2)),
    "sru": over_time(lambda rnn: rnn.SRUCell(H)),
    "ind_rnn": over_time(lambda rnn: rnn.IndRNNCell(H)),
    "indy_gru": over_time(lambda rnn: rnn.IndyGRUCell(H)),
    "indy_lstm": as_loop(lambda rnn: rnn.IndyLSTMCell(H, forget_bias=0.6)),
    "time_freq": one_step(
        lambda rnn: rnn.TimeFreqLSTMCell(
            H, use_peepholes=True, cell_clip=0.3, feature_size=2, frequency_skip=1,
            num_unit_shards=2,
        ),
        (B, D), [(B, 2 * H * 3)],
    ),
    "time_freq_plain": one_step(
        lambda rnn: rnn.TimeFreqLSTMCell(H, feature_size=2, frequency_skip=2),
        (B, D), [(B, 2 * H * 2)],
    ),
    "conv_1d": one_step(
        lambda rnn: rnn.Conv1DLSTMCell(
            input_shape=[4, 2], output_channels=2, kernel_shape=[3], forget_bias=0.5
        ),
        (B, 4, 2), [(B, 4, 2)] * 2,
    ),
    "conv_2d": over_time(lambda rnn: None, lengths=False),
    "conv_3d": one_step(
        lambda rnn: rnn.Conv3DLSTMCell(
            input_shape=[2, 2, 2, 1], output_channels=2, kernel_shape=[1, 2, 2], use_bias=False
        ),
        (B, 2, 2, 2, 1), [(B, 2, 2, 2, 2)] * 2,
    ),
    "device": over_time(lambda rnn: rnn.DeviceWrapper(rnn.GRUCell(H), "/cpu:0")),
    "input_projection": over_time(
        lambda rnn: rnn.InputProjectionWrapper(rnn.GRUCell(H), 5, activation=abs)
    ),
    "output_projection": over_time(
        lambda rnn: rnn.OutputProjectionWrapper(rnn.BasicLSTMCell(H), 2)
    ),
    "output_projection_loop": as_loop(
        lambda rnn: rnn.OutputProjectionWrapper(rnn.BasicLSTMCell(H), 2, activation=abs)
    ),
    "attention": over_time(
        lambda rnn: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(H), 2, attn_size=5)
    ),
    "attention_joined": as_loop(
        lambda rnn: rnn.AttentionCellWrapper(
            rnn.GRUCell(H), 3, attn_vec_size=2, input_size=2, state_is_tuple=False
        )
    ),
    "highway": over_time(lambda rnn: rnn.HighwayWrapper(rnn.GRUCell(D), carry_bias_init=0.5)),
    "highway_uncoupled": over_time(
        lambda rnn: rnn.HighwayWrapper(rnn.BasicRNNCell(D), couple_carry_transform_gates=False)
    ),
}  # fmt: skip


def scene(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Adds a function to the scenes by its name."""
    SCENES[function.__name__] = function
    return function


@scene
def conv_2d(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    cell = rnn.Conv2DLSTMCell(
        input_shape=[3, 2, 1], output_channels=2, kernel_shape=[2, 2], skip_connection=True
    )
    state = cell.zero_state(B, tf.float32)
    return cell(tf.constant(numbers("x", (B, 3, 2, 1))), state)


@scene
def conv_joined(tf: Any, contrib: Any) -> Any:
    """The inputs are joined to the outputs."""
    cell = contrib("rnn").ConvLSTMCell(
        conv_ndims=1, input_shape=[4, 2], output_channels=2, kernel_shape=[3], skip_connection=True
    )
    state = tuple(tf.constant(numbers(f"s{i}", (B, 4, 2))) for i in range(2))
    return cell(tf.constant(numbers("x", (B, 4, 2))), state)


def grid(kind: str, **options: Any) -> Callable[[Any, Any], Any]:
    """A grid LSTM for two steps."""

    def build(tf: Any, contrib: Any) -> Any:
        cell = getattr(contrib("rnn"), kind)(2, feature_size=2, **options)
        size = cell.state_size
        parts = size if isinstance(size, tuple) else [size]
        start = [tf.constant(numbers(f"s{i}", (B, n))) for i, n in enumerate(parts)]
        state = cell.state_tuple_type(*start) if isinstance(size, tuple) else start[0]
        output, after = cell(tf.constant(numbers("x", (B, 6))), state)
        return output, after, cell(tf.constant(numbers("y", (B, 6))), after)

    return build


_blocks = {
    "num_frequency_blocks": [2, 1], "start_freqindex_list": [0, 4], "end_freqindex_list": [4, 6],
    "frequency_skip": 2,
}  # fmt: skip
_block = {"num_frequency_blocks": [3], "frequency_skip": 2}
SCENES |= {
    "grid": grid("GridLSTMCell", **_block),
    "grid_peepholes": grid("GridLSTMCell", use_peepholes=True, cell_clip=0.3, **_blocks),
    "grid_coupled": grid(
        "GridLSTMCell", use_peepholes=True, couple_input_forget_gates=True, num_unit_shards=2,
        **_block,
    ),
    "grid_shared": grid(
        "GridLSTMCell", use_peepholes=True, share_time_frequency_weights=True,
        state_is_tuple=False, **_block
    ),
    "grid_both_ways": grid("BidirectionalGridLSTMCell", use_peepholes=True, **_blocks),
    "grid_both_ways_later": grid(
        "BidirectionalGridLSTMCell", backward_slice_offset=1, **_block
    ),
    "grid_both_ways_earlier": grid(
        "BidirectionalGridLSTMCell", backward_slice_offset=-1,
        share_time_frequency_weights=True, **_block,
    ),
}  # fmt: skip


@scene
def phased(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    cell = rnn.PhasedLSTMCell(H, use_peepholes=True, leak=0.1, ratio_on=0.4)
    state = rnn.LSTMStateTuple(*(tf.constant(numbers(f"s{i}", (B, H))) for i in range(2)))
    time = tf.constant([[0.3], [1.7]], tf.float64)
    return cell((time, tf.constant(numbers("x", (B, D)))), state)


@scene
def phased_untrained(tf: Any, contrib: Any) -> Any:
    cell = contrib("rnn").PhasedLSTMCell(H, trainable_ratio_on=False)
    time = tf.constant([[0.1], [5.0]])
    return cell((time, tf.constant(numbers("x", (B, D)))), cell.zero_state(B, tf.float32))


@scene
def embedding(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    cell = rnn.EmbeddingWrapper(rnn.GRUCell(H), 5, 2)
    inputs = [tf.constant(ids) for ids in ([1, 4], [0, 2], [1, 1])]
    return rnn.static_rnn(cell, inputs, dtype=tf.float32)


@scene
def compiled(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    cell = rnn.GRUCell(H)  # the wrapper needs XLA in TensorFlow, whose scope 2.21 lacks
    wrapped = rnn.CompiledWrapper(cell) if hasattr(tf, "graphio_version") else cell
    return rnn.static_rnn(wrapped, sequence(tf), dtype=tf.float32)


@scene
def static_bidirectional(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    return rnn.static_bidirectional_rnn(
        rnn.GRUCell(H), rnn.BasicLSTMCell(2), sequence(tf), dtype=tf.float32, sequence_length=[3, 1]
    )


@scene
def stacked_bidirectional(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    there, back = ([rnn.GRUCell(n) for n in (3, 2)] for _ in range(2))
    return rnn.stack_bidirectional_rnn(
        there, back, sequence(tf), dtype=tf.float32, sequence_length=[2, 3]
    )


@scene
def stacked_bidirectional_loop(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    there, back = ([rnn.BasicLSTMCell(n) for n in (3, 2)] for _ in range(2))
    inputs = tf.stack(sequence(tf), 1)
    return rnn.stack_bidirectional_dynamic_rnn(
        there, back, inputs, dtype=tf.float32, sequence_length=[2, 3]
    )


@scene
def stacked_bidirectional_from_states(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    states = [[tf.constant(numbers(f"{way}{n}", (B, n))) for n in (3, 2)] for way in "fb"]
    there, back = ([rnn.GRUCell(n) for n in (3, 2)] for _ in range(2))
    return rnn.stack_bidirectional_dynamic_rnn(
        there, back, tf.stack(sequence(tf), 0), *states, time_major=True, scope="both"
    )


class Keeper:
    """Keeps states as variables."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._known: dict[str, Any] = {}

    def state(self, name: str) -> Any:
        kept = self._tf.get_variable(name, (B, H), trainable=False)
        self._known[name] = kept
        return kept * 1.0  # TensorFlow's variables share memory with what reads them

    def save_state(self, name: str, value: Any) -> Any:
        return self._tf.assign(self._known[name], value)


@scene
def state_saving(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    return rnn.static_state_saving_rnn(
        rnn.BasicLSTMCell(H), sequence(tf), Keeper(tf), ("c", "h"), sequence_length=[2, 3]
    )


def fused(dynamic: bool, reverse: bool) -> Callable[[Any, Any], Any]:
    """A cell over all steps at once."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn = contrib("rnn")
        net = rnn.FusedRNNCellAdaptor(rnn.BasicLSTMCell(H), use_dynamic_rnn=dynamic)
        net = rnn.TimeReversedFusedRNN(net) if reverse else net
        inputs = tf.stack(sequence(tf), 0)
        return net(inputs, dtype=tf.float32, sequence_length=tf.constant([2, 3]))

    return build


SCENES |= {
    f"fused_{'loop' if dynamic else 'list'}{'_reversed' if reverse else ''}": fused(
        dynamic, reverse
    )
    for dynamic in (False, True)
    for reverse in (False, True)
}


@scene
def fused_reversed_without_lengths(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    net = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(rnn.GRUCell(H)))
    listed, state = net(sequence(tf), dtype=tf.float32)
    with tf.variable_scope("other"):
        other = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(rnn.GRUCell(H)))
        return listed, state, other(tf.stack(sequence(tf), 0), dtype=tf.float32)


@scene
def lstm_fused(tf: Any, contrib: Any) -> Any:
    net = contrib("rnn").LSTMBlockFusedCell(H, forget_bias=0.5, use_peephole=True, cell_clip=0.4)
    inputs = tf.stack(sequence(tf), 0)
    first = net(inputs, dtype=tf.float32, sequence_length=tf.constant([2, 3]))
    state = tuple(tf.constant(numbers(f"s{i}", (B, H))) for i in range(2))
    return first, net(inputs, initial_state=state)


@scene
def lstm_wrapped(tf: Any, contrib: Any) -> Any:
    """A net of a program, which gives the states of all steps."""

    class Sums(contrib("rnn").LSTMBlockWrapper):  # type: ignore[misc]
        num_units = D

        def _call_cell(self, inputs: Any, c: Any, h: Any, dtype: Any, lengths: Any) -> Any:
            assert dtype == tf.float32
            return tf.cumsum(inputs) + c, tf.tanh(inputs) + h

    net, inputs = Sums(), tf.stack(sequence(tf), 0)
    state = tuple(tf.constant(numbers(f"s{i}", (B, D))) for i in range(2))
    listed, _ = net(sequence(tf), dtype=tf.float32)
    assert isinstance(listed, list)
    return [
        net(inputs, dtype=tf.float32, sequence_length=tf.constant([0, 2])),
        net(inputs, initial_state=state, sequence_length=tf.constant([2, 1])),
        net(inputs, initial_state=state), listed,
    ]  # fmt: skip


@scene
def layout(tf: Any, contrib: Any) -> Any:
    rnn = contrib("rnn")
    x = tf.constant(numbers("x", (2, 3, 4)))
    return (
        rnn.transpose_batch_time(x),
        rnn.transpose_batch_time(tf.constant(numbers("v", (2,)))),
        tf.constant(np.int32(rnn.best_effort_input_batch_size([x]))),
        functools.reduce(tf.add, [tf.reduce_sum(rnn.transpose_batch_time(x))]),
    )
