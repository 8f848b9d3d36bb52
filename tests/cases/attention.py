"""Attention and RotaryEmbedding against plain loops over rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray
NEVER = -np.inf


def admitted(i: int, j: int, offset: int, a: dict[str, Any]) -> bool:
    at = offset + i
    left, right = a.get("left_window_size", -1), a.get("right_window_size", -1)
    return (
        (not a.get("is_causal") or j <= at)
        and (left < 0 or j >= at - left)
        and (right < 0 or j <= at + right)
    )


def weights(scores: Array) -> Array:
    if not len(scores) or scores.max() == NEVER:
        return np.zeros_like(scores)
    e = np.exp(scores - scores.max())
    return e / e.sum()


def attention(a: dict[str, Any], *inputs: Array | None) -> tuple[Array, ...]:
    """y, present key, present value, scores by the mode; one row at a time."""
    q, k, v, mask, past_key, past_value, lengths = (*inputs, *[None] * (7 - len(inputs)))
    flat = q.ndim == 3
    if flat:
        q, k, v = (
            x.reshape(*x.shape[:2], h, -1).transpose(0, 2, 1, 3)
            for x, h in zip((q, k, v), (a["q_num_heads"], *[a["kv_num_heads"]] * 2), strict=True)
        )
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
    (n, heads, rows, size), keys = q.shape, k.shape[2]
    scale = a.get("scale", 1 / math.sqrt(max(size, 1)))
    bias = np.zeros((n, heads, rows, keys))
    if mask is not None:
        added = np.where(mask, 0.0, NEVER) if mask.dtype == bool else mask
        bias = np.full(bias.shape, NEVER)
        bias[..., : added.shape[-1]] = added
    y, seen = np.zeros((n, heads, rows, v.shape[3])), np.zeros((n, heads, rows, keys))
    for b, h, i in np.ndindex(n, heads, rows):
        kept = keys if lengths is None else int(lengths[b])
        offset = past if lengths is None else kept - rows
        other = h * k.shape[1] // heads
        stages = [k[b, other] @ q[b, h, i] * scale]
        cap = a.get("softcap", 0.0)
        stages.append(np.tanh(stages[0] / cap) * cap if cap else stages[0])
        line = bias[b, h, i].copy()
        for j in range(keys):
            if j >= kept or not admitted(i, j, offset, a):
                line[j] = NEVER
        stages.append(stages[1] + line)
        stages.append(weights(stages[2]))
        y[b, h, i] = stages[3] @ v[b, other]
        seen[b, h, i] = stages[a.get("qk_matmul_output_mode", 0)]
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(n, rows, -1)
    return y, k, v, seen


def row(label: str, a: dict[str, Any], *inputs: Any, outputs: int = 4) -> None:
    def expect(*xs: Array | None) -> Any:
        return attention(a, *xs)[:outputs]

    case("Attention", inputs, a, expect=expect, types=FLOATS, rtol=2e-5, atol=5e-6, label=label)


Q, K, V = floats(2, 4, 9, 6), floats(2, 2, 11, 6, seed=1), floats(2, 2, 11, 5, seed=2)
FEW = Q[:, :, :3]
MASK, HOLDS = floats(9, 11, seed=3), integers(2, 1, 9, 11, low=0, high=3, seed=4) > 0
HOLDS[1, 0, 2] = False
PAST = floats(2, 2, 4, 6, seed=5), floats(2, 2, 4, 5, seed=6)
LENGTHS = np.array([11, 4])

row("plain", {}, Q, K, V)
row("few rows", {"scale": 0.5}, FEW, K, V)
row("one output", {}, Q, K, V, outputs=1)
for mode in range(4):
    row(f"mode {mode}", {"qk_matmul_output_mode": mode, "softcap": 1.5}, Q, K, V, MASK)
row("causal", {"is_causal": 1}, Q, K, V)
row("bool mask", {"qk_matmul_output_mode": 3}, Q, K, V, HOLDS)
for label, shape in (("of rank 1", (11,)), ("short", (9, 7)), ("by head", (4, 1, 11))):
    row(f"mask {label}", {}, Q, K, V, floats(*shape, seed=7))
INFINITE = np.where(np.arange(99).reshape(9, 11) % 4 == 1, NEVER, MASK)
INFINITE[3] = NEVER
row("mask of infinities", {"qk_matmul_output_mode": 2}, Q, K, V, INFINITE)
row("past", {"is_causal": 1}, Q, K, V, None, *PAST)
row("past, one output", {}, Q, K, V, None, *PAST, outputs=1)
row("lengths", {"is_causal": 1}, Q, K, V, None, None, None, LENGTHS, outputs=1)
row("lengths, few rows", {}, FEW, K, V, None, None, None, LENGTHS, outputs=1)
for left, right in ((2, -1), (-1, 1), (0, 0), (3, 2), (2**63 - 1, 2**63 - 1)):
    sizes = {"left_window_size": left, "right_window_size": right}
    row(f"window {left} {right}", sizes, Q, K, V)
    row(f"window {left} {right} past", sizes, Q, K, V, HOLDS[..., :4], *PAST)
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}
FLAT = floats(2, 9, 24), floats(2, 11, 12, seed=1), floats(2, 11, 10, seed=2)
row("rank 3", HEADS, *FLAT)
row("rank 3, past", {**HEADS, "is_causal": 1}, *FLAT, None, *PAST)
for precision in (1, 11, 10):
    row(f"precision {precision}", {"softmax_precision": precision}, Q, K, V)
row(
    "long",
    {"is_causal": 1},
    floats(1, 2, 150, 64),
    *[floats(1, 1, 150, 64, seed=s) for s in (1, 2)],
)
row("wide", {}, floats(1, 2, 3, 300), floats(1, 2, 40, 300, seed=1), floats(1, 2, 40, 1, seed=2))
for label, shapes in {
    "no batch": ((0, 4, 3, 6), (0, 2, 5, 6), (0, 2, 5, 5)),
    "no rows": ((2, 4, 0, 6), (2, 2, 5, 6), (2, 2, 5, 5)),
    "no keys": ((2, 4, 3, 6), (2, 2, 0, 6), (2, 2, 0, 5)),
    "no size": ((2, 4, 3, 0), (2, 2, 5, 0), (2, 2, 5, 5)),
    "no values": ((2, 4, 3, 6), (2, 2, 5, 6), (2, 2, 5, 0)),
}.items():
    row(label, {}, *[floats(*s, seed=i) for i, s in enumerate(shapes)])

for label, inputs, attrs, words in (
    ("ranks", (Q, K, V[0]), {}, ["Attention 'node'", "expected"]),
    ("sizes", (floats(2, 4, 9, 5), K, V), {}, ["2,4,9,5"]),
    ("keys and values", (Q, floats(2, 2, 10, 6), V), {}, ["2,2,10,6"]),
    ("heads", (floats(2, 3, 9, 6), K, V), {}, ["2,3,9,6"]),
    ("heads of rank 4", (Q, K, V), HEADS, ["q_num_heads"]),
    ("no heads of rank 3", FLAT, {}, ["q_num_heads"]),
    ("heads that do not divide", FLAT, {"q_num_heads": 5, "kv_num_heads": 2}, ["2,9,24"]),
    ("negative heads", FLAT, {"q_num_heads": -4, "kv_num_heads": 2}, ["2,9,24"]),
    ("mode", (Q, K, V), {"qk_matmul_output_mode": 4}, ["qk_matmul_output_mode is 4"]),
    ("precision", (Q, K, V), {"softmax_precision": 7}, ["softmax_precision is 7"]),
    ("window", (Q, K, V), {"left_window_size": -2}, ["-2"]),
    ("mask", (Q, K, V, floats(8, 11)), {}, ["attn_mask", "8,11"]),
    ("wide mask", (Q, K, V, floats(9, 12)), {}, ["attn_mask", "9,12"]),
    ("deep mask", (Q, K, V, floats(1, 1, 1, 9, 11)), {}, ["attn_mask"]),
    ("type of mask", (Q, K, V, MASK.astype("float32")), {}, ["attn_mask", "float32"]),
    ("half a past", (Q, K, V, None, PAST[0]), {}, ["past_key and past_value"]),
    ("past", (Q, K, V, None, PAST[0], PAST[0]), {}, ["past_value", "2,2,4,6"]),
    ("lengths", (Q, K, V, None, None, None, LENGTHS[:1]), {}, ["nonpad_kv_seqlen", "2"]),
    ("long", (Q, K, V, None, None, None, LENGTHS + 1), {}, ["nonpad_kv_seqlen 12", "[0, 11]"]),
    ("negative", (Q, K, V, None, None, None, -LENGTHS), {}, ["nonpad_kv_seqlen -11"]),
    ("lengths and past", (Q, K, V, None, *PAST, LENGTHS), {}, ["nonpad_kv_seqlen", "past_key"]),
):
    bad("Attention", inputs, attrs, error=INVALID, words=words, label=label)

# ---- RotaryEmbedding ----


def rotary(a: dict[str, Any], x: Array, cos: Array, sin: Array, positions: Any = None) -> Array:
    heads = x
    if x.ndim == 3:
        heads = x.reshape(*x.shape[:2], a["num_heads"], -1).transpose(0, 2, 1, 3)
    y, width = heads.copy(), a.get("rotary_embedding_dim", 0) or heads.shape[3]
    for n, h, t in np.ndindex(*heads.shape[:3]):
        for i in range(width // 2):
            one, two = (2 * i, 2 * i + 1) if a.get("interleaved") else (i, i + width // 2)
            at = (n, t, i) if positions is None else (positions[n, t], i)
            z = complex(heads[n, h, t, one], heads[n, h, t, two]) * complex(cos[at], sin[at])
            y[n, h, t, one], y[n, h, t, two] = z.real, z.imag
    return y.transpose(0, 2, 1, 3).reshape(x.shape) if x.ndim == 3 else y


X4, X3 = floats(2, 3, 5, 8), floats(2, 5, 24)
POSITIONS = integers(2, 5, low=0, high=7)
for attrs in ({}, {"interleaved": 1}, {"rotary_embedding_dim": 4}):
    half = attrs.get("rotary_embedding_dim", 8) // 2
    for x, more in ((X4, attrs), (X3, {**attrs, "num_heads": 3})):
        for inputs in (
            [x, floats(2, 5, half, seed=1), floats(2, 5, half, seed=2)],
            [x, floats(7, half, seed=1), floats(7, half, seed=2), POSITIONS],
        ):
            case(
                "RotaryEmbedding",
                inputs,
                more,
                expect=lambda *xs, a=more: rotary(a, *xs),
                types=FLOATS,
                atol=1e-6,
                label=f"{more}, rank {x.ndim}, {len(inputs)} inputs",
            )
EMPTY = [floats(2, 0, 5, 8), *[floats(2, 5, 4)] * 2]
case("RotaryEmbedding", EMPTY, expect=lambda x, c, s: x, types=FLOATS, label="empty")
ANGLES = [floats(2, 5, 4), floats(2, 5, 4)]
CACHES = [floats(7, 4), floats(7, 4)]
for label, inputs, attrs, words in (
    ("rank", [X3[0], *ANGLES], {}, ["rank 3"]),
    ("heads", [X3, *ANGLES], {"num_heads": 5}, ["2,5,24"]),
    ("no heads", [X3, *ANGLES], {}, ["2,5,24"]),
    ("odd", [X4, *ANGLES], {"rotary_embedding_dim": 3}, ["3 numbers", "8"]),
    ("much", [X4, *ANGLES], {"rotary_embedding_dim": 10}, ["10 numbers", "8"]),
    ("negative", [X4, *ANGLES], {"rotary_embedding_dim": -2}, ["-2 numbers"]),
    ("cosines", [X4, floats(2, 5, 3), ANGLES[1]], {}, ["cos_cache", "2,5,3"]),
    ("sines", [X4, ANGLES[0], floats(2, 4, 4)], {}, ["sin_cache", "2,4,4"]),
    ("caches", [X4, *ANGLES, POSITIONS], {}, ["cos_cache", "positions"]),
    ("places", [X4, *CACHES, POSITIONS[:1]], {}, ["position_ids", "1,5"]),
    ("far", [X4, *CACHES, POSITIONS + 7], {}, ["position_ids", "[0, 7)"]),
    ("before", [X4, *CACHES, -1 - POSITIONS], {}, ["position_ids", "[0, 7)"]),
):
    bad("RotaryEmbedding", inputs, attrs, error=INVALID, words=words, label=label)
