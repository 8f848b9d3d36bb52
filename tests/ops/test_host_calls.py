"""Functions of Python's in a graph: py_func, Print, print, rebinding; in both engines."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf
from graphio.model.export import SignatureSpec, build_model
from graphio.ops.base.host import host_call
from graphio.schema import container
from graphio.schema.model_pb2 import Type

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool", "string"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)


def sample(dtype: str) -> Any:
    """Two elements of any type."""
    if dtype == "string":
        return np.array([b"a\0b", "é".encode()], object)
    return np.array([0, 1]).astype(tf.as_dtype(dtype).as_numpy_dtype)


# ---- py_func ----


@TARGETS
def test_a_function_sees_arrays_and_gives_tensors(target: str) -> None:
    seen: list[Any] = []

    def function(matrix: Any, number: Any, text: Any) -> Any:
        seen.extend([matrix, number, text])
        return matrix.sum(0), text + b"!"

    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [None, 2])
        total, reported = tf.py_func(function, [x, 3, "yes"], [tf.float32, tf.string], name="call")
        assert total.shape.ndims is None and total.op.type == "PyFunc" and total.name == "call:0"
        total.set_shape([2])
        results = session.run([total * 2.0, reported], {x: [[1, 2], [3, 4]]})
    assert results[0].tolist() == [8, 12] and results[1] == b"yes!"
    assert isinstance(seen[0], np.ndarray) and seen[0].dtype == np.float32
    assert isinstance(seen[1], np.int32) and seen[2] == b"yes"


@TARGETS
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_in_and_comes_out(target: str, dtype: str) -> None:
    value = sample(dtype)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(dtype, [None])
        kinds = [tf.as_dtype(dtype)] * 3
        whole, empty, first = tf.py_func(lambda a: [a, a[:0], a[0]], [x], kinds)
        results = session.run([whole, empty, first], {x: value})
    assert results[0].dtype == value.dtype and results[0].tolist() == value.tolist()
    assert results[1].shape == (0,) and results[2] == value[0]


@TARGETS
def test_tout_says_how_many_results_there_are(target: str) -> None:
    calls: list[int] = []
    with tf.Graph().as_default(), tf.Session(target) as session:
        one = tf.py_func(lambda: np.int64(5), [], tf.int64)
        listed = tf.py_func(lambda: [np.int64(6)], [], [tf.int64])
        nothing = tf.py_func(lambda: calls.append(1), [], [])
        assert isinstance(one, tf.Tensor) and isinstance(nothing, tf.Operation)
        assert isinstance(listed, list)
        assert tf.py_func(lambda: calls.append(2), [], [], stateful=False) == []
        assert session.run([one, listed, nothing]) == [5, [6], None] and calls == [1]


@TARGETS
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (TypeError("t"), tf.errors.InvalidArgumentError),
        (StopIteration("s"), tf.errors.OutOfRangeError),
        (MemoryError("m"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("n"), tf.errors.UnimplementedError),
        (KeyError("k"), tf.errors.UnknownError),
        (tf.errors.AbortedError(None, None, "a"), tf.errors.AbortedError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_exception_becomes_tensorflows_error(
    target: str, raised: Exception, expected: type[tf.errors.OpError]
) -> None:
    def function(x: Any) -> Any:
        raise raised

    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(1.0)
        inner = lambda: tf.py_func(function, [x], tf.float32, name="bad")  # noqa: E731
        for y in (inner(), tf.cond(x > 0, inner, lambda: x)):
            with pytest.raises(expected, match="test_host_calls.py") as caught:
                session.run(y)
            assert type(caught.value) is expected and caught.value.op.type == "PyFunc"
            assert str(raised.args[-1]) in caught.value.message
            if not isinstance(raised, tf.errors.OpError):
                assert caught.value.__cause__ is raised


@TARGETS
def test_an_interrupt_passes_through(target: str) -> None:
    def function() -> None:
        raise KeyboardInterrupt

    with tf.Graph().as_default(), tf.Session(target) as session:
        y = tf.py_func(function, [], [])
        with pytest.raises(KeyboardInterrupt):
            session.run(y)


@TARGETS
@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (1.5, tf.float32, ("is double, but expects float", "float64, expected float32")),
        (np.int64([1]), tf.int32, ("is int64, but expects int32",)),
        ("text", tf.int32, ("is string, but expects int32",)),
        (1, tf.string, ("is int, but expects string",)),
        ([np.float32(1), np.float32(2)], tf.float32, ("returned 2 values", "expects to see 1")),
        (None, tf.float32, ("returned 0 values",)),
    ],
    ids=str,
)
def test_another_result_than_declared_is_refused(
    target: str, value: Any, dtype: Any, words: tuple[str, ...]
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        y = tf.py_func(lambda: value, [], dtype)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y)
    for word in words:
        assert word in caught.value.message


@TARGETS
def test_a_shape_that_is_declared_is_checked(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        kinds = [(tf.float32, tf.TensorShape([None, 2]))]
        for shape, fits in (((3, 2), True), ((3, 1), False), ((2,), False)):
            value = np.zeros(shape, np.float32)
            call = host_call(lambda _, v=value: lambda _: [v], [], kinds, function="f")
            if fits:
                assert session.run(call.outputs[0]).shape == shape
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match="expected .*'\\?', 2"):
                    session.run(call.outputs[0])


@TARGETS
def test_what_a_function_keeps_or_changes_is_its_own(target: str) -> None:
    kept = np.zeros(3, np.float32)

    def function(x: Any) -> Any:
        x += 1
        kept[:] += x
        return kept

    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.Variable([1.0, 2.0, 3.0])
        y = tf.py_func(function, [x], tf.float32)
        session.run(x.initializer)
        first = session.run(y)
        assert first.tolist() == [2, 3, 4] and session.run(y).tolist() == [4, 6, 8]
        assert session.run(x).tolist() == [1, 2, 3] and first.tolist() == [2, 3, 4]


@TARGETS
def test_a_loop_calls_with_every_shape(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:

        def body(i: Any, so_far: Any) -> Any:
            more = tf.py_func(lambda n: np.arange(n, dtype=np.float32), [i], tf.float32)
            more.set_shape([None])
            return i + 1, tf.concat([so_far, more], 0)

        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        _, y = tf.while_loop(lambda i, _: i < 4, body, [0, tf.zeros([0])], shapes)
        for _ in range(2):
            assert session.run(y).tolist() == [0, 0, 1, 0, 1, 2]


@TARGETS
def test_no_gradient_passes_a_function(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(3.0)
        y = tf.py_func(lambda a: a * 2, [x], tf.float32)
        assert tf.gradients(y, x) == [None]
        assert session.run(tf.gradients(x * y, x)[0]) == 6
        z = tf.py_function(lambda a: a.numpy() ** 2, [x], tf.float32)
        assert session.run(z) == 9
        assert session.run(tf.py_function(lambda: [1, 2.5], [], [tf.float32, tf.int32])) == [1, 2]
        assert session.run(tf.gradients(z, x)[0]) == 0  # numpy has computed it


def test_what_cannot_be_called_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        for function in (tf.py_func, tf.numpy_function, tf.py_function):
            with pytest.raises(ValueError, match="Expected func to be callable"):
                function(3, [], tf.float32)
        with pytest.raises(TypeError, match="Expected list for 'input'"):
            tf.py_func(abs, tf.constant(1), tf.float32)
        with pytest.raises(TypeError, match="nonsense"):
            tf.py_func(abs, [1], "nonsense")
        assert not graph.host_functions


@TARGETS
def test_sessions_have_functions_of_their_own(target: str) -> None:
    def bind(session: Any) -> Any:
        count = iter(range(2))
        return lambda inputs: [np.int64(next(count))]

    with tf.Graph().as_default():
        call = host_call(bind, [], [(tf.int64, tf.TensorShape([]))], function="count")
        with tf.Session(target) as one, tf.Session(target) as two:
            y = call.outputs[0]
            assert [s.run(y) for s in (one, two, one)] == [0, 0, 1]
            with pytest.raises(tf.errors.OutOfRangeError):
                one.run(y)
            assert two.run([y, y]) == [1, 1]


@TARGETS
def test_sessions_of_several_threads_call_at_once(target: str) -> None:
    barrier = threading.Barrier(2, timeout=20)
    found: list[Any] = []

    def meet(x: Any) -> Any:
        barrier.wait()  # only two calls at the same time get past it
        return x + 1

    def work() -> None:
        with tf.Session(target, graph) as session:
            found.append(session.run(y))

    with tf.Graph().as_default() as graph:
        y = tf.py_func(meet, [tf.constant(1.0)], tf.float32)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2, 2]


def test_a_function_may_not_run_on_the_state_of_its_own_run() -> None:
    engines.module("cinfer")
    with tf.Graph().as_default(), tf.Session("cinfer") as session:
        v = tf.Variable(1.0)
        session.run(v.initializer)
        y = tf.py_func(lambda: session.run(v), [], tf.float32)
        with pytest.raises(tf.errors.FailedPreconditionError, match="a run is using the state"):
            session.run(y)
        z = tf.py_func(lambda: np.float32(session.state.get("Variable")), [], tf.float32)
        assert session.run(z) == 1


# ---- models in files ----


def saved() -> bytes:
    """A model with one signature that calls and one that does not."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.py_func(lambda a: a * 2, [x], tf.float32, name="y")
        specs = [
            SignatureSpec("calls", [("x", x)], [("y", y + 1.0)]),
            SignatureSpec("does_not", [("x", x)], [("z", x + 1.0)]),
        ]
        model, arrays = build_model(graph, specs)
    return container.pack(model, arrays)


