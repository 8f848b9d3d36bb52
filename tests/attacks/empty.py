r"""Runs every operator on tensors without elements, in both engines (docs/security.md: S7, S10).

    cd tests && python -m attacks.empty                      all
    cd tests && python -m attacks.empty --op Unique --table  of these operators, counted
    cd tests && python -m attacks.empty --share 50           one in 50 of tests/cases, by hash

Each case of tests/cases and each one-node case of the standard runs with an axis of an input made
0, with all axes of one size made 0, and with all axes made 0; its inputs are fed, or constants.
Both engines answer alike or both refuse. A build with sanitizers shows arithmetic on the null
pointers of empty tensors (tests/attacks/generated.py has its options, and says what is reported):

    python -m attacks.empty --alone --native ../build/attacks-clang/_native.abi3.so
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import untrusted_nodes
import untrusted_runs
from untrusted_nodes import Node

from attacks import generated

Array = np.ndarray[Any, Any]


class Emptied(NamedTuple):
    """A node of which some axes have become 0."""

    op: str
    kind: str
    name: str
    node: Node

    def __str__(self) -> str:
        return f"{self.node} {self.name}"


def emptied(node: Node) -> Iterator[Emptied]:
    """The ways to take elements from a node's inputs."""
    arrays = [x for x in node.inputs if x is not None]
    for i, x in enumerate(node.inputs):
        for axis in range(x.ndim if x is not None else 0):
            yield _changed(
                node, f"axis {axis} of input {i}", lambda k, d, _, i=i, a=axis: (k, d) == (i, a)
            )
    for size in sorted({size for x in arrays for size in x.shape if size}):
        yield _changed(node, f"axes of {size}", lambda k, d, s, size=size: s == size)
    if len(arrays) > 1:
        yield _changed(node, "all axes", lambda k, d, s: True)


def _changed(node: Node, name: str, is_empty: Any) -> Emptied:
    def cut(k: int, x: Array | None) -> Array | None:
        if x is None:
            return None
        return x[tuple(slice(0 if is_empty(k, d, s) else s) for d, s in enumerate(x.shape))]

    inputs = tuple(cut(k, x) for k, x in enumerate(node.inputs))
    constant = generated.numbered_by(name.encode(), str(node)) % 4 == 0
    made = dataclasses.replace(
        node, inputs=inputs, constant=tuple(range(len(inputs))) if constant else node.constant
    )
    return Emptied(node.op, name.split()[0], name + " constant" * constant, made)


@functools.cache
def every(rows: bool = False) -> list[Emptied]:
    """All, without those that come to the same.

    Args:
        rows: of the rows of tests/cases alone, which are read in no time.
    """
    found: dict[tuple[object, ...], Emptied] = {}
    for node in untrusted_nodes.seeds(rows):
        for each in emptied(node):
            made = each.node
            shapes = [(x.dtype.str, x.shape) if x is not None else None for x in made.inputs]
            key = (
                node.op,
                node.domain,
                node.version,
                repr(node.attrs),
                made.constant != (),
                *shapes,
            )
            found.setdefault(key, each)
    return list(found.values())


def chosen(options: argparse.Namespace) -> list[Emptied]:
    """Those that the command line asks for, always in the same order."""
    salt = generated.sources() if options.share > 1 else b""
    return [
        each
        for each in every(rows=options.share > 1)
        if (not options.op or each.op in options.op)
        and (options.only is None or options.only == str(each))
        and (options.share == 1 or generated.numbered_by(salt, str(each)) % options.share == 0)
    ]


def work(options: argparse.Namespace) -> None:
    """Runs them, and tells what comes of it, a line of JSON each; before each the engine."""
    untrusted_runs.prepare(options.native)
    for index, each in enumerate(chosen(options)[options.first :], options.first):
        data, feeds = each.node.file()
        results = {}
        for engine in ("cinfer",) if options.alone else ("runtime", "cinfer"):
            print(json.dumps([index, engine]), flush=True)
            with untrusted_runs.limited():
                results[engine] = untrusted_runs.outcome(
                    functools.partial(_run, engine, data, feeds)
                )
        print(json.dumps([index, *_judged(results)]), flush=True)


def _judged(results: dict[str, Any]) -> tuple[str, str]:
    """The finding to report, or "" and the outcome's class."""
    if len(results) == 1:
        (result,) = results.values()
        return "", result[0] if isinstance(result, tuple) else "answered"
    return untrusted_runs.compare(results)


def _run(engine: str, data: bytes, feeds: list[Array]) -> list[Any]:
    from graphio import cinfer, runtime

    module = runtime if engine == "runtime" else cinfer
    outputs = module.load(data).signature().run(feeds)
    return [x.copy() if isinstance(x, np.ndarray) else x for x in outputs]


def main() -> int:
    """The command."""
    words = sys.argv[1:]
    options = generated.arguments(words)
    if options.worker:
        work(options)
        return 0
    report = generated.run(options, words, "attacks.empty", chosen(options))
    return generated.reported(report, options.table)


if __name__ == "__main__":
    sys.exit(main())
