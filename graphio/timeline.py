"""tf.timeline: the times of a run as a trace, under the names of TensorFlow's client module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graphio.profile import OperationTime, Profile, profile
from graphio.schema.run_metadata_pb2 import NodeExecStats, StepStats

__all__ = ["OperationTime", "Profile", "Timeline", "profile"]


class Timeline:
    """A run's times as a trace that chrome://tracing and ui.perfetto.dev show.

    Args:
        step_stats: of a RunMetadata that a traced run has filled.
        graph: accepted.
    """

    def __init__(self, step_stats: StepStats, graph: Any = None) -> None:
        self._stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text: a process a device, a thread a thread.

        Args:
            show_dataflow: whether arrows lead from what an operation reads to it.
            show_memory, op_time: accepted.
        """
        events: list[dict[str, Any]] = []
        ended: dict[str, dict[str, Any]] = {}
        for process, device in enumerate(self._stats.dev_stats):
            events.append(
                {"name": "process_name", "ph": "M", "pid": process, "args": {"name": device.device}}
            )
            for node in device.node_stats:
                event = _event(node, process)
                events.append(event)
                if show_dataflow:
                    for source in event["args"]["inputs"]:
                        if source in ended:
                            events += _arrow(ended[source], event, len(events))
                ended[node.node_name] = event
        return json.dumps({"traceEvents": events}, indent=1)


def _event(node: NodeExecStats, process: int) -> dict[str, Any]:
    op, _, inputs = node.timeline_label.partition(" = ")[2].partition("(")
    names = [name for name in inputs.rstrip(")").split(", ") if name]
    return {
        "ph": "X",
        "cat": "Op",
        "name": op or node.node_name,
        "pid": process,
        "tid": node.thread_id,
        "ts": _micros(node.all_start_nanos, node.all_start_micros),
        "dur": _micros(node.all_end_rel_nanos, node.all_end_rel_micros),
        "args": {"name": node.node_name, "op": op, "inputs": names},
    }


def _micros(nanos: int, micros: int) -> float:
    """Microseconds, with a fraction where it is known: most steps take less than one."""
    return nanos / 1000 if nanos else micros


def _arrow(
    source: Mapping[str, Any], target: Mapping[str, Any], number: int
) -> list[dict[str, Any]]:
    common = {"cat": "DataFlow", "name": source["args"]["name"], "id": number}
    start, end = source["ts"] + source["dur"], target["ts"]
    return [
        {**common, "ph": "s", "pid": source["pid"], "tid": source["tid"], "ts": start},
        {**common, "ph": "t", "pid": target["pid"], "tid": target["tid"], "ts": end},
    ]
