"""tf.contrib.seq2seq: decoders, helpers, attention, beam search, the loss of sequences.

May import contrib.rnn, layers and below.

    decoder, basic_decoder             decoding step by step
    helpers, scheduled_helpers         a decoder's next inputs
    attention, monotonic               weights of a memory's rows
    attention_wrapper                  a cell that attends to memories
    beam_search, beam_steps, gather_tree    the best beams of each sequence
    loss                               the loss of sequences
"""

from __future__ import annotations

import sys

from graphio.contrib.seq2seq.attention import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
    hardmax,
)
from graphio.contrib.seq2seq.attention_wrapper import AttentionWrapper, AttentionWrapperState
from graphio.contrib.seq2seq.basic_decoder import BasicDecoder, BasicDecoderOutput, Helper
from graphio.contrib.seq2seq.beam_search import (
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
    tile_batch,
)
from graphio.contrib.seq2seq.decoder import Decoder, dynamic_decode
from graphio.contrib.seq2seq.gather_tree import gather_tree
from graphio.contrib.seq2seq.helpers import (
    CustomHelper,
    GreedyEmbeddingHelper,
    InferenceHelper,
    SampleEmbeddingHelper,
    TrainingHelper,
)
from graphio.contrib.seq2seq.loss import sequence_loss
from graphio.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention,
    LuongMonotonicAttention,
    monotonic_attention,
    monotonic_probability_fn,
    safe_cumprod,
)
from graphio.contrib.seq2seq.scheduled_helpers import (
    ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper,
)
from graphio.framework import api_boundary

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "BahdanauMonotonicAttention",
    "BasicDecoder",
    "BasicDecoderOutput",
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "CustomHelper",
    "Decoder",
    "FinalBeamSearchDecoderOutput",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "LuongAttention",
    "LuongMonotonicAttention",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
    "dynamic_decode",
    "gather_tree",
    "hardmax",
    "monotonic_attention",
    "monotonic_probability_fn",
    "safe_cumprod",
    "sequence_loss",
    "tile_batch",
]

api_boundary.guard_namespace(sys.modules[__name__])
