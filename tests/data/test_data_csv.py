"""Lines of CSV as TensorFlow reads them."""

from __future__ import annotations

import csv
import io
import zlib
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from data_elements import elements
from hypothesis import strategies as st
from value_cases import TARGETS

import graphio as tf
from graphio.data import csv_lines

#: bytes of a file, the defaults of its columns, and its rows
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
    "single carriage returns": (b'"\r\n",b\rc,\r', [["x"], ["x"]], [(b"\r\n", b"b"), (b"c", b"x")]),
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
    "a mark inside a field": (b'a""b,c\n', "must enclose"),
    "text behind a mark": (b'"a"b,c\n', "must enclose"),
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


FIELDS = st.text('a,§"\r\n', max_size=4)


@hypothesis.given(
    st.lists(st.lists(FIELDS, min_size=1, max_size=3), max_size=4),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 5),
    st.sampled_from([",", "§"]),
)
def test_rows_end_where_the_writer_of_csv_ended_them(
    rows: list[list[str]], end: str, piece: int, mark: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "_PIECE", piece)
        scan = csv_lines._Scan(io.BytesIO(text.getvalue().encode()), mark.encode(), True)
        found = [io.StringIO(row.decode(), newline="") for row in iter(scan.row, None)]
    assert [next(csv.reader(row, delimiter=mark)) for row in found] == rows


@pytest.mark.parametrize("mark", ["", "::", None])
def test_what_is_between_fields_is_one_character(mark: Any, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"a,b\n")
    rows = str(tmp_path / "rows")
    for build in (
        lambda: tf.decode_csv(["a"], [[""]], mark),
        lambda: tf.data.experimental.CsvDataset(rows, [""], field_delim=mark),
        lambda: tf.data.experimental.make_csv_dataset(rows, 1, field_delim=mark),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="one character"):
            build()


def test_an_error_of_csv_concerns_one_row(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b'a,b"c\n"d"e,f\ng,h\n')
    with tf.Graph().as_default():
        rows = tf.data.experimental.CsvDataset(str(tmp_path / "rows"), [[""], [""]])
        assert elements(rows.apply(tf.data.experimental.ignore_errors())) == [(b"g", b"h")]


def test_columns_have_names_in_other_encodings_and_rows_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes("größe,y\n1,2\n3\n5,6\n".encode("latin-1"))
    with tf.Graph().as_default():
        data = tf.data.experimental.make_csv_dataset(
            str(tmp_path / "rows"), 2, column_defaults=[0, 0], num_epochs=1, shuffle=False,
            ignore_errors=True, encoding="latin-1",
        )  # fmt: skip
        (batch,) = elements(data)
    assert {name: column.tolist() for name, column in batch.items()} == {
        "größe": [1, 5],
        "y": [2, 6],
    }


def test_a_column_of_numbers_gets_the_narrowest_type_that_holds_them(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("a,b,c,d,e\n1,4294967296,1.5,3e50,inf\n2,3,4,5,6\n")
    with tf.Graph().as_default():
        data = tf.data.experimental.make_csv_dataset(str(tmp_path / "rows"), 1)
        found = [data.output_types[name] for name in "abcde"]
    assert found == [tf.int32, tf.int64, tf.float32, tf.float64, tf.string]


def test_files_of_csv_are_checked(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "rows").write_bytes(b"x,y\n1,2\n")
    experimental = tf.data.experimental
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="Can't read header"):
            elements(experimental.CsvDataset(str(tmp_path / "empty"), [[0]], header=True))
        with pytest.raises(tf.errors.InvalidArgumentError, match="should be positive"):
            experimental.CsvDataset(str(tmp_path / "rows"), [[0], [0]], buffer_size=0)
        for options in (
            {"column_names": ["x", "y", "z"]},
            {"column_defaults": [0, 0], "select_columns": ["y"]},
        ):
            with pytest.raises(ValueError, match=r"has 2 fields|there are 2 column_defaults"):
                experimental.make_csv_dataset(str(tmp_path / "rows"), 1, **options)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("line", ['aa"b', '"a"b', 'a"'])
def test_decode_csv_refuses_marks_that_do_not_enclose_a_field(line: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fields = tf.decode_csv([line], [["x"]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must enclose"):
            session.run(fields)
        plain = tf.decode_csv([line], [["x"]], use_quote_delim=False)
        assert session.run(plain)[0].tolist() == [line.encode()]


def test_columns_are_not_probed_in_a_file_of_zlib(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(zlib.compress(b"1,2\n"))
    options: Any = {"header": False, "compression_type": "ZLIB", "num_epochs": 1}
    make = tf.data.experimental.make_csv_dataset
    with tf.Graph().as_default():
        for given in ({"column_names": ["a", "b"]}, {"column_defaults": [0, 0]}):
            with pytest.raises(ValueError, match="ZLIB is not supported for probing"):
                make(str(path), 1, **given, **options)
        found = make(str(path), 1, column_names=["a", "b"], column_defaults=[0, 0], **options)
        assert [{k: v.tolist() for k, v in e.items()} for e in elements(found)] == [
            {"a": [1], "b": [2]}
        ]
