"""Feeds both engines untrusted nodes, made at random, and reports what goes wrong.

python tools/fuzz_operators.py --seconds 600               every operator
python tools/fuzz_operators.py --op Conv --op Pad          these
python tools/fuzz_operators.py --seed 3 --only 1234        one mutant again, with what came of it

A seed is a row of tests/cases or a one-node case of the ONNX standard. A mutant is a seed with a
few changes: attributes, shapes, element types, numbers, absent inputs, outputs. Mutants run in a
worker process with little memory and five seconds of processor time each; cinfer answers
twice, with other threads and instructions or after inputs of other shapes, and with the same bits.
Reported are

    crash      the process died: a signal, or a sanitizer's finding
    hang       no end after five seconds
    internal   an exception that no kernel meant to raise
    refused    one engine answers, the other refuses
    differs    both answer, but not the same

The exit status is 1 if there was one of the first two, or an internal error of cinfer. For
sanitizers, build the module with them and name it:

    cmake -S . -B build/asan -DCINFER_SANITIZE=address,undefined,float-cast-overflow
    cmake --build build/asan --target _native
    python tools/fuzz_operators.py --native build/asan/_native.abi3.so --preload libasan.so
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import pickle
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# not tools/: a module there has the name of a package in tests/
sys.path[:1] = [str(ROOT / "tests/support"), str(ROOT / "tests")]

import untrusted_runs  # noqa: E402
from untrusted_nodes import INT64, TYPES, Node, cast, seeds  # noqa: E402

from graphio.support import errors  # noqa: E402

Array = np.ndarray[Any, Any]
BIG = 1 << 16  # elements of a mutated input
FATAL = ("crash", "hang", "internal cinfer")

INTS = (0, -1, 1, 2, 3, -2, 7, 17, 255, 2**31 - 1, -(2**31), 2**31, 2**32, 2**40, 2**62, *INT64)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 3e38, -3e38, 1e300, *map(float, ("inf", "-inf", "nan")))
WORDS = ("", "x", "reflect", "linear", "SAME_UPPER", "VALID", "bhwc,bc->b", "forward", "a" * 300)


# ---- mutations ----


def mutant(nodes: list[Node], seed: int, index: int) -> Node:
    """The same for the same arguments."""
    rng = random.Random(f"{seed}:{index}")
    ops = sorted({node.op for node in nodes})
    op = rng.choice(ops)
    made = rng.choice([node for node in nodes if node.op == op])
    others = [node for node in nodes if node.op == op]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        made = rng.choice(MUTATIONS)(rng, made, others)
    constant = tuple(i for i in range(len(made.inputs)) if rng.random() < 0.5)
    ranks = [(i, x.ndim) for i, x in enumerate(made.inputs) if x is not None]
    if rng.random() < 0.12 and ranks:
        at, rank = rng.choice(ranks)
        dims = [rng.choice((1, 3, 2**31, 2**40, 2**63 - 1)) for _ in range(rank)]
        made = replace(made, huge=(at, (*dims[1:], 0) if rng.random() < 0.5 else (0, *dims[1:])))
    return replace(made, constant=constant, static=rng.random() < 0.5)


def _attribute(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """Another value, length or kind; one that another seed has; none."""
    attrs = dict(node.attrs)
    key = rng.choice([key for other in others for key in other.attrs] or ["axis"])
    if rng.random() < 0.1:
        attrs.pop(key, None)
        return replace(node, attrs=attrs)
    values = [other.attrs[key] for other in others if key in other.attrs] or [0]
    value = attrs.get(key, rng.choice(values))
    attrs[key] = _other(rng, rng.choice((value, rng.choice(values))))
    return replace(node, attrs=attrs)


def _other(rng: random.Random, value: Any) -> Any:
    if rng.random() < 0.05:
        return rng.choice((rng.choice(INTS), rng.choice(FLOATS), "x", [], [1, 2], [0.5], _NUMBERS))
    if isinstance(value, np.ndarray):
        return _values(rng, value) if rng.random() < 0.5 else _reshaped(rng, value)
    if isinstance(value, list):
        return _list(rng, list(value))
    if isinstance(value, (str, bytes)):
        return rng.choice(WORDS)
    if isinstance(value, int):
        return rng.choice((*INTS, value + 1, value - 1))
    return rng.choice(FLOATS) if isinstance(value, float) else value


def _list(rng: random.Random, value: list[Any]) -> list[Any]:
    kind = rng.randrange(6)
    if kind == 0:
        return value * rng.choice((0, 2, 5, 17, 300))
    if kind == 1:
        return value[:-1]
    if kind == 2:
        return value + value[:1]
    if kind == 3 and value:
        return [_other(rng, value[0])] * len(value)
    for at in range(len(value)):
        if rng.random() < 0.5:
            fresh = _other(rng, value[at])
            if isinstance(fresh, type(value[at])):
                value[at] = fresh
    return value


def _shape(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """An input of another shape, or all inputs with another size where they have the same."""
    return _one_input(rng, node, _reshaped)


def _reshaped(rng: random.Random, x: Array) -> Array:
    dims = list(x.shape)
    kind = rng.randrange(8)
    if kind == 0 and dims:
        dims[rng.randrange(len(dims))] = 0
    elif kind == 1 and dims:
        at = rng.randrange(len(dims))
        dims[at] = max(0, dims[at] + rng.choice((-1, 1, 2)))
    elif kind == 2:
        dims = dims[1:]
    elif kind == 3:
        dims.insert(rng.randrange(len(dims) + 1), rng.choice((1, 2, 0)))
    elif kind == 4:
        dims = [1] * (16 - len(dims)) + dims
    elif kind == 5:  # nothing in it, but large all the same
        dims = [rng.choice((0, 1, 2**31, 2**40)) for _ in dims[:1]] + [0]
    elif kind == 6 and dims:
        dims[rng.randrange(len(dims))] = rng.choice((1, 40, 257))
    else:
        dims = rng.choice(([], [0], [1], [2, 0], [0] * len(dims), [1] * len(dims)))
    return _resized(x, dims)


def _resized(x: Array, dims: list[int]) -> Array:
    if 0 in dims:
        return np.empty(dims, x.dtype)
    if math.prod(dims) > BIG:
        dims = [min(size, 3) for size in dims]
    return np.resize(x, dims) if x.size else np.zeros(dims, x.dtype)


def _number(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """Other numbers in an input."""
    return _one_input(rng, node, _values)


def _values(rng: random.Random, x: Array) -> Array:
    x = np.array(x, order="C")
    flat = x.reshape(-1)
    for _ in range(rng.choice((1, 1, 3, x.size))):
        if x.size and x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            flat[rng.randrange(x.size)] = min(max(rng.choice(INTS), info.min), info.max)
        elif x.size:
            with np.errstate(all="ignore"):
                flat[rng.randrange(x.size)] = np.float64(rng.choice(FLOATS)).astype(x.dtype)
    return x


def _small(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """Other numbers in the smallest input of integers: often axes, sizes, indices."""
    sizes = [x.size for x in node.inputs if x is not None and x.dtype.kind == "i"]
    at = next((i for i, x in enumerate(node.inputs) if x is not None and [x.size] == sizes), None)
    if at is None:
        return _number(rng, node, others)
    inputs = list(node.inputs)
    inputs[at] = _values(rng, node.inputs[at])  # type: ignore[arg-type]
    return replace(node, inputs=tuple(inputs))


def _one_input(
    rng: random.Random, node: Node, change: Callable[[random.Random, Array], Array]
) -> Node:
    present = [i for i, x in enumerate(node.inputs) if x is not None]
    if not present:
        return node
    inputs, at = list(node.inputs), rng.choice(present)
    old = node.inputs[at]
    inputs[at] = change(rng, old)  # type: ignore[arg-type]
    if rng.random() < 0.3:  # the same for its fellows
        for i in present:
            if inputs[i].shape == old.shape and inputs[i] is not old and i != at:  # type: ignore[union-attr]
                inputs[i] = _resized(inputs[i], list(inputs[at].shape))  # type: ignore[union-attr, arg-type]
    return replace(node, inputs=tuple(inputs))


def _types(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """Another element type, of one value or of all that had the old one."""
    kinds = [x.dtype for x in node.inputs if x is not None] + list(node.outputs)
    if not kinds:
        return node
    old, new, everywhere = rng.choice(kinds), rng.choice(TYPES), rng.random() < 0.7

    def pick(kind: Any) -> Any:
        return new if kind == old and (everywhere or rng.random() < 0.5) else kind

    with np.errstate(all="ignore"):
        pairs = [None if x is None else (x, pick(x.dtype)) for x in node.inputs]
        inputs = tuple(None if pair is None else cast(*pair) for pair in pairs)
    return replace(node, inputs=inputs, outputs=tuple(map(pick, node.outputs)))


def _arity(rng: random.Random, node: Node, others: list[Node]) -> Node:
    """Inputs or outputs more, fewer, absent or exchanged."""
    inputs, kind = list(node.inputs), rng.randrange(6)
    if kind == 0 and inputs:
        inputs[rng.randrange(len(inputs))] = None
    elif kind == 1:
        inputs = inputs[:-1]
    elif kind == 2 and inputs:
        inputs.append(rng.choice(inputs))
    elif kind == 3:
        rng.shuffle(inputs)
    elif kind == 4:
        given = rng.choice(others).inputs
        at = rng.randrange(max(1, len(given)))
        inputs[at : at + 1] = given[at : at + 1]
    else:
        return replace(node, outputs=(node.outputs * 3)[: rng.choice((1, 2, 3, 4))])
    return replace(node, inputs=tuple(inputs))


_NUMBERS = np.arange(4, dtype=np.int64)
MUTATIONS = (_attribute, _attribute, _attribute, _shape, _shape, _number, _small, _types, _arity)

# ---- the worker ----


def work(options: argparse.Namespace, nodes: list[Node]) -> None:
    """Runs mutants and tells what comes of them, a line of JSON each; before each the engine."""
    untrusted_runs.prepare(options.native)
    for index in range(options.first, 1 << 62):
        node = mutant(nodes, options.seed, index)
        results = {}
        for engine in ("runtime", "cinfer"):
            print(json.dumps([index, engine]), flush=True)
            with untrusted_runs.limited():
                results[engine] = _outcome(engine, node, random.Random(index))
        what, why = _compare(results)
        wild = untrusted_runs.is_wild([*node.inputs, *node.attrs.values()])
        if (node.huge or (what == "differs" and wild)) and what[:8] != "internal":
            # numpy has no such arrays; where numbers overflow depends on the order
            what, why = "", "incomparable"
        print(json.dumps([index, what, why]), flush=True)


def _outcome(engine: str, node: Node, rng: random.Random) -> Any:
    """The outputs, or the error's class and text; None if no file can say this."""
    try:
        data, inputs = node.file()
    except Exception:
        return None
    run = _runtime if engine == "runtime" else _cinfer
    return untrusted_runs.outcome(lambda: run(data, inputs, rng))


