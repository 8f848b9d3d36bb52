"""Variables: their nodes, initialisation, assignments, state; in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def test_a_variable_is_four_operations(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    names = ["v/initial_value", "v", "v/Assign", "v/read"]
    assert [op.name for op in graph.get_operations()] == names
    assert [op.type for op in graph.get_operations()] == [
        "Const",
        "VariableV2",
        "Assign",
        "Identity",
    ]
    assert (v.name, v.op.name, v.shape.as_list(), v.dtype.base_dtype) == (
        "v:0",
        "v",
        [2],
        tf.float32,
    )
    assert v.value().op.name == "v/read" and v.initializer.name == "v/Assign"
    assert not isinstance(v, tf.Tensor) and bool(v) and len({v, v}) == 1
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>"


def test_a_variable_from_a_tensor_has_no_initial_value_operation(graph: tf.Graph) -> None:
    tf.Variable(tf.zeros([2], name="z"), name="v")
    assert [op.name for op in graph.get_operations()] == ["z", "v", "v/Assign", "v/read"]


def test_the_second_position_is_trainable() -> None:
    v = tf.Variable([[7], [11]], tf.int16, name="cat")
    assert v.dtype == tf.int32 and v in tf.trainable_variables()
    assert tf.Variable(0, trainable=False) not in tf.trainable_variables()
    assert tf.Variable(0, trainable=None) in tf.trainable_variables()


def test_other_collections_replace_only_the_global_one() -> None:
    v = tf.Variable(1.0, collections=["mine"])
    assert tf.get_collection("mine") == [v] == tf.trainable_variables()
    assert tf.global_variables() == []


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: tf.Variable(), ValueError, "initial_value must be specified"),
        (lambda: tf.Variable(tf.placeholder(tf.float32)), ValueError, "must have a shape"),
        (lambda: tf.Variable(1.5, dtype=tf.int32), TypeError, "int32"),
        (lambda: tf.Variable(tf.ones([2]), dtype=tf.int32), ValueError, "int32"),
        (lambda: tf.Variable([1.0, 2.0]).assign(tf.zeros([3])), ValueError, "Dimension 0"),
        (lambda: tf.Variable([1.0, 2.0]).assign(1.0), ValueError, "equal rank"),
        (lambda: tf.Variable(1.0).assign(tf.constant(1)), TypeError, "float32"),
        (lambda: tf.Variable([1.0]).assign_add([1.0, 2.0]), ValueError, "AssignAdd"),
        (lambda: tf.assign(tf.constant(1.0), 2.0), AttributeError, "assign"),
        (lambda: list(tf.Variable([1.0])), TypeError, "not iterable"),
    ],
)
def test_what_a_variable_refuses(build: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()  # type: ignore[operator]


def test_updates_bear_the_users_name(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    before = len(graph.get_operations())
    assert v.assign_add(2.0, name="step").op.name == "step"
    names = [op.name for op in graph.get_operations()[before:]]
    assert names == ["step/value", "step/ReadVariable", "step/Add", "step"]
    assert v.assign_sub(1.0).op.type == "AssignSub"
    assert v.assign(1.0).op.name == "Assign"


def test_a_variable_made_in_a_branch_belongs_to_the_root(graph: tf.Graph) -> None:
    made = []

    def branch() -> tf.Tensor:
        made.append(tf.Variable(3.0, name="inner"))
        return made[0].assign_add(1.0)

    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, branch, lambda: tf.constant(0.0))
    assert made[0].graph is graph and made[0].op.name == "cond/true/inner"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [float(session.run(y, {p: b})) for b in (True, False, True)] == [4, 0, 5]


def test_an_initial_value_from_inside_a_branch_is_refused() -> None:
    def branch() -> tf.Tensor:
        return tf.Variable(tf.constant(3.0)).value()

    with pytest.raises(ValueError, match="give a callable"):
        tf.cond(tf.placeholder(tf.bool, []), branch, lambda: tf.constant(0.0))


@TARGETS
def test_reading_before_initialisation_names_the_variable(target: str) -> None:
    w = tf.Variable(3.0, name="w")
    with tf.Session(target) as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value w"
        ) as caught:
            session.run(w + 1)
        assert caught.value.op is w.op and caught.value.node_def.name == "w"
        assert caught.value.error_code == tf.errors.FAILED_PRECONDITION
        assert isinstance(caught.value, tf.errors.OpError)


@TARGETS
def test_initialisers(target: str) -> None:
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3.0, name="w")
    report = tf.report_uninitialized_variables()
    flags = [tf.is_variable_initialized(x) for x in (v, w)]
    with tf.Session(target) as session:
        assert session.run(report).tolist() == [b"v", b"w"]
        assert session.run(v.initializer) is None
        assert [bool(b) for b in session.run(flags)] == [True, False]
        assert session.run(report).tolist() == [b"w"]
        assert session.run(tf.global_variables_initializer()) is None
        assert session.run(report).tolist() == []
        assert session.run(w) == 3.0


@TARGETS
def test_one_run_initialises_variables_that_depend_on_each_other(target: str) -> None:
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable(a * 2.0 + 1.0, name="b")
    c = tf.Variable(b.initialized_value() * 10.0, name="c")
    d = tf.Variable(c, name="d")
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(d).tolist() == [30, 50]
        session.run(a.assign([0.0, 0.0]))
        session.run(b.initializer)
        assert session.run(b).tolist() == [1, 1]


@TARGETS
def test_a_random_initial_value_is_drawn_once_an_initialisation(target: str) -> None:
    v = tf.Variable(tf.random_normal([4]))
    with tf.Session(target) as session:
        session.run(v.initializer)
        first = session.run(v)
        assert (session.run(v) == first).all()
        session.run(v.initializer)
        assert (session.run(v) != first).all()


@TARGETS
def test_plain_uses_share_one_read_and_read_value_sees_what_came_before(target: str) -> None:
    v = tf.Variable(1.0, name="v")
    plain = v + 0.0
    step = v.assign_add(10.0)
    after = v.read_value()
    with tf.control_dependencies([step]):
        inside = v.read_value()
        plain_inside = v + 0.0
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([v, plain, step, after]) == [11, 1, 11, 11]
        assert session.run(after) == 11
        assert session.run([inside, plain_inside]) == [21, 21]


@TARGETS
def test_a_value_once_read_never_changes(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    read = v.read_value()
    steps = [v.assign([5.0, 6.0]), v.assign_add([1.0, 1.0]), tf.scatter_add(v, [0], [100.0])]
    with tf.Session(target) as session:
        session.run(v.initializer)
        got = session.run([read, *steps, v])
    expected = [[1, 2], [5, 6], [6, 7], [106, 7], [106, 7]]
    assert [g.tolist() for g in got] == expected


@TARGETS
def test_assignments(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(tf.assign(v, [5.0, 6.0])).tolist() == [5, 6]
        assert session.run(tf.assign_sub(v, [1.0, 1.0])).tolist() == [4, 5]
        assert session.run(v.assign(v * 2.0)).tolist() == [8, 10]
        assert session.run(v.assign([1.0, 1.0]).op) is None
        assert session.run(tf.scatter_update(v, [0], [9.0])).tolist() == [9, 1]
        assert session.run(tf.scatter_add(v, [1, 1], [1.0, 1.0])).tolist() == [9, 3]
        assert session.run(tf.scatter_sub(v, [0], [4.0])).tolist() == [5, 3]
        v.load([7.0, 7.0], session)
        assert v.eval().tolist() == [7, 7]
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            v.load([1.0, 2.0, 3.0], session)


@TARGETS
def test_any_shape_may_be_assigned_without_validation(target: str) -> None:
    x = tf.placeholder(tf.float32, name="x")
    v = tf.Variable(x, validate_shape=False)
    with tf.Session(target) as session:
        session.run(v.initializer, {x: [1.0, 2.0]})
        assert session.run(v).tolist() == [1, 2]
        session.run(v.initializer, {x: [[3.0]]})
        assert session.run(v).tolist() == [[3]]


@TARGETS
def test_each_session_has_its_own_state(target: str) -> None:
    v = tf.Variable(1.0)
    step = v.assign_add(1.0)
    one, two = tf.Session(target), tf.Session(target)
    one.run(v.initializer)
    with pytest.raises(tf.errors.FailedPreconditionError):
        two.run(v)
    two.run(v.initializer)
    for _ in range(3):
        one.run(step)
    assert (one.run(v), two.run(v)) == (4, 1)


@TARGETS
def test_a_run_that_fails_says_what_it_had_assigned(target: str) -> None:
    v = tf.Variable(1.0, name="v")
    indices = tf.placeholder(tf.int32, [1])
    step = v.assign_add(1.0)
    bad = tf.gather(tf.constant([1.0, 2.0]), indices)
    with tf.Session(target) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="already assigned.*: v"):
            session.run([step, bad], {indices: [7]})


#: initializers that give another shape than [2, 2], for any requested shape
OTHER_SHAPES: list[Any] = [
    lambda: tf.ones([3]),
    lambda shape: np.ones(3, np.float32),
    lambda shape, dtype: [tf.constant(1.0), 2.0],
    lambda shape, dtype=None, partition_info=None: tf.zeros([2, 2, 1], dtype),
]


@TARGETS
def test_an_initializer_gives_the_shape_requested(target: str) -> None:
    for i, initializer in enumerate(OTHER_SHAPES):
        words = rf"variable v{i} gave shape .*, expected \(2, 2\)"
        with pytest.raises(ValueError, match=words):
            tf.get_variable(f"v{i}", [2, 2], initializer=initializer)
    assert tf.global_variables() == []
    fitting = tf.get_variable("fitting", [3], initializer=OTHER_SHAPES[0])
    taken = tf.get_variable("taken", initializer=OTHER_SHAPES[0])
    free = tf.get_variable("free", [2], initializer=OTHER_SHAPES[0], validate_shape=False)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for found in session.run([fitting, taken, free]):
            assert found.tolist() == [1, 1, 1]


@TARGETS
def test_strings_and_integers_can_be_variables(target: str) -> None:
    s = tf.Variable(["a", "b"])
    i = tf.Variable(np.int64(3))
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(s).tolist() == [b"a", b"b"]
        assert session.run(i.assign_add(4)) == 7


@TARGETS
def test_variables_of_several_sessions_of_one_model_do_not_share_generators(target: str) -> None:
    tf.set_random_seed(1)
    v = tf.Variable(tf.random_normal([3]))
    values = []
    for _ in range(2):
        with tf.Session(target) as session:
            session.run(v.initializer)
            values.append(session.run(v).tolist())
    assert values[0] == values[1]


@pytest.fixture
def resource_variables() -> Iterator[None]:
    tf.enable_resource_variables()
    yield
    tf.disable_resource_variables()


@pytest.mark.usefixtures("resource_variables")
def test_a_program_may_make_all_its_variables_resource_variables() -> None:
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0), tf.Variable(1.0, use_resource=False)
        assert tf.resource_variables_enabled()
        assert [x.use_resource for x in (v, w, tf.get_variable("x", []))] == [True, False, True]
        with tf.variable_scope("plain", use_resource=False):
            assert not tf.Variable(1.0).use_resource
        assigned = v.assign_add(1.0)
        with tf.Session() as session:
            session.run([v.initializer, w.initializer])
            assert session.run([v, assigned]) == [1.0, 2.0]


def test_variables_are_plain_unless_a_scope_says_otherwise() -> None:
    with tf.Graph().as_default():
        assert not tf.Variable(1.0).use_resource and not tf.resource_variables_enabled()
        with tf.variable_scope("resources", use_resource=True):
            assert tf.Variable(1.0).use_resource and tf.get_variable("v", []).use_resource


def test_initial_values_of_callables_and_reads_stand_beside_their_variable() -> None:
    with tf.Graph().as_default() as graph:
        tf.Variable(lambda: tf.ones([2]) * 3.0, name="v")
        tf.get_variable("w", [2])
        tf.Variable(tf.ones([2], name="ones"), name="x")
        groups = {op.name: op.colocation_groups() for op in graph.get_operations()}
    assert groups["v/Initializer/mul"] == groups["v/Initializer/ones"] == [b"loc:@v"]
    assert groups["w/Initializer/random_uniform"] == groups["w/read"] == [b"loc:@w"]
    assert groups["ones"] == [b"loc:@ones"]


def test_resource_variables_are_shown_with_their_base_dtype() -> None:
    with tf.Graph().as_default():
        shown = repr(tf.Variable([1, 2], name="v", use_resource=True))
    assert shown == "<tf.Variable 'v:0' shape=(2,) dtype=int32>"


def test_a_cached_read_is_on_its_device_and_beside_nothing() -> None:
    with tf.Graph().as_default():
        with tf.device("/job:server/task:1"):
            v = tf.Variable(2.0, caching_device="/job:localhost", use_resource=True)
        with tf.colocate_with(v.op):
            w = tf.Variable(2.0, caching_device="/job:localhost", use_resource=True)
        for variable in (v, w):
            read = variable.value()
            assert read.device == "/job:localhost"
            with pytest.raises(ValueError, match="_class"):
                read.op.get_attr("_class")


@TARGETS
def test_an_initialized_value_of_a_loop_initializes_another_variable(target: str) -> None:
    def body(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        a = tf.get_variable("a", initializer=tf.constant_initializer(2.0), shape=[])
        b = tf.get_variable("b", initializer=lambda *_, **__: a.initialized_value() * 3.0, shape=[])
        return i + 1, total + b

    _, total = tf.while_loop(lambda i, _: i < 4, body, [0, 0.0])
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(total) == 24.0
