"""Normalisation, attention, recurrence, quantisation, trees."""

from __future__ import annotations

import numpy as np

from graphio.support.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError
from refusals import DOUBLE, FLOAT, f, i, of, refused, texts

U8, I32 = np.uint8, np.int32
refused("LayerNormalization", [of(I32, 2, 2), of(I32, 2)], "has no kernel", UnimplementedError)
refused("LayerNormalization", [f(2, 2), of(DOUBLE, 2)], "input 1")
refused("LayerNormalization", [f(2, 2), f(3)], "scale is")
refused("LayerNormalization", [f(2, 2), f(2), f(3)], "bias is")
refused("LayerNormalization", [f(2, 2), f(2)], "stash_type", UnimplementedError, stash_type=7)
refused(
    "LayerNormalization",
    [f(2, 2), f(2), None],
    "stash_type",
    UnimplementedError,
    stash_type=10,
    outputs=[FLOAT, FLOAT],
)
refused(
    "InstanceNormalization", [f(1, 2, 2), f(1, 2), f(2)], "one number for each of the 2 channels"
)
refused("GroupNormalization", [f(1, 2, 2), f(2), f(2)], "group", num_groups=0)
refused("BatchNormalization", [f(1, 2)] + [of(I32, 2)] * 4, "has no kernel", UnimplementedError)
refused("BatchNormalization", [f(1, 2)] + [f(3)] * 4, "input 1")
q, k, v = f(1, 1, 2, 4), f(1, 1, 2, 4), f(1, 1, 2, 4)
refused("Attention", [q, k, v], "qk_matmul_output_mode", qk_matmul_output_mode=-1)
refused("Attention", [q, k, v], "softmax_precision", softmax_precision=7)
refused("Attention", [f(1, 2, 4)] * 3, "heads", q_num_heads=1)
refused("Attention", [f(1, 2, 4)] * 3, "heads", kv_num_heads=1)
refused("Attention", [q, k, v], "heads", kv_num_heads=1, q_num_heads=1)
refused("Attention", [q, k, v], "heads", kv_num_heads=1)
refused("Attention", [f(2, 1, 2, 4), k, v], "Attention")
refused("Attention", [q, k, f(2, 1, 2, 4)], "Attention")
refused("Attention", [q, k, f(1, 2, 2, 4)], "Attention")
refused("Attention", [q, np.zeros((1, 0, 2, 4), FLOAT), np.zeros((1, 0, 2, 4), FLOAT)], "Attention")
past = f(1, 1, 3, 4)
for wrong in (f(1, 3, 4), f(2, 1, 3, 4), f(1, 2, 3, 4)):
    refused("Attention", [q, k, v, None, wrong, past], "past_key", outputs=[FLOAT] * 3)
refused("Attention", [q, k, v, None, past, f(1, 1, 2, 4)], "past_value", outputs=[FLOAT] * 3)
refused(
    "Attention",
    [q, k, v, None, None, None, of(I32, 1)],
    "has no kernel; it takes",
    UnimplementedError,
)
for wrong in (i(1, 1), i(2)):
    refused("Attention", [q, k, v, None, None, None, wrong], "nonpad_kv_seqlen")
refused("Attention", [q, k, v, f()], "attn_mask")
x, w, r = f(2, 1, 3), f(1, 4, 3), f(1, 4, 4)
refused(
    "RNN",
    [of(I32, 2, 1, 3), of(I32, 1, 4, 3), of(I32, 1, 4, 4)],
    "has no kernel; it takes",
    UnimplementedError,
)
refused("RNN", [x, w, f(4, 4)], "R")
refused("RNN", [x, f(1, 4), r], "W")
refused("RNN", [x, of(DOUBLE, 1, 4, 3), r], "they must be equal: cast one")
refused("RNN", [x, w, r], "direction", direction="a" * 60)
refused("RNN", [x, w, r], "direction", direction="")
refused("RNN", [x, w, r], "activation", activations=["a" * 60])
refused("RNN", [x, w, r], "activation", activations=[""])
refused("RNN", [x, w, r], "hidden_size", hidden_size=3)
rope = f(1, 2, 3, 4)
refused("RotaryEmbedding", [rope, f(5, 1), f(5, 1), i(1, 3)], "cache")
refused("RotaryEmbedding", [rope, f(5, 2), f(4, 2), i(1, 3)], "cache")
refused("RotaryEmbedding", [rope, f(5, 2), f(5, 2)], "cache")
refused("RotaryEmbedding", [rope, f(2, 3, 2), f(2, 3, 2)], "cache")
refused(
    "RotaryEmbedding",
    [rope, f(5, 2), f(5, 2), of(I32, 1, 3)],
    "has no kernel; it takes",
    UnimplementedError,
)
for wrong in (i(3), i(1, 2)):
    refused("RotaryEmbedding", [rope, f(5, 2), f(5, 2), wrong], "position_ids")
