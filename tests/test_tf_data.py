"""Sources of tf.data as TensorFlow reads them: lines of CSV, sparse values, records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf


def elements(dataset: Any, target: str = "runtime") -> list[Any]:
    """All elements of a dataset that was made in the default graph."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following, found = iterator.get_next(), []
    with tf.Session(target) as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found


# ---- CSV ----

#: what a file holds, the defaults of its columns, and its rows
FILES: dict[str, tuple[bytes, list[Any], list[Any]]] = {
    "empty lines in a quotation": (
        b'a,"b\n\nx"\nc,d\n', [[""], [""]], [(b"a", b"b\n\nx"), (b"c", b"d")],
    ),
    "line ends of Windows in and around quotations": (
        b'"\n\n\n","a\r\nb"\r\nc,d\r\n', [[""], [""]], [(b"\n\n\n", b"a\r\nb"), (b"c", b"d")],
    ),
    "an empty line is a row of one column": (b"0\n\n2\n", [[""]], [(b"0",), (b"",), (b"2",)]),
    "doubled marks": (b'"a""b",c\n', [[""], [""]], [(b'a"b', b"c")]),
    "a last line without an end": (b"1\n2", [[0]], [(1,), (2,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_csv_has_the_rows_that_tensorflow_reads(name: str, tmp_path: Path) -> None:
    text, defaults, rows = FILES[name]
    (tmp_path / "rows").write_bytes(text)
    with tf.Graph().as_default():
        assert elements(tf.data.experimental.CsvDataset(str(tmp_path / "rows"), defaults)) == rows


#: lines that are none of two columns
WRONG = {
    "an empty line": (b"0,1\n\n2,3\n", "Expect 2 fields but have 1"),
    "a mark inside a field": (b'a""b,c\n', "must enclose whole fields"),
    "text behind a mark": (b'"a"b,c\n', "must enclose whole fields"),
    "a quotation without an end": (b'"a,b\n', "does not end"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_line_that_is_no_row_is_refused(name: str, tmp_path: Path) -> None:
    text, words = WRONG[name]
    (tmp_path / "rows").write_bytes(text)
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match=words),
    ):
        elements(tf.data.experimental.CsvDataset(str(tmp_path / "rows"), [[""], [""]]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("line", ['aa"b', '"a"b', 'a"'])
def test_decode_csv_refuses_marks_that_do_not_enclose_a_field(line: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fields = tf.decode_csv([line], [["x"]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must enclose whole fields"):
            session.run(fields)
        plain = tf.decode_csv([line], [["x"]], use_quote_delim=False)
        assert session.run(plain)[0].tolist() == [line.encode()]


# ---- sparse values ----


@pytest.mark.parametrize("target", TARGETS)
def test_a_sparse_value_is_an_element(target: str) -> None:
    value = tf.SparseTensorValue([[0, 1]], np.array([5], np.int32), [1, 2])
    with tf.Graph().as_default():
        (found,) = elements(tf.data.Dataset.from_tensors({"x": (value, 1)}), target)
    assert found["x"][0].values.tolist() == [5] and found["x"][1] == 1
    assert found["x"][0].dense_shape.tolist() == [1, 2]


def test_a_function_may_give_a_sparse_value() -> None:
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.range(3)
        made = numbers.map(lambda i: tf.SparseTensorValue([[0]], tf.reshape(i, [1]), [1]))
        assert [e.values.tolist() for e in elements(made)] == [[0], [1], [2]]


# ---- records ----


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
