"""Names of operations and variables, and the scopes that they live in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def test_a_taken_name_gets_a_suffix_whatever_its_case() -> None:
    names = [tf.constant(1, name=n).op.name for n in ("cat", "cat", "CAT", "cat_1", "cat")]
    assert names == ["cat", "cat_1", "CAT_2", "cat_1_1", "cat_3"]


@pytest.mark.parametrize("bad", ["a:0", "a b", "_a", "", "a$", "/a"])
def test_a_malformed_name_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not a valid scope name"):
        tf.constant(1, name=bad)


def test_python_operands_are_made_before_the_operation(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    assert (2.0 * x + 1).op.name == "add"
    assert [op.name for op in graph.get_operations()] == ["x", "mul/x", "mul", "add/y", "add"]


def test_name_scopes_nest_count_up_and_are_entered_again() -> None:
    with tf.name_scope("s") as s:
        assert s == "s/" and tf.constant(1, name="c").op.name == "s/c"
        with tf.name_scope("in") as inner:
            assert inner == "s/in/"
        with tf.name_scope(""):
            assert tf.constant(1, name="c").op.name == "c"
    with tf.name_scope("s") as again:
        assert again == "s_1/"
    with tf.name_scope(s):
        assert tf.constant(1, name="c").op.name == "s/c_1"
    with tf.name_scope(None, "default") as d:
        assert d == "default/"


def test_a_name_scope_is_left_when_its_block_fails() -> None:
    with pytest.raises(KeyError), tf.name_scope("s"):
        raise KeyError
    assert tf.constant(1, name="c").op.name == "c"


def test_looking_up_says_what_is_wrong(graph: tf.Graph) -> None:
    x = tf.constant(1.0, name="x")
    assert graph.get_tensor_by_name("x:0") is x and graph.get_operation_by_name("x") is x.op
    for name, error in (("x", ValueError), ("y:0", KeyError), ("x:1", KeyError), (3, TypeError)):
        with pytest.raises(error):
            graph.get_tensor_by_name(name)
    with pytest.raises(ValueError, match="Tensor"):
        graph.get_operation_by_name("x:0")


def test_get_variable_follows_variable_scopes_not_name_scopes() -> None:
    with tf.name_scope("n"), tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [2])
        w = tf.Variable(1.0, name="w")
        c = tf.constant(1.0, name="c")
    assert (v.name, w.name, c.name) == ("a/b/v:0", "n/a/b/w:0", "n/a/b/c:0")


def test_reuse_shares_and_says_why_it_cannot() -> None:
    with tf.variable_scope("s") as scope:
        v = tf.get_variable("v", [2])
        with pytest.raises(ValueError, match=r"already exists.*test_names.py"):
            tf.get_variable("v", [2])
        scope.reuse_variables()
        assert tf.get_variable("v", [2]) is v
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("v") is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("v", [3])
        with pytest.raises(ValueError, match="specified dtype"):
            tf.get_variable("v", [2], dtype=tf.float64)
        with tf.variable_scope("inner"), pytest.raises(ValueError, match="s/inner/v does not"):
            tf.get_variable("v", [2])


def test_auto_reuse_makes_and_then_takes() -> None:
    def layer() -> tf.Variable:
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", [2, 2])

    assert layer() is layer()


def test_a_scope_object_is_entered_where_it_stands() -> None:
    with tf.variable_scope("a") as a:
        tf.get_variable("v", [1])
    with tf.variable_scope("b"), tf.variable_scope(a, reuse=True) as again:
        assert again.name == "a" and tf.get_variable("v").op.name == "a/v"
        assert tf.constant(1, name="c").op.name == "b/a/c"
    assert tf.get_variable_scope().name == ""


def test_default_names_of_variable_scopes_count_up() -> None:
    def layer() -> str:
        with tf.variable_scope(None, "dense"):
            return tf.get_variable("w", [1]).op.name

    assert [layer(), layer()] == ["dense/w", "dense_1/w"]
    with tf.variable_scope("net"):
        assert layer() == "net/dense/w"
    with tf.variable_scope("net", reuse=True):
        assert layer() == "net/dense/w"
    with pytest.raises(TypeError, match="name_or_scope is required"):
        tf.variable_scope(None)
    with pytest.raises(ValueError, match="reuse"):
        tf.variable_scope(None, "d", reuse=True)
    with pytest.raises(TypeError):
        tf.variable_scope(3)


def test_scopes_hand_defaults_on() -> None:
    with tf.variable_scope("s", initializer=tf.ones_initializer, dtype=tf.float64,
                           regularizer=tf.nn.l2_loss):  # fmt: skip
        v = tf.get_variable("v", [2])
        with tf.variable_scope("quiet", regularizer=tf.no_regularizer):
            tf.get_variable("w", [2])
    assert v.dtype == tf.float64
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v).tolist() == [1, 1]


def test_a_custom_getter_stands_before_get_variable() -> None:
    seen = []

    def getter(inner: object, name: str, *arguments: object, **options: object) -> tf.Variable:
        seen.append(name)
        return inner(name, *arguments, **options)  # type: ignore[operator]

    with tf.variable_scope("s", custom_getter=getter):
        assert tf.get_variable("v", [1]).op.name == "s/v"
    assert seen == ["s/v"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"shape": [None]}, "fully defined"), ({}, "fully defined"),
     ({"shape": [2], "initializer": [1.0, 2.0]}, "do not specify shape")],
)  # fmt: skip
def test_get_variable_needs_a_shape_or_a_value(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.get_variable("v", **arguments)


def test_get_variable_takes_every_kind_of_initializer() -> None:
    kinds = {
        "class": tf.zeros_initializer,
        "instance": tf.constant_initializer(3.0),
        "callable": lambda shape, dtype=None, partition_info=None: tf.ones(shape, dtype),
        "plain": lambda shape: tf.ones(shape),
        "nothing": None,
    }
    for name, initializer in kinds.items():
        assert tf.get_variable(name, [2], initializer=initializer).shape.as_list() == [2]
    assert tf.get_variable("tensor", initializer=tf.ones([3])).shape.as_list() == [3]
    assert tf.get_variable("list", initializer=[1.0, 2.0]).dtype == tf.float32
    assert tf.get_variable("ints", [2], dtype=tf.int32).dtype == tf.int32


def test_names_of_dtypes_are_under_tf_dtypes() -> None:
    names = {"qint8", "qint16", "qint32", "quint8", "quint16"}
    found = {dtype.name for dtype in tf.QUANTIZED_DTYPES}
    assert found == names | {f"{name}_ref" for name in names}
    assert tf.dtypes.QUANTIZED_DTYPES == tf.QUANTIZED_DTYPES
    with tf.Session() as session:
        assert session.run(tf.dtypes.as_string([1, 2])).tolist() == [b"1", b"2"]
