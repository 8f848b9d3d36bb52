"""The times of a run as a trace in the format of chrome://tracing and ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graphio.schema.run_metadata_pb2 import NodeExecStats, StepStats

__all__ = ["chrome_trace"]


def chrome_trace(stats: StepStats, show_dataflow: bool = True) -> str:
    """The trace as JSON text: a process a device, a thread a thread.

    Args:
        stats: of a RunMetadata that a traced run has filled.
        show_dataflow: whether flow events connect an operation to its inputs.
    """
    events: list[dict[str, Any]] = []
    ended: dict[str, dict[str, Any]] = {}
    for process, device in enumerate(stats.dev_stats):
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
