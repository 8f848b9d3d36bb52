"""Records the session runs of a program, in TensorFlow or in graphio.

    PYTHON recording.py OUT STEPS REPLAY program.py [arguments]

A script that imports little of graphio unless the program runs there, so that TensorFlow's Python
can run it. OUT gets for each run its feeds, the draws of its random operators
and iterators, and the variables that it gives their first value. A step is a run that fetches
numbers; for it also the fetched values and the other tensors that they need. REPLAY is the
folder of a recording, or "": with one the program runs in graphio with that recording's variables,
feeds and draws, else in TensorFlow. The program ends after STEPS steps. comparison.py calls it.
"""

from __future__ import annotations

import functools
import importlib
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
#: last part of the name of graphio's operation -> that of TensorFlow's
TWINS = {"RandomNormal": "RandomStandardNormal", "RandomTruncatedNormal": "TruncatedNormal"}
#: operators whose values depend on the order of threads or of a shuffled data set
SOURCES = ("IteratorGetNext", "QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2")
#: operations with another effect than their value, and those whose value depends on the moment
UNTRACED = (
    "Variable", "VarHandleOp", "Assign", "Apply", "Sparse", "Scatter", "Queue", "Read",
)  # fmt: skip
#: the environment's variable by which TensorFlow makes resource variables, whose reads and writes
#: do not race; "" or none: its older ones
RESOURCES = "GRAPHIO_RESOURCE_VARIABLES"
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
        self.earlier = Earlier(replay)
        self.inside = False
        self.thread = threading.get_ident()
        #: by id: the session, kept alive, and the names of its variables that have values
        self.sessions: dict[int, tuple[Any, set[str]]] = {}
        self.absent: set[str] = set()
        #: by tensor of graphio, the name of the same draw in TensorFlow, where it is another
        self.named: dict[str, str] = {}
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
        listed = list(self._fetched(session, fetches))
        numbers = [t for t in listed if isinstance(t, self.tf.Tensor) and _number(t)]
        names = [one.name for one in listed]
        for values in self.earlier.move(names, self.step if numbers else None):
            self._load(session, values)
        earlier = self.earlier.run
        feeds = {k: earlier.get(f"feed/{_name(k)}", v) for k, v in (feed_dict or {}).items()}
        record = {
            f"feed/{key.name}": np.asarray(value)
            for key, value in feeds.items()
            if hasattr(key, "name") and not isinstance(value, tuple)
        }
        needed = self._needed(session.graph, listed, feeds)
        draws = [t for op in needed for t in op.outputs if self._draw(t)]
        more = [op.outputs[0] for op in needed if _traced(op)] if numbers else []
        drawn = {t: v for t in draws if (v := _drawn(t, self.named, earlier)) is not None}
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
        self._write(record, names, bool(numbers))
        return found["own"]

    def _draw(self, tensor: Any) -> bool:
        return tensor.op.type in RANDOM + SOURCES or tensor.name in self.named

    def _write(self, record: dict[str, Any], names: list[str], step: bool) -> None:
        with open(os.path.join(self.out, "runs.jsonl"), "a") as file:
            file.write(json.dumps(names) + "\n")
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
        dead: set[str] = set()  # those that a condition of TensorFlow's may leave without a value
        found = []
        for op in graph.get_operations():
            if op.name not in seen:
                continue
            above = [t.op for t in op.inputs] + list(op.control_inputs)
            if "Switch" in op.type or (
                "Merge" not in op.type and any(o.name in dead for o in above)
            ):
                dead.add(op.name)
            elif op.outputs and op.outputs[0].name not in given and _outside(op):
                found.append(op)
        return found

    def _variables(self, session: Any) -> None:
        """Records the variables that have a value for the first time, or gives them those of the
        recording."""
        if self.replay:
            self._load(session, self.earlier.variables)
            known = {name for _, names in self.sessions.values() for name in names}
            absent = set(self._of(session)) - known if self.step else set()
            with open(os.path.join(self.out, "absent.json"), "w") as written:
                json.dump(sorted(self.absent | absent), written)
            return
        known = self._known(session)
        found = {k: self._value(session, v) for k, v in self._of(session).items() if k not in known}
        values = {name: value for name, value in found.items() if value is not None}
        if values:
            np.savez(os.path.join(self.out, f"variables{self.runs}.npz"), **values)
        known.update(values)

    def _known(self, session: Any) -> set[str]:
        return self.sessions.setdefault(id(session), (session, set()))[1]

    def _of(self, session: Any) -> dict[str, Any]:
        keys = self.tf.GraphKeys.GLOBAL_VARIABLES, self.tf.GraphKeys.LOCAL_VARIABLES
        return {v.op.name: v for key in keys for v in session.graph.get_collection(key)}

    def _load(self, session: Any, values: dict[str, Any]) -> None:
        variables = self._of(session)
        for name, value in values.items():
            if name in variables:
                variables[name].load(value, session)
        self.absent |= values.keys() - variables.keys()
        self._known(session).update(values)

    def _value(self, session: Any, variable: Any) -> Any:
        try:
            value = self.original(session, variable)
        except self.tf.errors.FailedPreconditionError:
            return None
        return None if np.asarray(value).dtype == object else value


