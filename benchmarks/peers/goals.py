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
LARGE = ("mobilenetv2", "resnet50", "minilm", "decoder")
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
    *(Goal(row, C, PEER, 0.7) for row in ("forest", "forest_b1000", "boosting", "boosting_b1000")),
    *(Goal(row, C, PEER, 1.0, False) for row in LARGE),
    *(
        Goal(f"first call {model}", *pair, 0.2)
        for model in ("tiny", "mlp")
        for pair in ((C, ORT_C), (PYTHON, ORT))
    ),
    *(Goal(f"two threads {row}", "2 threads", "1 thread", 1 / 1.7, False) for row in LARGE),
    Goal("start tiny", C, ORT_C, 0.1),
    Goal("start mobilenetv2", C, ORT_C, 0.2),
    Goal("start resnet50", C, ORT_C, 0.2),
    Goal("train perceptron", "cinfer", "numpy", 0.6),
    Goal("train perceptron", RUNTIME, "numpy", 1.1),
    Goal("train cnn", "cinfer", "torch", 0.8),
    Goal("train cnn", "cinfer", "torch.compile", 0.8),
)


@dataclass(frozen=True)
class Limit:
    """A figure of ours is at most a number.

    Attributes:
        row, ours: as of a goal.
        key: of the figure: "median", or one of what a row tells besides.
        most: the number; None: the row says it.
        must: as of a goal.
    """

    row: str
    ours: str
    key: str
    most: float | None = None
    must: bool = True


STARTS = ("tiny", "mobilenetv2", "resnet50")
LIMITS = (
    *(Limit(f"start {model}", C, "peak MB") for model in STARTS),
    Limit("first call tiny", C, "growth MB", 0.1),
    Limit("first call tiny", PYTHON, "growth MB", 1.0),  # the interpreter's pages come and go
    Limit("node", RUNTIME, "median", 3e-6, False),
)


def best_peer(engines: Figures, peers: list[str]) -> str | None:
    """The peer with the smallest median."""
    timed = [name for name in peers if "median" in engines.get(name, {})]
    return min(timed, key=lambda name: engines[name]["median"], default=None)


@dataclass(frozen=True)
class Verdict:
    """A goal and the measured figures.

    Attributes:
        row, ours, must: as of the goal.
        reference: an engine, or the unit of a limit.
        most: the goal.
        median, least: what is to be at most that, by medians and by least times; None where it
            was not measured.
    """

    row: str
    ours: str
    reference: str
    most: float
    must: bool
    median: float | None = None
    least: float | None = None

    @property
    def met(self) -> bool:
        """Whether the median is at most the goal."""
        return self.median is not None and self.median <= self.most


def verdicts(rows: Mapping[str, Figures], peers: list[str]) -> list[Verdict]:
    """A verdict for each goal and limit whose row was measured and, of a ratio, has a reference."""
    found = []
    for goal in GOALS:
        engines = rows.get(goal.row, {})
        other = best_peer(engines, peers) if goal.reference == PEER else goal.reference
        theirs = engines.get(other or "", {})
        if other is None or "median" not in theirs:
            continue
        ours = engines.get(goal.ours, {})
        ratios = [ours[k] / theirs[k] if k in ours else None for k in ("median", "min")]
        reference = f"{other} (best)" if goal.reference == PEER else other
        found.append(Verdict(goal.row, goal.ours, reference, goal.factor, goal.must, *ratios))
    for limit in LIMITS:
        ours = rows.get(limit.row, {}).get(limit.ours, {})
        if limit.key == "median" and "median" in ours and limit.most is not None:
            times = [round(1e6 * ours[k], 2) for k in ("median", "min")]
            most = 1e6 * limit.most
            found.append(Verdict(limit.row, limit.ours, "us", most, limit.must, *times))
        elif limit.key in ours.get("more", {}):
            most = ours["limits"][limit.key] if limit.most is None else limit.most
            value = ours["more"][limit.key]
            found.append(Verdict(limit.row, limit.ours, limit.key, most, limit.must, value))
    return found
