"""tf.contrib.learn.ops: embeddings and linear models.

embeddings_ops   rows of tables
losses_ops       linear models with their losses
seq2seq_ops      from sequences to sequences
"""

from __future__ import annotations

import sys

from graphio.contrib.learn.ops.embeddings_ops import categorical_variable, embedding_lookup
from graphio.contrib.learn.ops.losses_ops import mean_squared_error_regressor, softmax_classifier
from graphio.contrib.learn.ops.seq2seq_ops import (
    rnn_decoder,
    rnn_seq2seq,
    seq2seq_inputs,
    sequence_classifier,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "categorical_variable",
    "embedding_lookup",
    "mean_squared_error_regressor",
    "rnn_decoder",
    "rnn_seq2seq",
    "seq2seq_inputs",
    "sequence_classifier",
    "softmax_classifier",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
