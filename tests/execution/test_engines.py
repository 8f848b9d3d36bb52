"""The registry of engines: a new engine is one entry, and no other code compares names."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command, small_onnx
from engines import one_node
from folders import ROOT
from tensorflow_messages import message
from tensorflow_messages import node as tensorflow_node

import graphio as tf
from graphio import runtime, tensorflow_files
from graphio.engine import pickling
from graphio.engine.interface import EngineModule
from graphio.execution import engines
from graphio.support import errors


@pytest.fixture
def graphio(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


# ---- a third engine ----


class Third:
    """An engine of one entry: the Python runtime's kernels, without steps, with threads."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def load(self, source: Any, *, threads: int = 0, **options: Any) -> Any:
        self.threads.append(threads)
        return runtime.load(source, **options)

    def new_state(self) -> Any:
        return runtime.new_state()


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> Third:
    """The engine "third", known to the registry and to nothing else."""
    made = Third()
    module: Any = types.ModuleType("third_engine")
    module.load, module.new_state = made.load, made.new_state
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = engines.Engine("third", module.__name__, options=frozenset(["threads"]))
    monkeypatch.setitem(engines.ENGINES, "third", entry)
    return made


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model whose "predict" is y = 2 x + 1."""
    with tf.Graph().as_default(), tf.Session("runtime") as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        signatures = {"predict": ({"x": x}, {"y": 2 * x + 1})}
        tf.saved_model.save(tmp_path / "line.gio", session, signatures)
    return tmp_path / "line.gio"


def test_a_session_runs_on_a_registered_engine(third: Third) -> None:
    config = tf.ConfigProto(intra_op_parallelism_threads=3)
    with tf.Graph().as_default(), tf.Session("third", config=config) as session:
        assert session.run(tf.constant(2.0) * 3) == 6.0
        assert "in third of" in repr(session)
    assert third.threads == [3]


def test_the_environment_names_a_registered_engine(
    third: Third, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", "third")
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.constant(1.0))
        tf.Session.reset("third")
        assert session.closed
    with tf.Graph().as_default(), tf.Session("runtime") as session:
        assert "in runtime of" in repr(session)


def test_a_dataset_runs_its_functions_on_the_engine_of_the_session(third: Third) -> None:
    with tf.Graph().as_default(), tf.Session("third") as session:
        data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * 10)
        item = data.make_one_shot_iterator().get_next()
        assert [session.run(item) for _ in range(2)] == [10.0, 20.0]
    assert len(third.threads) == 2  # the pipeline's function and the run


def test_an_engine_without_steps_is_refused_where_operations_are_shown(third: Third) -> None:
    with tf.Graph().as_default(), tf.Session("third") as session:
        with pytest.raises(errors.UnimplementedError, match="needs the Python runtime"):
            tf.debug.Stepper(session, tf.constant(1.0))


def test_a_registered_engine_opens_model_files(third: Third, saved: Path) -> None:
    model = tf.saved_model.load(saved, "third")
    assert model.signature("predict")(x=np.float32([3]))["y"].tolist() == [7.0]
    assert len(third.threads) == 1


def test_a_registered_engine_opens_files_of_onnx(third: Third, tmp_path: Path) -> None:
    small_onnx(tmp_path / "net.onnx")
    model = tf.onnx.load(tmp_path / "net.onnx", "third")
    assert model.signatures == ("predict",) and len(third.threads) == 1


def test_a_registered_engine_opens_files_of_tensorflow(third: Third) -> None:
    x = tensorflow_node("x", "Placeholder", dtype=np.float32, shape=(2,))
    graph = message(x, tensorflow_node("y", "Neg", "x", T=np.float32))
    (values,) = tensorflow_files.load(graph, "third").signature().run([np.float32([4, -1])])
    assert values.tolist() == [-4.0, 1.0] and len(third.threads) == 1


def test_the_commands_run_a_registered_engine(third: Third, saved: Path, graphio: Command) -> None:
    done = graphio("run", saved, "--engine", "third", "--threads", 2, "--compare", "cinfer")
    assert "in third" in done.out and third.threads == [2]
    assert "in third" in graphio("profile", saved, "--engine", "third", "--runs", 1).out
    assert "third" in graphio("bench", saved, "--engine", "third", "--seconds", 0.01).out
    assert "third" in graphio("inspect", saved).out


def test_the_commands_go_without_an_engine_that_is_not_installed(
    saved: Path, graphio: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.ENGINES, "third", engines.Engine("third", "absent_engine"))
    found = graphio("inspect", saved, "--json").json["engines"]
    assert found["third"] == {"runs": None, "why": "No module named 'absent_engine'"}
    rows = graphio("bench", saved, "--seconds", 0.01, "--json").json["engines"]
    assert [row["engine"] for row in rows] == ["cinfer", "runtime"]


# ---- choosing ----


def a_session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.state


def an_interactive_session() -> Any:
    session = tf.InteractiveSession()
    session.close()
    return session.state


def a_monitored_session() -> Any:
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step(graph)
        with tf.train.MonitoredTrainingSession() as session:
            return session.raw_session().state


def a_model_file() -> Any:
    return tf.saved_model.load("line.gio").state


def a_model_of_onnx() -> Any:
    small_onnx(Path("net.onnx"))
    return tf.onnx.load("net.onnx").state


def a_model_of_tensorflow() -> Any:
    x = tensorflow_node("x", "Placeholder", dtype=np.float32, shape=(2,))
    return tensorflow_files.load(message(x, tensorflow_node("y", "Neg", "x", T=np.float32))).state


def the_registry() -> Any:
    return engines.load("", "line.gio").state


WAYS = [
    a_session, an_interactive_session, a_monitored_session, a_model_file, a_model_of_onnx,
    a_model_of_tensorflow, the_registry,
]  # fmt: skip


@pytest.mark.parametrize("variable", ["", *engines.ENGINES])
@pytest.mark.parametrize("opened", WAYS)
def test_the_environment_chooses_for_all_that_names_no_engine_by_default_cinfer(
    opened: Callable[[], Any], variable: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    monkeypatch.setenv("GRAPHIO_TARGET", variable)
    assert isinstance(opened(), sys.modules[f"graphio.{variable or 'cinfer'}"].State)


@pytest.mark.parametrize("variable", ["", *engines.ENGINES])
def test_the_environment_chooses_for_commands_that_name_no_engine_by_default_cinfer(
    variable: str, saved: Path, monkeypatch: pytest.MonkeyPatch, graphio: Command
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", variable)
    for command in (("run",), ("profile", "--runs", 1)):
        assert graphio(*command, saved, "--json").json["engine"] == (variable or "cinfer")
    assert graphio("run", saved, "--json", "--engine", "runtime").json["engine"] == "runtime"


def test_a_target_that_is_given_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", "cinfer")
    assert engines.choose("runtime").name == "runtime"


def test_an_unknown_engine_in_the_environment_is_refused_by_the_name_of_the_variable(
    monkeypatch: pytest.MonkeyPatch, graphio: Command, saved: Path
) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", "gpu")
    line = "the environment variable GRAPHIO_TARGET is 'gpu', expected '', 'cinfer' or 'runtime'"
    with pytest.raises(ValueError, match=line):
        tf.saved_model.load(saved)
    with pytest.raises(errors.NotFoundError, match=line):
        tf.Session()
    for command in ("run", "bench"):
        assert "variable GRAPHIO_TARGET" in graphio(command, saved, code=2).err


@pytest.mark.parametrize(("target", "other"), [("cinfer", "runtime"), ("runtime", "cinfer")])
def test_a_state_of_the_other_engine_is_refused_with_both_names(
    target: str, other: str, saved: Path
) -> None:
    state = engines.choose(other).new_state()
    line = f"state is a graphio.{other}.State, expected a graphio.{target}.State: load with the ta"
    with pytest.raises(TypeError, match=line):
        tf.saved_model.load(saved, target, state=state)


@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_engine_is_chosen_by_its_name(name: str) -> None:
    assert engines.choose(name).name == name


@pytest.mark.parametrize("opened", [tf.saved_model.load, tf.onnx.load, tensorflow_files.load])
def test_a_name_that_no_engine_has_is_refused_with_the_names_that_there_are(
    opened: Callable[..., Any],
) -> None:
    with pytest.raises(ValueError) as refusal:
        opened("nowhere", "gpu")
    assert "target is 'gpu', expected '', 'cinfer' or 'runtime'" in str(refusal.value)


def test_a_session_refuses_an_unknown_target_with_the_engines_that_there_are() -> None:
    for call in (tf.Session, tf.Session.reset):
        with pytest.raises(errors.NotFoundError) as refusal:
            call("gpu")
        assert str(refusal.value) == (
            "No session factory registered: target is 'gpu', expected '', 'cinfer' or 'runtime'"
        )


def test_a_command_refuses_an_unknown_engine(graphio: Command, saved: Path) -> None:
    done = graphio("run", saved, "--engine", "gpu", code=2)
    assert "target is 'gpu', expected '', 'cinfer' or 'runtime'" in done.err


@pytest.mark.parametrize("name", ["gpu", "errors"])
def test_a_pickle_that_names_an_unknown_engine_is_refused(name: str) -> None:
    facts = {"engine": name, "declared": {}, "values": {}, "generators": {}, "blobs": {}}
    with pytest.raises(errors.UnimplementedError, match=f"the engine '{name}', which is not there"):
        pickling.rebuild("state", facts)


# ---- errors that name another engine ----


@pytest.mark.parametrize("op", ["ReduceSum", "Mystery"])
def test_an_operator_that_cinfer_lacks_is_named_with_the_target_that_has_it(op: str) -> None:
    """The Python runtime alone has ReduceSum of version 11; no engine has Mystery."""
    rows = np.ones((2, 3), np.float32)
    data, inputs = one_node(op, [rows], {"axes": [0]}, [np.float32], version=11)
    with pytest.raises(errors.UnimplementedError) as refusal:
        engines.load("", data)
    line = f"this cinfer lacks operators of the model: {op} version 11 (node 'node')"
    known = op == "ReduceSum"
    assert refusal.value.message == line + ('; target="runtime" has them' if known else "")
    if known:
        (found,) = engines.load("runtime", data).signature().run(inputs)
        assert found.tolist() == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize("what", ["tf.debug.Stepper", "tf.debug.watch"])
def test_stepping_and_watching_a_session_of_no_target_name_the_target_that_can(what: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(errors.UnimplementedError) as refusal:
            getattr(tf.debug, what.rpartition(".")[2])(session, tf.constant(1.0))
    words = f"{what} needs the Python runtime, the session is in cinfer"
    assert words in refusal.value.message
    assert 'take tf.Session(target="runtime")' in refusal.value.message


# ---- the table and the code agree ----


@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_entry_lists_the_options_of_its_engine(name: str) -> None:
    engine = engines.ENGINES[name]
    common = inspect.signature(EngineModule.load).parameters
    found = inspect.signature(sys.modules[engine.module].load).parameters
    assert set(found) - set(common) == engine.options
    assert set(engine.trusting) <= engine.options


NAMES = {*engines.ENGINES, *(engine.module for engine in engines.ENGINES.values())}
#: files that name an engine in a string, and why: paths are endings
NAMING = {
    "graphio/__init__.py": "the names that `tf.` shows",
    "engines.py": "the registry",
    "onnx/backend.py": "a public class an engine, as the standard's interface wants it",
    "profile.py": "the default name in a trace",
}
#: files that import one engine for what only this one has, and why
IMPORTING = {
    "engines.py": "for type checkers: the registry's check of the modules",
    "costs.py": "counts what the runtime's nodes read and write",
    "size_reduction.py": "reads values of variables, for which any engine would do",
    "rewrite/folding.py": "constants get cinfer's bits; without it what is exact in any engine",
    "onnx/ours_images.py": "the runtime's geometry of resizing",
    "command_line/cost.py": "the memory that cinfer has planned",
    "commands/selftest.py": "compares the bits of cinfer's instruction sets with the runtime",
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """The files of graphio that mention an engine, parsed; without those of the engines."""
    for path in sorted((ROOT / "graphio").rglob("*.py")):
        where, text = path.relative_to(ROOT).as_posix(), path.read_text()
        own = where.startswith(("graphio/cinfer/", "graphio/runtime/"))
        if not own and any(name in text for name in engines.ENGINES):
            yield where, ast.parse(text)


def names_an_engine(tree: ast.Module) -> bool:
    """Whether a string of the code is the name of an engine or of its module."""
    return any(isinstance(node, ast.Constant) and node.value in NAMES for node in ast.walk(tree))


def imports_an_engine(tree: ast.Module) -> bool:
    """Whether code imports an engine, or a module of one."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    modules = tuple(engine.module for engine in engines.ENGINES.values())
    return any(name == m or name.startswith(f"{m}.") for name in found for m in modules)


@pytest.mark.parametrize(
    ("does", "reasons"), [(names_an_engine, NAMING), (imports_an_engine, IMPORTING)]
)
def test_only_the_registry_names_engines(
    does: Callable[[ast.Module], bool], reasons: dict[str, str]
) -> None:
    found = {where for where, tree in sources() if does(tree)}
    unlisted = {where for where in found if not where.endswith(tuple(reasons))}
    assert not unlisted, "ask graphio.execution.engines what the engine can do, or say why not"
    assert all(any(where.endswith(ending) for where in found) for ending in reasons)


def test_the_scan_sees_a_comparison_and_an_import() -> None:
    assert names_an_engine(ast.parse('if target in ("", "cinfer"): pass'))
    assert imports_an_engine(ast.parse("def f():\n    from graphio.runtime import registry"))
    assert not names_an_engine(ast.parse('"""The runtime and cinfer."""'))
