"""tf.contrib.crf: conditional random fields over sequences of tags.

May import layers and below.

    scores       scores and likelihoods
    decoding     the best sequence
"""

from __future__ import annotations

import sys

from graphio.contrib.crf.decoding import (
    CrfDecodeBackwardRnnCell,
    CrfDecodeForwardRnnCell,
    crf_decode,
    viterbi_decode,
)
from graphio.contrib.crf.scores import (
    CrfForwardRnnCell,
    crf_binary_score,
    crf_log_likelihood,
    crf_log_norm,
    crf_multitag_sequence_score,
    crf_sequence_score,
    crf_unary_score,
)
from graphio.framework import api_boundary

__all__ = [
    "CrfDecodeBackwardRnnCell",
    "CrfDecodeForwardRnnCell",
    "CrfForwardRnnCell",
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]

api_boundary.guard_namespace(sys.modules[__name__])
