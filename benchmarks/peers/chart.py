"""One bar chart: cinfer and ONNX Runtime compared with the best peer of each model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .goals import GOALS, PEER, best_peer
from .latency import PEERS
from .models import SUITE

SHOWN = {"cinfer, C": "#1b6ca8", "cinfer, Python": "#7fb2d9", "onnxruntime, C": "#c8c8c8"}


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Writes the chart; the file's ending chooses its format.

    Args:
        found: what the command stores.
        path: of the file.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "peers"
    models = [m for m in SUITE if best_peer(found["models"].get(m, {}), PEERS)]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.55 * len(models)))
    height = 0.8 / len(SHOWN)
    for number, (engine, color) in enumerate(SHOWN.items()):
        for row, model in enumerate(models):
            engines = found["models"][model]
            if "median" not in engines.get(engine, {}):
                continue
            best = engines[best_peer(engines, PEERS)]["median"]
            label = engine if row == 0 else None
            position = row + (number - 1) * height
            axes.barh(position, engines[engine]["median"] / best, height, color=color, label=label)
    for goal in GOALS:
        if goal.row in models and goal.reference == PEER and goal.must:
            row = models.index(goal.row)
            axes.plot([goal.factor] * 2, [row - 0.45, row + 0.45], color="#b03030", linewidth=2)
    axes.plot([], [], color="#b03030", linewidth=2, label="goal")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(models)), [SUITE[m].name for m in models])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"time of the best peer = 1 (medians, {found['threads']} thread)")
    axes.legend(loc="best", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
