"""tf.contrib.framework: arg_scope, variables by scope, values from checkpoints, checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import framework

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


@framework.add_arg_scope
def first(x: int, a: int = 1, b: int = 2) -> tuple[int, ...]:
    """The first function."""
    return x, a, b


@framework.add_arg_scope
def second(a: int = 3) -> int:
    return a


# ---- arg_scope ----


def test_a_call_gets_the_arguments_of_the_innermost_scope() -> None:
    with framework.arg_scope([first, second], a=10):
        assert (first(0), second()) == ((0, 10, 2), 10)
        with framework.arg_scope([first], a=20, b=30):
            assert (first(0), second()) == ((0, 20, 30), 10)
            assert first(0, a=5) == (0, 5, 30)
        assert first(0) == (0, 10, 2)
    assert (first(0), second()) == ((0, 1, 2), 3)


def test_a_scope_is_used_again_in_place_of_the_current_one() -> None:
    with framework.arg_scope([first], a=10) as scope:
        pass
    with framework.arg_scope([second], a=7), framework.arg_scope(scope):
        assert (first(0), second()) == ((0, 10, 2), 3)
        assert framework.current_arg_scope() == scope
    with pytest.raises(ValueError, match="takes a scope as it is"), framework.arg_scope(scope, b=1):
        pass


def test_a_scope_ends_with_an_error_inside_it() -> None:
    with pytest.raises(RuntimeError), framework.arg_scope([first], a=10):
        raise RuntimeError
    assert first(0) == (0, 1, 2)


def test_only_decorated_functions_have_arguments_of_scopes() -> None:
    assert framework.has_arg_scope(first)
    assert not framework.has_arg_scope(print)
    assert framework.arg_scoped_arguments(first) == ("a", "b")
    assert first.__doc__ == "The first function."
    with pytest.raises(ValueError, match="not decorated with @add_arg_scope"):
        framework.arg_scope([print], a=1).__enter__()
    with pytest.raises(TypeError, match="expected a list or tuple"):
        framework.arg_scope(first, a=1).__enter__()
    with pytest.raises(ValueError, match="not decorated"):
        framework.arg_scoped_arguments(print)


# ---- variables ----


def some_variables() -> list[Any]:
    a = framework.model_variable("a", [2], initializer=tf.ones_initializer())
    with tf.variable_scope("s"):
        b = framework.variable("b", [2], initializer=tf.zeros_initializer())
        c = framework.local_variable(3.0, name="c")
        with tf.variable_scope("t"):
            d = framework.model_variable("a", [3], trainable=False)
    return [a, b, c, d]


def test_variables_are_found_by_scope_name_and_suffix() -> None:
    a, b, c, d = some_variables()
    f = framework
    assert f.get_variables() == [a, b, d]
    assert f.get_variables("s") == [b, d]
    assert f.get_variables(suffix="a") == [a, d]
    assert f.get_variables_by_name("a") == [a, d]
    assert f.get_variables_by_suffix("b") == [b]
    assert f.get_model_variables() == [a, d]
    assert f.get_trainable_variables() == [a, b]
    assert f.get_local_variables("s") == [c]
    assert f.get_unique_variable("s/t/a") is d
    assert f.get_variables_to_restore(["s"], ["s/t"]) == [b]
    assert f.filter_variables([a, b, d], ["a"], ["^s"]) == [a]
    assert f.filter_variables([a, b, d], ["t/a"], reg_search=False) == []
    with pytest.raises(ValueError, match="does not uniquely identify"):
        f.get_unique_variable("s/t")
    with pytest.raises(TypeError, match="expected a list or a tuple"):
        f.get_variables_to_restore("s")  # type: ignore[arg-type]


def test_a_variable_joins_its_collections_once() -> None:
    with framework.arg_scope([framework.variable], collections=["mine", "mine"]):
        v = framework.variable("v", [1])
    assert tf.get_collection("mine") == [v]
    assert tf.global_variables() == []
    framework.add_model_variable(v)
    framework.add_model_variable(v)
    assert framework.get_model_variables() == [v]


def test_a_custom_getter_is_called_with_reuse() -> None:
    seen: dict[str, Any] = {}

    def getter(name: str, **options: Any) -> Any:
        seen.update(options, name=name)
        return "made"

    assert framework.variable("v", [1], custom_getter=getter) == "made"
    assert seen["name"] == "v"
    assert not seen["reuse"]


def test_devices_of_variables_are_chosen_in_turns() -> None:
    choose = framework.VariableDeviceChooser(2)
    assert [choose(None) for _ in range(3)] == [
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:1/device:CPU:0",
        "/job:ps/task:0/device:CPU:0",
    ]
    assert framework.VariableDeviceChooser(device_type="GPU")(None) == "/device:GPU:0"


def test_the_global_step_is_given_or_found() -> None:
    assert framework.assert_or_get_global_step() is None
    step = framework.get_or_create_global_step()
    assert framework.assert_or_get_global_step() is step
    with pytest.raises(TypeError):
        framework.assert_or_get_global_step(None, tf.constant(1.0))


# ---- values ----


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default():
        tf.get_variable("old/w", initializer=tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        tf.get_variable("b", initializer=tf.constant([5.0, 6.0]))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            return str(tf.train.Saver().save(sess, str(tmp_path / "m")))


@TARGETS
def test_values_are_assigned_by_name(target: str) -> None:
    some_variables()
    assign, feeds = framework.assign_from_values({"s/b": [7, 8], "a": np.float32([[1], [2]])})
    with tf.Session(target) as sess:
        sess.run(assign, feeds)
        assert sess.run(framework.get_unique_variable("s/b")).tolist() == [7, 8]
        assert sess.run(framework.get_unique_variable("a")).tolist() == [1, 2]
        framework.assign_from_values_fn({"a": np.float32([5, 6])})(sess)
        assert sess.run(framework.get_unique_variable("a")).tolist() == [5, 6]
    with pytest.raises(ValueError, match="wasn't found"):
        framework.assign_from_values({"nothing": 1})


@TARGETS
def test_variables_take_values_of_a_checkpoint_under_other_names(
    checkpoint: str, target: str
) -> None:
    w, b = tf.get_variable("w", [2, 2]), tf.get_variable("b", [2])
    other = tf.get_variable("other", [1])
    assign, feeds = framework.assign_from_checkpoint(checkpoint, {"old/w": w, "b": [b]})
    with tf.Session(target) as sess:
        sess.run(assign, feeds)
        assert sess.run(w).tolist() == [[1, 2], [3, 4]]
        assert sess.run(b).tolist() == [5, 6]
        sess.run(b.assign([0.0, 0.0]))
        restore = framework.assign_from_checkpoint_fn(checkpoint, [b, other], True)
        assert restore is not None
        restore(sess)
        assert sess.run(b).tolist() == [5, 6]
    assert framework.assign_from_checkpoint_fn(checkpoint, [other], True) is None
    with pytest.raises(ValueError, match=r"missing variable \[other\]"):
        framework.assign_from_checkpoint(checkpoint, [other])
    with pytest.raises(ValueError, match="Total size of new array"):
        framework.assign_from_checkpoint(checkpoint, {"b": other})
    with pytest.raises(ValueError, match="cannot be empty"):
        framework.assign_from_checkpoint_fn(checkpoint, [])


def test_a_part_takes_its_part_of_a_checkpoints_value(checkpoint: str) -> None:
    with tf.variable_scope("old", partitioner=tf.fixed_size_partitioner(2)):
        parts = list(tf.get_variable("w", [2, 2]))
    assert framework.get_variable_full_name(parts[1]) == "old/w"
    assign, feeds = framework.assign_from_checkpoint(checkpoint, parts)
    with tf.Session() as sess:
        sess.run(assign, feeds)
        assert [x.tolist() for x in sess.run(parts)] == [[[1, 2]], [[3, 4]]]


def test_a_checkpoint_is_listed_and_read(checkpoint: str) -> None:
    assert framework.list_variables(checkpoint) == [("b", [2]), ("old/w", [2, 2])]
    assert framework.load_variable(checkpoint, "b").tolist() == [5, 6]
    w = tf.get_variable("new/w", [2, 2])
    framework.init_from_checkpoint(checkpoint, {"old/": "new/"})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(w).tolist() == [[1, 2], [3, 4]]


# ---- checks of tensors ----


@TARGETS
def test_a_shape_is_checked_at_once_or_in_a_run(target: str) -> None:
    known = tf.zeros([2, 3])
    assert framework.with_shape([2, 3], known) is known
    assert framework.with_same_shape(tf.ones([2, 3]), known) is known
    with pytest.raises(ValueError, match="Invalid shape"):
        framework.with_shape([3, 2], known)
    x = tf.placeholder(tf.float32, [None, 2])
    checked = framework.with_shape([3, 2], x)
    by_tensor = framework.with_shape(tf.constant([3, 2]), x)
    assert checked.shape.as_list() == [3, 2]
    with tf.Session(target) as sess:
        for tensor in (checked, by_tensor):
            assert sess.run(tensor, {x: np.ones((3, 2))}).shape == (3, 2)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
                sess.run(tensor, {x: np.ones((2, 2))})
        assert sess.run(framework.with_shape([], tf.constant([4.0]))) == 4


@TARGETS
def test_last_axes_of_size_one_go_where_ranks_differ(target: str) -> None:
    one, two = framework.remove_squeezable_dimensions(tf.zeros([3, 1]), tf.zeros([3]))
    assert (one.shape.as_list(), two.shape.as_list()) == ([3], [3])
    one, two = framework.remove_squeezable_dimensions(tf.zeros([3]), tf.zeros([3, 1]))
    assert two.shape.as_list() == [3]
    x = tf.placeholder(tf.float32)
    one, two = framework.remove_squeezable_dimensions(x, tf.zeros([3]))
    with tf.Session(target) as sess:
        assert sess.run(one, {x: np.ones((3, 1))}).shape == (3,)
        assert sess.run(one, {x: np.ones(3)}).shape == (3,)


@TARGETS
def test_sums_placeholders_and_scalars(target: str, graph: Any) -> None:
    with tf.Session(target) as sess:
        both = framework.reduce_sum_n([tf.constant([1.0, 2.0]), tf.constant([[3.0]])])
        assert sess.run(both) == 6
        assert sess.run(framework.reduce_sum_n([tf.constant([1.0, 2.0])])) == 3
    x = tf.placeholder(tf.float32)
    assert framework.get_placeholders(graph) == [x]
    assert framework.get_graph_from_inputs([1, x]) is graph
    with tf.name_scope("s"):
        assert framework.get_name_scope() == "s"
    framework.assert_scalar_int(tf.constant(3))
    with pytest.raises(ValueError, match="Expected integer type"):
        framework.assert_scalar_int(tf.constant(3.0))


def test_names_get_and_lose_their_scope() -> None:
    rows = [("a/b", "s/a/b"), ("^a", "^s/a"), ("loc:@a", "loc:@s/a")]
    for inside, outside in rows:
        assert framework.prepend_name_scope(inside, "s") == outside
        assert framework.strip_name_scope(outside, "s/") == inside
    assert framework.strip_name_scope("other/a", "s") == "other/a"
    assert framework.prepend_name_scope("a", None) == "a"


def test_a_deprecated_call_warns_once(caplog: Any) -> None:
    @framework.deprecated("2030-01-01", "Use new.")
    def old(x: int) -> int:
        return x + 1

    @framework.deprecated_args(None, "Use b.", "a")
    def with_argument(a: int | None = None, b: int = 1) -> int:
        return b

    @framework.deprecated_arg_values(None, "Use another.", mode="slow")
    def with_value(mode: str) -> str:
        return mode

    logger = tf.logging.get_logger() if hasattr(tf.logging, "get_logger") else tf.get_logger()
    logger.propagate = True
    assert [old(1), old(2), with_argument(b=3), with_value("fast")] == [2, 3, 3, "fast"]
    assert sum("Use new." in r.getMessage() for r in caplog.records) == 1
    assert not any("Use b." in r.getMessage() for r in caplog.records)
    with_argument(1)
    with_value("slow")
    messages = " ".join(r.getMessage() for r in caplog.records)
    assert "after 2030-01-01" in messages
    assert "with the arguments a" in messages
    assert "with mode='slow'" in messages
    with pytest.raises(ValueError, match="not arguments of"):
        framework.deprecated_args(None, "x", "missing")(lambda: None)


# ---- contrib itself ----


def test_contrib_and_its_parts_are_loaded_at_their_first_use() -> None:
    program = """