def _runtime(data: bytes, inputs: list[Array], rng: random.Random) -> list[Array]:
    from graphio import runtime

    outputs: list[Array] = runtime.load(data).signature().run(inputs)
    return outputs


def _cinfer(data: bytes, inputs: list[Array], rng: random.Random) -> list[Array]:
    """The same whatever the threads and instruction set are, and what was run before."""
    from graphio import cinfer

    found: list[list[Array]] = []
    for _ in range(2):
        threads, isa = rng.choice(((1, "best"), (1, "best"), (3, "best"), (1, "portable")))
        signature = cinfer.load(data, threads=threads, isa=isa).signature()
        if rng.random() < 0.5:
            with contextlib.suppress(errors.OpError, ValueError, TypeError):
                signature.run([_reshaped(rng, x) for x in inputs])
        found.append([np.array(x) for x in signature.run(inputs)])
    one, two = ([x.tolist() if x.dtype == object else x.tobytes() for x in y] for y in found)
    assert one == two, f"{found[0]} and another time {found[1]}"
    return found[0]


def _compare(results: dict[str, Any]) -> tuple[str, str]:
    if None in results.values():
        return "", "no file"
    return untrusted_runs.compare(results)


# ---- the parent ----


@dataclass
class Report:
    """Outcomes and findings."""

    executions: int
    outcomes: Counter[str]
    findings: list[tuple[str, int, str, str]]  # kind, mutant, its string, reason

    @property
    def fatal(self) -> list[tuple[str, int, str, str]]:
        """Those that no file may cause."""
        return [each for each in self.findings if each[0].startswith(FATAL)]


