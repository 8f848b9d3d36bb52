"""Session: fetches, feeds, contexts, errors; in both engines."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


# ---- fetches ----


@TARGETS
def test_values_come_in_the_structure_of_the_fetches(target: str) -> None:
    x, y = tf.constant(1.0, name="x"), tf.constant([2, 3], name="y")
    with tf.Session(target) as session:
        got = session.run({"p": Pair(x, [y]), "q": (x, {"r": y}), "s": []})
        assert type(got) is dict and type(got["p"]) is Pair and type(got["q"]) is tuple
        assert got["p"].a == 1.0 and got["p"].b[0].tolist() == [2, 3] and got["s"] == []
        ordered = session.run(collections.OrderedDict([("z", x), ("a", y)]))
        assert list(ordered) == ["z", "a"] and ordered["z"] == 1.0
        assert session.run("y:0").tolist() == [2, 3] and session.run("x") is None
        assert session.run([]) == [] and session.run(()) == ()
        again = session.run([x, x, x.op, [x]])
        assert again == [1.0, 1.0, None, [1.0]]


@TARGETS
def test_scalars_are_numpy_scalars_and_strings_bytes(target: str) -> None:
    with tf.Session(target) as session:
        assert type(session.run(tf.constant(1.0))) is np.float32
        assert type(session.run(tf.constant([1.0]))) is np.ndarray
        assert session.run(tf.constant("ä")) == "ä".encode()
        text = session.run(tf.constant(["a", ""]))
        assert text.dtype == object and text.tolist() == [b"a", b""]


@TARGETS
def test_writing_to_a_fetched_value_changes_nothing(target: str) -> None:
    c, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])
    with tf.Session(target) as session:
        session.run(v.initializer)
        for fetch in (c, v, v.value(), tf.identity(c)):
            got = session.run(fetch)
            got += 5
            assert session.run(fetch).tolist() == [1, 2]


@TARGETS
def test_indexed_slices_are_fetched_and_fed_as_their_parts(target: str) -> None:
    s = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    dense = tf.convert_to_tensor(s)
    with tf.Session(target) as session:
        got = session.run([s, dense])
        assert isinstance(got[0], tf.IndexedSlicesValue)
        assert got[0].indices.tolist() == [0, 2] and got[1].tolist() == [[1], [0], [2]]
        fed = session.run(dense, {s: tf.IndexedSlicesValue([[5.0], [6.0]], [1, 1], [3, 1])})
        assert fed.tolist() == [[0], [11], [0]]


@pytest.mark.parametrize("fetch", [None, 3, 2.5, {1, 2}, object(), [None], {"a": 3}])
def test_what_cannot_be_fetched_is_a_type_error(fetch: object) -> None:
    tf.constant(1.0)
    with tf.Session() as session, pytest.raises(TypeError, match="invalid type"):
        session.run(fetch)


def test_names_and_tensors_that_are_not_of_the_graph_are_value_errors() -> None:
    tf.constant(1.0)
    with tf.Graph().as_default():
        foreign = tf.constant(2.0)
    with tf.Session() as session:
        for fetch in ("nothing", "nothing:0", "Const:1"):
            with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
                session.run(fetch)
        with pytest.raises(ValueError, match="is not an element of this graph"):
            session.run(foreign)
        with pytest.raises(TypeError, match="feed_dict key.*not an element of this graph"):
            session.run("Const:0", {foreign: 1.0})


def test_what_is_inside_a_branch_cannot_be_fetched_or_fed() -> None:
    inner = []
    y = tf.cond(tf.constant([True])[0], lambda: inner.append(tf.constant(1.0)) or inner[0],
                lambda: tf.constant(2.0))  # fmt: skip
    with tf.Session() as session:
        with pytest.raises(ValueError, match="inside a loop or branch"):
            session.run(inner[0])
        with pytest.raises(ValueError, match="inside a loop or branch"):
            session.run(y, {inner[0]: 3.0})


# ---- feeds ----


@TARGETS
def test_any_tensor_may_be_fed(target: str) -> None:
    c = tf.constant(5.0)
    middle = c + 1.0
    end = middle * 10.0
    v = tf.Variable([1.0, 2.0])
    parts = tf.split(tf.constant([1.0, 2.0, 3.0, 4.0]), 2)
    with tf.Session(target) as session:
        assert session.run(end) == 60
        assert session.run(end, {middle: 1.0}) == 10
        assert session.run([end, middle], {middle: 1.0}) == [10, 1]
        assert session.run(end, {c: 0.0}) == 10
        assert session.run(end, {"add:0": 2.0}) == 20
        assert session.run(v + 1.0, {v: [5.0, 6.0]}).tolist() == [6, 7]
        assert session.run(v + 1.0, {v.value(): [7.0, 8.0]}).tolist() == [8, 9]
        both = session.run(parts[0] + parts[1], {parts[1]: [10.0, 10.0]})
        assert both.tolist() == [11, 12]
        assert session.run(end, {middle: 1.0, parts[0]: [0.0, 0.0]}) == 10


@TARGETS
def test_numbers_are_converted_as_tensorflow_does(target: str) -> None:
    x, i = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    s = tf.placeholder(tf.string, [None])
    with tf.Session(target) as session:
        assert session.run(x * 2.0, {x: np.array([1.0, 2.0])}).dtype == np.float32
        assert session.run(x * 2.0, {x: [np.float64(1), 2]}).tolist() == [2, 4]
        assert session.run(x * 2.0, {x: np.arange(6.0)[::2]}).tolist() == [0, 4, 8]
        assert session.run(x * 2.0, {x: np.array([1, 2], ">f4")}).tolist() == [2, 4]
        assert session.run(x * 2.0, {x: []}).shape == (0,)
        assert session.run(i + 1, {i: 1.5}) == 2 and session.run(i + 1, {i: True}) == 2
        assert session.run(i + 1, {i: np.int64(3)}) == 4
        assert session.run(tf.identity(s), {s: ["a", b"\xff"]}).tolist() == [b"a", b"\xff"]
        assert session.run(tf.identity(s), {s: np.array(["ab", "c"])}).tolist() == [b"ab", b"c"]


def test_feeds_that_are_refused_leave_the_session_usable() -> None:
    x, i = tf.placeholder(tf.float32, [None, 3], name="x"), tf.placeholder(tf.int32, [], name="i")
    y = tf.identity(x) + tf.cast(i, tf.float32)
    good = np.ones((1, 3))
    refused: list[tuple[type[Exception], str, dict[object, object]]] = [
        (ValueError, r"value of shape \(2, 4\) for Tensor x:0, which has shape \(\?, 3\)",
         {x: np.zeros((2, 4)), i: 0}),
        (ValueError, "shape", {x: np.zeros(3), i: 0}),
        (ValueError, "None", {x: None, i: 0}),
        (ValueError, "no numbers", {x: [[None, 1, 2]], i: 0}),
        (ValueError, "no numbers", {x: [["a", "b", "c"]], i: 0}),
        (ValueError, "inhomogeneous", {x: [[1, 2, 3], [1]], i: 0}),
        (TypeError, "complex", {x: [[1j, 2, 3]], i: 0}),
        (TypeError, "does not fit", {x: good, i: 2**40}),
        (TypeError, "does not fit", {x: good, i: 2**70}),
        (TypeError, "cannot be a tf.Tensor", {x: tf.ones([1, 3]), i: 0}),
        (TypeError, "cannot be a tf.Tensor", {x: tf.Variable([[1.0, 2, 3]]), i: 0}),
        (TypeError, "feed_dict key", {3: 1.0}),
        (TypeError, "feed_dict key", {"x": good}),
        (TypeError, "feed_dict key", {x.op: good}),
        (TypeError, "feed_dict key.*does not exist in the graph", {"nothing:0": good}),
    ]  # fmt: skip
    with tf.Session() as session:
        for error, message, feeds in refused:
            with pytest.raises(error, match=message):
                session.run(y, feeds)
        with pytest.raises(TypeError, match="expected a dict"):
            session.run(y, [x])
        assert session.run(y, {x: good, i: 1}).tolist() == [[2, 2, 2]]


@TARGETS
def test_an_unfed_placeholder_is_named(target: str) -> None:
    x = tf.placeholder(tf.float32, [2, None], name="x")
    y = tf.identity(x)
    with tf.Session(target) as session:
        message = (
            r"You must feed a value for placeholder tensor 'x' with dtype float and shape \[2,\?\]"
        )
        for fetch in (y, x):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
                session.run(fetch)
            assert caught.value.op is x.op and caught.value.node_def.name == "x"
            assert caught.value.error_code == tf.errors.INVALID_ARGUMENT
        assert session.run(tf.constant(5.0)) == 5


@TARGETS
def test_what_only_the_untaken_branch_reads_must_be_fed(target: str) -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [], name="x")
    unused = tf.placeholder(tf.float32, [])

    def branch() -> tf.Tensor:
        tf.identity(unused)  # nothing needs it
        return x * 2.0

    y = tf.cond(p, branch, lambda: tf.constant(1.0))
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'x'"):
            session.run(y, {p: False})
        assert session.run(y, {p: False, x: 0.0}) == 1


@TARGETS
def test_placeholder_with_default(target: str) -> None:
    d = tf.placeholder_with_default([1.0, 2.0], [None])
    with tf.Session(target) as session:
        assert session.run(d * 1.0).tolist() == [1, 2]
        assert session.run(d * 1.0, {d: [4.0]}).tolist() == [4]
    with pytest.raises(ValueError, match="placeholder_with_default"):
        tf.placeholder_with_default([1.0], [2])


# ---- the life of a session ----


@TARGETS
def test_the_graph_may_grow_between_runs(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.Session(target) as session:
        session.run(v.initializer)
        session.run(v.assign_add([1.0, 1.0]))
        late = tf.Variable(tf.reduce_sum(v) * 10.0)
        session.run(late.initializer)
        assert session.run(late + v).tolist() == [52, 53]


def test_a_plan_is_made_once_for_the_same_fetches_and_feeds() -> None:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as session:
        for i in range(3):
            assert session.run([y, {"a": x}], {x: i})[0] == i + 1
        assert len(session._plans) == 1


def test_a_session_sets_default_session_and_graph() -> None:
    other = tf.Graph()
    with other.as_default():
        c = tf.constant(3.0)
    with tf.Session(graph=other) as session:
        assert tf.get_default_graph() is other and tf.get_default_session() is session
        assert c.eval() == 3 and c.op.run() is None
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(c)
    with pytest.raises(ValueError, match="No default session"):
        c.eval()
    with pytest.raises(ValueError, match="graph is another one"), tf.Session():
        c.eval()


def test_as_default_leaves_the_session_open() -> None:
    c = tf.constant(1.0)
    session = tf.Session()
    with session.as_default():
        assert c.eval() == 1
    assert session.run(c) == 1
    interactive = tf.InteractiveSession()
    assert c.eval() == 1 and tf.get_default_session() is interactive
    interactive.close()
    assert tf.get_default_session() is None
    interactive.close()


def test_the_default_session_is_one_a_thread() -> None:
    found = []
    with tf.Session():
        thread = threading.Thread(target=lambda: found.append(tf.get_default_session()))
        thread.start()
        thread.join()
    assert found == [None]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"graph": 3}, TypeError), ({"config": 3}, TypeError), ({"target": 3}, TypeError),
     ({"target": "grpc://nowhere"}, tf.errors.NotFoundError)],
)  # fmt: skip
def test_what_a_session_refuses(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        tf.Session(**arguments)


def test_an_empty_graph_cannot_be_run() -> None:
    with tf.Session() as session, pytest.raises(RuntimeError, match="graph is empty"):
        session.run([])


def test_config_takes_tensorflows_fields_and_no_others() -> None:
    config = tf.ConfigProto(intra_op_parallelism_threads=1, allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    assert config.gpu_options.allow_growth and not tf.ConfigProto().gpu_options.allow_growth
    with pytest.raises(ValueError, match="no_such_field"):
        tf.ConfigProto(no_such_field=1)
    with pytest.raises(AttributeError, match="no_such_field"):
        config.no_such_field = 1
    with tf.Session("", tf.get_default_graph(), config) as session:
        assert session.run(tf.constant(2.0)) == 2


@TARGETS
def test_make_callable(target: str) -> None:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    with tf.Session(target) as session:
        add = session.make_callable(x + y, [x, y])
        assert add(1.0, 2.0) == 3
        with pytest.raises(TypeError, match="expected 2"):
            add(1.0)
        with pytest.raises(TypeError, match="options"):
            add(1.0, 2.0, options=tf.RunOptions())
        parts = session.make_callable({"a": x, "b": [y, x.op]}, (x, "Placeholder_1:0"))
        assert parts(1.0, 2.0) == {"a": 1.0, "b": [2.0, None]}
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        watched = session.make_callable(x + y, [x, y], accept_options=True)
        assert watched(1.0, 2.0, options=options, run_metadata=metadata) == 3
        assert metadata.step_stats.dev_stats
        assert session.make_callable(tf.constant(4.0))() == 4
    with pytest.raises(RuntimeError, match="closed"):
        add(1.0, 2.0)


def test_make_callable_refuses_at_once_what_run_would() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        with pytest.raises(TypeError, match="feed_list"):
            session.make_callable(x, x)
        with pytest.raises(TypeError):
            session.make_callable(None)
        with pytest.raises(ValueError, match="no_such"):
            session.make_callable("no_such:0")
        with pytest.raises(TypeError):
            session.make_callable(x, [3])


@TARGETS
def test_reset_ends_the_sessions_of_a_target(target: str) -> None:
    v = tf.Variable(1.0)
    session = tf.Session(target)
    session.run(v.initializer)
    tf.Session.reset(target)
    with pytest.raises(RuntimeError, match="closed"):
        session.run(v)
    with tf.Session(target) as other, pytest.raises(tf.errors.FailedPreconditionError):
        other.run(v)
    with pytest.raises(tf.errors.NotFoundError):
        tf.Session.reset("grpc://nowhere")


def test_partial_runs_are_refused_with_advice() -> None:
    x = tf.constant(1.0)
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match="feed"):
        session.partial_run_setup([x], [])
    with tf.Session() as session, pytest.raises(NotImplementedError):
        session.partial_run("handle", [x])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tf.ConfigProto(device_count=3), TypeError),
        (lambda: tf.ConfigProto(allow_soft_placement="yes"), TypeError),
        (lambda: tf.ConfigProto(inter_op_parallelism_threads=1.5), TypeError),
        (lambda: tf.ConfigProto(gpu_options=tf.GraphOptions()), TypeError),
        (lambda: setattr(tf.ConfigProto().gpu_options, "allow_growth", 2.5), TypeError),
        (
            lambda: tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=-1)),
            tf.errors.InvalidArgumentError,
        ),
    ],
)
def test_config_fields_have_types(make, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_an_unknown_argument_is_reported_where_options_are_set(kind: type[tf.Session]) -> None:
    with pytest.raises(TypeError, match=r"no argument threads; .*intra_op_parallelism_threads"):
        kind("cinfer", threads=2)


def test_configs_compare_and_copy() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2}, gpu_options={"allow_growth": True})
    config.graph_options.rewrite_options.constant_folding = 1
    config.experimental.use_numa_affinity = True
    other = tf.ConfigProto()
    assert other != config and not other.HasField("device_count")
    other.CopyFrom(config)
    assert other == config and "allow_growth=True" in repr(other)
    other.device_count["CPU"] = 3
    assert config.device_count == {"CPU": 2}


@TARGETS
def test_a_fed_text_comes_back_as_it_was_fed(target: str) -> None:
    s = tf.placeholder(tf.string, [])
    with tf.Session(target) as session:
        assert session.run([s, tf.identity(s)], {s: "text"}) == ["text", b"text"]


def test_every_code_has_its_class() -> None:
    codes = [getattr(tf.errors, name) for name in dir(tf.errors) if name.isupper()]
    assert sorted(codes) == list(range(17))
    for code in range(1, 17):
        kind = tf.errors.exception_type_from_error_code(code)
        assert issubclass(kind, tf.errors.OpError) and kind is getattr(tf.errors, kind.__name__)
        assert tf.errors.error_code_from_exception_type(kind) == code
        error = kind(None, None, "what happened")
        assert (error.error_code, error.message, error.op) == (code, "what happened", None)
    assert tf.OpError is tf.errors.OpError


@TARGETS
def test_threads_may_share_a_session(target: str) -> None:
    v = tf.Variable(0.0)
    step = v.assign_add(1.0)
    with tf.Session(target) as session:
        session.run(v.initializer)
        threads = [
            threading.Thread(target=lambda: [session.run(step) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(v) == 200


@TARGETS
def test_an_error_of_an_operation_carries_it(target: str) -> None:
    i = tf.placeholder(tf.int32, [1])
    picked = tf.gather(tf.constant([1.0, 2.0]), i, name="picked")
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_session\.py") as caught:
            session.run(picked, {i: [7]})
        assert caught.value.op is not None and caught.value.op.name.startswith("picked")


@TARGETS
def test_seeds_follow_tensorflows_rules(target: str) -> None:
    def draw(graph_seed: int | None, op_seed: int | None) -> list[list[float]]:
        with tf.Graph().as_default():
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            a, b = (tf.random_uniform([3], seed=op_seed) for _ in range(2))
            with tf.Session(target) as session:
                return [session.run(t).tolist() for t in (a, b, a)]

    assert draw(1, None) == draw(1, None) != draw(2, None)
    a, b, again = draw(1, None)
    assert a != b and a != again
    assert draw(None, 5) == draw(87654321, 5) and draw(None, 5)[0] == draw(None, 5)[1]
    assert draw(None, None) != draw(None, None)


@TARGETS
def test_a_result_that_exceeds_the_memory_is_tensorflows_error(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        size = tf.placeholder(tf.int64, [1])
        spread = tf.broadcast_to(1.0, size)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(spread, {size: [1 << 50]})
        assert session.run(spread, {size: [2]}).tolist() == [1, 1]
