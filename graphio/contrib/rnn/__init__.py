"""tf.contrib.rnn: the cells of tf.nn.rnn_cell and many others, wrappers, and nets over lists.

May import layers and below.

    base                        variables that are made where a cell is called
    lstm_cells, simple_cells    cells over vectors
    frequency_cells             cells over bands of frequencies
    convolutional_cells         cells over pictures and similar inputs
    wrappers, fused_cells       cells around cells; nets over all steps at once
    nets                        several bidirectional layers
"""

from __future__ import annotations

import sys

from graphio.contrib.rnn.convolutional_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
)
from graphio.contrib.rnn.frequency_cells import (
    BidirectionalGridLSTMCell,
    GridLSTMCell,
    TimeFreqLSTMCell,
)
from graphio.contrib.rnn.fused_cells import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    GRUBlockCell,
    GRUBlockCellV2,
    LSTMBlockCell,
    LSTMBlockFusedCell,
    LSTMBlockWrapper,
    TimeReversedFusedRNN,
)
from graphio.contrib.rnn.lstm_cells import (
    CoupledInputForgetGateLSTMCell,
    GLSTMCell,
    LayerNormBasicLSTMCell,
    NASCell,
    PhasedLSTMCell,
)
from graphio.contrib.rnn.nets import (
    best_effort_input_batch_size,
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
    transpose_batch_time,
)
from graphio.contrib.rnn.simple_cells import (
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    IntersectionRNNCell,
    SRUCell,
    UGRNNCell,
)
from graphio.contrib.rnn.wrappers import (
    AttentionCellWrapper,
    CompiledWrapper,
    EmbeddingWrapper,
    HighwayWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from graphio.framework import api_boundary
from graphio.layers.rnn import static_bidirectional_rnn, static_rnn
from graphio.layers.rnn_cell import (
    BasicLSTMCell,
    BasicRNNCell,
    DeviceWrapper,
    DropoutWrapper,
    GRUCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
    RNNCell,
)
from graphio.layers.rnn_state_saving import static_state_saving_rnn

LayerRNNCell = RNNCell

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "BidirectionalGridLSTMCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeFreqLSTMCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "best_effort_input_batch_size",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]

api_boundary.guard_namespace(sys.modules[__name__])
