"""RunMetadata of a run, made from the times of its nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import time_ns

import numpy as np

from graphio.engine.interface import NodeTime
from graphio.schema import dtypes
from graphio.schema.model_pb2 import Node
from graphio.schema.run_metadata_pb2 import NodeExecStats, RunMetadata

__all__ = ["RunMetadata"]


def fill_times(
    metadata: RunMetadata, times: Sequence[NodeTime], nodes: Mapping[str, Node], first: str
) -> None:
    """Puts the times of a run into step_stats, by device: those that the model's nodes are on.

    Args:
        metadata: to be filled.
        times: of the nodes, in any order.
        nodes: the model's, by name; a time whose name is not among them is a time of the complete
            run.
        first: the device of what has none.
    """
    metadata.step_stats.Clear()
    # A device whose nodes were all computed before the run is there, too.
    by_device: dict[str, list[NodeTime]] = {node.device or first: [] for node in nodes.values()}
    for time in times:
        node = nodes.get(time.name)
        by_device.setdefault((node.device if node else "") or first, []).append(time)
    threads: dict[int, int] = {}
    for device in sorted(by_device):
        stats = metadata.step_stats.dev_stats.add(device=device)
        for time in sorted(by_device[device], key=lambda t: t.start):
            thread = threads.setdefault(time.thread, len(threads))
            _fill(stats.node_stats.add(), time, nodes.get(time.name), thread)


def fill_costs(metadata: RunMetadata, times: Sequence[NodeTime], nodes: Sequence[Node]) -> None:
    """Puts the nodes of a run, with what they took, into cost_graph.

    Args:
        metadata: to be filled.
        times: of the nodes, in any order.
        nodes: the model's, in order.
    """
    metadata.cost_graph.SetInParent()
    time_of = {time.name: time for time in times}
    ids = {node.name: i for i, node in enumerate(nodes)}
    for node in nodes:
        made = metadata.cost_graph.node.add(name=node.name, device=node.device, id=ids[node.name])
        for value in node.input:
            name, _, port = value.partition(":")
            if name in ids:
                made.input_info.add(preceding_node=ids[name], preceding_port=int(port or 0))
        made.control_input.extend(ids[name] for name in node.control_input if name in ids)
        time = time_of.get(node.name)
        if time is None:
            continue
        made.compute_cost = -(-max(time.end - time.start, 0) // 1000)
        for size in _sizes(node, time):
            made.output_info.add(size=size)


def _sizes(node: Node, time: NodeTime) -> list[int]:
    """Bytes of a node's outputs, as recorded with its time or else as known statically."""
    if time.outputs:
        return [math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in time.outputs]
    sizes = []
    for kind in node.output_type:
        dims = kind.tensor.shape.dim
        if not kind.tensor.HasField("shape") or any(d.WhichOneof("value") != "size" for d in dims):
            return []
        bits = dtypes.of_number(kind.tensor.dtype).bits
        sizes.append(math.prod(d.size for d in dims) * bits // 8)
    return sizes


def with_untold(times: Sequence[NodeTime], nodes: Iterable[str]) -> list[NodeTime]:
    """The times, and one of no length at the start of the run for each of the nodes that no step
    has: constants, and what an engine computes before a run, which engines do differently.

    Args:
        times: of the nodes of a run.
        nodes: names of all the nodes that belong to the run.
    """
    start = min((time.start for time in times), default=time_ns())
    reported = {time.name for time in times}
    return [*(NodeTime(name, start, start) for name in nodes if name not in reported), *times]


def divided(time: NodeTime, parts: Mapping[str, Sequence[str]]) -> list[NodeTime]:
    """The times of the nodes that ran as one: the first took it all where it is a matrix
    multiplication, whose tiles the others process; else each took an equal share.

    Args:
        time: of a node.
        parts: see schema.fused.parts.
    """
    names = parts.get(time.name)
    if names is None:
        return [time]
    is_matmul = names[0] == ""
    names = names[1:] if is_matmul else names
    shares = 1 if is_matmul else len(names)
    length = max(time.end - time.start, 0)
    made = []
    for k, name in enumerate(names):
        start, end = (time.start + length * min(i, shares) // shares for i in (k, k + 1))
        outputs = time.outputs if k == len(names) - 1 else ()
        made.append(replace(time, name=name, start=start, end=end, outputs=outputs))
    return made


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
