"""tf.signal: windows, frames, transforms and spectrograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.signals.cosine import dct, idct
from graphio.ops.signals.fourier import (
    fft,
    fft2d,
    fft3d,
    fftnd,
    ifft,
    ifft2d,
    ifft3d,
    ifftnd,
    irfft,
    irfft2d,
    irfft3d,
    irfftnd,
    rfft,
    rfft2d,
    rfft3d,
    rfftnd,
)
from graphio.ops.signals.framing import frame, overlap_and_add
from graphio.ops.signals.lapped import inverse_mdct, mdct
from graphio.ops.signals.mel import linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms
from graphio.ops.signals.shifting import fftshift, ifftshift
from graphio.ops.signals.spectral import inverse_stft, inverse_stft_window_fn, stft
from graphio.ops.signals.windows import (
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    vorbis_window,
)

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftnd",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftnd",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "irfftnd",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "rfftnd",
    "stft",
    "vorbis_window",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
