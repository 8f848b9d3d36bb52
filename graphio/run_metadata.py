"""What a run tells of itself: RunMetadata from the times of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphio.schema import dtypes
from graphio.schema.engine import NodeTime
from graphio.schema.model_pb2 import Node
from graphio.schema.run_metadata_pb2 import NodeExecStats, RunMetadata

__all__ = ["RunMetadata"]


def fill_times(
    metadata: RunMetadata, times: Sequence[NodeTime], nodes: Mapping[str, Node], first: str
) -> None:
    """Puts the times of a run into step_stats, by device.

    Args:
        metadata: to be filled.
        times: of the nodes, in any order.
        nodes: the model's, by name; a time whose name is not among them is one of the whole run.
        first: the device of what has none.
    """
    metadata.step_stats.Clear()
    by_device: dict[str, list[NodeTime]] = {}
    for time in times:
        node = nodes.get(time.name)
        by_device.setdefault((node.device if node else "") or first, []).append(time)
    threads: dict[int, int] = {}
    for device in sorted(by_device):
        stats = metadata.step_stats.dev_stats.add(device=device)
        for time in sorted(by_device[device], key=lambda t: t.start):
            thread = threads.setdefault(time.thread, len(threads))
            _fill(stats.node_stats.add(), time, nodes.get(time.name), thread)


def _fill(stats: NodeExecStats, time: NodeTime, node: Node | None, thread: int) -> None:
    stats.node_name = time.name
    start, length = time.start // 1000, max(time.end - time.start, 0)
    stats.all_start_micros = stats.scheduled_micros = start
    stats.op_end_rel_micros = stats.all_end_rel_micros = max(1, -(-length // 1000)) if length else 0
    stats.all_start_nanos = time.start
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = length
    stats.thread_id = thread
    if node is not None:
        stats.timeline_label = f"{node.name} = {node.tf_type or node.op}({', '.join(node.input)})"
    for slot, (dtype, shape) in enumerate(time.outputs):
        output = stats.output.add(slot=slot)
        number = dtypes.of_numpy(dtype).number
        output.tensor_description.dtype = number  # type: ignore[assignment]
        for size in shape:
            output.tensor_description.shape.dim.add(size=size)
