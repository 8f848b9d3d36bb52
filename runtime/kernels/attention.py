"""Attention and RotaryEmbedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_UNSET = -1 << 62


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


def _heads(name: str, x: Any, heads: int) -> Any:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    if heads < 1 or x.shape[2] % heads:
        raise _invalid(
            f"{name} has shape {list(x.shape)}, whose last axis {heads} heads do not divide"
        )
    shape = (*x.shape[:2], heads, x.shape[2] // heads)
    return x.reshape(shape).transpose(0, 2, 1, 3)


@dataclass(frozen=True)
class _Attention:
    """The attributes; see the ONNX operator for their meaning."""

    scale: float | None
    causal: bool
    q_heads: int
    kv_heads: int
    softcap: float
    mode: int
    precision: Any
    left: int
    right: int
    outputs: int

    def split(self, q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
        """All three of rank 4."""
        ranks = {q.ndim, k.ndim, v.ndim}
        given = self.q_heads != _UNSET or self.kv_heads != _UNSET
        if ranks == {4} and not given:
            return q, k, v
        if ranks != {3} or self.q_heads == _UNSET or self.kv_heads == _UNSET:
            raise _invalid(
                f"q, k, v have shapes {list(q.shape)}, {list(k.shape)}, {list(v.shape)}, expected "
                "rank 4, or rank 3 with q_num_heads and kv_num_heads"
            )
        heads = (("q", q, self.q_heads), ("k", k, self.kv_heads), ("v", v, self.kv_heads))
        split = [_heads(*one) for one in heads]
        return split[0], split[1], split[2]

    def present(self, name: str, past: Any, x: Any) -> Any:
        """The past followed by x."""
        if past is None:
            return x
        if past.ndim != 4 or past.shape[:2] + past.shape[3:] != x.shape[:2] + x.shape[3:]:
            raise _invalid(
                f"past_{name} has shape {list(past.shape)}, expected one that precedes "
                f"{list(x.shape)} along axis 2"
            )
        return np.concatenate((past, x), 2)

    def allowed(self, q: Any, k: Any, past: int, lengths: Any) -> Any:
        """Which keys the causal rule, the window and the padding admit: (batch or 1, 1, q, k)."""
        rows, keys = q.shape[2], k.shape[2]
        offset = np.full(1, past) if lengths is None else lengths - rows
        at = np.arange(rows)[:, None] + offset[:, None, None, None]
        key = np.arange(keys)
        result = np.ones((len(offset), 1, rows, keys), bool)
        if self.causal:
            result &= key <= at
        if self.left >= 0:
            result &= key >= at - min(self.left, 1 << 60)
        if self.right >= 0:
            result &= key <= at + min(self.right, 1 << 60)
        if lengths is not None:
            result &= key < lengths[:, None, None, None]
        return result

    def bias(self, q: Any, k: Any, mask: Any, allowed: Array) -> Any:
        """The bias of the scores: -inf where a key is not allowed."""
        zero, never = q.dtype.type(0), q.dtype.type(-np.inf)
        if mask is None:
            return np.where(allowed, zero, never)
        full = (*q.shape[:3], k.shape[2])
        missing = full[3] - (mask.shape[-1] if mask.ndim else 0)
        fits = 1 <= mask.ndim <= 4 and missing >= 0
        if fits:
            pairs = zip(mask.shape[-2::-1], full[2::-1], strict=False)
            fits = all(m in (1, n) for m, n in pairs)
        if not fits:
            raise _invalid(
                f"attn_mask has shape {list(mask.shape)}, which does not broadcast to {list(full)}"
            )
        if mask.dtype != bool and mask.dtype != q.dtype:
            raise _invalid(f"attn_mask has type {mask.dtype}, expected bool or {q.dtype}")
        rest = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
        if mask.dtype == bool:
            return np.where(allowed & np.pad(mask, rest), zero, never)
        return np.where(allowed, np.pad(mask, rest, constant_values=-np.inf), never)

    def softmax(self, x: Array) -> Array:
        """Along the last axis in the given precision; rows without a key may be NaN."""
        wide = x.astype(self.precision or x.dtype, copy=False)
        if not wide.shape[-1]:
            return x
        e = np.exp(wide - np.maximum.reduce(wide, -1, keepdims=True))
        result: Array = (e / np.add.reduce(e, -1, keepdims=True)).astype(x.dtype, copy=False)
        return result

    def __call__(
        self,
        q: Any,
        k: Any,
        v: Any,
        mask: Any = None,
        past_key: Any = None,
        past_value: Any = None,
        lengths: Any = None,
    ) -> Any:
        rank = q.ndim
        q, k, v = self.split(q, k, v)
        _check(q, k, v, past_key, past_value, lengths)
        before = 0 if past_key is None else past_key.shape[2]
        k, v = self.present("key", past_key, k), self.present("value", past_value, v)
        if k.shape[2] != v.shape[2]:
            raise _invalid(f"there are {k.shape[2]} keys and {v.shape[2]} values")
        bias = self.bias(q, k, mask, self.allowed(q, k, before, lengths))
        y, scores = self.attend(q, k, v, bias)
        if rank == 3:
            y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])
        results = (np.ascontiguousarray(y), np.array(k), np.array(v), scores)
        return results[: self.outputs] if self.outputs > 1 else results[0]

    def attend(self, q: Any, k: Any, v: Any, bias: Array) -> tuple[Array, Array]:
        """(softmax(q k' scale + bias) v, what qk_matmul_output_mode asks for)."""
        batch, heads, rows, size = q.shape
        kv = k.shape[1]
        scale = 1 / np.sqrt(max(size, 1)) if self.scale is None else self.scale
        grouped = (q * q.dtype.type(scale)).reshape(batch, kv, heads // kv * rows, size)
        shape = (batch, heads, rows, k.shape[2])
        scores = np.matmul(grouped, k.swapaxes(2, 3)).reshape(shape)
        stages = [scores]
        if self.softcap:
            cap = q.dtype.type(self.softcap)
            scores = np.tanh(scores / cap) * cap
        stages.append(scores)
        scores = np.where(np.isneginf(bias), q.dtype.type(-np.inf), scores + bias)
        stages.append(scores)
        weights = self.softmax(scores)
        weights = np.where(np.isneginf(bias).all(-1, keepdims=True), q.dtype.type(0), weights)
        stages.append(weights)
        y = np.matmul(weights.reshape(batch, kv, heads // kv * rows, k.shape[2]), v)
        return y.reshape(batch, heads, rows, v.shape[3]), stages[self.mode]


def _check(q: Any, k: Any, v: Any, past_key: Any, past_value: Any, lengths: Any) -> None:
    same = q.shape[0] == k.shape[0] == v.shape[0] and k.shape[1:3] == v.shape[1:3]
    if not same or q.shape[3] != k.shape[3] or not k.shape[1] or q.shape[1] % k.shape[1]:
        raise _invalid(
            f"q, k, v have shapes {list(q.shape)}, {list(k.shape)}, {list(v.shape)} by heads, "
            "expected (n, heads, q, size), (n, kv, k, size), (n, kv, k, v size) where kv divides "
            "heads"
        )
    if (past_key is None) != (past_value is None):
        raise _invalid("past_key and past_value must be given together")
    if lengths is None:
        return
    if past_key is not None:
        raise _invalid("nonpad_kv_seqlen and past_key exclude each other")
    if lengths.shape != q.shape[:1]:
        raise _invalid(f"nonpad_kv_seqlen has shape {list(lengths.shape)}, expected [{q.shape[0]}]")
    wrong = (lengths < 0) | (lengths > k.shape[2])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _invalid(f"nonpad_kv_seqlen {lengths[row]} of {row} is outside [0, {k.shape[2]}]")


@kernel("Attention", since=23, types="FFFXFFL", fresh=True)
def _attention(call: Call) -> Function:
    mode, precision = call.integer("qk_matmul_output_mode", 0), call.integer("softmax_precision", 0)
    left, right = call.integer("left_window_size", -1), call.integer("right_window_size", -1)
    if not 0 <= mode <= 3:
        raise _invalid(f"qk_matmul_output_mode is {mode}, expected 0 to 3")
    if precision not in (0, 1, 10, 11, 16):
        raise _invalid(f"softmax_precision is {precision}, expected 1, 10, 11 or 16")
    if left < -1 or right < -1:
        raise _invalid(f"the window sizes are {left} and {right}, expected -1 or more")
    return _Attention(
        scale=call.number("scale", 0.0) if "scale" in call.attrs else None,
        causal=bool(call.integer("is_causal", 0)),
        q_heads=call.integer("q_num_heads", _UNSET),
        kv_heads=call.integer("kv_num_heads", _UNSET),
        softcap=call.number("softcap", 0.0),
        mode=mode,
        # float16 and bfloat16 come widened, and at least float32 is what all is computed in
        precision={0: None, 11: np.float64}.get(precision, np.float32),
        left=left,
        right=right,
        outputs=len(call.outputs),
    )


def _angles(x: Any, cache: Any, positions: Any, half: int, name: str) -> Any:
    """(batch, 1, length, half) of the cosines or sines of x, (batch, heads, length, size)."""
    expected = (x.shape[0], x.shape[2], half)
    if positions is None:
        if cache.shape != expected:
            raise _invalid(f"{name} has shape {list(cache.shape)}, expected {list(expected)}")
        return cache[:, None]
    if cache.ndim != 2 or cache.shape[1] != half:
        raise _invalid(f"{name} has shape {list(cache.shape)}, expected [positions, {half}]")
    if positions.shape != expected[:2]:
        raise _invalid(
            f"position_ids has shape {list(positions.shape)}, expected {list(expected[:2])}"
        )
    wrong = (positions < 0) | (positions >= cache.shape[0])
    if wrong.any():
        raise _invalid(
            f"position_ids has {int(positions[wrong][0])}, which is outside [0, {cache.shape[0]})"
        )
    return cache[positions][:, None]


@kernel("RotaryEmbedding", since=23, types="FFFL", fresh=True)
def _rotary_embedding(call: Call) -> Function:
    interleaved, heads = call.integer("interleaved", 0), call.integer("num_heads", 0)
    rotary = call.integer("rotary_embedding_dim", 0)

    def rotate(x: Any, cos: Any, sin: Any, positions: Any = None) -> Any:
        if x.ndim not in (3, 4):
            raise _invalid(f"x has shape {list(x.shape)}, expected rank 3 or 4")
        by_head = _heads("x", x, heads) if x.ndim == 3 else x
        width = rotary or by_head.shape[3]
        if width < 0 or width % 2 or width > by_head.shape[3]:
            raise _invalid(
                f"{width} numbers of a head are rotated, expected an even number up to its size, "
                f"{by_head.shape[3]}"
            )
        half = width // 2
        if cos.shape != sin.shape:
            raise _invalid(
                f"cos_cache has shape {list(cos.shape)} and sin_cache {list(sin.shape)}, they must "
                "be equal"
            )
        c = _angles(by_head, cos, positions, half, "cos_cache")
        s = _angles(by_head, sin, positions, half, "sin_cache")
        first = slice(0, width, 2) if interleaved else slice(0, half)
        second = slice(1, width, 2) if interleaved else slice(half, width)
        y = by_head.copy()
        a, b = by_head[..., first], by_head[..., second]
        y[..., first] = c * a - s * b
        y[..., second] = s * a + c * b
        return y.transpose(0, 2, 1, 3).reshape(x.shape) if x.ndim == 3 else y

    return rotate
