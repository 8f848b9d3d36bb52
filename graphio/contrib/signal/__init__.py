"""tf.contrib.signal: what became tf.signal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.framework import api_boundary, refusals
from graphio.ops.signals.framing import frame, overlap_and_add
from graphio.ops.signals.mel import linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms
from graphio.ops.signals.spectral import inverse_stft, inverse_stft_window_fn, stft
from graphio.ops.signals.windows import hamming_window, hann_window

__all__ = [
    "frame",
    "hamming_window",
    "hann_window",
    "inverse_stft",
    "inverse_stft_window_fn",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "stft",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
