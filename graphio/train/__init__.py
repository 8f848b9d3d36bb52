"""Training: optimizers, checkpoints, loops, values from files of other frameworks.

May import summary and below.

    optimizers/      Adam and others; checkpoints/: Saver; loops/: MonitoredSession, hooks
    clusters/        ClusterSpec, Server, replica_device_setter
    tracking/        Checkpoint, of objects
    interop/         safetensors, .npz, PyTorch and TensorFlow checkpoints
    example          tf.train.Example
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.protos.graph_io import write_graph
from graphio.protos.meta_graph import SaverDef, export_meta_graph
from graphio.queues import queue_runner
from graphio.queues.batching import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from graphio.queues.producers import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from graphio.queues.queue_runner import (
    QueueRunner,
    add_queue_runner,
    start_queue_runners,
)
from graphio.schema.tensorflow_pb2 import ClusterDef, JobDef, ServerDef
from graphio.summary.writer import summary_iterator
from graphio.support.progress_bars import progress_bars
from graphio.train import experimental
from graphio.train.checkpoints.checkpoint_copy import copy_checkpoint
from graphio.train.checkpoints.checkpoint_reader import (
    CheckpointReader,
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from graphio.train.checkpoints.checkpoint_state import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from graphio.train.checkpoints.comparing import diff_checkpoints
from graphio.train.checkpoints.inspecting import list_checkpoint, verify
from graphio.train.checkpoints.keeping import keep_checkpoint
from graphio.train.checkpoints.latest import restore_latest
from graphio.train.checkpoints.meta_graphs import import_meta_graph
from graphio.train.checkpoints.retention import remove_checkpoint
from graphio.train.checkpoints.saver import Saver
from graphio.train.checkpoints.vocabularies import VocabInfo
from graphio.train.checkpoints.warm_starting import (
    checkpoints_iterator,
    init_from_checkpoint,
    warm_start,
)
from graphio.train.clusters.cluster_spec import ClusterSpec
from graphio.train.clusters.device_setter import replica_device_setter
from graphio.train.clusters.server import Server
from graphio.train.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from graphio.train.interop.exporting import export_variables
from graphio.train.interop.values import load_values
from graphio.train.loops.checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from graphio.train.loops.coordinator import Coordinator, LooperThread
from graphio.train.loops.curves import plot_curves
from graphio.train.loops.history import Curve, History
from graphio.train.loops.hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)
from graphio.train.loops.monitored_session import (
    MonitoredSession,
    MonitoredTrainingSession,
    SingularMonitoredSession,
)
from graphio.train.loops.scaffold import (
    ChiefSessionCreator,
    Scaffold,
    SessionCreator,
    WorkerSessionCreator,
)
from graphio.train.loops.session_manager import SessionManager
from graphio.train.loops.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from graphio.train.loops.step_counter import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from graphio.train.loops.supervisor import Supervisor, basic_train_loop
from graphio.train.loops.training_loop import TrainingLoop, train
from graphio.train.optimizers.adam import AdamOptimizer
from graphio.train.optimizers.adaptive import AdadeltaOptimizer, AdagradOptimizer, RMSPropOptimizer
from graphio.train.optimizers.gradient_descent import (
    GradientDescentOptimizer,
    MomentumOptimizer,
)
from graphio.train.optimizers.learning_rate_decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from graphio.train.optimizers.moving_averages import ExponentialMovingAverage
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.optimizers.regularized import (
    AdagradDAOptimizer,
    FtrlOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
)
from graphio.train.optimizers.shrinking import sdca_shrink_l1
from graphio.train.optimizers.sync_replicas import SyncReplicasOptimizer
from graphio.train.tracking.checkpoint import Checkpoint
from graphio.train.tracking.manager import CheckpointManager

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointReader",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Curve",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "History",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "TrainingLoop",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "copy_checkpoint",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "diff_checkpoints",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "export_variables",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "keep_checkpoint",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_values",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "plot_curves",
    "polynomial_decay",
    "progress_bars",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "restore_latest",
    "sdca_shrink_l1",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "train",
    "update_checkpoint_state",
    "verify",
    "warm_start",
    "write_graph",
]

if not TYPE_CHECKING:  # to type checkers, a name that is left out does not exist
    __getattr__ = refusals.getter(__name__)
