"""The share of the machine's limit that each operator of a model reaches in cinfer.

    python -m benchmarks.limits MODEL.gio [--batch 1] [--runs 50] [--trace run.json]

MODEL is a file of ours or of ONNX (.onnx) whose inputs are tensors of numbers; dimensions that it
leaves open are the batch. A node's limit is the time that its operations on floats take at the
peak of one core, or its bytes at the speed of the level of memory that they fit into, whichever is
more: the share is that time over the minimum that was measured. Elementwise functions count as
one operation, so the share of exp and similar ones is one of bytes. limits.c measures the limits
once a processor; they are kept in build/limits.json.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphio import cinfer
from graphio.model import costs
from graphio.observe import profile
from graphio.schema import container, fused

from .peers.models import ROOT
from .peers.native import COMPILER, made
from .peers.report import machine

Array = np.ndarray[Any, Any]
CACHE = ROOT / "build" / "limits.json"
SOURCE = Path(__file__).with_name("limits.c")
#: a level of memory, the block that is read to measure it, its size if the system reports none
LEVELS = (
    ("L1", 1 << 14, "SC_LEVEL1_DCACHE_SIZE", 1 << 15),
    ("L2", 1 << 18, "SC_LEVEL2_CACHE_SIZE", 1 << 20),
    ("L3", 1 << 22, "SC_LEVEL3_CACHE_SIZE", 1 << 25),
    ("DRAM", 1 << 28, "", 1 << 62),
)


@dataclass(frozen=True)
class Limits:
    """The peak of one core.

    Attributes:
        flops: operations on float32 a second.
        speeds: by level of memory: the bytes that fit into it, bytes a second.
    """

    flops: float
    speeds: Mapping[str, tuple[int, float]]

    def of(self, operations: int, moved: int) -> tuple[float, str]:
        """The seconds that this takes at least, and what bounds it."""
        level, speed = next((n, s) for n, (size, s) in self.speeds.items() if moved <= size)
        computing, moving = operations / self.flops, moved / speed
        return (computing, "FMA") if computing > moving else (moving, level)


def measured(seconds: float) -> dict[str, Any]:
    """The limits as they are kept: measured for so many seconds each."""
    flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
    library = ctypes.CDLL(
        os.fspath(made("limits.so", [*COMPILER, *flags, os.fspath(SOURCE)], [SOURCE]))
    )
    library.limits_fma.restype = library.limits_read.restype = ctypes.c_double
    found: dict[str, Any] = {"flops": library.limits_fma(ctypes.c_double(seconds)), "speeds": {}}
    for name, block, size, usual in LEVELS:
        known = os.sysconf(size) if size in os.sysconf_names else 0
        speed = library.limits_read(ctypes.c_size_t(block), ctypes.c_double(seconds))
        found["speeds"][name] = (known if known > 0 else usual, speed)
    return found


def limits(seconds: float = 0.5) -> Limits:
    """The limits of this processor, from build/limits.json where they are there."""
    cpu = machine()["cpu"]
    kept = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    if cpu not in kept:
        kept[cpu] = measured(seconds)
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        CACHE.write_text(json.dumps(kept, indent=1) + "\n")
    speeds = {name: tuple(row) for name, row in kept[cpu]["speeds"].items()}
    return Limits(kept[cpu]["flops"], speeds)


@dataclass(frozen=True)
class Row:
    """A node and its limit; without one where a shape is not known."""

    name: str
    op: str
    seconds: float
    operations: int | None
    moved: int
    limit: float
    bound: str


def model_bytes(path: str) -> bytes:
    """The model as a file of ours."""
    if path.endswith(".onnx"):
        from graphio.onnx import convert

        return convert(path)
    return Path(path).read_bytes()


def inputs_of(signature: Any, batch: int) -> list[Array]:
    """Random inputs; numbers of an unknown meaning are 0 where they are integers."""
    random = np.random.RandomState(0)
    made = []
    for spec in signature.inputs.values():
        shape = tuple(batch if size is None else size for size in spec.shape or ())
        floats = spec.dtype.kind == "f"
        made.append(np.asarray(random.rand(*shape) if floats else np.zeros(shape), spec.dtype))
    return made


def rows_of(data: bytes, name: str, inputs: list[Array], times: Mapping[str, float]) -> list[Row]:
    """The time of each node compared with its limit, the slowest first."""
    model, _ = container.unpack(data)
    parts, most = fused.parts(model), limits()
    rows = []
    for cost in costs.node_costs(data, name, inputs):
        if cost.name not in times:
            continue
        limit, bound = most.of(cost.operations or 0, cost.moved)
        title = ", ".join(filter(None, parts.get(cost.name, ()))) or cost.name
        rows.append(
            Row(title, cost.op, times[cost.name], cost.operations, cost.moved, limit, bound)
        )
    return sorted(rows, key=lambda row: -row.seconds)


def table(rows: list[Row], most: Limits) -> str:
    """The rows as markdown, and all of them together."""
    speeds = ", ".join(f"{n} {s / 1e9:.0f} GB/s" for n, (_, s) in most.speeds.items())
    lines = [
        f"One core: {most.flops / 1e9:.0f} GFLOP/s, {speeds}.",
        "",
        "| us | operator | GFLOP/s | GB/s | bound | of the limit | nodes |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        nanos = max(row.seconds * 1e9, 1.0)
        work = "" if row.operations is None else f"{row.operations / nanos:.1f}"
        share = "" if row.operations is None else f"{row.limit * 1e9 / nanos:.0%}"
        figures = [f"{row.seconds * 1e6:.1f}", row.op, work, f"{row.moved / nanos:.1f}", row.bound]
        lines.append(f"| {' | '.join([*figures, share, row.name])} |")
    total, limit = sum(row.seconds for row in rows), sum(row.limit for row in rows)
    share = f"{limit / total:.0%}" if total else ""
    lines.append(f"| {total * 1e6:.1f} | all | | | | {share} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--signature", help="where the model has several")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--trace", type=Path, help="writes a trace for ui.perfetto.dev")
    chosen = parser.parse_args()
    data = model_bytes(chosen.model)
    with cinfer.load(data) as loaded:
        signature = loaded.signature(chosen.signature)
        inputs = inputs_of(signature, chosen.batch)
        runs = profile.observed(signature, inputs, chosen.runs)
    least: dict[str, float] = {}
    for time in (time for times in runs for time in times):
        seconds = (time.end - time.start) * 1e-9
        least[time.name] = min(seconds, least.get(time.name, seconds))
    print(table(rows_of(data, signature.name, inputs, least), limits()))
    if chosen.trace:
        profile.of_runs(container.unpack(data)[0], runs).save(chosen.trace)


if __name__ == "__main__":
    main()
