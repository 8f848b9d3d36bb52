"""Partitioned variables: their parts, their value, and checkpoints of the entire variable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(params=TARGETS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


VALUE = np.arange(10, dtype=np.float32).reshape(5, 2)


def cut_up(parts: int, name: str = "x") -> Any:
    """A variable of five rows in so many parts; 0: undivided."""
    how = tf.fixed_size_partitioner(parts) if parts else None
    return tf.get_variable(name, [5, 2], initializer=tf.zeros_initializer(), partitioner=how)


def test_the_parts_are_variables_and_their_value_is_the_whole(engine: str) -> None:
    x = cut_up(2)
    assert isinstance(x, tf.PartitionedVariable) and len(x) == 2 and x.name == "x"
    assert [v.name for v in tf.trainable_variables()] == ["x/part_0:0", "x/part_1:0"]
    whole, multiplied = x.as_tensor(), tf.matmul(tf.ones([1, 5]), x)
    assert whole.name == "x:0" and whole.shape == (5, 2)
    gradients = tf.gradients(multiplied[0, 0], list(x))
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        found, by_parts = session.run([multiplied, gradients])
    assert found.tolist() == [[20, 25]]
    assert [g.tolist() for g in by_parts] == [[[1, 0]] * 3, [[1, 0]] * 2]


def test_a_computation_reads_the_parts_at_the_start_of_the_run(engine: str) -> None:
    x = cut_up(2)
    whole, update = tf.convert_to_tensor(x), x.assign_add(VALUE)
    with tf.control_dependencies([part.op for part in update]):
        after = x._concat()
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        before, now, _ = session.run([whole, after, update])
    assert (before == 0).all() and (now == VALUE).all()


@pytest.mark.parametrize("stored", [0, 2, 5])
def test_a_checkpoint_holds_the_whole_and_restores_into_any_parts(
    stored: int, engine: str, tmp_path: Path
) -> None:
    def training(parts: int) -> tuple[Any, tf.Tensor, tf.Operation, tf.train.Saver]:
        x = cut_up(parts)
        value = tf.convert_to_tensor(x)
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(value**2))
        return x, value, step, tf.train.Saver()

    with tf.Graph().as_default(), tf.Session(engine) as session:
        x, value, step, saver = training(stored)
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        session.run(step)
        path = saver.save(session, tmp_path / "model")
        reported = saver.saver_def
        session.run(
            reported.save_tensor_name, {reported.filename_tensor_name: str(tmp_path / "operator")}
        )
        session.run(step)
        expected = session.run(value)
    assert tf.train.list_variables(path) == [("x", [5, 2]), ("x/Momentum", [5, 2])]
    for parts in (0, 1, 2, 3):
        with tf.Graph().as_default(), tf.Session(engine) as session:
            x, value, step, saver = training(parts)
            for verify in ("full", "lazy", "meta"):
                saver.restore(session, path, verify=verify)
            session.run(step)
            assert (session.run(value) == expected).all()
            reported = saver.saver_def
            where = {reported.filename_tensor_name: str(tmp_path / "operator")}
            session.run(reported.restore_op_name, where)
            session.run(step)
            assert (session.run(value) == expected).all()


def test_a_restore_names_the_whole_that_is_missing_or_has_another_shape(tmp_path: Path) -> None:
    cut_up(2)
    saver = tf.train.Saver()
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="Key x not found"):
            saver.restore(session, {"y": VALUE})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"x: .* lhs shape= \[5,2\]"):
            saver.restore(session, {"x": VALUE[:3]})
        saver.restore(session, {"old": VALUE.astype(np.float64)}, assignment_map={"old": "x"},
                      cast=True)  # fmt: skip
        assert (session.run("x/part_1:0") == VALUE[3:]).all()


def test_parts_survive_an_imported_graph_under_a_scope(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = cut_up(3)
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        path = tf.train.Saver().save(session, tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta", import_scope="in")
        saver.restore(session, path)
        parts = tf.global_variables()
        assert [v._save_slice_info.full_name for v in parts] == ["in/x"] * 3
        assert [v._save_slice_info.spec for v in parts][1] == "5 2 2,2:0,2"
        assert (np.concatenate(session.run(parts)) == VALUE).all()


def test_a_saver_calls_a_partitioned_variable_as_requested(tmp_path: Path) -> None:
    x, y = cut_up(2), cut_up(2, "y")
    saver = tf.train.Saver({"first": x, "second": list(y)})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, tmp_path / "model")
    assert tf.train.list_variables(path) == [("first", [5, 2]), ("second", [5, 2])]
    half, plain = tf.train.Saver([next(iter(x))]), tf.Variable(0.0, name="x")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = half.save(session, tmp_path / "half")
    assert tf.train.list_variables(path) == [("x/part_0", [3, 2])]
    with pytest.raises(ValueError, match="the same name: x"):
        tf.train.Saver([*x, plain])


def test_init_from_checkpoint_cuts_the_stored_value(engine: str, tmp_path: Path) -> None:
    stored = {"s/x": VALUE, "s/w": VALUE}
    with tf.variable_scope("t", initializer=tf.zeros_initializer()):
        x, w = cut_up(2), cut_up(0, "w")
    tf.train.init_from_checkpoint(stored, {"s/": "t/"})
    again = cut_up(3, "again")
    tf.train.init_from_checkpoint(stored, {"s/x": again})
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        for value in session.run([x.as_tensor(), w, again.as_tensor()]):
            assert (value == VALUE).all()


def test_reuse_asks_for_the_same_parts() -> None:
    x = cut_up(2)
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("x") is x and cut_up(2) is x
        with pytest.raises(ValueError, match=r"specified partitions \[3, 1\] and found partitions"):
            cut_up(3)
    with pytest.raises(ValueError, match="already exists"):
        cut_up(2)
    with pytest.raises(ValueError, match="No partitioner was provided"):
        cut_up(0)
    cut_up(0, "whole")
    with pytest.raises(ValueError, match="exists unpartitioned"):
        cut_up(2, "whole")
    assert isinstance(
        tf.get_variable("s", [], partitioner=tf.fixed_size_partitioner(2)), tf.Variable
    )


@pytest.mark.parametrize("given", [[2], [0, 1], [2, 2], 3, [6, 1]])
def test_a_partitioner_that_does_not_fit_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="partitioner|cannot be cut"):
        tf.get_variable("x", [5, 2], partitioner=lambda **unused: given)


def test_an_initializer_sees_the_part_and_learns_of_the_whole(engine: str) -> None:
    seen = []

    def rows(shape: list[int], dtype: Any, partition_info: Any) -> Any:
        seen.append((shape, partition_info.full_shape, partition_info.var_offset))
        return np.full(shape, partition_info.var_offset[0], np.float32)

    x = tf.get_variable("x", [5, 2], initializer=rows, partitioner=tf.fixed_size_partitioner(2))
    wide = tf.get_variable(
        "w", [400, 400], initializer=tf.glorot_uniform_initializer(),
        partitioner=tf.fixed_size_partitioner(400),
    )  # fmt: skip
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(x.as_tensor())[:, 0].tolist() == [0, 0, 0, 3, 3]
        assert np.abs(session.run(wide.as_tensor())).max() <= np.sqrt(6 / 800)
    assert seen == [([3, 2], [5, 2], [0, 0]), ([2, 2], [5, 2], [3, 0])]


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_an_identity_matrix_make_an_identity_matrix(engine: str, axis: int) -> None:
    how = tf.variable_axis_size_partitioner(2 * 4 * 5, axis=axis)
    x = tf.get_variable("x", [6, 5], initializer=tf.initializers.identity(2.0), partitioner=how)
    assert len(x) > 1
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(x.as_tensor()).tolist() == (2 * np.eye(6, 5)).tolist()


def test_create_partitioned_variables_gives_the_parts_in_a_scope_of_their_own(engine: str) -> None:
    first = tf.create_partitioned_variables([2, 4], [1, 2], tf.constant(VALUE.reshape(2, 5)[:, :4]))
    with tf.variable_scope("named"):
        second = tf.create_partitioned_variables([4], [4], tf.ones_initializer(), trainable=False)
    assert [v.op.name for v in first] == [f"PartitionedVariable/part_{i}" for i in range(2)]
    assert second[3].op.name == "named/PartitionedVariable/part_3" and not second[3].trainable
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(first[1]).tolist() == [[2, 3], [7, 8]]
    with pytest.raises(ValueError, match="for each axis"):
        tf.create_partitioned_variables([2, 4], [2], tf.ones_initializer())


def test_a_lookup_takes_the_parts_in_turns_or_one_after_the_other(engine: str) -> None:
    x = cut_up(2)
    by_turns = tf.nn.embedding_lookup(x, [0, 1, 2])
    in_order = tf.nn.embedding_lookup(x, [0, 1, 3], partition_strategy="div")
    with tf.Session(engine) as session:
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        assert session.run(by_turns)[:, 0].tolist() == [0, 6, 2]
        assert session.run(in_order)[:, 0].tolist() == [0, 2, 6]


def test_a_layer_lists_the_parts_among_its_variables() -> None:
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.layers.Dense(3)
        assert layer(tf.ones([1, 4])).shape == (1, 3)
    assert [v.op.name for v in layer.variables] == [
        "dense/kernel/part_0", "dense/kernel/part_1", "dense/bias/part_0", "dense/bias/part_1",
    ]  # fmt: skip


@pytest.mark.parametrize("spec", ["", "4", "4 0,2:0,3", "a 0,2", "4 0,b"])
def test_a_spec_that_describes_no_part_is_refused(spec: str) -> None:
    part = tf.Variable.SaveSliceInfo("x", [4, 3], [1, 0], [2, 3])
    assert tf.Variable.SaveSliceInfo.from_spec(part.spec).spec == part.spec == "4 3 1,2:0,3"
    with pytest.raises(ValueError, match="spec is"):
        tf.Variable.SaveSliceInfo.from_spec(spec)


def test_averages_of_parts_are_restored_as_the_parts_of_others(engine: str, tmp_path: Path) -> None:
    average = tf.train.ExponentialMovingAverage(0.5)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = cut_up(2)
        update = average.apply(list(x))
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        session.run(update)
        path = tf.train.Saver().save(session, tmp_path / "model")
    assert dict(tf.train.list_variables(path))["x/ExponentialMovingAverage"] == [5, 2]
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = cut_up(3)
        tf.train.Saver(average.variables_to_restore(list(x))).restore(session, path)
        assert (session.run(x.as_tensor()) == VALUE / 2).all()


def test_a_saved_model_keeps_the_parts(engine: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = cut_up(2)
        y = tf.identity(x, name="y")
        session.run(tf.global_variables_initializer())
        session.run(x.assign(VALUE))
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"i": tf.constant(0)}, {"y": y})
    with tf.Graph().as_default(), tf.Session(engine) as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "m"))
        assert (session.run("y:0") == VALUE).all()
        path = tf.train.Saver().save(session, tmp_path / "again")
    assert tf.train.list_variables(path) == [("x", [5, 2])]


@pytest.mark.parametrize(
    "shape, begins, size",
    [
        ([4], ([0], [0]), [2]),
        ([4], ([1], [0]), [2]),
        ([2, 2], ([0, 0], [0, 1], [1, 1], [1, 1]), [1, 1]),
    ],
)
def test_parts_that_do_not_make_up_the_whole_are_saved_as_what_they_are(
    shape: list[int], begins: Any, size: list[int], tmp_path: Path
) -> None:
    parts = [tf.Variable(tf.fill(size, float(i)), name=f"w/part_{i}") for i in range(len(begins))]
    for part, begin in zip(parts, begins, strict=True):
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("w", shape, begin, size))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    stored = tf.train.load_checkpoint(path)
    assert sorted(stored.get_variable_to_shape_map()) == [p.op.name for p in parts]
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(stored.get_tensor(part.op.name), np.full(size, i))


def test_parts_along_two_axes_are_saved_as_the_whole(tmp_path: Path) -> None:
    parts = [tf.Variable([[float(i)]], name=f"w/part_{i}") for i in range(4)]
    for i, part in enumerate(parts):
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("w", [2, 2], [i // 2, i % 2], [1, 1]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "w"), [[0, 1], [2, 3]])


def test_a_part_of_unknown_shape_is_no_part_after_an_import(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        part = next(iter(tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2))))
        part.assign(tf.zeros([3]), validate_shape=False)
        tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
        found = {v.op.name: v._get_save_slice_info() for v in tf.global_variables()}
    assert found["w/part_0"] is None
    assert found["w/part_1"].spec == "4 2,2"


def test_a_part_whose_value_has_another_shape_is_not_saved_as_one(tmp_path: Path) -> None:
    part, _ = tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2))
    saver = tf.train.Saver()
    longer = part.assign([7.0], validate_shape=False)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(longer)
        with pytest.raises(ValueError, match=r"'w/part_0' has a value of shape \[1\].* \[2\]"):
            saver.save(sess, str(tmp_path / "model"))
