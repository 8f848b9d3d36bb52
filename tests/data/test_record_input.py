"""tf.contrib.framework.RecordInput and BoundedTensorSpec."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

RecordInput = tf.contrib.framework.RecordInput
Bounded = tf.contrib.framework.BoundedTensorSpec


def written(folder: Path, kind: int = 0) -> str:
    """Three files of five records."""
    for i in range(3):
        options = tf.python_io.TFRecordOptions(kind)
        with tf.python_io.TFRecordWriter(str(folder / f"r.{i}"), options) as writer:
            for j in range(5):
                writer.write(b"%d" % (i * 5 + j))
    return str(folder / "r.*")


@pytest.mark.parametrize("target", TARGETS)
def test_each_epoch_has_each_record_once(tmp_path: Path, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        given = RecordInput(
            written(tmp_path), batch_size=3, buffer_size=6, shift_ratio=0.34, seed=1
        ).get_yield_op()
        assert given.dtype == tf.string and given.shape.as_list() == [3]
        epochs = [[n for _ in range(5) for n in session.run(given)] for _ in range(3)]
        expected = sorted(b"%d" % i for i in range(15))
        assert [sorted(epoch) for epoch in epochs] == [expected] * 3
        assert len({tuple(epoch) for epoch in epochs}) == 3
    with tf.Session(graph=given.graph, target=target) as session:
        assert session.run(given).tolist() == epochs[0][:3]  # the seed fixes the order


def test_batches_are_lists_of_scalars_and_files_may_be_packed(tmp_path: Path) -> None:
    kind = tf.python_io.TFRecordCompressionType.GZIP
    pattern = written(tmp_path, kind)
    with tf.Graph().as_default(), tf.Session() as session:
        made = RecordInput(pattern, 2, batches=3, compression_type=kind, name="in").get_yield_op()
        found = session.run(made)
        assert [len(batch) for batch in found] == [2, 2, 2]
        numbers = [int(record) for batch in found for record in batch]
        assert len(set(numbers)) == 6 and set(numbers) <= set(range(15))


def test_bad_settings_are_errors_of_the_run(tmp_path: Path) -> None:
    pattern = written(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
            session.run(RecordInput(str(tmp_path / "none")).get_yield_op())
        for name in ("batch_size", "buffer_size", "parallelism", "shift_ratio"):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} is -3"):
                session.run(RecordInput(pattern, **{name: -3}).get_yield_op())


def test_bounds_are_part_of_a_spec() -> None:
    spec = Bounded((1, 2, 3), tf.float32, 0, (5, 6, 7), name="b")
    assert isinstance(spec, tf.TensorSpec) and spec.shape.as_list() == [1, 2, 3]
    assert spec.minimum == 0 and spec.maximum.tolist() == [5, 6, 7]
    assert spec.maximum.dtype == np.float32 and not spec.maximum.flags.writeable
    assert copy.deepcopy(spec) == spec and hash(copy.deepcopy(spec)) == hash(spec)
    assert spec != Bounded((1, 2, 3), tf.float32, 0, 5, name="b")
    assert spec != tf.TensorSpec((1, 2, 3), tf.float32, "b")
    assert "minimum=array(0." in repr(spec)
    from_plain = Bounded.from_spec(tf.TensorSpec([2], tf.uint8, "u"))
    assert from_plain == Bounded([2], tf.uint8, 0, 255, "u")
    assert Bounded.from_spec(spec) == spec and Bounded([None, 3], tf.int32, 0, [1, 2, 3])
    for minimum, maximum, message in (
        (None, 1, "must be provided"),
        (0, (1, 2), "maximum is not compatible with shape"),
        (np.zeros(4), 1, "minimum is not compatible with shape"),
    ):
        with pytest.raises(ValueError, match=message):
            Bounded((1, 2, 3), tf.float32, minimum, maximum)


@pytest.mark.parametrize("target", TARGETS)
def test_files_without_records_end_the_run_with_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "r.0").write_bytes(b"")
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        records = RecordInput(str(tmp_path / "r.*")).get_yield_op()
        with pytest.raises(tf.errors.NotFoundError, match="the files are empty"):
            session.run(records)