class Earlier:
    """The recording that is replayed, at the run that the program makes now.

    Args:
        folder: of the recording; "": none, and all runs are empty.

    Attributes:
        run: the record of the same run; empty where there is none.
        variables: those that got their first values by that run.
    """

    def __init__(self, folder: str) -> None:
        self.folder, self.index = folder, -1
        self.run: dict[str, Any] = {}
        self.variables: dict[str, Any] = {}
        self.runs: list[list[str]] = []
        if folder:
            with open(os.path.join(folder, "runs.jsonl")) as file:
                self.runs = [json.loads(line) for line in file]

    def move(self, names: list[str], step: int | None) -> list[dict[str, Any]]:
        """Goes on to the same run: the same step, else the next that fetches the same names.

        Args:
            names: of the fetches.
            step: the number of the step; None: the run is none.

        Returns:
            the variables that got values by the runs between, which graphio need not make.
        """
        self.run, self.variables = {}, {}
        later = range(self.index + 1, len(self.runs))
        found = next((i for i in later if self.runs[i] == names), None)
        path = os.path.join(self.folder, f"step{step}.json")
        if self.folder and step is not None and os.path.exists(path):
            with open(path) as file:
                found = json.load(file)["run"]
        if found is None:
            return []
        between = range(self.index + 1, found)
        self.index, self.run = found, self._read(f"run{found}.npz")
        self.variables = self._read(f"variables{found}.npz")
        return [self._read(f"variables{i}.npz") for i in between]

    def _read(self, name: str) -> dict[str, Any]:
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return {}
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def _outside(op: Any) -> bool:
    """Whether an operation is in no body of a loop or a condition."""
    return getattr(op, "_get_control_flow_context", lambda: None)() is None


def _name(key: Any) -> str:
    return str(getattr(key, "name", key))


def _number(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_integer)


def _drawn(tensor: Any, named: dict[str, str], earlier: Any) -> Any:
    """The recorded value of a draw: of the operation of the same name, of the one that TensorFlow
    calls otherwise, or of the only draw below that name; None where there is none."""
    name = named.get(tensor.name, tensor.name)
    for kind in ("draw", "tensor"):
        if f"{kind}/{name}" in earlier:
            return earlier[f"{kind}/{name}"]
    scope, _, last = tensor.op.name.rpartition("/")
    if (twin := f"draw/{scope}/{TWINS.get(last)}:0") in earlier:
        return earlier[twin]
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

    from graphio.python import fixed_draws

    if hasattr(v1, "disable_v2_behavior") and not hasattr(tensorflow, "Session"):
        v1.disable_v2_behavior()
        v1.__path__ = tensorflow.__path__
        sys.modules["tensorflow"] = v1
        _examples(v1)
        _contrib(v1)
    if os.environ.get(RESOURCES):
        v1.enable_resource_variables()
    fixed_draws.install(v1, importlib.import_module("tensorflow.python.ops.random_ops"))
    return v1


def _examples(v1: Any) -> None:
    """Gives TensorFlow 2 the data sets of tensorflow.examples again, which read files."""
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
    for name in ("contrib.layers.python", "contrib.layers.python.layers"):
        _module(v1, name, layers)


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
    from graphio.ops.random import core
    from graphio.python import fixed_draws, hook

    hook.install(force=True)
    fixed_draws.install(graphio, core)
    return graphio


def main() -> None:
    """Runs the program of the command line."""
    out, steps, replay, *program = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir))
    recorder = Recorder(_graphio() if replay else _tensorflow(), out, int(steps), replay)
    if replay:
        from graphio.python import fixed_draws

        recorder.named = fixed_draws.named()
    np.random.seed(0)
    random.seed(0)
    sys.argv = program
    try:
        runpy.run_path(program[0], run_name="__main__")
    except Enough:
        pass


if __name__ == "__main__":
    main()