@engines.BOTH
def test_a_model_with_calls_loads_and_wants_them_when_it_gets_there(engine: str) -> None:
    module = engines.module(engine)
    x = np.float32([1, 2])
    model = module.load(saved())
    assert model.signature("does_not").run([x])[0].tolist() == [2, 3]
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"'pyfunc' is not bound.*host="):
        model.signature("calls").run([x])
    bound = module.load(saved(), host={"pyfunc": lambda inputs: [inputs[0] * 10]})
    assert bound.signature("calls").run([x])[0].tolist() == [11, 21]


@TARGETS
def test_an_imported_graph_is_given_its_functions_anew(target: str) -> None:
    from graphio.model.importing import import_model

    model, arrays = container.unpack(saved())
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        mine = tf.py_func(lambda a: a - 1, [tf.constant([1.0])], tf.float32)
        found = import_model(model, arrays)
        x, y = found.inputs["calls"]["x"], found.outputs["calls"]["y"]
        with pytest.raises(tf.errors.FailedPreconditionError, match="'pyfunc_1' is not bound"):
            session.run(y, {x: [1]})
        graph.bind_host_function("pyfunc_1", lambda session: lambda inputs: [inputs[0] * 4])
        assert session.run(y, {x: [1]}).tolist() == [5] and session.run(mine).tolist() == [0]
        with pytest.raises(KeyError, match="pyfunc, pyfunc_1"):
            graph.bind_host_function("other", lambda session: abs)


