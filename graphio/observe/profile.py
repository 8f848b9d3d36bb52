"""Profiles: what each operation of a run takes, measured over several runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphio.engine.interface import NodeTime
from graphio.execution.config import RunOptions
from graphio.execution.run_metadata import divided, fill_times
from graphio.observe.chrome_trace import chrome_trace
from graphio.observe.xplane import write_profile
from graphio.schema import fused
from graphio.schema.model_pb2 import Model
from graphio.schema.run_metadata_pb2 import RunMetadata, StepStats
from graphio.support import html

_MOST_ROWS = 30


@dataclass(frozen=True)
class OperationTime:
    """The time of an operation.

    Attributes:
        name: of the operation.
        op: its type; "" if it is not known.
        seconds: the minimum of the runs.
        share: of the sum of all operations, 0 to 1.
    """

    name: str
    op: str
    seconds: float
    share: float


class Profile:
    """The times of several runs of the same fetches; print shows the slowest operations.

    Operations that an engine runs as one share its time: a matrix multiplication fused with
    operations on its result has all of it, a chain of elementwise operations divides it evenly.

    Attributes:
        runs: of each run the step_stats that its RunMetadata got.
        operations: what each operation takes, the slowest first.
    """

    def __init__(self, runs: list[StepStats]) -> None:
        self.runs = runs
        least: dict[str, float] = {}
        ops: dict[str, str] = {}
        for stats in runs:
            for device in stats.dev_stats:
                for node in device.node_stats:
                    seconds = node.all_end_rel_nanos * 1e-9
                    least[node.node_name] = min(seconds, least.get(node.node_name, seconds))
                    label = node.timeline_label.partition(" = ")[2]
                    ops[node.node_name] = label.partition("(")[0]
        total = sum(least.values()) or 1.0
        found = [OperationTime(n, ops[n], s, s / total) for n, s in least.items()]
        self.operations = sorted(found, key=lambda o: -o.seconds)

    @property
    def seconds(self) -> float:
        """The time of all operations together."""
        return sum(o.seconds for o in self.operations)

    def trace(self) -> str:
        """The quickest run as JSON text for chrome://tracing and ui.perfetto.dev."""
        return chrome_trace(min(self.runs, key=_length))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.trace())

    def save_tensorboard(self, logdir: str | os.PathLike[str], name: str | None = None) -> str:
        """Writes all runs for TensorBoard's Profile tab (`pip install tensorboard xprof`).

        Args:
            logdir: TensorBoard's folder.
            name: of the profile; None: the time. The same one again replaces it.

        Returns:
            The path of the file, which the program `xprof` shows, too.
        """
        return write_profile(self.runs, os.fspath(logdir), name)

    def _repr_html_(self) -> str:
        rows = [(f"{o.seconds * 1e6:.1f}", f"{o.share:.1%}", o.op, o.name) for o in self.operations]
        head = ("us", "share", "operator", "operation")
        title = f"{self.seconds * 1e6:.1f} us in {len(rows)} operations"
        return html.table(title, head, rows, right=(0, 1))

    def __str__(self) -> str:
        shown = [o for o in self.operations[:_MOST_ROWS] if o.seconds > 0]
        rows = [f"{o.seconds * 1e6:10.1f} {o.share:6.1%}  {o.op or '?'}  {o.name}" for o in shown]
        left = len(self.operations) - len(shown)
        rest = f"\n{left} more" if left else ""
        head = f"{self.seconds * 1e6:10.1f} us in {len(self.operations)} operations"
        return "\n".join([head + f", the minimum of {len(self.runs)} runs", *rows]) + rest


def _length(stats: StepStats) -> int:
    return sum(n.all_end_rel_nanos for device in stats.dev_stats for n in device.node_stats)


def observed(signature: Any, inputs: Sequence[Any], runs: int) -> list[list[NodeTime]]:
    """The times of the nodes of several runs of a loaded model's signature, after one that is not
    looked at."""
    signature.run(list(inputs))
    found: list[list[NodeTime]] = []
    for _ in range(runs):
        found.append([])
        signature.run_watched(list(inputs), found[-1], None)
    return found


def of_runs(model: Model, runs: Sequence[Sequence[NodeTime]], device: str = "cinfer") -> Profile:
    """Runs of a file's signature as a profile, with the operations that fused nodes stand for.

    Args:
        model: the file's message.
        runs: what `observed` gave.
        device: the name of the engine, for the trace.
    """
    parts = fused.parts(model)
    nodes = {node.name: node for node in fused.unfused(model).graph.node}
    made = []
    for times in runs:
        metadata = RunMetadata()
        reported = [part for time in times for part in divided(time, parts)]
        fill_times(metadata, reported, nodes, device)
        made.append(metadata.step_stats)
    return Profile(made)


def profile(session: Any, fetches: Any, feed_dict: Any = None, runs: int = 10) -> Profile:
    """Runs the fetches several times and reports the time of each operation.

    The runs are real ones: variables are assigned each time.

    Args:
        session: a Session, of either engine.
        fetches, feed_dict: as for its run.
        runs: how many are measured, after one that is not.

    Raises:
        ValueError: fewer than one run. Also what run raises.
    """
    if runs < 1:
        raise ValueError(f"runs is {runs}, expected 1 or more")
    options = RunOptions(trace_level=RunOptions.FULL_TRACE)
    found = []
    for _ in range(runs + 1):
        metadata = RunMetadata()
        session.run(fetches, feed_dict, options=options, run_metadata=metadata)
        found.append(metadata.step_stats)
    return Profile(found[1:])