def fuzz(options: argparse.Namespace) -> Report:
    """Runs mutants until the time is over."""
    nodes = [node for node in seeds(options.rows) if not options.op or node.op in options.op]
    report, end = Report(0, Counter(), []), time.monotonic() + options.seconds
    first = options.first if options.only is None else options.only
    with tempfile.TemporaryDirectory() as folder:
        pickled = Path(folder) / "seeds"
        pickled.write_bytes(pickle.dumps(nodes))
        while time.monotonic() < end:
            first = _follow(options, pickled, first, end, nodes, report)
            if options.only is not None:
                break
    return report


def _follow(
    options: argparse.Namespace,
    pickled: Path,
    first: int,
    end: float,
    nodes: list[Node],
    report: Report,
) -> int:
    """Reads one worker until it dies or the time is over; returns where the next one goes on."""
    command = [sys.executable, __file__, "--worker", str(pickled), "--first", str(first)]
    command += ["--seed", str(options.seed), "--native", options.native]
    last: tuple[int, str] = (first, "start")
    for line in untrusted_runs.follow(command, options.native, options.preload):
        if line[0] == "died":
            break
        index, what, *why = line
        last = (index, what)
        if why:
            _record(report, what, index, nodes, options.seed, why[0], not options.quiet)
            if time.monotonic() > end or options.only is not None:
                return int(index) + 1
    code, output = line[1:]
    if last[1] == "start":
        raise RuntimeError(f"the worker did not start: {output}")
    what = f"{untrusted_runs.death(code)} {last[1]} {code}"
    _record(report, what, last[0], nodes, options.seed, output, not options.quiet)
    return last[0] + 1


def _record(
    report: Report, what: str, index: int, nodes: list[Node], seed: int, why: str, tell: bool
) -> None:
    report.executions += 1
    report.outcomes[what or why] += 1
    if what:
        found = what, index, str(mutant(nodes, seed, index)), why
        report.findings.append(found)
        if tell:
            print(f"{what} [{index}] {found[2]}\n    {why}", flush=True)


def arguments(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", action="append", help="only this operator; may be repeated")
    parser.add_argument("--rows", action="store_true", help="only the rows of tests/cases as seeds")
    parser.add_argument("--only", type=int, help="the number of one mutant")
    parser.add_argument("--native", default="", help="a module built with sanitizers")
    parser.add_argument("--preload", default="", help="the sanitizers' library, for that module")
    parser.add_argument("--quiet", action="store_true", help="print the summary alone")
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main() -> int:
    """The command."""
    options = arguments(sys.argv[1:])
    if options.worker:
        work(options, pickle.loads(Path(options.worker).read_bytes()))
        return 0
    report = fuzz(options)
    print(f"{report.executions} mutants: {dict(report.outcomes.most_common())}")
    return 1 if report.fatal else 0


if __name__ == "__main__":
    sys.exit(main())
