"""Records the session runs of a program, in TensorFlow or in graphio.

    PYTHON recording.py OUT STEPS REPLAY program.py [arguments]

A script that imports nothing of graphio unless it runs the program there, so that TensorFlow's
Python can run it. A step is a Session.run that fetches a floating tensor. OUT gets a file for each:
fetched values, feeds, draws of random operators, the other tensors that the fetches need, and
before the first step all variables. REPLAY is the folder of a recording, or "": with one the
program runs in graphio with that recording's variables, feeds and draws, else in TensorFlow. The
program ends after STEPS steps. comparison.py calls it.
"""

from __future__ import annotations

import functools
import json
import os
import random
import runpy
import sys
from typing import Any

import numpy as np

DRAWS = (
    "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "Multinomial",
    "RandomShuffle", "RandomGamma", "RandomPoissonV2", "LogUniformCandidateSampler",
    "RandomNormal", "RandomTruncatedNormal",
)  # fmt: skip
#: operations with another effect than their value, and those whose value depends on the moment
UNTRACED = ("Variable", "VarHandleOp", "Assign", "Apply", "Sparse", "Scatter", "Queue", "Read")
LARGEST = 1 << 20  # elements of a tensor that is recorded besides the fetched ones


class Enough(BaseException):
    """Ends the program after the last step."""


