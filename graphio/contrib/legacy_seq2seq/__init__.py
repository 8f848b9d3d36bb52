"""tf.contrib.legacy_seq2seq: encoders and decoders over lists of steps, and their losses.

May import contrib.rnn, layers and below.

    decoders     decoders with and without attention
    networks     encoders with decoders
    losses       losses of lists of steps, models for several lengths
"""

from __future__ import annotations

import sys

from graphio.contrib.legacy_seq2seq.decoders import (
    attention_decoder,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    rnn_decoder,
)
from graphio.contrib.legacy_seq2seq.losses import (
    model_with_buckets,
    sequence_loss,
    sequence_loss_by_example,
)
from graphio.contrib.legacy_seq2seq.networks import (
    basic_rnn_seq2seq,
    embedding_attention_seq2seq,
    embedding_rnn_seq2seq,
    embedding_tied_rnn_seq2seq,
    one2many_rnn_seq2seq,
    tied_rnn_seq2seq,
)
from graphio.framework import api_boundary

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
    "one2many_rnn_seq2seq",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]

api_boundary.guard_namespace(sys.modules[__name__])
