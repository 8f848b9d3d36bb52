"""Records the session runs of a program, in TensorFlow or in graphio.

    PYTHON recording.py OUT STEPS REPLAY program.py [arguments]

A script that imports nothing of graphio unless the program asks for it or runs there, so that
TensorFlow's Python can run it. OUT gets for each run its feeds, the draws of its random operators
and iterators, and the variables that it gives their first value. A step is a run that fetches
numbers; for it also the fetched values and the other tensors that they need. REPLAY is the
folder of a recording, or "": with one the program runs in graphio with that recording's variables,
feeds and draws, else in TensorFlow. The program ends after STEPS steps. comparison.py calls it.
"""

from __future__ import annotations

import functools
import json
import os
import random
import runpy
import sys
import threading
import types
from typing import Any

import numpy as np

#: random operators, by their names in TensorFlow and in graphio
RANDOM = (
    "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "Multinomial",
    "RandomShuffle", "RandomGamma", "RandomPoissonV2", "RandomNormal", "RandomTruncatedNormal",
    "LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler",
)  # fmt: skip
#: operators whose values depend on the order of threads or of a shuffled data set
SOURCES = ("IteratorGetNext", "QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2")
#: operations with another effect than their value, and those whose value depends on the moment
UNTRACED = ("Variable", "VarHandleOp", "Assign", "Apply", "Sparse", "Scatter", "Queue", "Read")
LARGEST = 1 << 20  # elements of a tensor that is recorded besides the fetched ones


class Enough(BaseException):
    """Ends the program after the last step."""


class Recorder:
    """Wraps Session.run, for the thread that it is made in.

    Args:
        tf: tensorflow.compat.v1 or graphio.
        out: folder of the recording.
        steps: the number of steps to record.
        replay: folder of the recording to take variables, feeds and draws from; "": none.
    """

    def __init__(self, tf: Any, out: str, steps: int, replay: str) -> None:
        self.tf, self.out, self.steps, self.replay = tf, out, steps, replay
        self.runs = self.step = 0
        self.inside = False
        self.thread = threading.get_ident()
        #: by id: the session, kept alive, and the names of its variables that have values
        self.sessions: dict[int, tuple[Any, set[str]]] = {}
        self.absent: set[str] = set()
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
        """Session.run, recorded if the program calls it."""
        if self.inside or threading.get_ident() != self.thread:
            return self.original(session, fetches, feed_dict, *arguments, **options)
        self.inside = True
        try:
            found = self._recorded(session, fetches, feed_dict, *arguments, **options)
            self._variables(session)
        finally:
            self.inside = False
            self.runs += 1
        if self.step >= self.steps:
            raise Enough
        return found

    def _recorded(
        self, session: Any, fetches: Any, feed_dict: Any, *arguments: Any, **options: Any
    ) -> Any:
        earlier = _read(os.path.join(self.replay, f"run{self.runs}.npz")) if self.replay else {}
        listed = list(self._fetched(session, fetches))
        numbers = [t for t in listed if isinstance(t, self.tf.Tensor) and _number(t)]
        feeds = {k: earlier.get(f"feed/{_name(k)}", v) for k, v in (feed_dict or {}).items()}
        record = {
            f"feed/{key.name}": np.asarray(value)
            for key, value in feeds.items()
            if hasattr(key, "name") and not isinstance(value, tuple)
        }
        needed = self._needed(session.graph, listed, feeds)
        draws = [t for op in needed if op.type in RANDOM + SOURCES for t in op.outputs]
        more = [op.outputs[0] for op in needed if _traced(op)] if numbers else []
        drawn = {t: value for t in draws if (value := _drawn(t, earlier)) is not None}
        # an iterator goes on, and ends, though its elements are fed
        advanced = list({t.op.name: t.op for t in drawn if t.op.type in SOURCES}.values())
        requested = {
            "own": fetches,
            "numbers": numbers,
            "draws": draws,
            "more": more,
            "ops": advanced,
        }
        found = self.original(session, requested, {**feeds, **drawn}, *arguments, **options)
        for i, tensor in enumerate(numbers):
            record[f"fetch/{i}/{tensor.name}"] = found["numbers"][i]
        record.update((f"draw/{t.name}", v) for t, v in zip(draws, found["draws"]))  # noqa: B905
        for tensor, value in zip(more, found["more"]):  # noqa: B905
            if np.size(value) <= LARGEST:
                record[f"tensor/{tensor.name}"] = value
        self._write(record, bool(numbers))
        return found["own"]

    def _write(self, record: dict[str, Any], step: bool) -> None:
        record = {n: v for n, v in record.items() if np.asarray(v).dtype != object}
        if record:
            np.savez(os.path.join(self.out, f"run{self.runs}.npz"), **record)
        if step:
            with open(os.path.join(self.out, f"step{self.step}.json"), "w") as file:
                json.dump({"run": self.runs, "names": list(record)}, file)
            self.step += 1

    def _fetched(self, session: Any, fetches: Any) -> Any:
        """The tensors and operations among the fetches."""
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            for one in fetches:
                yield from self._fetched(session, one)
            return
        if isinstance(fetches, (str, bytes)):
            name = fetches.decode() if isinstance(fetches, bytes) else fetches
            fetches = session.graph.as_graph_element(name)
        if isinstance(fetches, (self.tf.Tensor, self.tf.Operation)):
            yield fetches

    def _needed(self, graph: Any, fetched: list[Any], feeds: Any) -> list[Any]:
        """The operations that the fetches need, in the order of the graph, but for those in the
        bodies of loops and conditions."""
        given = {_name(key) for key in feeds}
        seen = set()
        pending = [one.op if isinstance(one, self.tf.Tensor) else one for one in fetched]
        while pending:
            op = pending.pop()
            if op.name in seen:
                continue
            seen.add(op.name)
            pending += [t.op for t in op.inputs if t.name not in given]
            pending += list(op.control_inputs)
        return [
            op
            for op in graph.get_operations()
            if op.name in seen
            and op.outputs
            and op.outputs[0].name not in given
            and getattr(op, "_get_control_flow_context", lambda: None)() is None
        ]

    def _variables(self, session: Any) -> None:
        """Records the variables that have a value for the first time, or gives them those of the
        recording."""
        _, known = self.sessions.setdefault(id(session), (session, set()))
        name = f"variables{self.runs}.npz"
        variables = {
            v.op.name: v
            for key in (self.tf.GraphKeys.GLOBAL_VARIABLES, self.tf.GraphKeys.LOCAL_VARIABLES)
            for v in session.graph.get_collection(key)
        }
        values = _read(os.path.join(self.replay, name)) if self.replay else {}
        for key in values:
            if key in variables:
                variables[key].load(values[key], session)
            else:
                self.absent.add(key)
        if not self.replay:
            values = {k: self._value(session, v) for k, v in variables.items() if k not in known}
            values = {k: value for k, value in values.items() if value is not None}
            if values:
                np.savez(os.path.join(self.out, name), **values)
        known.update(values)
        if self.replay:
            more = {k for k in variables if k not in known} if self.step else set()
            with open(os.path.join(self.out, "absent.json"), "w") as written:
                json.dump(sorted(self.absent | more), written)

    def _value(self, session: Any, variable: Any) -> Any:
        try:
            value = self.original(session, variable)
        except self.tf.errors.FailedPreconditionError:
            return None
        return None if np.asarray(value).dtype == object else value


