"""The goals for each figure, and whether they are met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PEER = "best peer"
Figures = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Goal:
    """A figure of ours is at most `factor` times that of a reference.

    Attributes:
        row: name of the model or of the other row.
        ours: the engine.
        reference: an engine, or PEER.
        factor: the goal.
        must: False for one that is to be reached or explained.
    """

    row: str
    ours: str
    reference: str
    factor: float
    must: bool = True


C, PYTHON, RUNTIME = "cinfer, C", "cinfer, Python", "Python runtime"
ORT_C, ORT, HAND = "onnxruntime, C", "onnxruntime, Python", "by hand, C"
GOALS = (
    Goal("tiny", C, PEER, 0.35),
    Goal("tiny", C, HAND, 2.0),
    Goal("tiny", PYTHON, ORT, 0.15),
    Goal("mlp", C, ORT_C, 0.6),
    Goal("mlp", C, PEER, 0.4, False),
    Goal("mlp_b64", C, ORT_C, 1.0),
    Goal("cnn", C, PEER, 0.75),
    Goal("cnn", C, PEER, 0.6, False),
    Goal("cnn_b32", C, PEER, 1.0),
    Goal("lstm", C, PEER, 0.7),
    Goal("lstm", C, PEER, 0.6, False),
    Goal("gru", C, PEER, 0.7),
    Goal("gru", C, PEER, 0.6, False),
    Goal("elementwise", C, PEER, 0.75),
    *(
        Goal(row, C, PEER, 0.7)
        for row in ("forest", "forest_b1000", "boosting", "boosting_b1000")
    ),
    *(
        Goal(row, C, PEER, 1.0, False)
        for row in ("mobilenetv2", "resnet50", "minilm", "decoder")
    ),
    Goal("first sight", PYTHON, ORT, 0.2),
    Goal("start tiny", C, ORT_C, 0.1),
    Goal("start mobilenetv2", C, ORT_C, 0.2),
    Goal("start resnet50", C, ORT_C, 0.2),
    Goal("train perceptron", "cinfer", "numpy", 0.6),
    Goal("train perceptron", RUNTIME, "numpy", 1.1),
    Goal("train cnn", "cinfer", "torch", 0.8),
    Goal("train cnn", "cinfer", "torch.compile", 0.8),
)


def best_peer(engines: Figures, peers: list[str]) -> str | None:
    """The peer with the least median."""
    timed = [name for name in peers if "median" in engines.get(name, {})]
    return min(timed, key=lambda name: engines[name]["median"], default=None)


@dataclass(frozen=True)
class Verdict:
    """A goal beside what was measured: ratios of medians and of least times, None without one."""

    goal: Goal
    reference: str
    median: float | None
    least: float | None

    @property
    def met(self) -> bool:
        """Whether the ratio of medians is at most the goal."""
        return self.median is not None and self.median <= self.goal.factor

    @property
    def text(self) -> str:
        """What a table says."""
        sign = "goal" if self.goal.must else "aim"
        head = f"{sign} {self.goal.factor:g} x {self.reference}"
        if self.median is None:
            return f"{head}: not measured"
        return f"{head}: {self.median:.2f}, {'met' if self.met else '**not met**'}"


def verdicts(rows: Mapping[str, Figures], peers: list[str]) -> list[Verdict]:
    """A verdict for each goal whose row was measured."""
    found = []
    for goal in GOALS:
        engines = rows.get(goal.row)
        if engines is None:
            continue
        other = best_peer(engines, peers) if goal.reference == PEER else goal.reference
        ours, theirs = engines.get(goal.ours, {}), engines.get(other or "", {})
        if "median" not in theirs:
            found.append(Verdict(goal, other or PEER, None, None))
            continue
        ratios = [
            ours[k] / theirs[k] if k in ours and k in theirs else None for k in ("median", "min")
        ]
        found.append(Verdict(goal, other or PEER, *ratios))
    return found
