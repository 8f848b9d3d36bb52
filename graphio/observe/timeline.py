"""tf.timeline: the times of a run as a trace, under the names of TensorFlow's client module."""

from __future__ import annotations

from typing import Any

from graphio.observe.chrome_trace import chrome_trace
from graphio.observe.profile import OperationTime, Profile, profile
from graphio.schema.run_metadata_pb2 import StepStats

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
            show_dataflow: whether flow events connect an operation to its inputs.
            show_memory, op_time: accepted.
        """
        return chrome_trace(self._stats, show_dataflow)
