"""DFT, STFT: computed in double, rounded once. Real, Imag, Complex: the parts of complex numbers,
whose other arithmetic is composed of operators on the parts (graphio/ops/complex)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema.verify_graph import MAX_RANK
from graphio.support import errors

_INVALID = errors.InvalidArgumentError


def _complex(x: Any) -> Array:
    """The numbers of pairs, or of single parts, in the last axis."""
    if x.ndim < 2 or x.shape[-1] not in (1, 2):
        raise _INVALID(
            message=f"the input has shape {list(x.shape)}, expected a last dimension of 1 (real) "
            "or 2 (complex)"
        )
    wide = np.ascontiguousarray(x, np.float64)
    made: Array = wide[..., 0] if x.shape[-1] == 1 else wide.view(np.complex128)[..., 0]
    return made


def _pairs(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


def _scalar(value: Any, name: str, default: int) -> int:
    """An input that is one integer, absent or not."""
    if value is None:
        return default
    if value.size != 1 or value.ndim > 1:
        raise _INVALID(message=f"{name} has shape {list(value.shape)}, expected an integer")
    return int(value.item())


def _length(value: int, name: str) -> int:
    if value < 1:
        raise _INVALID(message=f"{name} is {value}, expected at least 1")
    return value


@kernel("DFT", since=20, types="FIJ", fresh=True)
def _dft(call: Call) -> Function:
    inverse, onesided = call.integer("inverse", 0), call.integer("onesided", 0)

    def dft(x: Any, dft_length: Any = None, axis: Any = None) -> Array:
        numbers = _complex(x)
        at = axis_of(_scalar(axis, "axis", -2), x.ndim)
        if at == x.ndim - 1:
            raise _INVALID(
                message=f"axis {at} is the last one, which holds the parts of a complex number"
            )
        if onesided and not inverse and np.iscomplexobj(numbers):
            raise _INVALID(message="onesided takes real numbers, the input is complex")
        given = x.shape[at]
        length = 2 * (given - 1) if onesided and inverse else given
        n = _length(_scalar(dft_length, "dft_length", length), "dft_length")
        transform: Any = np.fft.ifft if inverse else np.fft.fft
        if onesided:
            transform = np.fft.irfft if inverse else np.fft.rfft
        if not given:
            shape = [*x.shape[:-1]]
            shape[at] = n
            numbers = np.zeros(shape)
        made = transform(numbers, n, axis=at)
        return (made[..., None] if onesided and inverse else _pairs(made)).astype(x.dtype)

    return dft


@kernel("STFT", since=17, types="FIFJ", fresh=True)
def _stft(call: Call) -> Function:
    onesided = call.integer("onesided", 1)

    def stft(x: Any, frame_step: Any, window: Any = None, frame_length: Any = None) -> Array:
        if x.ndim != 3:
            raise _INVALID(
                message=f"the signal has shape {list(x.shape)}, expected [batch, length, 1 or 2]"
            )
        numbers = _complex(x)
        if onesided and np.iscomplexobj(numbers):
            raise _INVALID(message="onesided takes real numbers, the signal is complex")
        step, length = _scalar(frame_step, "frame_step", 0), x.shape[1]
        n = _frame(window, frame_length, length)
        if step < 1 or n > length:
            raise _INVALID(
                message=f"frame_step is {step}, the frames' length {n}, that of the signal {length}"
            )
        _length(n, "frame_length")
        frames = np.lib.stride_tricks.sliding_window_view(numbers, n, 1)[:, ::step]
        weighted = frames if window is None else frames * np.float64(window)
        made = np.fft.rfft(weighted) if onesided else np.fft.fft(weighted)
        return _pairs(made).astype(x.dtype)

    return stft


def _frame(window: Any, frame_length: Any, length: int) -> int:
    """The length of a frame: as given, that of the window, or that of the signal."""
    if window is None:
        return _scalar(frame_length, "frame_length", length)
    if window.ndim != 1:
        raise _INVALID(message=f"the window has shape {list(window.shape)}, expected a vector")
    n = _scalar(frame_length, "frame_length", window.size)
    if n != window.size:
        raise _INVALID(message=f"frame_length is {n}, the window has {window.size} numbers")
    return n


# ---- parts of complex numbers ----


@kernel("Real", domain="graphio", types="C", fresh=True)
def _real(call: Call) -> Function:
    return lambda z: np.array(z.real)


@kernel("Imag", domain="graphio", types="C", fresh=True)
def _imag(call: Call) -> Function:
    return lambda z: np.array(z.imag)


@kernel("Complex", domain="graphio", types="RR", fresh=True)
def _joined(call: Call) -> Function:
    def joined(real: Any, imag: Any) -> Array:
        if real.shape != imag.shape:
            raise _INVALID(
                message=f"the parts have the shapes {real.shape} and {imag.shape}, expected equal "
                "shapes"
            )
        made = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
        made.real, made.imag = real, imag
        return made

    return joined


@kernel("ComplexToPairs", domain="graphio", types="C")
def _to_pairs(call: Call) -> Function:
    def to_pairs(z: Any) -> Array:
        if z.ndim == MAX_RANK:
            raise _INVALID(message=f"the input has {z.ndim} axes, expected at most {MAX_RANK - 1}")
        numbers = np.ascontiguousarray(z)
        pairs: Array = numbers.view(numbers.real.dtype).reshape(*z.shape, 2)
        return pairs

    return to_pairs


@kernel("PairsToComplex", domain="graphio", types="R")
def _of_pairs(call: Call) -> Function:
    def of_pairs(pairs: Any) -> Array:
        if pairs.ndim < 1 or pairs.shape[-1] != 2:
            raise _INVALID(
                message=f"the input has shape {list(pairs.shape)}, expected a last dimension of 2"
            )
        wide = np.complex64 if pairs.dtype == np.float32 else np.complex128
        made: Array = np.ascontiguousarray(pairs).view(wide).reshape(pairs.shape[:-1])
        return made

    return of_pairs
