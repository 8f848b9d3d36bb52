"""Scopes, sessions, feeds and control inputs as TensorFlow has them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


# ---- contexts that are left in another order than they were entered ----


def test_a_session_is_entered_once_and_may_be_the_default_one_often() -> None:
    session = tf.Session()
    with session:
        with pytest.raises(RuntimeError, match="not re-entrant. Use `Session.as_default"):
            session.__enter__()
        with session.as_default(), session.as_default():
            assert tf.get_default_session() is session


OUT_OF_ORDER: dict[str, tuple[Any, type[Exception], str]] = {
    "sessions": (lambda: tf.Session().as_default(), AssertionError, "Nesting violated"),
    "devices": (lambda: tf.device("/cpu:0"), RuntimeError, "without proper scope nesting"),
    "variable scopes": (
        lambda: tf.variable_scope("a"), RuntimeError, "Improper nesting of variable_scope",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", OUT_OF_ORDER)
def test_leaving_an_outer_context_before_the_inner_one_is_an_error(kind: str) -> None:
    make, error, words = OUT_OF_ORDER[kind]

    def leave_the_outer_one_first() -> None:
        with tf.Graph().as_default():
            outer, inner = make(), make()
            outer.__enter__()
            inner.__enter__()
            with pytest.raises(error, match=words):
                outer.__exit__(None, None, None)
            inner.__exit__(None, None, None)

    # In a thread: the outer session stays the default one of the thread that it was left in.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(leave_the_outer_one_first).result()


def test_a_variable_scope_left_too_early_can_be_left_when_it_is_its_turn() -> None:
    with tf.variable_scope("a"):
        early = tf.variable_scope("b")
        early.__enter__()
        with tf.variable_scope("c"), pytest.raises(RuntimeError, match="Improper nesting"):
            early.__exit__(None, None, None)
        early.__exit__(None, None, None)
        assert tf.get_variable_scope().name == "a"


def test_an_interactive_session_may_end_whenever_it_likes() -> None:
    first, second = tf.InteractiveSession(), tf.InteractiveSession()
    first.close()
    assert tf.get_default_session() is second
    second.close()


# ---- variable scopes ----


def test_default_names_count_again_when_a_scope_is_entered_as_an_object() -> None:
    def weights() -> str:
        with tf.variable_scope(None, "layer"):
            return tf.get_variable("w", []).name

    with tf.variable_scope("net") as net:
        made = [weights(), weights()]
    with tf.variable_scope(net, reuse=True):
        assert [weights(), weights()] == made == ["net/layer/w:0", "net/layer_1/w:0"]


def test_default_names_go_on_while_the_scope_is_open() -> None:
    with tf.variable_scope("net") as net:
        with tf.variable_scope(None, "layer") as first:
            pass
        with tf.variable_scope(net), tf.variable_scope(None, "layer") as second:
            pass
    assert [first.name, second.name] == ["net/layer", "net/layer_1"]


def test_the_root_scope_opens_no_name_scope() -> None:
    root = tf.get_variable_scope()
    with tf.name_scope("one"), tf.variable_scope(root), tf.name_scope("two") as scope:
        assert scope == "one/two/"


def test_a_scope_without_a_name_scope_of_its_own_has_the_one_around() -> None:
    with (
        tf.variable_scope("outer"),
        tf.variable_scope("inner", auxiliary_name_scope=False) as scope,
    ):
        assert scope.original_name_scope == "outer/"


def test_each_thread_is_in_a_variable_scope_of_its_own() -> None:
    graph, inside, done, names = tf.Graph(), threading.Event(), threading.Event(), {}

    def enter(name: str, wait: threading.Event, tell: threading.Event) -> None:
        wait.wait(30)
        with graph.as_default(), tf.variable_scope("net"):
            names[name] = tf.get_variable(name, []).name
            if name == "first":
                inside.set()
                done.wait(30)
        tell.set()

    ready = threading.Event()
    ready.set()
    threads = [
        threading.Thread(target=enter, args=("first", ready, threading.Event())),
        threading.Thread(target=enter, args=("second", inside, done)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert names == {"first": "net/first:0", "second": "net/second:0"}


def test_each_thread_has_control_dependencies_of_its_own() -> None:
    graph = tf.Graph()
    with graph.as_default():
        first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
        done = {"one": first.initializer, "two": second.initializer}
    turn = threading.Barrier(2, timeout=30)
    waits: dict[str, list[str]] = {}

    def build(name: str, late: bool) -> None:
        with graph.as_default():
            if late:
                turn.wait()
            with tf.control_dependencies([done[name]]):
                if not late:
                    turn.wait()
                turn.wait()  # both are inside
                inside = tf.no_op(), (first + 0.0).op.inputs[0].op
                if late:
                    turn.wait()
            if not late:
                turn.wait()
            turn.wait()  # both are outside, the one that entered first has left first
            outside = tf.no_op(), (first + 0.0).op.inputs[0].op
        waits[name] = [c.name for op in (*inside, *outside) for c in op.control_inputs]
        assert outside[1] is first.value().op

    threads = [threading.Thread(target=build, args=a) for a in (("one", False), ("two", True))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert waits == {"one": ["first/Assign"] * 2, "two": ["second/Assign"] * 2}


def test_a_custom_getter_is_given_what_copies_would_do() -> None:
    seen: dict[str, Any] = {}

    def getter(inner: Any, *arguments: Any, **options: Any) -> Any:
        seen.update(options)
        return inner(*arguments, **options)

    with tf.variable_scope("s", custom_getter=getter):
        tf.get_variable("v", [])
    assert seen["synchronization"] is tf.VariableSynchronization.AUTO
    assert seen["aggregation"] is tf.VariableAggregation.NONE and seen["trainable"] is True


def test_a_variable_of_sums_on_read_is_not_trainable() -> None:
    on_read = tf.VariableSynchronization.ON_READ
    for v in (
        tf.get_variable("v", [], synchronization=on_read),
        tf.Variable(1.0, synchronization=on_read),
    ):
        assert not v.trainable and v not in tf.trainable_variables()
    assert tf.get_variable("w", [], synchronization=on_read, trainable=True).trainable


def test_a_local_variable_joins_the_collections_requested_too() -> None:
    v = tf.get_local_variable("v", [], collections=["mine"])
    assert tf.get_collection("mine") == [v] == tf.local_variables()
    assert tf.global_variables() == []


def test_a_partitioned_variable_may_have_a_shape_beside_its_value() -> None:
    halves = tf.fixed_size_partitioner(2)
    value = np.ones([4, 2], np.float32)
    v = tf.get_variable("v", [4, 2], initializer=tf.constant(value), partitioner=halves)
    assert v.shape == (4, 2)
    with tf.variable_scope("root", partitioner=halves):
        assert tf.get_variable("v", [4, 2], initializer=value).shape == (4, 2)
    with pytest.raises(ValueError, match="do not specify shape"):
        tf.get_variable("w", [4, 2], initializer=value)


def test_the_first_call_of_a_template_is_in_the_scope_of_its_variables() -> None:
    def build(x: Any) -> Any:
        return tf.get_variable("a", [], initializer=tf.zeros_initializer()) + x, tf.Variable(1.0)

    for now in (True, False):
        template = tf.make_template(f"t{now}", build, create_scope_now_=now)
        assert template(1.0)[0].name == f"t{now}/add:0"
        assert [v.name for v in template.global_variables] == [f"t{now}/a:0", f"t{now}/Variable:0"]


def test_a_template_without_a_name_has_the_variables_around_it() -> None:
    template = tf.make_template("", lambda: tf.get_variable("a", []))
    with tf.variable_scope("outer"):
        around = tf.get_variable("x", [])
        inside = template()
    assert template.variable_scope_name == "outer/" and inside.name == "outer//a:0"
    assert template.variables == [around, inside]


def test_a_template_tells_its_variables_by_kind() -> None:
    def build() -> None:
        tf.get_variable("a", [])
        tf.get_variable("b", [], trainable=False)
        tf.get_local_variable("c", [])

    template = tf.make_template("t", build)
    template()
    assert [v.name for v in template.trainable_variables] == ["t/a:0"]
    assert [v.name for v in template.non_trainable_variables] == ["t/b:0"]
    assert [v.name for v in template.local_variables] == ["t/c:0"]


# ---- assigning through a variable's tensor ----

ASSIGNING = {
    "assign": (lambda ref: tf.assign(ref, [1.0, 2.0]), [1.0, 2.0]),
    "assign_add": (lambda ref: tf.assign_add(ref, [1.0, 2.0]), [4.0, 5.0]),
    "assign_sub": (lambda ref: tf.assign_sub(ref, [1.0, 2.0]), [2.0, 1.0]),
    "scatter_update": (lambda ref: tf.scatter_update(ref, [0], [7.0]), [7.0, 3.0]),
    "scatter_nd_add": (lambda ref: tf.scatter_nd_add(ref, [[1]], [7.0]), [3.0, 10.0]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ASSIGNING)
def test_a_variable_is_assigned_through_its_tensor(name: str, target: str) -> None:
    change, expected = ASSIGNING[name]
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        v = tf.get_variable("v", [2], initializer=tf.constant_initializer(3.0))
        session.run(v.initializer)
        session.run(change(graph.get_tensor_by_name("v:0")))
        assert session.run(v).tolist() == expected


def test_another_tensor_is_no_variable() -> None:
    with pytest.raises(AttributeError, match="expected a variable"):
        tf.assign(tf.constant(1.0), 2.0)


def test_a_regularizer_is_given_the_variable() -> None:
    given = []
    v = tf.get_variable("v", [], regularizer=given.append)
    assert given == [v]


# ---- feeds ----


@pytest.mark.parametrize("target", TARGETS)
def test_what_waits_for_a_fed_placeholder_waits_for_nothing(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        p, ready = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool)
        with tf.control_dependencies([p, ready]):
            plain = tf.constant(5.0) * p
            branch = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
            loop = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])
        assert session.run([plain, branch, loop], {p: 2.0, ready: True}) == [10.0, 1, 10]
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            session.run(plain, {p: 2.0})


@pytest.mark.parametrize("engine", TARGETS)
def test_a_saved_signature_does_not_wait_for_its_fed_placeholder(
    engine: str, tmp_path: Any
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.float32, [], name="p")
        with tf.control_dependencies([p]):
            y = tf.constant(5.0) + p
        tf.saved_model.save(str(tmp_path / "m.gio"), session, {"f": ({"p": p}, {"y": y})})
    model = getattr(tf, engine).load(str(tmp_path / "m.gio"))
    assert model.signature("f")(p=np.float32(2))["y"] == 7


@pytest.mark.parametrize("target", TARGETS)
def test_a_sparse_placeholder_of_known_shape_is_fed_with_a_pair(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        p = tf.sparse_placeholder(tf.float32, [2, 2])
        dense = tf.sparse_tensor_to_dense(p)
        for value in (([[0, 1]], [7.0]), ([[0, 1]], [7.0], [2, 2])):
            assert session.run(dense, {p: value}).tolist() == [[0, 7], [0, 0]]
        anything = tf.sparse_placeholder(tf.float32)
        with pytest.raises(ValueError, match="stands for 3 tensors"):
            session.run(tf.sparse_tensor_to_dense(anything), {anything: ([[0, 1]], [7.0])})


# ---- small surfaces ----


def test_small_surfaces_say_what_tensorflow_s_say() -> None:
    tf.add_to_collection("mine", 1)
    assert tf.get_default_graph().collections == ["mine"]
    tf.set_random_seed(0)
    assert tf.get_seed(0) == (0, 2**31 - 1) and tf.get_seed(1) == (0, 1)
    tf.set_random_seed(2**31 + 7)
    assert tf.get_seed(2**31 + 1) == (8, 2) and tf.get_seed(-1) == (8, 2**31 - 2)
    assert [bool(tf.Dimension(size)) for size in (0, 1, None)] == [False, True, False]
    with tf.device("/device:MyDevice:2"):
        assert tf.no_op().device == "/device:MyDevice:2"
    with tf.device("/device:gpu:0"):
        assert tf.no_op().device == "/device:GPU:0"


# ---- layers and names ----


def test_build_alone_makes_the_variables_in_the_layer_s_scope() -> None:
    tf.nn.rnn_cell.BasicLSTMCell(3).build(tf.TensorShape([None, 2]))
    with tf.variable_scope("outer"):
        tf.nn.rnn_cell.GRUCell(3, name="g").build(tf.TensorShape([None, 2]))
    dense = tf.layers.Dense(4)
    dense.build((None, 4))
    assert [v.op.name for v in tf.global_variables()] == [
        "basic_lstm_cell/kernel", "basic_lstm_cell/bias", "outer/g/gates/kernel",
        "outer/g/gates/bias", "outer/g/candidate/kernel", "outer/g/candidate/bias",
        "dense/kernel", "dense/bias",
    ]  # fmt: skip
    dense(tf.ones([1, 4]))
    assert len(tf.global_variables()) == 8


def test_what_is_fetched_may_be_named_in_bytes() -> None:
    tf.constant(42.0, name="c")
    with tf.Session() as session:
        assert session.run(b"c:0") == 42


def test_a_custom_getter_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(ValueError, match="custom_getter which is not callable: 3"):
        tf.get_variable("v", [1], custom_getter=3)


# ---- scopes of values, control inputs ----


def test_the_values_of_a_scope_choose_its_graph(graph: tf.Graph) -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0, name="x")
    with tf.name_scope("a", values=[x, 2.0]) as scope:
        y = tf.constant(1.0)
    with tf.variable_scope("b", values=[x]):
        v = tf.get_variable("v", [1])
    assert (y.graph, v.graph, scope, y.name) == (other, other, "a/", "a/Const:0")
    assert tf.get_default_graph() is graph and graph.get_operations() == []


def test_a_scope_refuses_values_of_several_graphs_and_values_without_a_name() -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        y = tf.constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.name_scope("a", values=[x, y]).__enter__()
    with pytest.raises(ValueError, match="has no name"):
        tf.name_scope(None, values=[x]).__enter__()
    with pytest.raises(TypeError, match="default_name is list"):
        tf.name_scope("a", [x])


def test_a_name_scope_may_be_entered_again_inside_of_itself() -> None:
    a, b = tf.name_scope("a"), tf.name_scope("b")
    with a, a as inner, b:
        assert (inner, tf.constant(1.0).op.name) == ("a/a/", "a/a/b/Const")
    with b as again:
        assert again == "b/"
    assert tf.constant(1.0).op.name == "Const"


def test_what_an_input_waits_for_is_not_waited_for_twice() -> None:
    first, x = tf.no_op(name="first"), tf.constant([1.0])
    with tf.control_dependencies([first]):
        a = tf.negative(x)
        b = tf.abs(a)
        with tf.control_dependencies([x]):
            c = tf.exp(a)
        d = tf.identity(tf.constant(1.0))
    assert [t.op.control_inputs for t in (a, b, c, d)] == [[first], [], [x.op], []]
    assert d.op.inputs[0].op.control_inputs == [first]


@pytest.mark.parametrize("target", TARGETS)
def test_an_operation_on_a_constant_made_inside_waits(target: str) -> None:
    holds = tf.placeholder(tf.bool, [])
    with tf.control_dependencies([tf.Assert(holds, ["no"])]):
        y = tf.reduce_sum(tf.constant([1.0, 2.0]) + 1.0)
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {holds: False})


def test_control_inputs_may_be_names_and_what_stands_for_an_operation() -> None:
    x = tf.constant(1.0, name="x")

    class Named:
        def _as_graph_element(self) -> str:
            return "x:0"

    for awaited in ("x", Named()):
        with tf.control_dependencies([awaited]):
            assert tf.no_op().control_inputs == [x.op]
    with pytest.raises(KeyError, match="nope"):
        tf.control_dependencies(["nope"]).__enter__()


def test_what_another_graph_may_feed_and_fetch_is_not_forbidden(graph: tf.Graph) -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    assert graph.is_feedable(x) and graph.is_fetchable(x.op)
    graph.prevent_feeding(x)
    graph.prevent_fetching(x.op)
    assert not graph.is_feedable(x) and not graph.is_fetchable(x)
    assert other.is_feedable(x) and other.is_fetchable(x)


# ---- fetches, feeds and options as TensorFlow has them ----


def test_objects_of_attrs_are_fetched_and_looped_over() -> None:
    attr = pytest.importorskip("attr")
    pair = attr.make_class("Pair", ["first", "second"])
    x, y = tf.constant(1.0), tf.constant([2.0, 3.0])
    looped = tf.while_loop(lambda p: p.first < 3, lambda p: pair(p.first + 1, 2 * p.second),
                           [pair(x, y)])  # fmt: skip
    with tf.Session() as session:
        for _ in range(2):
            found = session.run(pair(x, [y, pair(x, x)]))
        assert found.first == 1 and found.second[1] == pair(1, 1)
        assert session.run(looped)[0].second.tolist() == [8, 12]


def test_slices_without_a_dense_shape_are_fed() -> None:
    values, indices = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [2])
    slices = tf.IndexedSlices(values, indices)
    with tf.Session() as session:
        fetched = session.run(tf.IndexedSlices(values * 2, indices), {slices: ([1, 2], [0, 1])})
        again = session.run(values, {slices: fetched})
    assert again.tolist() == [2, 4]


def test_a_config_adds_pools_of_threads_and_shows_shapes() -> None:
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    config.session_inter_op_thread_pool.add(num_threads=2).global_name = "own"
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    assert copy == config and copy.session_inter_op_thread_pool[0].num_threads == 2
    tf.constant(1.0)
    for given, shown in ((config, True), (None, False)):
        with tf.Session(config=given) as session:
            assert ("_output_shapes" in session.graph_def.node[0].attr) is shown


def test_a_second_interactive_session_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        tf.InteractiveSession().close()
    assert not caplog.records
    first, second = tf.InteractiveSession(), tf.InteractiveSession()
    assert [r.levelname for r in caplog.records] == ["ERROR"]
    second.close()
    first.close()


def test_an_int_is_no_string_to_feed() -> None:
    text = tf.placeholder(tf.string)
    with tf.Session() as session, pytest.raises(TypeError, match="expected a string"):
        session.run(text, {text: 1})


def test_a_meta_graph_keeps_the_modes_of_variables_and_lands_in_the_name_scope() -> None:
    modes = tf.VariableSynchronization.ON_WRITE, tf.VariableAggregation.ONLY_FIRST_TOWER
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v", synchronization=modes[0], aggregation=modes[1])
        again = tf.Variable(variable_def=v.to_proto())
        meta = tf.train.export_meta_graph()
    assert (again.synchronization, again.aggregation) == modes
    with tf.Graph().as_default():
        with tf.name_scope("outer"):
            tf.train.import_meta_graph(meta)
            tf.train.import_meta_graph(meta, import_scope="inner")
        found = tf.global_variables()
    assert [v.op.name for v in found] == ["outer/v", "outer/inner/v"]
    assert all((v.synchronization, v.aggregation) == modes for v in found)


def test_what_init_from_checkpoint_adds_is_named_after_the_variable() -> None:
    v = tf.get_variable("v", [])
    with tf.name_scope("around"):
        tf.train.init_from_checkpoint({"v": 0.5}, {"v": "v"})
    assert v.initializer.name == "v/Assign_1"


def test_init_scope_leaves_functions_of_datasets_and_keeps_devices(graph: tf.Graph) -> None:
    seen: dict[str, Any] = {}

    def function(x: tf.Tensor) -> tf.Tensor:
        with tf.device("/cpu:1"), tf.init_scope():
            seen["lifted"] = tf.constant(1.0)
        with tf.init_scope():
            seen["plain"] = tf.constant(1.0)
        seen["inside"] = tf.get_default_graph().building_function
        return x + 1

    with tf.device("/cpu:0"):
        tf.data.Dataset.range(3).map(function)
    assert seen["lifted"].graph is graph and seen["plain"].graph is graph
    assert (seen["lifted"].device, seen["plain"].device) == ("/device:CPU:1", "/device:CPU:0")
    assert seen["inside"] and not graph.building_function


def test_init_scope_in_a_branch_keeps_its_device(graph: tf.Graph) -> None:
    made: list[tf.Tensor] = []

    def branch() -> tf.Tensor:
        with tf.device("/cpu:1"), tf.init_scope():
            made.append(tf.constant(1.0))
        return made[-1]

    tf.cond(tf.placeholder(tf.bool, []), branch, branch)
    assert {(t.graph, t.device) for t in made} == {(graph, "/device:CPU:1")}