def test_onnx_leaves_out_what_only_shows_and_refuses_a_function() -> None:
    pytest.importorskip("onnx")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.assert_positive(x), tf.print(x)]):
            y = tf.Print(x * 2.0, [x])
        model = tf.onnx.export(None, session, {"x": x}, {"y": y})
        assert {node.op_type for node in model.graph.node} <= {"Mul", "Identity"}
        z = tf.py_func(lambda a: a, [x], tf.float32)
        with pytest.raises(tf.errors.UnimplementedError, match="a Python function cannot be part"):
            tf.onnx.export(None, session, {"x": x}, {"z": z})


def test_arrays_of_many_shapes_come_through_c() -> None:
    hypothesis = importlib.import_module("hypothesis")
    strategies = importlib.import_module("hypothesis.strategies")
    numpy_strategies = importlib.import_module("hypothesis.extra.numpy")
    engines.module("cinfer")
    box: list[Any] = [None]
    with tf.Graph().as_default(), tf.Session("cinfer") as session:
        y = tf.py_func(lambda: box[0], [], tf.float64)
        doubled = y + y
        strings = tf.py_func(lambda: box[0], [], tf.string)

        shapes = numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)

        @hypothesis.settings(max_examples=40, deadline=None)
        @hypothesis.given(shapes, strategies.binary(max_size=5))
        def check(shape: tuple[int, ...], text: bytes) -> None:
            box[0] = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
            np.testing.assert_array_equal(session.run(doubled), 2 * box[0])
            box[0] = np.full(shape, text, object)
            found = np.asarray(session.run(strings), object)
            assert found.shape == shape and found.tolist() == box[0].tolist()

        check()