def _name(key: Any) -> str:
    return str(getattr(key, "name", key))


def _number(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_integer)


def _read(path: str) -> dict[str, Any]:
    """The arrays of a file; none where there is no file."""
    if not os.path.exists(path):
        return {}
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


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
    if op.type in RANDOM + SOURCES:
        return False
    if op.type == "Identity" and op.inputs[0].op.type.startswith("Variable"):
        return False  # TensorFlow may give the buffer of the variable, with its later value
    return bool(op.outputs[0].dtype.is_floating) and not any(word in op.type for word in UNTRACED)


def _tensorflow() -> Any:
    """tensorflow.compat.v1, which `import tensorflow` gives to the program, too."""
    import tensorflow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import tensorflow.compat.v1 as v1  # type: ignore[import-not-found,import-untyped,unused-ignore]

    if hasattr(v1, "disable_v2_behavior") and not hasattr(tensorflow, "Session"):
        v1.disable_v2_behavior()
        v1.__path__ = tensorflow.__path__
        sys.modules["tensorflow"] = v1
        _examples(v1)
        _contrib(v1)
    return v1


def _examples(v1: Any) -> None:
    """Gives TensorFlow 2 the data sets of tensorflow.examples again, which read files."""
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir))
    from graphio.examples.tutorials.mnist import input_data

    for name in ("examples", "examples.tutorials", "examples.tutorials.mnist"):
        _module(v1, name)
    _module(v1, "examples.tutorials.mnist.input_data", input_data)


def _contrib(v1: Any) -> None:
    """Gives TensorFlow 2 the parts of tensorflow.contrib again that are still there."""
    _module(v1, "contrib")
    rnn = _module(v1, "contrib.rnn", v1.nn.rnn_cell)
    for name in ("static_rnn", "static_bidirectional_rnn", "static_state_saving_rnn"):
        setattr(rnn, name, getattr(v1.nn, name))
    try:
        import tf_slim  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return
    layers = _module(v1, "contrib.layers", tf_slim)
    _module(v1, "contrib.slim", tf_slim)
    _module(v1, "contrib.framework", tf_slim)
    layers.xavier_initializer = v1.glorot_uniform_initializer


def _module(v1: Any, name: str, *sources: Any) -> Any:
    """A module tensorflow.NAME with the names of other modules.

    Args:
        v1: tensorflow.compat.v1.
        name: below it; its parent is there.
        sources: the modules.
    """
    module = types.ModuleType(f"tensorflow.{name}")
    module.__path__ = []
    for source in sources:
        names = (one for one in dir(source) if not one.startswith("__"))
        vars(module).update((one, getattr(source, one)) for one in names)
    sys.modules[module.__name__] = module
    parent = v1
    *above, last = name.split(".")
    for one in above:
        parent = getattr(parent, one)
    setattr(parent, last, module)
    return module


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
