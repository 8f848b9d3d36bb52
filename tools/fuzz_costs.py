"""Measures what honest models cost, for the bounds of the fuzz target `cost`.

python tools/fuzz_costs.py         writes cinfer/fuzz/cost_bounds.h and cinfer/fuzz/corpus/cost.pack
python tools/fuzz_costs.py --show  prints the figures and changes nothing

The models are those that tools/fuzz_seeds.py has: rows of tests/cases, the standard's cases, the
models of the C tests, the golden files. A cost is a number of basic blocks to open a file and to
plan its dearest signature (cinfer/tests/work.h).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple

import fuzz
import fuzz_seeds
import make_models

from graphio.schema import container
from graphio.schema import model_pb2 as pb

SHORT = 1 << 10  # bytes of a file of which the bound is as low as the honest models allow
TIMES = 10
SEED = 6000  # bytes of the largest seed
FLOAT, BOOL = 1, 9
LAYERS = ((8, 8), (3, 64))  # calls of a function, and its steps
OUT = fuzz.C_FUZZ / "cost_bounds.h"
MADE = (
    "perceptron", "panels", "everything", "sequences", "called", "found", "lent", "hollow", "own",
    "chain",
)  # fmt: skip


class Cost(NamedTuple):
    """Basic blocks that a file of so many bytes took."""

    size: int
    blocks: int


def main() -> None:
    """Writes the bounds and the seeds, or shows what they would be."""
    text = bounds(measured())
    print(text)
    if "--show" in sys.argv:
        return
    OUT.write_text(text, encoding="utf-8")
    (fuzz.C_FUZZ / "corpus/cost.pack").write_bytes(fuzz.packed(seeds()))


def seeds() -> list[bytes]:
    """Models with all that a file may hold, the smallest first."""
    golden = sorted((fuzz.ROOT / "tests/golden").rglob("*.gio"))
    found = {getattr(make_models, name)() for name in MADE} | {given()}
    found |= {layers(*counts) for counts in LAYERS}
    found |= {path.read_bytes() for path in golden}
    return sorted((data for data in found if len(data) <= SEED), key=lambda s: (len(s), s))


def given() -> bytes:
    """A function whose If has the bodies that its call gives."""
    model = pb.Model()
    function = model.function.add(domain="own", name="Choose", version=1, input=["c"], output=["r"])
    function.attribute.extend(("no", "yes"))
    inner = function.node.add(name="r", op="If", version=16, input=["c"])
    inner.output_type.add()
    for key, name in (("else_branch", "no"), ("then_branch", "yes")):
        inner.attr.add(key=key).value.reference = name
    call = pb.Node(name="y", op="Choose", domain="own", version=1, input=["c"])
    for key, value in (("no", 0.0), ("yes", 1.0)):
        body = call.attr.add(key=key).value.g
        body.node.add(name=key, op="Constant", version=13)
        body.node[0].output_type.add().tensor.dtype = FLOAT
        body.node[0].attr.add(key="value_float").value.f = value
        body.output.append(key)
    source = model.graph.node.add(name="c", op="Placeholder", domain="graphio", version=1)
    source.output_type.add().tensor.dtype = BOOL
    source.output_type[0].tensor.shape.SetInParent()
    call.output_type.add().tensor.dtype = FLOAT
    model.graph.node.append(call)
    signature = model.signature.add(name="choose")
    signature.input.add(key="c", value="c")
    signature.output.add(key="y", value="y")
    return container.pack(model, [])


def layers(calls: int, steps: int) -> bytes:
    """Calls, each of what the one before gives, of a function of so many steps."""
    model = pb.Model()
    function = model.function.add(domain="own", name="Layer", version=1, input=["x"])
    _chain(function.node, "step", steps, lambda i: {"op": ("Relu", "Tanh")[i % 2], "version": 13})
    function.output.append(f"step{steps - 1}")
    _add(model.graph.node, "x", op="Placeholder", domain="graphio", version=1)
    layer = {"op": "Layer", "domain": "own", "version": 1}
    _chain(model.graph.node, "layer", calls, lambda i: layer)
    signature = model.signature.add(name="predict")
    signature.input.add(key="x", value="x")
    signature.output.add(key="y", value=f"layer{calls - 1}")
    return container.pack(model, [])


def _chain(nodes: Any, name: str, count: int, what: Callable[[int], dict[str, Any]]) -> None:
    """Nodes, of which the first reads x and each other one the one before."""
    before = "x"
    for i in range(count):
        _add(nodes, f"{name}{i}", input=[before], **what(i))
        before = f"{name}{i}"


def _add(nodes: Any, name: str, **others: Any) -> None:
    """A node of one output, a matrix."""
    made = nodes.add(name=name, **others).output_type.add()
    made.tensor.dtype = FLOAT
    for _ in range(2):
        made.tensor.shape.dim.add(size=4)


def measured() -> list[Cost]:
    """The costs of all models."""
    program = fuzz.counting_program("cost")
    if program is None:
        sys.exit("there is no compiler for the target")
    with tempfile.TemporaryDirectory() as folder:
        models = {data for data, _ in fuzz_seeds.models()} | set(seeds())
        paths = [Path(folder, sha1(data).hexdigest()) for data in sorted(models)]
        for path, data in zip(paths, sorted(models), strict=True):
            path.write_bytes(data)
        command = [*program, "-measure=1", *map(str, paths)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [Cost(*map(int, line.split()[:2])) for line in lines.splitlines()]


def line(costs: list[Cost]) -> tuple[int, int]:
    """The a and b of the line a + b * size that no cost is above, and that is lowest at SHORT."""
    found = (
        (max(cost.blocks - each * cost.size for cost in costs), each)
        for each in range(max(cost.blocks // cost.size for cost in costs) + 1)
    )
    return min(found, key=lambda line: max(line[0], 0) + line[1] * SHORT)


def bounds(costs: list[Cost]) -> str:
    """The header."""
    least, each = line(costs)
    nearest = sorted(costs, key=lambda c: c.blocks - each * c.size)[-2:]
    nearest_costs = " and ".join(f"{c.blocks} blocks of {c.size} bytes" for c in nearest)
    return f"""\
/* cost_bounds.h - what may be taken to open and to plan a file. Generated by
 * tools/fuzz_costs.py: do not edit.
 *
 * None of {len(costs)} honest models takes more than {least} + {each} * size blocks; of all
 * such lines this is the lowest at {SHORT} bytes. Nearest are
 * {nearest_costs}.
 * The bounds are {TIMES} times that. */
#ifndef FUZZ_COST_BOUNDS_H
#define FUZZ_COST_BOUNDS_H
#define COST_BLOCKS_FOR_ANY UINT64_C({TIMES * least})
#define COST_BLOCKS_FOR_EACH_BYTE UINT64_C({TIMES * each})
#endif
"""


if __name__ == "__main__":
    main()
