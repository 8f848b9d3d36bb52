"""Scenes of tf.contrib.cudnn_rnn.

TensorFlow runs its layers on GPUs alone; its documentation gives the cells that compute the same
elsewhere, with the variables of its checkpoints. These are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contrib_scenes.recording import numbers

B, T, D, H = 2, 3, 4, 3
#: layer -> its cell in TensorFlow, as a function of both packages
CELLS: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "CudnnLSTM": ("cudnn_lstm", lambda tf, rnn, cudnn: cudnn.CudnnCompatibleLSTMCell(H)),
    "CudnnGRU": ("cudnn_gru", lambda tf, rnn, cudnn: cudnn.CudnnCompatibleGRUCell(H)),
    "CudnnRNNTanh": ("cudnn_rnn_tanh", lambda tf, rnn, cudnn: rnn.BasicRNNCell(H)),
    "CudnnRNNRelu": ("cudnn_rnn_relu", lambda tf, rnn, cudnn: rnn.BasicRNNCell(H, tf.nn.relu)),
}


def net(kind: str, layers: int, both_ways: bool, **options: Any) -> Callable[[Any, Any], Any]:
    """A net over some steps.

    Args:
        kind: of CELLS.
        layers: how many.
        both_ways: whether it is bidirectional.
        options: lengths and states, whether they are given; time_major.
    """

    def build(tf: Any, contrib: Any) -> Any:
        rnn, cudnn = contrib("rnn"), contrib("cudnn_rnn")
        scope, cell = CELLS[kind]
        time_major = options.get("time_major", True)
        x = tf.constant(numbers("x", (T, B, D) if time_major else (B, T, D)))
        lengths = tf.constant([3, 2]) if options.get("lengths") else None
        cells, parts = layers * (2 if both_ways else 1), 2 if kind == "CudnnLSTM" else 1
        given = None
        if options.get("states"):
            shape = (cells, B, H) if time_major else (B, cells, H)
            given = tuple(tf.constant(numbers(f"s{k}", shape)) for k in range(parts))
        if hasattr(tf, "graphio_version"):
            direction = "bidirectional" if both_ways else "unidirectional"
            layer = getattr(cudnn, kind)(layers, H, direction=direction)
            return layer(x, given, lengths, time_major)
        firsts = None
        if given is not None:
            pieces = [tf.unstack(p, axis=0 if time_major else 1) for p in given]
            pairs = list(zip(*pieces, strict=True))
            firsts = [rnn.LSTMStateTuple(c, h) for h, c in pairs] if parts == 2 else pieces[0]
        with tf.variable_scope(scope):
            if both_ways:
                there, back = ([cell(tf, rnn, cudnn) for _ in range(layers)] for _ in range(2))
                states = (firsts[::2], firsts[1::2]) if firsts else (None, None)
                y, *ends = rnn.stack_bidirectional_dynamic_rnn(
                    there, back, x, *states, sequence_length=lengths, dtype=tf.float32,
                    time_major=time_major,
                )  # fmt: skip
                lasts = [state for pair in zip(*ends, strict=True) for state in pair]
            else:
                y, lasts = rnn.dynamic_rnn(
                    rnn.MultiRNNCell([cell(tf, rnn, cudnn) for _ in range(layers)]), x, lengths,
                    tuple(firsts) if firsts else None, tf.float32, time_major=time_major,
                )  # fmt: skip
        axis = 0 if time_major else 1
        if parts == 2:
            return y, (tf.stack([s.h for s in lasts], axis), tf.stack([s.c for s in lasts], axis))
        return y, (tf.stack(lasts, axis),)

    return build


def cell(kind: str) -> Callable[[Any, Any], Any]:
    """A cell in a net."""

    def build(tf: Any, contrib: Any) -> Any:
        pieces = [tf.constant(numbers(f"x{t}", (B, D))) for t in range(T)]
        return contrib("rnn").static_rnn(
            getattr(contrib("cudnn_rnn"), kind)(H), pieces, dtype=tf.float32
        )

    return build


SCENES: dict[str, Callable[[Any, Any], Any]] = {
    "lstm": net("CudnnLSTM", 2, False),
    "lstm_both_ways": net("CudnnLSTM", 2, True, states=True, lengths=True),
    "lstm_batch_major": net("CudnnLSTM", 1, False, states=True, time_major=False),
    "gru": net("CudnnGRU", 2, False, lengths=True),
    "gru_both_ways": net("CudnnGRU", 1, True, states=True, time_major=False),
    "tanh": net("CudnnRNNTanh", 1, False, states=True),
    "relu_both_ways": net("CudnnRNNRelu", 2, True),
    "lstm_cell": cell("CudnnCompatibleLSTMCell"),
    "gru_cell": cell("CudnnCompatibleGRUCell"),
}
