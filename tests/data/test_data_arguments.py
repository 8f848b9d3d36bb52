"""Arguments of the methods of datasets and iterators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_elements import elements, nan_at

import graphio as tf


def test_messages_have_the_name_of_a_dataset() -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(1, 3, name="counted").map(lambda i: tf.fill([i], i))
        with pytest.raises(tf.errors.InvalidArgumentError, match="batch 'pairs'"):
            elements(data.batch(2, name="pairs"))


def test_a_range_has_the_requested_type() -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(1, 6, 2, output_type=tf.float16)
        found = elements(data)
        assert found == [1, 3, 5] and {type(v) for v in found} == {np.float16}
        with pytest.raises(TypeError, match="expected a type of numbers"):
            tf.data.Dataset.range(2, output_type=tf.string)


def test_padding_has_defaults_for_shapes_and_values() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        rows = D.range(1, 4).map(lambda i: (tf.fill([i], i), {"s": tf.as_string(tf.fill([i], i))}))
        (batch,) = elements(rows.padded_batch(3, padding_values=(np.int64(-1), None)))
        assert batch[0].tolist() == [[1, -1, -1], [2, 2, -1], [3, 3, 3]]
        assert batch[1]["s"].tolist()[0] == [b"1", b"", b""]
        pairs = D.zip(D.range(1, 3).map(lambda i: tf.fill([i], 1)), D.range(2).batch(1))
        (both,) = elements(pairs.padded_batch(2, ([-1], tf.constant([2], tf.int64)), -1))
        assert [part.tolist() for part in both] == [[[1, -1], [1, 1]], [[0, -1], [1, -1]]]
        shape = tf.placeholder(tf.int64, [1])
        assert D.from_tensors([1, 2]).padded_batch(2, shape).output_shapes.as_list() == [None, None]
        wrong: list[tuple[type[Exception], Any]] = [
            (TypeError, lambda d: d.padded_batch(2, tf.constant([1.5]))),
            (ValueError, lambda d: d.padded_batch(2, [[1, 1]])),
            (ValueError, lambda d: d.padded_batch(2, tf.placeholder(tf.int64, [2]))),
            (TypeError, lambda d: D.zip((d, D.from_tensors(None))).padded_batch(2)),
        ]
        for kind, make in wrong:
            with pytest.raises(kind):
                make(D.from_tensors([1, 2]))


def test_rows_that_differ_in_number_cannot_be_unbatched() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"have \[2, 3\] rows"):
        tf.data.Dataset.from_tensors(([1, 2], [1, 2, 3])).unbatch()


def test_names_of_files_may_be_paths(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    with tf.Graph().as_default():
        assert elements(tf.data.TextLineDataset([tmp_path / "lines"])) == [b"a", b"b"]
        listed = tf.data.Dataset.list_files(tmp_path / "*")
        assert elements(tf.data.TextLineDataset(listed)) == [b"a", b"b"]
        for names in (tf.data.Dataset.range(2), listed.batch(2)):
            with pytest.raises(TypeError, match="dataset of scalar strings"):
                tf.data.TextLineDataset(names)


def test_numbers_that_a_type_does_not_hold_wrap_around() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        assert [int(n) for n in elements(D.range(-2, 2, output_type=tf.uint8))] == [254, 255, 0, 1]
        assert [int(n) for n in elements(D.range(126, 129, output_type=tf.int8))] == [
            126,
            127,
            -128,
        ]


def test_unique_is_of_int32_int64_and_strings() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        for values in ([0.5], [True], np.array([1], np.int8)):
            with pytest.raises(TypeError, match="`tf.int32`, `tf.int64`, and `tf.string`"):
                D.from_tensor_slices(values).unique()
        assert elements(D.from_tensor_slices(["b", "a", "b"]).unique()) == [b"b", b"a"]


def test_a_list_is_no_type() -> None:
    with tf.Graph().as_default():
        for types in ([tf.int32], (tf.int32, [tf.int32])):
            with pytest.raises(TypeError, match="DType"):
                tf.data.Dataset.from_generator(lambda: iter([]), types)
            with pytest.raises(TypeError, match="DType"):
                tf.data.Iterator.from_structure(types)


@pytest.mark.parametrize(
    "odds", [[[0.5, 0.5]], 0.5, [-1.0, 2.0], [float("nan"), 1.0], [float("inf"), 1.0]]
)
def test_a_run_refuses_odds_that_are_none(odds: Any) -> None:
    D = tf.data.Dataset
    for given in (tf.constant(odds), D.from_tensors(tf.constant(odds)).repeat()):
        drawn = D.sample_from_datasets([D.range(3), D.range(3)], given)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights"):
            elements(drawn)


def test_methods_are_the_functions_of_experimental() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default(), tf.Session() as session:
        assert elements(D.counter(3, 2).take_while(lambda n: n < 9)) == [3, 5, 7]
        assert elements(D.from_tensor_slices([2, 1, 2]).unique()) == [2, 1]
        assert [e.tolist() for e in elements(nan_at(*range(1, 8)).ignore_errors())] == [0]
        assert session.run(
            [D.range(5).batch(2).cardinality(), D.range(1).get_single_element()]
        ) == [3, 0]
        rows = D.range(1, 5).map(lambda i: tf.fill([i], i))
        buckets = rows.bucket_by_sequence_length(lambda row: tf.shape(row)[0], [3], [2, 2])
        assert [e.tolist() for e in elements(buckets)] == [
            [[1, 0], [2, 2]],
            [[3, 3, 3, 0], [4] * 4],
        ]
        assert len(set(elements(D.random(7).take(4)))) == 4


def test_options_of_a_dataset_are_options() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"expected tf\.data\.Options"):
        tf.data.Dataset.range(1).with_options({})  # type: ignore[arg-type]


# ---- iterators ----


@pytest.mark.parametrize(
    ("types", "shapes", "classes"),
    [
        ((tf.int64, tf.float64), [[]], None),
        ((tf.int64, tf.float64), [[], []], None),
        ((tf.int64, tf.float64), ([], []), tf.Tensor),
        ((tf.int64, (tf.int64, tf.int64)), ([], []), None),
        (tf.int64, [], int),
    ],
)
def test_types_shapes_and_classes_are_nested_alike(types: Any, shapes: Any, classes: Any) -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="from_structure: "):
            tf.data.Iterator.from_structure(types, shapes, None, classes)


def test_a_requested_position_is_saved_before_the_first_step_and_at_the_end(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.Dataset.range(3).shuffle(3).make_one_shot_iterator()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        step = iterator.get_next()
        saver.save(session, str(tmp_path / "begin"))
        first = [session.run(step) for _ in range(3)]
        saver.save(session, str(tmp_path / "end"))
        saver.restore(session, str(tmp_path / "begin"))
        assert [session.run(step) for _ in range(3)] == first
        saver.restore(session, str(tmp_path / "end"))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)


def test_a_position_cannot_be_saved_before_the_iterator_is_initialized(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.Dataset.range(3).make_initializable_iterator()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            saver.save(session, str(tmp_path / "begin"))
