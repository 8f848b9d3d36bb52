"""RunConfig: how and where a model is trained, for models and Experiments that read it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from graphio.execution.config import ConfigProto, GPUOptions

__all__ = ["RunConfig"]

#: settings that are not part of the uid: training may go on with others
_FREE = (
    "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)  # fmt: skip


class RunConfig:
    """Settings of a training on one machine; arguments are attributes. Models read those that they
    know: graphio does nothing with them by itself.

    The environment variable TF_CONFIG, a JSON object, may have model_dir, environment and task:
    its index is task_id, its type task_type.

    Args:
        master: the target of sessions; None: "".
        num_cores, log_device_placement, gpu_memory_fraction: of tf_config, a ConfigProto.
        tf_random_seed: of the graph.
        save_summary_steps: steps between summaries.
        save_checkpoints_secs, save_checkpoints_steps: between checkpoints; by default 600 seconds.
        keep_checkpoint_max, keep_checkpoint_every_n_hours: as those of a Saver.
        log_step_count_steps: steps between logs of the speed.
        protocol: kept; there are no servers.
        evaluation_master: the target of sessions that evaluate.
        model_dir: the folder; None: that of TF_CONFIG.
        session_config: a ConfigProto.
        session_creation_timeout_secs: as MonitoredTrainingSession's.

    Raises:
        ValueError: model_dir is not that of TF_CONFIG, or TF_CONFIG has a cluster of several tasks.

    Example:
        >>> config = tf.contrib.learn.RunConfig(model_dir="/tmp/model", save_checkpoints_steps=100)
        >>> config.save_checkpoints_steps, config.save_checkpoints_secs, config.is_chief
        (100, None, True)
    """

    _USE_DEFAULT = 0

    def __init__(
        self, master: str | None = None, num_cores: int = 0, log_device_placement: bool = False,
        gpu_memory_fraction: float = 1, tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100, save_checkpoints_secs: int | None = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None, keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int | None = 100,
        protocol: str | None = None, evaluation_master: str = "", model_dir: str | None = None,
        session_config: Any = None, session_creation_timeout_secs: float = 7200,
    ) -> None:  # fmt: skip
        environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
        cluster = environment.get("cluster", {})
        if sum(len(tasks) for tasks in cluster.values()) > 1:
            raise ValueError(
                f"RunConfig: TF_CONFIG has a cluster of several tasks, {sorted(cluster)}; graphio "
                "trains in one process: take the cluster out of TF_CONFIG"
            )
        task = environment.get("task", {})
        self.task_type: str | None = task.get("type")
        self.task_id = int(task.get("index") or 0)
        self.environment: str = environment.get("environment", "local")
        chief = "master" if self.environment == "cloud" else "worker"
        self.is_chief = self.task_id == 0 and self.task_type in (None, chief)
        self.cluster_spec: dict[str, Any] = cluster
        self.num_ps_replicas, self.num_worker_replicas = 0, 0
        self.master, self.evaluation_master = master or "", evaluation_master or ""
        self.tf_config = ConfigProto(
            log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )  # fmt: skip
        self.tf_random_seed, self.save_summary_steps = tf_random_seed, save_summary_steps
        if save_checkpoints_secs == self._USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        self.save_checkpoints_secs = save_checkpoints_secs
        self.save_checkpoints_steps = save_checkpoints_steps
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps, self.protocol = log_step_count_steps, protocol
        self.session_config = session_config
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self.model_dir = _model_dir(model_dir, environment.get("model_dir"))

    def uid(self, whitelist: Sequence[str] | None = None) -> str:
        """A string that is the same for equal settings.

        Args:
            whitelist: settings that don't count; None: those that may change in a training.
        """
        free = _FREE if whitelist is None else whitelist
        state = {name: value for name, value in vars(self).items() if name not in free}
        return ", ".join(f"{name}={value!r}" for name, value in sorted(state.items()))


def _model_dir(given: str | None, other: str | None) -> str | None:
    if given is not None and other is not None and given != other:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
            f"model_dir in TF_CONFIG. model_dir: {given}, TF_CONFIG: {other}"
        )
    return other if given is None else given
