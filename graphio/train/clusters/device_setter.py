"""replica_device_setter: variables wish for parameter servers, all else for a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework.devices import DeviceSpec
from graphio.support import api_guard
from graphio.train.clusters.cluster_spec import ClusterSpec

__all__ = ["replica_device_setter"]

#: types of operations that have state which all workers share
_STATEFUL = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
    "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
)  # fmt: skip


@api_guard.guarded
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """A function for tf.device, for graphs of which each worker runs a copy.

    Operations keep the devices; a session runs those that it has, or all of them on its first
    device with allow_soft_placement.

    Args:
        ps_tasks: number of tasks of the job of ps_device; with cluster, those in it count.
        ps_device: device of operations with state; "": there is none.
        worker_device: device of all others; "": none.
        merge_devices: False leaves operations with another wish alone.
        cluster: a ClusterSpec, or what makes one.
        ps_ops: types of operations with state; None: variables, tables and accumulators.
        ps_strategy: from an operation to the number of its task; None: one after the other.

    Returns:
        The function; None where there are no such tasks.

    Raises:
        TypeError: cluster makes no ClusterSpec, or ps_strategy is not callable.
        ValueError: ps_tasks is negative.
    """
    if cluster is not None:
        job = DeviceSpec.from_string(ps_device).job
        found = ClusterSpec(cluster).as_dict().get(job or "")
        ps_tasks = len(found) if found else 0
    if ps_tasks < 0:
        raise ValueError(f"replica_device_setter: ps_tasks is {ps_tasks}, expected 0 or more")
    if not ps_tasks:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    tasks = itertools.cycle(range(ps_tasks))
    task_of = ps_strategy or (lambda op: next(tasks))
    stateful = set(_STATEFUL if ps_ops is None else ps_ops)

    def device_function(op: Any) -> str:
        """The device of an operation, or of its NodeDef."""
        if op.device and not merge_devices:
            return str(op.device)
        wish = DeviceSpec.from_string(op.device or "")
        kind = op.type if hasattr(op, "type") else op.op
        if not ps_device or kind not in stateful:
            return DeviceSpec.from_string(worker_device or "").make_merged_spec(wish).to_string()
        base = DeviceSpec.from_string(ps_device)
        if base.job and wish.job in (None, base.job):
            base = base.replace(task=task_of(op))
        return base.make_merged_spec(wish).to_string()

    return device_function