class Recorder:
    """Wraps Session.run.

    Args:
        tf: tensorflow.compat.v1 or graphio.
        out: folder of the recording.
        steps: the number of steps to record.
        replay: folder of the recording to take variables, feeds and draws from; "": none.
    """

    def __init__(self, tf: Any, out: str, steps: int, replay: str) -> None:
        self.tf, self.out, self.steps, self.replay = tf, out, steps, replay
        self.step = 0
        self.inside = False
        cls = next(one for one in tf.Session.__mro__ if "run" in vars(one))
        self.original = cls.run
        recorder = self

        @functools.wraps(cls.run)
        def run(session: Any, fetches: Any, *arguments: Any, **options: Any) -> Any:
            return recorder.run(session, fetches, *arguments, **options)

        cls.run = run

    def run(
        self, session: Any, fetches: Any, feed_dict: Any = None, *arguments: Any, **options: Any
    ) -> Any:
        """Session.run, recorded if it is a step."""
        listed = list(self._fetched(session, fetches))
        floats = [t for t in listed if t.dtype.is_floating]
        if self.inside or not floats:
            return self.original(session, fetches, feed_dict, *arguments, **options)
        self.inside = True
        try:
            return self._step(session, fetches, floats, feed_dict, *arguments, **options)
        finally:
            self.inside = False

    def _step(
        self, session: Any, fetches: Any, floats: list[Any], feed_dict: Any, *arguments: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        earlier = self._earlier()
        if self.step == 0:
            self._variables(session, earlier)
        feeds = {key: self._fed(key, value, earlier) for key, value in (feed_dict or {}).items()}
        record = {
            f"feed/{key.name}": np.asarray(value)
            for key, value in feeds.items()
            if hasattr(key, "name") and not isinstance(value, tuple)
        }
        more = self._needed(session.graph, floats, feeds)
        if earlier is not None:
            drawn = {t: _drawn(t, earlier) for t in more if t.op.type in DRAWS}
            feeds.update({t: value for t, value in drawn.items() if value is not None})
        requested = {"own": fetches, "floats": floats, "more": more}
        found = self.original(session, requested, feeds, *arguments, **options)
        for i, tensor in enumerate(floats):
            record[f"fetch/{i}/{tensor.name}"] = found["floats"][i]
        for i, tensor in enumerate(more):
            value = found["more"][i]
            if tensor.op.type in DRAWS:
                record[f"draw/{tensor.name}"] = value
            elif np.size(value) <= LARGEST:
                record[f"tensor/{tensor.name}"] = value
        self._write(record)
        return found["own"]

    def _write(self, record: dict[str, Any]) -> None:
        np.savez(os.path.join(self.out, f"step{self.step}.npz"), **record)
        with open(os.path.join(self.out, f"step{self.step}.json"), "w") as file:
            json.dump(list(record), file)
        self.step += 1
        if self.step >= self.steps:
            raise Enough

    def _earlier(self) -> Any:
        """The same step of the recording that is replayed; None without one."""
        path = os.path.join(self.replay, f"step{self.step}.npz")
        if not self.replay or not os.path.exists(path):
            return None
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def _fed(self, key: Any, value: Any, earlier: Any) -> Any:
        name = f"feed/{getattr(key, 'name', key)}"
        return value if earlier is None or name not in earlier else earlier[name]

    def _fetched(self, session: Any, fetches: Any) -> Any:
        """The tensors among the fetches."""
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            for one in fetches:
                yield from self._fetched(session, one)
            return
        if isinstance(fetches, (str, bytes)):
            name = fetches.decode() if isinstance(fetches, bytes) else fetches
            fetches = session.graph.as_graph_element(name)
        if isinstance(fetches, self.tf.Variable):
            return
        if isinstance(fetches, self.tf.Tensor):
            yield fetches

    def _needed(self, graph: Any, floats: list[Any], feeds: Any) -> list[Any]:
        """The draws and floating tensors that the fetches need, in the order of the graph."""
        given = {getattr(key, "name", key) for key in feeds}
        seen, pending = set(), [t.op for t in floats]
        while pending:
            op = pending.pop()
            if op.name in seen:
                continue
            seen.add(op.name)
            pending += [t.op for t in op.inputs if t.name not in given]
            pending += list(op.control_inputs)
        return [
            op.outputs[0]
            for op in graph.get_operations()
            if op.name in seen and op.outputs and op.outputs[0].name not in given and _traced(op)
        ]

    def _variables(self, session: Any, earlier: Any) -> None:
        """Records the variables, or gives them the values of the recording."""
        path = os.path.join(self.replay or self.out, "variables.npz")
        variables = {v.op.name: v for v in self.tf.global_variables() + self.tf.local_variables()}
        if earlier is None and not self.replay:
            values = {n: self._value(session, v) for n, v in variables.items()}
            np.savez(path, **{n: v for n, v in values.items() if v is not None})
            return
        absent = []
        with np.load(path, allow_pickle=False) as file:
            for name, variable in variables.items():
                if name in file.files:
                    variable.load(file[name], session)
                else:
                    absent.append(name)
            absent += [name for name in file.files if name not in variables]
        with open(os.path.join(self.out, "absent.json"), "w") as written:
            json.dump(sorted(absent), written)

    def _value(self, session: Any, variable: Any) -> Any:
        try:
            value = self.original(session, variable)
        except self.tf.errors.FailedPreconditionError:
            return None
        return None if np.asarray(value).dtype == object else value


def _drawn(tensor: Any, earlier: Any) -> Any:
    """The recorded value of a draw: of the operation of the same name, or of the only draw below
    that name; None where there is none."""
    for kind in ("draw", "tensor"):
        if f"{kind}/{tensor.name}" in earlier:
            return earlier[f"{kind}/{tensor.name}"]
    below = [n for n in earlier if n.startswith(f"draw/{tensor.op.name}/")]
    return earlier[below[0]] if len(below) == 1 else None


def _traced(op: Any) -> bool:
    """Whether the first output of an operation may be fetched as well."""
    context = getattr(op, "_get_control_flow_context", lambda: None)()
    if context is not None:
        return False
    if op.type in DRAWS:
        return True
    return bool(op.outputs[0].dtype.is_floating) and not any(word in op.type for word in UNTRACED)


def _tensorflow() -> Any:
    """tensorflow.compat.v1, which `import tensorflow` gives to the program, too."""
    import tensorflow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import tensorflow.compat.v1 as v1  # type: ignore[import-not-found,import-untyped,unused-ignore]

    if hasattr(v1, "disable_v2_behavior") and not hasattr(tensorflow, "Session"):
        v1.disable_v2_behavior()
        v1.__path__ = tensorflow.__path__
        sys.modules["tensorflow"] = v1
    return v1


def _graphio() -> Any:
    import graphio
    from graphio.python import hook

    hook.install(force=True)
    return graphio


def main() -> None:
    """Runs the program of the command line."""
    out, steps, replay, *program = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    Recorder(_graphio() if replay else _tensorflow(), out, int(steps), replay)
    np.random.seed(0)
    random.seed(0)
    sys.argv = program
    try:
        runpy.run_path(program[0], run_name="__main__")
    except Enough:
        pass


if __name__ == "__main__":
    main()
