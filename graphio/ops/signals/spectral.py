"""tf.signal.stft, inverse_stft: spectra of windowed frames, and signals of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.signals import dft, lengths
from graphio.ops.signals.framing import frame, overlap_and_add
from graphio.ops.signals.lengths import Length
from graphio.ops.signals.pairs import numbers, pairs
from graphio.ops.signals.windows import hann_window
from graphio.support import api_guard

__all__ = ["inverse_stft", "inverse_stft_window_fn", "stft"]

Window = Callable[..., Any]


@api_guard.operator
@of_any_rank("stft", 1)
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: rfft of windowed frames.

    Args:
        signals: float32 or float64 tensor (..., samples).
        frame_length: integer, or scalar tensor: samples of a frame.
        frame_step: integer, or scalar tensor: samples from one frame to the next.
        fft_length: n of rfft; None: the smallest power of two that holds a frame.
        window_fn: called with frame_length and dtype=; None: no window.
        pad_end: see frame.
        name: of the operation.

    Returns:
        A complex tensor (..., frames, fft_length // 2 + 1).

    Raises:
        ValueError: the signals are not float32 or float64 or a scalar, or a length does not fit.

    Example:
        >>> tone = tf.sin(tf.range(16.0) * 1.5707964)
        >>> spectra = tf.abs(tf.signal.stft(tone, 8, 4, window_fn=None))
        >>> tf.Session().run(tf.argmax(spectra, 1))
        array([2, 2, 2])
    """
    with scope(name, "stft") as at:
        x = lengths.floating(signals, "stft", "signals")
        length = lengths.given(frame_length, "stft", "frame_length", minimum=1)
        n = _transform_length(fft_length, length, "stft")
        frames = frame(x, length, frame_step, pad_end)
        if window_fn is not None:
            frames = elementwise.multiply(frames, window_fn(length, dtype=x.dtype))
        return numbers(dft.real(frames, n), at)


def _transform_length(value: Any, frame_length: Length, op: str) -> Length:
    if value is not None:
        return lengths.given(value, op, "fft_length", minimum=1)
    if isinstance(frame_length, int):
        return 1 << max(0, frame_length - 1).bit_length()
    powers = 2 ** lengths.counted(63)
    below = elementwise.cast(powers < frame_length, dtypes.int64)
    return elementwise.pow(lengths.as_tensor(2), reduction.reduce_sum(below))


@api_guard.operator
@of_any_rank("inverse_stft", 2)
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """A signal of a short-time Fourier transform: irfft, windows, and overlap_and_add.

    Args:
        stfts: complex tensor (..., frames, fft_length // 2 + 1).
        frame_length, frame_step, fft_length: those of stft.
        window_fn: called with frame_length and dtype=; inverse_stft_window_fn makes the one that
            gives the signal of stft back. None: no window.
        name: of the operation.

    Returns:
        A float32 or float64 tensor (..., (frames - 1) * frame_step + frame_length).

    Raises:
        TypeError: stfts is not complex.
        ValueError: its rank is below 2, or a length does not fit.
    """
    with scope(name, "inverse_stft") as at:
        z = convert_to_tensor(stfts, name="stfts")
        if not z.dtype.is_complex:
            raise TypeError(f"inverse_stft: stfts has dtype {z.dtype.name}, expected a complex one")
        if z.shape.ndims is None or z.shape.ndims < 2:
            raise ValueError(f"inverse_stft: stfts has shape {z.shape}, expected rank 2 or more")
        length = lengths.given(frame_length, "inverse_stft", "frame_length", minimum=1)
        n = _transform_length(fft_length, length, "inverse_stft")
        frames = lengths.fitted(dft.back_to_real(pairs(z), n), length)
        if window_fn is not None:
            frames = elementwise.multiply(frames, window_fn(length, dtype=frames.dtype))
        return overlap_and_add(frames, frame_step, name=at)


@api_guard.operator
def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """A window_fn for inverse_stft with which it gives the signal of stft back, wherever frames
    overlap: the window divided by the sum of the squares of all windows at that position, 0 where
    that is 0.

    Args:
        frame_step: of both transforms.
        forward_window_fn: window_fn of stft.
        name: of the operation.

    Returns:
        A function of a frame length and a dtype.
    """

    def window_fn(frame_length: Any, dtype: Any) -> Tensor:
        with scope(name, "inverse_stft_window_fn") as at:
            length = lengths.given(frame_length, "inverse_stft_window_fn", "frame_length")
            step = lengths.given(frame_step, "inverse_stft_window_fn", "frame_step", minimum=1)
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = lengths.fitted(forward * forward, overlaps * step)
            sums = reduction.reduce_sum(array.reshape(squares, [overlaps, step]), 0)
            repeated = array.tile(sums, array.stack([lengths.as_tensor(overlaps)]))
            return div_no_nan(forward, repeated[:length], at)

    return window_fn