# ---- Print and print ----


@TARGETS
def test_print_shows_values_and_passes_its_input_and_gradient(target: str, capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [None])
        data = [x, tf.shape(x), [[1, 2], [3, 4]], ["a", "bc"], True, tf.constant(0.1)]
        y = tf.Print(x * 2.0, data, "here: ", first_n=2)
        assert y.op.type == "Print" and y.dtype == tf.float32
        gradient = tf.gradients(y, x)[0]
        for _ in range(3):
            results = session.run([y, gradient], {x: [1, 2.5, 3, 4]})
            assert [r.tolist() for r in results] == [[2, 5, 6, 8], [2, 2, 2, 2]]
    line = "here: [1 2.5 3...][4][[1 2][3]...][a bc][1][0.1]\n"
    assert capsys.readouterr().err == line * 2


@TARGETS
def test_print_shows_as_much_as_is_requested(target: str, capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.reshape(tf.range(6), [2, 3])
        session.run(tf.Print(x, [x], summarize=-1))
        session.run(tf.Print(x, [x], summarize=4))
    assert capsys.readouterr().err == "[[0 1 2][3 4 5]]\n[[0 1 2][3]...]\n"


@TARGETS
def test_the_new_print_is_an_operation(target: str, capsys: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, path = tf.placeholder(tf.int32, [None]), tmp_path / "log"
        shown = tf.print("x:", x, [x, {"k": tf.constant(2)}, (1, "b")], sep="|")
        assert isinstance(shown, tf.Operation)
        assert session.run(shown, {x: np.arange(9)}) is None
        matrix = tf.constant([[1.5, 2], [3, 4]])
        session.run(tf.print(matrix, ["s"], output_stream=sys.stdout, end=""))
        session.run(tf.print(tf.constant("alone"), output_stream=f"file://{path}"))
        session.run(tf.print("both", tf.constant("b"), output_stream=f"file://{path}"))
        session.run(tf.print(x, summarize=-1), {x: np.arange(9)})
        lines: list[str] = []
        with tf.control_dependencies([tf.print(x, output_stream=lines.append)]):
            y = x + 1
        session.run(y, {x: [4]})
    printed = capsys.readouterr()
    nine = "[0 1 2 ... 6 7 8]"
    assert printed.err == f"x:|{nine}|[{nine}, {{'k': 2}}, (1, b)]\n[0 1 2 3 4 5 6 7 8]\n"
    assert printed.out == "[[1.5 2]\n [3 4]] [s]"
    assert path.read_text() == 'alone\nboth "b"\n' and lines == ["[4]\n"]


@TARGETS
def test_sparse_tensors_are_printed_by_their_parts(target: str) -> None:
    lines: list[str] = []
    with tf.Graph().as_default(), tf.Session(target) as session:
        sparse = tf.SparseTensor([[0, 0], [1, 2]], [4, 5], [5, 6])
        session.run(tf.print(sparse, [sparse], output_stream=lines.append))
    text = "'SparseTensor(indices=[[0 0]\n [1 2]], values=[4 5], shape=[5 6])'"
    assert lines == [f"{text} [{text}]\n"]


def test_print_refuses_what_it_cannot_write_to() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Unknown output stream 7"):
            tf.print("x", output_stream=7)
        with pytest.raises(TypeError, match="expected a list of tensors"):
            tf.Print(tf.constant(1), tf.constant(2))


def test_an_output_that_is_declared_as_a_sequence_is_refused() -> None:
    builder, kind = engines.Builder(), Type()
    kind.sequence.tensor.dtype = tf.float32.as_datatype_enum
    builder.node("node", "HostCall", [], [kind], {"function": "f"}, domain="graphio")
    builder.signature({}, {"y": "node"})
    with pytest.raises(tf.errors.UnimplementedError, match="not declared as a tensor"):
        engines.run("cinfer", builder.bytes(), [])


# ---- functions that see values: tf.py_function ----


@TARGETS
def test_a_function_branches_on_values_and_is_differentiated(target: str) -> None:
    def bent(x: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
        return x**3 if tf.abs(x) <= limit else limit * x

    with tf.Graph().as_default(), tf.Session(target) as session:
        x, limit = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        y = tf.py_function(bent, [x, limit], tf.float32)
        slopes = tf.gradients(y, [x, limit])
        second = tf.gradients(slopes[0], x)[0]
        assert session.run([y, *slopes, second], {x: 2, limit: 3}) == [8, 12, 0, 12]
        assert session.run([y, *slopes, second], {x: 4, limit: 3}) == [12, 3, 4, 0]


@TARGETS
def test_a_gradient_passes_the_results_that_it_arrives_at(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, n = tf.constant([1.0, 2.0]), tf.constant(3)
        both = tf.py_function(lambda x, n: (x * x, n + 1), [x, n], [tf.float32, tf.int32])
        assert tf.gradients(both[1], x) == [None]
        assert session.run(tf.gradients(both[0], [x])[0]).tolist() == [2, 4]
        assert tf.gradients(both[0], [n]) == [None]


@TARGETS
def test_arguments_of_a_function_have_values_at_once(target: str) -> None:
    def look(x: tf.Tensor, text: tf.Tensor) -> list[Any]:
        drawn = tf.random_uniform([])
        assert 0 <= float(drawn) == drawn.numpy() == tf.identity(drawn).numpy()
        assert int(x[1]) == 2 and len(x) == 3 and [v.numpy() for v in x] == [1, 2, 3]
        assert np.sin(x).shape == (3,) and text.numpy() == b"abc"
        return [tf.matmul([x], [[1.0], [1.0], [1.0]]), str(text.dtype), drawn - float(drawn)]

    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        x, text = tf.constant([1.0, 2.0, 3.0]), tf.constant("abc")
        made = tf.py_function(look, [x, text], [tf.float64, tf.string, tf.float32])
        graph.finalize()
        total, kind, nothing = session.run(made)
    assert (total.tolist(), total.dtype, nothing) == ([[6]], np.float64, 0)
    assert kind == b"<dtype: 'string'>"


def test_a_tensor_of_another_graph_has_no_value() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        assert not hasattr(x, "numpy")
        for ask in (bool, len, float, int, iter):
            with pytest.raises(TypeError):
                ask(x)
        with pytest.raises(TypeError, match="neither true nor false"):
            tf.cond(tf.constant(True), lambda: 1.0 if x * 2 else 2.0, lambda: 3.0)


#: the result of a function -> the error of the run
WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "a variable": (tf.py_function, lambda: tf.Variable(0.0), tf.errors.UnknownError, "a variable"),
    "lists": (tf.py_func, lambda: np.array([[1], [1, 2]], object), tf.errors.InternalError,
              "Unsupported object type list"),
    "a dict": (tf.py_func, lambda: {"a": 1}, tf.errors.InternalError, "Unsupported object type"),
    "a record": (tf.py_func, lambda: np.zeros(1, [("a", "f4")]), tf.errors.InternalError,
                 "Unsupported numpy data type"),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_value_is_refused_by_the_run(target: str, what: str) -> None:
    make, function, error, words = WRONG[what]
    with tf.Graph().as_default(), tf.Session(target) as session:
        with pytest.raises(error, match=words):
            session.run(make(function, [], tf.float32))
