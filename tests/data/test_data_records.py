"""Files of records: writers that are flushed, and files that are cut short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_elements import elements

import graphio as tf


def test_a_file_that_does_not_consist_of_records_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(b"aabbc")
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.FixedLengthRecordDataset(str(tmp_path / "records"), 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="1 bytes are left"):
            session.run(data.make_one_shot_iterator().get_next())


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_a_closed_writer_of_records_is_not_flushed(kind: str, tmp_path: Path) -> None:
    options = tf.python_io.TFRecordOptions(compression_type=kind)
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "records"), options)
    writer.write(b"one")
    writer.flush()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.flush()
    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "records"), options)) == [b"one"]


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_records_that_were_flushed_are_read_before_the_writer_ends(
    kind: str, tmp_path: Path
) -> None:
    path, written = str(tmp_path / "records"), [b"one", b"", b"3" * 100_000]
    with tf.python_io.TFRecordWriter(path, kind) as writer:
        for i, record in enumerate(written):
            writer.write(record)
            writer.flush()
            assert list(tf.python_io.tf_record_iterator(path, kind)) == written[: i + 1]
        with tf.Graph().as_default():
            assert elements(tf.data.TFRecordDataset(path, kind)) == written


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP"])
def test_a_packed_record_that_is_cut_short_is_lost(kind: str, tmp_path: Path) -> None:
    path, noise = tmp_path / "records", np.random.default_rng(1)
    with tf.python_io.TFRecordWriter(str(path), kind) as writer:
        writer.write(noise.bytes(1000))
        writer.flush()
        first = path.stat().st_size
        writer.write(noise.bytes(1000))
    whole = path.read_bytes()
    for size in (first - 500, first + 30, first + 500):
        path.write_bytes(whole[:size])
        with pytest.raises(tf.errors.DataLossError, match="damaged compressed data"):
            list(tf.python_io.tf_record_iterator(str(path), kind))