refused(
    "QuantizeLinear",
    [f(2), f()],
    "output_dtype",
    output_dtype=-1,
    outputs=[U8],
    runtime=UnimplementedError,
)
refused(
    "QuantizeLinear",
    [f(2), f()],
    "precision",
    precision=99,
    outputs=[U8],
    runtime=UnimplementedError,
)
refused("QuantizeLinear", [f(2), i()], "the scale", outputs=[U8])
refused("QuantizeLinear", [texts(2), f()], "x is", outputs=[U8])
refused("QuantizeLinear", [f(2), f()], "the output", output_dtype=8, outputs=[object])
refused("QuantizeLinear", [f(2, 4), f(2)], "scale", block_size=2, outputs=[U8])
refused("QuantizeLinear", [f(2, 4), f(3, 2)], "scale", block_size=2, outputs=[U8])
refused("QuantizeLinear", [f(2, 4), f(), of(U8, 2)], "zero", outputs=[U8])
refused("QuantizeLinear", [f(2, 4), f(4), of(U8)], "zero", outputs=[U8])
refused("QuantizeLinear", [f(2, 4), f(1, 1), of(U8, 1)], "zero", outputs=[U8], runtime=None)
refused("DequantizeLinear", [of(U8, 2), i()], "the scale", outputs=[FLOAT])
refused("DequantizeLinear", [texts(2), f()], "x is", outputs=[FLOAT])
refused(
    "DynamicQuantizeLinear",
    [of(DOUBLE, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[U8, FLOAT, U8],
)
a, b = of(U8, 2, 3), of(U8, 3, 2)
refused("MatMulInteger", [a, f(3, 2)], "b", UnimplementedError, outputs=[I32])
refused("MatMulInteger", [a, b, None, of(np.int8)], "the zero point of b", outputs=[I32])
refused(
    "MatMulInteger",
    [a, of(U8, 5, 2)],
    "b has 5 rows, they must be equal (a uint8[2,3], b uint8[5,2])",
    outputs=[I32],
)
refused("MatMulInteger", [of(U8), b], "rank", outputs=[I32])
refused("MatMulInteger", [a, of(U8)], "rank", outputs=[I32])
refused("MatMulInteger", [of(U8, 3), of(U8, 3), of(U8, 2)], "zero point", outputs=[I32])
refused("MatMulInteger", [a, b, of(U8, 1, 1, 2)], "zero point", outputs=[I32])
refused("MatMulInteger", [a, b, of(U8, 3)], "zero point", outputs=[I32])
one, zero = f(), of(U8)
refused(
    "QLinearMatMul", [a, one, zero, b, one, zero, of(DOUBLE), zero], "the scales are", outputs=[U8]
)
refused(
    "QLinearMatMul",
    [a, of(I32), zero, b, of(I32), zero, of(I32), zero],
    "the scales are",
    outputs=[U8],
)
refused("QLinearMatMul", [a, one, zero, b, one, zero, one, of(U8, 2)], "y", outputs=[U8])
refused("QLinearMatMul", [a, one, zero, b, one, zero, f(2), zero], "y", outputs=[U8])
refused("Attention", [q, k, v], "window", left_window_size=-2)
refused("Attention", [q, k, v], "window", right_window_size=-2)
refused("RNN", [x, w, r], "activation", activations=["tanh1"])
refused("RNN", [x, f(1, 4, 3), f(1, 4)], "rank 3", hidden_size=4)
SPLITS, FEATURES, MODES = f(2), np.array([0, 1], I32), np.zeros(2, U8)
BRANCHES, ROOTS = np.array([[-1, 1], [-2, -3]], I32), np.array([0], I32)
STARTS, TARGETS = np.array([0, 1, 2, 3], I32), np.zeros(3, I32)
trees = [f(3, 2), SPLITS, FEATURES, MODES, BRANCHES, ROOTS, STARTS, TARGETS, f(3)]
for at, wrong, words in (
    (0, of(I32, 3, 2), "has no kernel"), (2, FEATURES[:1], "features"), (3, MODES[:1], "modes"),
    (4, BRANCHES[:1], "branches"), (4, np.zeros((2, 3), I32), "branches"), (8, f(2), "weights"),
    (6, STARTS[:0], "leaf_starts"), (2, FEATURES - 2, "compares column"),
    (2, FEATURES + 1, "compares column"), (6, STARTS + 1, "leaf_starts"),
    (6, np.array([0, 9, 2, 3], I32), "leaf"), (6, np.array([0, 2, 1, 3], I32), "leaf"),
    (5, ROOTS + 2, "starts at 2"), (7, TARGETS - 1, "target"), (3, MODES + 9, "mode"),
):  # fmt: skip
    error = UnimplementedError if words == "has no kernel" else InvalidArgumentError
    refused(
        "graphio.TreeEnsemble",
        [*trees[:at], wrong, *trees[at + 1 :]],
        words,
        error,
        n_targets=1,
        aggregate="SUM",
    )
refused("graphio.TreeEnsemble", trees, "aggregate", n_targets=1, aggregate="A" * 60)
refused("graphio.TreeEnsemble", trees, "n_targets", n_targets=0, aggregate="SUM")
wide = np.zeros((0, 2**30), FLOAT)
refused(
    "graphio.TreeEnsemble",
    [wide, *trees[1:]],
    "more than this operator counts",
    ResourceExhaustedError,
    n_targets=1,
    aggregate="SUM",
    runtime=None,
)
