"""tf.signal.mdct, inverse_mdct: cosine transforms of frames that overlap by half."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import reverse
from graphio.ops.base.emit import scope
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise
from graphio.ops.signals import lengths
from graphio.ops.signals.cosine import dct
from graphio.ops.signals.framing import frame, overlap_and_add
from graphio.ops.signals.lengths import Length
from graphio.ops.signals.windows import vorbis_window
from graphio.support import api_guard

__all__ = ["inverse_mdct", "mdct"]

Window = Callable[..., Any]


@api_guard.operator
@of_any_rank("mdct", 1)
def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform: frames that overlap by half, and as many numbers as
    the signal has elements. inverse_mdct gives the signal back, but for half a frame at each end.

    Args:
        signals: floating tensor (..., samples).
        frame_length: integer, or scalar tensor; a multiple of 4.
        window_fn: called with the length and dtype=; None: sqrt(0.5) everywhere.
        pad_end: see frame.
        norm: of dct.
        name: of the operation.

    Returns:
        A tensor (..., frames, frame_length / 2).

    Raises:
        ValueError: frame_length is not a multiple of 4, or the signals are not floating.
    """
    with scope(name, "mdct") as at:
        x = lengths.floating(signals, "mdct", "signals")
        length = lengths.given(frame_length, "mdct", "frame_length", minimum=1)
        if isinstance(length, int) and length % 4:
            raise ValueError(f"mdct: frame_length is {length}, expected a multiple of 4")
        frames = frame(x, length, length // 2, pad_end=pad_end)
        frames = _weighted(frames, window_fn, length)
        a, b, c, d = _quarters(frames, length // 4, 4)
        folded = array.concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(folded, 4, norm=norm, name=at)


@api_guard.operator
@of_any_rank("inverse_mdct", 2)
def inverse_mdct(
    mdcts: Any,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signal of mdct, which has the same window_fn and norm.

    Args:
        mdcts: floating tensor (..., frames, frame_length / 2).
        window_fn: called with the length and dtype=; None: sqrt(0.5) everywhere.
        norm: of dct.
        name: of the operation.

    Returns:
        A tensor (..., (frames + 1) * frame_length / 2).

    Raises:
        ValueError: mdcts is not floating, or its rank is below 2.
    """
    with scope(name, "inverse_mdct") as at:
        x = lengths.floating(mdcts, "inverse_mdct", "mdcts")
        if x.shape.ndims is None or x.shape.ndims < 2:
            raise ValueError(f"inverse_mdct: mdcts has shape {x.shape}, expected rank 2 or more")
        half = lengths.of(x)
        back = dct(x, 4, norm=norm)
        if norm is None:
            back = back * (0.5 / lengths.as_number(half, x.dtype))
        low, high = _quarters(back, half // 2, 2)
        parts = [high, -reverse(high, [-1]), -reverse(low, [-1]), -low]
        frames = _weighted(array.concat(parts, -1), window_fn, 2 * half)
        return overlap_and_add(frames, half, name=at)


def _weighted(frames: Tensor, window_fn: Window | None, length: Length) -> Tensor:
    if window_fn is None:
        return frames * math.sqrt(0.5)
    return elementwise.multiply(frames, window_fn(length, dtype=frames.dtype))


def _quarters(frames: Tensor, size: Length, count: int) -> list[Tensor]:
    """Parts of the last axis."""
    return [frames[..., i * size : (i + 1) * size] for i in range(count)]