import sys, graphio as tf
tf.Graph
LATE = ("contrib", "data", "train", "distributions", "linear_operators", "python", "core")
assert not [m for m in sys.modules if m.startswith("graphio.") and m.split(".")[1] in LATE]
tf.contrib.framework
loaded = {m.split(".")[2] for m in sys.modules if m.startswith("graphio.contrib.")}
assert loaded == {"framework"}, loaded
import graphio.contrib.slim as slim
assert slim.conv2d is tf.contrib.layers.conv2d
assert "graphio.contrib.slim.nets" not in sys.modules
assert slim.nets.vgg.vgg_16.default_image_size == 224
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_part_that_contrib_lacks_is_named_with_those_it_has() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tensor_forest': there are .*layers"):
        tf.contrib.tensor_forest  # noqa: B018


@TARGETS
def test_a_checkpoint_is_read_by_the_arguments_of_contrib(checkpoint: str, target: str) -> None:
    reader = framework.load_checkpoint(filepattern=checkpoint)
    names = framework.list_variables(checkpoint_dir=checkpoint)
    assert dict(names) == {name: list(reader.get_tensor(name).shape) for name, _ in names}
    assert "b" in dict(names)
    b = framework.load_variable(checkpoint_dir=checkpoint, name="b")
    np.testing.assert_array_equal(b, reader.get_tensor("b"))
    v = tf.get_variable("v", initializer=np.zeros_like(b))
    framework.init_from_checkpoint(checkpoint_dir=checkpoint, assignment_map={"b": v})
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v), b)


def test_the_narrowest_spec_of_two_has_unknown_sizes_where_they_differ() -> None:
    spec = tf.TensorSpec
    merged = spec([2, 3], tf.int32, "n").most_specific_compatible_type(spec([4, 3], tf.int32, "n"))
    assert merged == spec([None, 3], tf.int32, "n")
    assert spec([2]).most_specific_compatible_type(spec([2, 2])) == spec(None)
    assert spec(None).most_specific_compatible_type(spec([2])) == spec(None)
    assert spec([2, 2]).most_specific_compatible_type(spec([2, 2])) == spec([2, 2])
    for other in (spec([2], tf.int32), spec([2], name="n"), "spec"):
        with pytest.raises(ValueError, match="No TypeSpec is compatible"):
            spec([2]).most_specific_compatible_type(other)
