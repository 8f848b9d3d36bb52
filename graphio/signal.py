"""tf.signal: windows, frames, transforms and spectrograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.signals.cosine import dct, idct
from graphio.ops.signals.framing import frame, overlap_and_add
from graphio.ops.signals.lapped import inverse_mdct, mdct
from graphio.ops.signals.mel import linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms
from graphio.ops.signals.windows import (
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    vorbis_window,
)

__all__ = [
    "dct",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "inverse_mdct",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "vorbis_window",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
