"""Runs' times as TensorBoard's profile plugin reads them: planes of threads of events."""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Sequence

from graphio.schema.run_metadata_pb2 import NodeExecStats, StepStats
from graphio.schema.xplane_pb2 import XPlane, XSpace

__all__ = ["write_profile"]

_HOST = "/host:CPU"  # the plugin's name of the plane whose operations it lists
_INPUTS = 1  # the number of the only statistic


def write_profile(runs: Sequence[StepStats], logdir: str, name: str | None) -> str:
    """Writes runs where TensorBoard looks for profiles in a folder of logs.

    Args:
        runs: as RunMetadata has them, in order.
        logdir: the folder.
        name: of the profile; None: the time.

    Returns:
        The file's path.
    """
    made = name or datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S")
    folder = os.path.join(logdir, "plugins", "profile", made)
    os.makedirs(folder, exist_ok=True)
    host = socket.gethostname() or "localhost"
    path = os.path.join(folder, f"{host}.xplane.pb")
    with open(path, "wb") as file:
        file.write(space_of(runs, host).SerializeToString())
    return path


def space_of(runs: Sequence[StepStats], host: str) -> XSpace:
    """The runs as one XSpace; a device other than the host has a separate plane."""
    space = XSpace(hostnames=[host])
    every = [
        (device.device, n) for run in runs for device in run.dev_stats for n in device.node_stats
    ]
    first = min((node.all_start_nanos for _, node in every), default=0)
    for i, device in enumerate(sorted({device for device, _ in every})):
        plane = space.planes.add(id=i, name=_HOST if i == 0 else f"{_HOST} {device}")
        plane.stat_metadata[_INPUTS].id = _INPUTS
        plane.stat_metadata[_INPUTS].name = "inputs"
        _fill(plane, [node for where, node in every if where == device], first)
    return space


def _fill(plane: XPlane, nodes: Sequence[NodeExecStats], first: int) -> None:
    """A line a thread, an event each time that an operation ran.

    Args:
        first: the moment from which times count: in picoseconds today's date does not fit.
    """
    numbers: dict[str, int] = {}
    for thread in sorted({node.thread_id for node in nodes}):
        own = [node for node in nodes if node.thread_id == thread]
        start = min(node.all_start_nanos for node in own)
        end = max(node.all_start_nanos + node.all_end_rel_nanos for node in own)
        line = plane.lines.add(id=thread, name=f"thread {thread}", timestamp_ns=start - first)
        line.duration_ps = (end - start) * 1000
        for node in own:
            op, inputs = _labelled(node)
            number = numbers.setdefault(node.node_name, len(numbers) + 1)
            metadata = plane.event_metadata[number]
            metadata.id, metadata.display_name = number, node.node_name
            metadata.name = f"{node.node_name}:{op}" if op else node.node_name
            event = line.events.add(metadata_id=number)
            event.offset_ps = (node.all_start_nanos - start) * 1000
            event.duration_ps = node.all_end_rel_nanos * 1000
            if inputs:
                event.stats.add(metadata_id=_INPUTS, str_value=inputs)


def _labelled(node: NodeExecStats) -> tuple[str, str]:
    """Type and inputs out of "sum = Add(x, y)"."""
    op, _, inputs = node.timeline_label.partition(" = ")[2].partition("(")
    return op, inputs.removesuffix(")")
