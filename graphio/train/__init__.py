"""Training: optimizers, checkpoints, loops, values from files of other frameworks.

May import summary and below.

    optimizers/      Adam and others; checkpoints/: Saver; loops/: MonitoredSession, hooks
    clusters/        ClusterSpec, Server, replica_device_setter
    tracking/        Checkpoint, of objects
    interop/         safetensors, .npz, PyTorch and TensorFlow checkpoints
    example          tf.train.Example
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.protos.graph_io": ("write_graph",),
    "graphio.protos.meta_graph": ("SaverDef", "export_meta_graph"),
    "graphio.queues": ("queue_runner",),
    "graphio.queues.batching": (
        "batch", "batch_join", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
        "maybe_shuffle_batch_join", "shuffle_batch", "shuffle_batch_join",
    ),
    "graphio.queues.producers": (
        "input_producer", "limit_epochs", "match_filenames_once", "range_input_producer",
        "slice_input_producer", "string_input_producer",
    ),
    "graphio.queues.queue_runner": ("QueueRunner", "add_queue_runner", "start_queue_runners"),
    "graphio.schema.tensorflow_pb2": ("ClusterDef", "JobDef", "ServerDef"),
    "graphio.summary.writer": ("summary_iterator",),
    "graphio.support.progress_bars": ("progress_bars",),
    "graphio.train": ("experimental",),
    "graphio.train.checkpoints.checkpoint_copy": ("copy_checkpoint",),
    "graphio.train.checkpoints.checkpoint_reader": (
        "CheckpointReader", "NewCheckpointReader", "list_variables", "load_checkpoint",
        "load_variable",
    ),
    "graphio.train.checkpoints.checkpoint_state": (
        "CheckpointState", "checkpoint_exists", "generate_checkpoint_state_proto",
        "get_checkpoint_mtimes", "get_checkpoint_state", "latest_checkpoint",
        "update_checkpoint_state",
    ),
    "graphio.train.checkpoints.comparing": ("diff_checkpoints",),
    "graphio.train.checkpoints.inspecting": ("list_checkpoint", "verify"),
    "graphio.train.checkpoints.keeping": ("keep_checkpoint",),
    "graphio.train.checkpoints.latest": ("restore_latest",),
    "graphio.train.checkpoints.meta_graphs": ("import_meta_graph",),
    "graphio.train.checkpoints.retention": ("remove_checkpoint",),
    "graphio.train.checkpoints.saver": ("Saver",),
    "graphio.train.checkpoints.vocabularies": ("VocabInfo",),
    "graphio.train.checkpoints.warm_starting": (
        "checkpoints_iterator", "init_from_checkpoint", "warm_start",
    ),
    "graphio.train.clusters.cluster_spec": ("ClusterSpec",),
    "graphio.train.clusters.device_setter": ("replica_device_setter",),
    "graphio.train.clusters.server": ("Server",),
    "graphio.train.example": (
        "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
        "Int64List", "SequenceExample",
    ),
    "graphio.train.interop.exporting": ("export_variables",),
    "graphio.train.interop.values": ("load_values",),
    "graphio.train.loops.checkpoint_hook": ("CheckpointSaverHook", "CheckpointSaverListener"),
    "graphio.train.loops.coordinator": ("Coordinator", "LooperThread"),
    "graphio.train.loops.curves": ("plot_curves",),
    "graphio.train.loops.history": ("Curve", "History"),
    "graphio.train.loops.hooks": (
        "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook",
        "NanLossDuringTrainingError", "NanTensorHook", "ProfilerHook", "SecondOrStepTimer",
        "StepCounterHook", "StopAtStepHook", "SummarySaverHook",
    ),
    "graphio.train.loops.monitored_session": (
        "MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession",
    ),
    "graphio.train.loops.scaffold": (
        "ChiefSessionCreator", "Scaffold", "SessionCreator", "WorkerSessionCreator",
    ),
    "graphio.train.loops.session_manager": ("SessionManager",),
    "graphio.train.loops.session_run_hook": (
        "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues",
    ),
    "graphio.train.loops.step_counter": (
        "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step",
        "global_step",
    ),
    "graphio.train.loops.supervisor": ("Supervisor", "basic_train_loop"),
    "graphio.train.loops.training_loop": ("TrainingLoop", "train"),
    "graphio.train.optimizers.adam": ("AdamOptimizer",),
    "graphio.train.optimizers.adaptive": (
        "AdadeltaOptimizer", "AdagradOptimizer", "RMSPropOptimizer",
    ),
    "graphio.train.optimizers.gradient_descent": ("GradientDescentOptimizer", "MomentumOptimizer"),
    "graphio.train.optimizers.learning_rate_decay": (
        "cosine_decay", "cosine_decay_restarts", "exponential_decay", "inverse_time_decay",
        "linear_cosine_decay", "natural_exp_decay", "noisy_linear_cosine_decay",
        "piecewise_constant", "piecewise_constant_decay", "polynomial_decay",
    ),
    "graphio.train.optimizers.moving_averages": ("ExponentialMovingAverage",),
    "graphio.train.optimizers.optimizer": ("Optimizer",),
    "graphio.train.optimizers.regularized": (
        "AdagradDAOptimizer", "FtrlOptimizer", "ProximalAdagradOptimizer",
        "ProximalGradientDescentOptimizer",
    ),
    "graphio.train.optimizers.shrinking": ("sdca_shrink_l1",),
    "graphio.train.optimizers.sync_replicas": ("SyncReplicasOptimizer",),
    "graphio.train.tracking.checkpoint": ("Checkpoint",),
    "graphio.train.tracking.manager": ("CheckpointManager",),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
