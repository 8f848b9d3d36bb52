"""Assigning to parts of variables, counting, loading, reporting; in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
START = np.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def after(target: str, build: Any, start: Any = START) -> Any:
    """The new value that the tensor of build(variable) gives, and that the variable keeps."""
    v = tf.Variable(start.astype(np.float32), name="v")
    assigned = build(v)
    with tf.Session(target) as session:
        session.run(v.initializer)
        result = session.run(assigned)
        np.testing.assert_array_equal(session.run(v.read_value()), result)
        return result


@TARGETS
@pytest.mark.parametrize("use_resource", [False, True])
def test_parts_of_a_variable_are_gathered_with_tensorflow_s_types(
    target: str, use_resource: bool
) -> None:
    v = tf.Variable(START, use_resource=use_resource)
    elements, rows = tf.gather_nd(v, [[0, 1], [2, 0]]), tf.gather_nd(v, [[2], [2]])
    read = elements.op.inputs[0].op if use_resource else elements.op
    assert read.type == ("ResourceGatherNd" if use_resource else "GatherNd")
    slope = tf.gradients(rows, v)[0]
    assert isinstance(slope, tf.IndexedSlices)
    with tf.Session(target) as session:
        session.run(v.initializer)
        found, whole = session.run([elements, tf.convert_to_tensor(slope)])
    np.testing.assert_array_equal(found, START[[0, 2], [1, 0]])
    assert whole[2].tolist() == [2, 2, 2] and whole.sum() == 6


#: assignments by a variable's handle
AT_THE_HANDLE: dict[str, Any] = {
    "assign_add": lambda v: v.assign_add([1.0, 1.0]),
    "assign_sub": lambda v: tf.assign_sub(v, [1.0, 1.0]),
    "scatter_add": lambda v: tf.scatter_add(v, [0], [1.0]),
    "scatter_update": lambda v: tf.scatter_update(v, [0], [1.0]),
    "a part": lambda v: v[0].assign(1.0),
    "a function of a dataset": lambda v: (
        tf.data.Dataset.range(2)
        .map(lambda i: v.assign_add([1.0, 1.0]))
        .make_initializable_iterator()
        .get_next()
    ),
}


@TARGETS
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", AT_THE_HANDLE)
def test_a_resource_without_a_value_is_not_found(
    target: str, use_resource: bool, kind: str, graph: tf.Graph
) -> None:
    v = tf.get_variable("v", [2], use_resource=use_resource)
    changed = AT_THE_HANDLE[kind](v)
    error = tf.errors.NotFoundError if use_resource else tf.errors.FailedPreconditionError
    with tf.Session(target) as session:
        session.run([op for op in graph.get_operations() if op.type == "MakeIterator"])
        with pytest.raises(error, match="uninitialized value v"):
            session.run(changed)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v * 1)
        session.run(v.initializer)
        assert np.shape(session.run(changed)) == (2,)


#: an index, and a value of the selected shape
PARTS = {
    "a row": (2, np.array([7.0, 8.0, 9.0])),
    "an element": ((1, 2), np.array(-1.0)),
    "a range": (slice(1, 3), np.full((2, 3), 5.0)),
    "every second, backwards": ((slice(None, None, -2), 1), np.array([1.0, 2.0])),
    "a column with an ellipsis": ((..., 0), np.array([1.0, 2.0, 3.0, 4.0])),
    "from the end": (-1, np.zeros(3)),
    "nothing": (slice(2, 2), np.zeros((0, 3))),
    "all": (slice(None), np.ones((4, 3))),
}


@TARGETS
@pytest.mark.parametrize("part", PARTS)
def test_a_part_can_be_assigned_to(target: str, part: str) -> None:
    index, value = PARTS[part]
    want = START.copy()
    want[index] = value
    np.testing.assert_array_equal(after(target, lambda v: v[index].assign(value)), want)


@TARGETS
def test_tf_assign_takes_a_part(target: str) -> None:
    found = after(target, lambda v: tf.assign(v[0, 0], 100.0))
    assert found[0, 0] == 100.0 and found[0, 1] == 1.0


def test_only_parts_of_variables_can_be_assigned_to() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(AttributeError):
        tf.assign(tf.constant([1.0])[0], 2.0)
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        v[:].assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="equal rank"):
        v[0:2].assign(1.0)
    with pytest.raises(ValueError, match="out of bounds"):
        v[2].assign(1.0)


ROWS = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [4.0, 5.0, 6.0]])
POSITIONS = [3, 0, 3]


def one_by_one(action: Any) -> Any:
    want = START.copy()
    for position, row in zip(POSITIONS, ROWS, strict=True):
        want[position] = action(want[position], row)
    return want


ACTIONS = {
    "scatter_update": lambda old, new: new,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_div": np.divide,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


@TARGETS
@pytest.mark.parametrize("name", ACTIONS)
def test_scatters_change_rows_one_after_another(target: str, name: str) -> None:
    want = one_by_one(ACTIONS[name])
    found = after(target, lambda v: getattr(tf, name)(v, POSITIONS, ROWS))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    slices = tf.IndexedSlices(tf.constant(ROWS, tf.float32), tf.constant(POSITIONS))
    found = after(target, lambda v: getattr(v, name)(slices))
    np.testing.assert_allclose(found, want, rtol=1e-6)


@TARGETS
def test_one_number_serves_all_rows(target: str) -> None:
    found = after(target, lambda v: tf.scatter_update(v, [1, 2], 9.0))
    np.testing.assert_array_equal(found[1:3], np.full((2, 3), 9.0))
    np.testing.assert_array_equal(found[[0, 3]], START[[0, 3]])


@TARGETS
def test_scatters_by_coordinates(target: str) -> None:
    where, values = [[0, 1], [3, 2], [0, 1]], [5.0, 6.0, 7.0]
    for name, sign in (("scatter_nd_add", 1), ("scatter_nd_sub", -1)):
        want = START.copy()
        np.add.at(want, tuple(np.transpose(where)), sign * np.array(values))
        found = after(target, lambda v: getattr(tf, name)(v, where, values))  # noqa: B023
        np.testing.assert_array_equal(found, want)
        found = after(target, lambda v: getattr(v, name)(where, values))  # noqa: B023
        np.testing.assert_array_equal(found, want)
    found = after(target, lambda v: tf.scatter_nd_update(v, [[2]], [[1.0, 2.0, 3.0]]))
    np.testing.assert_array_equal(found[2], [1, 2, 3])


@TARGETS
def test_scatters_within_each_batch(target: str) -> None:
    positions, values = [[2, 0], [1, 1], [0, 2], [1, 0]], -np.ones((4, 2))
    want = START.copy()
    for b, row in enumerate(positions):
        want[b, row] = -1
    found = after(target, lambda v: tf.batch_scatter_update(v, positions, values))
    np.testing.assert_array_equal(found, want)


@TARGETS
def test_scatters_within_batches_of_any_number_of_axes(target: str) -> None:
    flags = after(target, lambda v: tf.batch_scatter_update(v, [1], [9.0]), np.zeros(3))
    assert flags.tolist() == [0, 9, 0]
    start, positions = np.zeros([2, 2, 3]), [[[2], [0]], [[1], [1]]]
    found = after(
        target, lambda v: tf.batch_scatter_update(v, positions, np.ones([2, 2, 1])), start
    )
    assert found.tolist() == [[[0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 1, 0]]]


@TARGETS
def test_integers_divide_towards_0(target: str) -> None:
    v = tf.Variable([7, -7, 5])
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(tf.scatter_div(v, [0, 1], [2, 2])).tolist() == [3, -3, 5]


def test_scatters_refuse_what_does_not_fit() -> None:
    v = tf.Variable(START)
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.scatter_add(v, [0, 1], np.zeros((2, 4)))
    with pytest.raises(TypeError, match="indices"):
        tf.scatter_add(v, [0.5], np.zeros((1, 3)))
    with pytest.raises(TypeError, match="expected a Variable"):
        tf.scatter_add(tf.constant(START), [0], np.zeros((1, 3)))
    with pytest.raises(ValueError, match="more than the rank"):
        tf.scatter_nd_add(v, [[0, 0, 0]], [1.0])


@TARGETS
def test_a_row_out_of_range_is_an_error_of_the_run(target: str) -> None:
    v = tf.Variable(START)
    wrong = tf.scatter_add(v, [4], np.zeros((1, 3)))
    with tf.Session(target) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="4"):
            session.run(wrong)


@TARGETS
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_counting_gives_the_value_before_and_ends_at_the_limit(target: str, dtype: Any) -> None:
    v = tf.Variable(0, dtype=dtype)
    step = v.count_up_to(3)
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert [session.run(step) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
            session.run(step)
        assert session.run(v) == 3
        assert session.run(tf.count_up_to(v, 4)) == 3


def test_only_integer_scalars_are_counted() -> None:
    with pytest.raises(TypeError, match="int32, int64"):
        tf.Variable(0.0).count_up_to(3)
    with pytest.raises(ValueError, match="rank 0 but is rank 1"):
        tf.Variable([0]).count_up_to(3)


@TARGETS
def test_a_variable_of_unknown_shape_takes_any(target: str) -> None:
    x = tf.placeholder(tf.float32)
    v = tf.Variable(x, validate_shape=False)
    longer = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    assert v.shape.ndims is None and longer.shape == [3]
    with tf.Session(target) as session:
        session.run(v.initializer, {x: [[1.0]]})
        assert session.run(v).shape == (1, 1)
        assert session.run(longer).shape == session.run(v).shape == (3,)


@TARGETS
def test_an_assertion_that_all_variables_have_values(target: str) -> None:
    v = tf.Variable(1.0, name="v")
    check = tf.assert_variables_initialized()
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(check)
        session.run(v.initializer)
        assert session.run(check) == 0
    with tf.Graph().as_default():
        assert tf.assert_variables_initialized() is None


@TARGETS
def test_what_assigns_a_resource_variable_is_the_variable_after_it(target: str) -> None:
    v = tf.Variable(1.0, use_resource=True)
    w = tf.Variable([1.0, 2.0], use_resource=True)
    rows = tf.IndexedSlices(values=tf.constant([2.0]), indices=tf.constant([1]))
    first = v.assign(2.0)
    both, scattered = first.assign_add(3.0), w.scatter_add(rows).scatter_add(rows)
    more, read = first + 10.0, v.assign_sub(1.0).read_value()
    assert (
        isinstance(first, tf.Variable) and first.op.type == "Assign" and first.name == first.op.name
    )
    with tf.Session(target) as session:
        session.run([v.initializer, w.initializer])
        assert (session.run(both), session.run(v), session.run(more)) == (5, 5, 12)
        assert (session.run(read), session.run(v), first.eval(session)) == (1, 1, 2)
        assert session.run(scattered).tolist() == [1, 6]
        session.run(tf.group(v.assign(9.0)))
        assert session.run(v) == 9
    assert not isinstance(tf.Variable(1.0).assign(2.0), tf.Variable)


@TARGETS
def test_an_assignment_that_is_not_to_be_read_is_an_operation(target: str) -> None:
    for v in (tf.Variable(1.0), tf.Variable(1.0, use_resource=True)):
        made = [v.assign(5.0, read_value=False), v.assign_add(2.0, read_value=False)]
        assert all(isinstance(operation, tf.Operation) for operation in made)
        with tf.Session(target) as session:
            session.run(v.initializer)
            for operation in made:
                session.run(operation)
            assert session.run(v) == 7


def test_plain_uses_read_on_the_caching_device() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(1.0, caching_device="/job:worker")
        with tf.variable_scope("s", caching_device="/job:other"):
            w = tf.get_variable("w", [])
    assert (v.device, v.value().device, w.value().device) == (
        "/job:ps",
        "/job:worker",
        "/job:other",
    )


@pytest.mark.parametrize(
    ("use_resource", "inside", "beside"),
    [(True, "/job:cache", "/job:cache"), (False, "/job:cache/task:1", "/job:ps/task:1")],
)
def test_devices_and_colocations_around_a_variable_count_for_the_cached_read_of_a_reference(
    use_resource: bool, inside: str, beside: str
) -> None:
    keywords: dict[str, Any] = {"caching_device": "/job:cache", "use_resource": use_resource}
    with tf.device("/job:ps/task:1"):
        v = tf.Variable(1.0, **keywords)
    with tf.colocate_with(v.op):
        w = tf.Variable(1.0, **keywords)
    assert (v.value().device, w.value().device) == (inside, beside)
    assert v.device == w.device == "/job:ps/task:1"


def test_a_variable_refuses_a_constraint_that_is_no_function() -> None:
    with pytest.raises(ValueError, match="must be a callable, got 3"):
        tf.Variable(1.0, constraint=3)
    with pytest.raises(TypeError, match="must be `True` or `False`, got None"):
        tf.variable_scope("s", auxiliary_name_scope=None)


def test_a_variable_def_without_initial_value_makes_a_variable_without_one() -> None:
    reported = tf.Variable(1.0).to_proto()
    reported.ClearField("initial_value_name")
    again = tf.Variable(variable_def=reported)
    assert again.initial_value is None and again.to_proto() == reported


@pytest.mark.parametrize(("resource", "kind"), [(False, TypeError), (True, ValueError)])
def test_a_tensor_of_another_dtype_is_not_assigned(resource: bool, kind: Any) -> None:
    v = tf.Variable([1.0], use_resource=resource)
    wide = tf.constant([1.0], tf.float64)
    for assign in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(kind, match="float64"):
            assign(wide)


def test_an_initial_value_fits_the_dtype_that_is_given() -> None:
    for value, dtype in ((1.5, tf.bool), ("a", tf.int32), ([1.5], tf.int64)):
        with pytest.raises(ValueError, match="don't match"):
            tf.get_variable("v", initializer=value, dtype=dtype)
