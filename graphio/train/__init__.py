"""Training: optimizers, and the Saver with what belongs to checkpoints."""

from graphio.train.checkpoint_reader import (
    CheckpointReader,
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from graphio.train.checkpoint_state import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from graphio.train.optimizer import Optimizer
from graphio.train.optimizers import AdamOptimizer, GradientDescentOptimizer, MomentumOptimizer
from graphio.train.saver import Saver, remove_checkpoint

__all__ = [
    "AdamOptimizer",
    "CheckpointReader",
    "CheckpointState",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "Saver",
    "checkpoint_exists",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "remove_checkpoint",
    "update_checkpoint_state",
]
