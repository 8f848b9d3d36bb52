"""R22 and R23: all differences are reported at once; values that fit are restored exactly.

    python -m proofs.restores --help          (in the folder tests, or make proof-restores)

R22: random differences between a graph and a checkpoint. One error names every variable that is
missing, with a near name, and every dtype and shape that differs; nothing is assigned.
R23: random trees of variables, restored under other names, shapes and dtypes and in parts, must be
what the rules say, computed apart (tests/short_proofs/test_restore_trees.py).
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import dtypes
from graphio.schema.checkpoint import write_checkpoint
from graphio.support import errors
from proofs import slices, victims
from proofs.slices import Mode, Result, main

KINDS = ("float32", "float64", "int32", "int64", "bool")
SHAPES = ((), (3,), (2, 2), (0, 4), (1, 5))
#: name to dtype and shape
Table = dict[str, tuple[str, tuple[int, ...]]]
FEW = 5  # variables that differ: C's messages have a limit


def table(rng: random.Random) -> Table:
    """Variables with names that are not near each other."""
    names = {"".join(rng.choices(string.ascii_lowercase, k=9)) for _ in range(rng.randint(3, 12))}
    return {
        f"{rng.choice(('', 'a/', 'net/layer/'))}{name}": (rng.choice(KINDS), rng.choice(SHAPES))
        for name in sorted(names)
    }


def differing(stored: Table, rng: random.Random) -> tuple[Table, list[str], type[errors.OpError]]:
    """A graph's variables, the lines that the error must have, and the error's class."""
    graph, lines, missing = dict(stored), [], False
    for name in rng.sample(sorted(stored), rng.randint(1, min(FEW, len(stored)))):
        kind, shape = graph.pop(name)
        how = rng.choice(("name", "dtype", "shape", "both"))
        if how == "name":
            at = rng.randrange(len(name))
            other = name[:at] + "Z" + name[at + 1 :]
            graph[other], missing = (kind, shape), True
            lines.append(f"Key {other} not found in checkpoint (it has {name}")
            continue
        if how in ("dtype", "both"):
            kind = rng.choice([k for k in KINDS if k != kind])
            lines.append(f"{name}: the variable has dtype {kind}, the checkpoint {stored[name][0]}")
        if how in ("shape", "both"):
            shape = rng.choice([s for s in SHAPES if s != shape])
            lines.append(
                f"{name}: Assign requires shapes of both tensors to match. "
                f"lhs shape= {_text(shape)} rhs shape= {_text(stored[name][1])}"
            )
        graph[name] = (kind, shape)
    return graph, lines, errors.NotFoundError if missing else errors.InvalidArgumentError


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def by_state(engine: str, graph: Table) -> tuple[Any, Callable[[str], Any]]:
    """A state of an engine, whose variables are zeros, and its restore."""
    state = victims.engine(engine).new_state(0)
    for name, (kind, shape) in graph.items():
        state.declare(name, dtypes.of_numpy(kind).number, list(shape))
        state.set(name, np.zeros(shape, kind))
    return state, state.restore


def by_saver(target: str, graph: Table) -> tuple[Any, Callable[[str], Any]]:
    """Likewise of a session, with a Saver."""
    with tf.Graph().as_default():
        for name, (kind, shape) in graph.items():
            tf.Variable(np.zeros(shape, kind), name=name)
        session, saver = tf.Session(target), tf.train.Saver()
        session.run(tf.global_variables_initializer())
    return session.state, lambda prefix: saver.restore(session, prefix)


READERS: dict[str, Callable[[Table], tuple[Any, Callable[[str], Any]]]] = {
    "runtime": lambda graph: by_state("runtime", graph),
    "cinfer": lambda graph: by_state("cinfer", graph),
    "Saver": lambda graph: by_saver("", graph),
    "Saver of cinfer": lambda graph: by_saver("cinfer", graph),
}


def differences(begin: int, count: int, folder: Path) -> Result:
    """A trial is a checkpoint and a graph that does not fit it, by every reader."""
    rng, result = random.Random(begin), Result()
    for trial in range(count):
        stored, prefix = table(rng), str(folder / "m")
        ones = {name: np.ones(shape, kind) for name, (kind, shape) in stored.items()}
        write_checkpoint(prefix, ones)
        graph, lines, kind = differing(stored, rng)
        result.count("differences", len(lines))
        for name, made in READERS.items():
            result.count("restores")
            state, restore = made(graph)
            reported = _reported(restore, prefix, kind)
            left = [line for line in lines if line not in reported]
            # A ci_error of C has a limited size; the lines beyond it are counted in its last line.
            more = re.search(r"and (\d+) more$", reported)
            if name == "cinfer" and more and len(left) == int(more[1]):
                result.count("messages cut short by C", 1)
                left = []
            if left or not victims.is_blank(state):
                result.lost.append(f"trial {trial}, {name}: {left or 'assigned'} in {reported!r}")
    return result


def _reported(restore: Callable[[str], Any], prefix: str, kind: type[errors.OpError]) -> str:
    try:
        restore(prefix)
    except kind as error:
        return error.message
    except errors.OpError as error:
        return f"{type(error).__name__}, expected {kind.__name__}"
    return "nothing"


def trees(begin: int, count: int, folder: Path) -> Result:
    """A trial is a random tree of variables and a way to restore it, in one of the engines."""
    from short_proofs import test_restore_trees as random_trees

    result = Result()

    @seed(begin)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=random_trees.cases(), target=st.sampled_from(["runtime", "cinfer"]))
    def check(case: Any, target: str) -> None:
        result.count("trees")
        with tempfile.TemporaryDirectory(dir=slices.memory()) as memory_folder:
            prefix = str(Path(memory_folder) / "m")
            write_checkpoint(prefix, case.stored, shard_bytes=case.shard_bytes)
            with tf.Graph().as_default(), tf.Session(target) as session:
                random_trees.outcome(case, session, prefix)

    try:
        check()
    except Exception as error:
        result.lost.append(repr(error))
    return result


PROOFS = {
    "R22": {"differences between graph and checkpoint": Mode(differences)},
    "R23": {"random trees": Mode(trees)},
}

if __name__ == "__main__":
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--proof", choices=list(PROOFS))
    chosen, others = first.parse_known_args()
    purpose = (__doc__ or "").split("\n", 1)[0] + " --proof R22 or R23: that one alone."
    sys.exit(
        max(
            main(name, purpose, modes, count=10_000, slice_count=1000, arguments=others)
            for name, modes in PROOFS.items()
            if chosen.proof in (None, name)
        )
    )
