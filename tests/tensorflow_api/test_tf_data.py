"""Sources of tf.data as TensorFlow reads them: lines of CSV, sparse values, records."""

from __future__ import annotations

import csv
import errno
import io
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from value_cases import TARGETS

import graphio as tf
from graphio.data import csv_lines


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
    "a mark inside a field": (b'a""b,c\n', "must enclose complete fields"),
    "text behind a mark": (b'"a"b,c\n', "must enclose complete fields"),
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
        with pytest.raises(tf.errors.InvalidArgumentError, match="must enclose complete fields"):
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


def test_a_function_may_give_sparse_values_that_differ_in_their_sizes() -> None:
    def ones(count: Any) -> Any:
        places = tf.reshape(tf.range(count), [-1, 1])
        return tf.SparseTensor(places, tf.ones_like(places[:, 0]), tf.reshape(count + 1, [1]))

    with tf.Graph().as_default():
        (batch,) = elements(tf.data.Dataset.range(3).map(ones).batch(3))
        one = tf.data.Dataset.range(4).map(
            lambda i: tf.SparseTensor([[0]], tf.reshape(i, [1]), [1])
        )
        pairs = elements(one.batch(2).batch(2))
    assert batch.indices.tolist() == [[1, 0], [2, 0], [2, 1]]
    assert batch.values.tolist() == [1, 1, 1] and batch.dense_shape.tolist() == [3, 3]
    assert pairs[0].indices.tolist() == [[i, j, 0] for i in (0, 1) for j in (0, 1)]
    assert pairs[0].values.tolist() == [0, 1, 2, 3] and pairs[0].dense_shape.tolist() == [2, 2, 1]


def rows_of(value: Any) -> list[tuple[Any, ...]]:
    return [(r.indices.tolist(), r.values.tolist(), r.dense_shape.tolist()) for r in value]


ROWS = [([[1]], [5], [3]), ([], [], [3]), ([[0], [2]], [7, 6], [3])]
WHOLE = tf.SparseTensorValue([[0, 1], [2, 0], [2, 2]], np.array([5, 7, 6]), [3, 3])


@pytest.mark.parametrize("target", TARGETS)
def test_a_sparse_value_has_rows(target: str) -> None:
    data = tf.data.Dataset
    with tf.Graph().as_default():
        assert rows_of(elements(data.from_tensor_slices(WHOLE), target)) == ROWS
        beside = elements(data.from_tensor_slices({"s": WHOLE, "d": [1, 2, 3]}), target)
        assert rows_of(e["s"] for e in beside) == ROWS and [e["d"] for e in beside] == [1, 2, 3]
        assert rows_of(elements(data.from_tensors(WHOLE).repeat(2).unbatch(), target)) == ROWS * 2
        turned = tf.SparseTensorValue([[2, 0], [0, 1], [2, 2]], np.array([7, 5, 6]), [3, 3])
        assert rows_of(elements(data.from_tensor_slices(turned), target)) == ROWS
        tuples = elements(data.from_sparse_tensor_slices(tf.SparseTensor(*WHOLE)), target)
        assert [tuple(part.tolist() for part in t) for t in tuples] == ROWS


def test_rows_of_sparse_values_come_together_again() -> None:
    with tf.Graph().as_default():
        slices = tf.data.Dataset.from_tensor_slices(WHOLE)
        (again,) = elements(slices.batch(3))
        windows = slices.window(2).flat_map(lambda window: window.batch(2))
        assert rows_of([again])[0] == ([*map(list, WHOLE[0])], [5, 7, 6], [3, 3])
        assert [w.dense_shape.tolist() for w in elements(windows)] == [[2, 3], [1, 3]]


@pytest.mark.parametrize(
    ("parts", "kind", "words"),
    [
        (([[1, 0], [0, 0]], [1, 2], [2, 2]), tf.errors.UnimplementedError, "must be ordered"),
        (([[0, 0]], [1, 2], [2, 2]), tf.errors.InvalidArgumentError, "do not fit each other"),
        (([[0, 0]], [1], [2]), tf.errors.InvalidArgumentError, "do not fit each other"),
        (([[2, 0]], [1], [2, 2]), tf.errors.InvalidArgumentError, "in another row"),
        (([[-1, 0]], [1], [2, 2]), tf.errors.InvalidArgumentError, "in another row"),
    ],
)
def test_what_has_no_sparse_rows_is_refused(parts: Any, kind: Any, words: str) -> None:
    with tf.Graph().as_default():
        shapes = [[None, None], [None], [None]]
        fed = [tf.placeholder(tf.int64, shape) for shape in shapes]
        made = tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor(*fed))
        iterator = tf.data.make_initializable_iterator(made)
        with tf.Session() as session, pytest.raises(kind, match=words):
            session.run(iterator.initializer, dict(zip(fed, parts, strict=True)))
        with pytest.raises(TypeError, match="`sparse_tensor` must be"):
            tf.data.Dataset.from_sparse_tensor_slices([1])
        with pytest.raises(ValueError, match="component 0 is a scalar"):
            scalar = tf.SparseTensorValue(np.zeros([1, 0]), [1], np.zeros([0]))
            tf.data.Dataset.from_tensor_slices(scalar)


# ---- variables in functions ----


@pytest.fixture
def counter() -> Iterator[Any]:
    """A variable that begins at 0, in a graph of its own."""
    with tf.Graph().as_default():
        yield tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True)


def begun(target: str, *iterators: Any) -> Any:
    session = tf.Session(target)
    session.run([tf.global_variables_initializer(), *(i.initializer for i in iterators)])
    return session


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_assigns_a_variable_at_each_element(target: str, counter: Any) -> None:
    data = tf.data.Dataset.from_tensors(0).repeat(3).map(lambda _: counter.assign_add(1), 4)
    iterator = tf.data.make_initializable_iterator(data.prefetch(2))
    following = iterator.get_next()
    with begun(target, iterator) as session:
        for i in range(3):
            assert session.run(counter) == i
            assert session.run(following) == i + 1
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
        assert session.run(counter) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_reads_a_variable_at_each_element(target: str, counter: Any) -> None:
    data = tf.data.Dataset.range(3).map(lambda i: (i, counter.read_value()))
    kept = data.filter(lambda i, _: counter.read_value() < 20)
    iterator = tf.data.make_initializable_iterator(kept)
    following, more = iterator.get_next(), counter.assign_add(10)
    with begun(target, iterator) as session:
        assert session.run([following, more]) == [(0, 0), 10]
        assert session.run([following, more]) == [(1, 10), 20]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)


@pytest.mark.parametrize("target", TARGETS)
def test_two_elements_of_a_run_count_one_after_the_other(target: str, counter: Any) -> None:
    data = tf.data.Dataset.range(4).map(lambda _: counter.assign_add(1))
    iterator = tf.data.make_initializable_iterator(data)
    one, two = iterator.get_next(), iterator.get_next()
    with begun(target, iterator) as session:
        assert session.run([one, two]) == [1, 2] and session.run([two, one]) == [4, 3]
        assert session.run(counter) == 4


@pytest.mark.parametrize("target", TARGETS)
def test_branches_and_inner_datasets_assign_variables(target: str, counter: Any) -> None:
    def step(i: Any) -> Any:
        return tf.cond(i < 1, lambda: counter.assign_add(1), lambda: counter.assign_add(10))

    def inner(i: Any) -> Any:
        return tf.data.Dataset.range(2).map(lambda j: counter.assign_add(i * 100))

    data = tf.data.Dataset.range(2)
    iterator = tf.data.make_initializable_iterator(data.map(step).concatenate(data.flat_map(inner)))
    following = iterator.get_next()
    with begun(target, iterator) as session:
        assert [int(session.run(following)) for _ in range(6)] == [1, 11, 11, 11, 111, 211]
        assert session.run(counter) == 211


@pytest.mark.parametrize("target", TARGETS)
def test_a_whole_dataset_assigns_a_variable_in_one_run(
    target: str, counter: Any, tmp_path: Path
) -> None:
    data, path = tf.data.Dataset.range(3), str(tmp_path / "records")
    total = data.reduce(np.int64(0), lambda state, _: state + counter.assign_add(1))
    one = tf.data.experimental.get_single_element(data.take(1).map(lambda _: counter.assign_add(5)))
    texts = data.map(lambda _: tf.as_string(counter.assign_add(1)))
    write = tf.data.experimental.TFRecordWriter(path).write(texts)
    with begun(target) as session:
        assert (session.run(total), session.run(counter)) == (6, 3)
        assert (session.run(one), session.run(counter)) == (8, 8)
        session.run(write)
        assert session.run(counter) == 11
    assert list(tf.python_io.tf_record_iterator(path)) == [b"9", b"10", b"11"]


def test_variables_and_iterators_come_back_from_a_checkpoint(counter: Any, tmp_path: Path) -> None:
    data = tf.data.Dataset.range(4).map(lambda i: (i, counter.assign_add(1)))
    iterator, saver = tf.data.make_initializable_iterator(data), tf.train.Saver()
    following = iterator.get_next()
    with begun("", iterator) as session:
        session.run(following)
        path = saver.save(session, str(tmp_path / "c"))
        assert [session.run(following) for _ in range(2)] == [(1, 2), (2, 3)]
        saver.restore(session, path)
        assert session.run(following) == (1, 2)


def test_where_functions_cannot_have_variables_is_said(counter: Any) -> None:
    touching = tf.data.Dataset.range(2).map(lambda _: counter.assign_add(1))
    with pytest.raises(ValueError, match=r"stateful node \(name:v, type:VarHandleOp\) by value"):
        tf.data.make_one_shot_iterator(touching)
    late = tf.data.Iterator.from_structure(tf.int64, [])
    late.get_next()
    with pytest.raises(ValueError, match="variable 'v'; call make_initializer before get_next"):
        late.make_initializer(touching)
    begun_late = tf.data.make_initializable_iterator(touching)
    following = begun_late.get_next()
    with tf.Session() as session:
        session.run(begun_late.initializer)
        with pytest.raises(tf.errors.NotFoundError, match="uninitialized value v"):
            session.run(following)


@pytest.mark.parametrize("target", TARGETS)
def test_an_iterator_whose_functions_have_variables_has_a_string_handle(
    target: str, counter: Any
) -> None:
    counting = tf.data.Dataset.range(2).map(lambda _: counter.assign_add(1))
    reading = tf.data.Dataset.range(3).map(lambda _: 100 * counter)
    iterators = [tf.data.make_initializable_iterator(d) for d in (counting, reading)]
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with begun(target, *iterators) as session:
        first, second = session.run([i.string_handle() for i in iterators])
        found = [session.run(following, {handle: h}) for h in (first, second, first, second)]
        assert found == [1, 100, 2, 200]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following, {handle: first})
        assert session.run([following, counter], {handle: second}) == [200, 2]
    late = tf.get_variable("late", [], tf.int64)
    other = tf.data.make_initializable_iterator(tf.data.Dataset.range(2).map(lambda i: i + late))
    with pytest.raises(ValueError, match="'late'; make the iterator before the get_next"):
        other.string_handle()


#: what a function that adds 1 to a variable before and after gives, in the runs of 3 elements
PLAIN_USES: dict[str, Any] = {
    "a value": lambda v: v.value(),
    "an identity": lambda v: tf.identity(v),
    "a sum": lambda v: v + 0,
    "a stack": lambda v: tf.stack([v])[0],
    "a branch": lambda v: tf.cond(tf.constant(True), lambda: v + 0, lambda: 2 * v),
    "a loop": lambda v: tf.while_loop(lambda i: i < 1, lambda i: i + tf.sign(v + 1), [v * 0]) * v,
    "a dataset": lambda v: tf.data.experimental.get_single_element(
        tf.data.Dataset.range(1).map(lambda _: tf.identity(v))
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PLAIN_USES)
def test_a_plain_use_reads_the_variable_at_the_call(name: str, target: str, counter: Any) -> None:
    read = PLAIN_USES[name]

    def step(_: Any) -> Any:
        before = read(counter)
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.stack([before, read(counter)])

    assigning = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).map(step))
    reading = tf.data.make_initializable_iterator(
        tf.data.Dataset.range(6).map(lambda _: read(counter))
    )
    one, other, more = assigning.get_next(), reading.get_next(), counter.assign_add(10)
    with begun(target, assigning, reading) as session:
        assert [session.run(one).tolist() for _ in range(3)] == [[0, 1], [1, 2], [2, 3]]
        assert [session.run(other), session.run(more), session.run(other)] == [3, 13, 13]


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_function_returns_is_read_where_it_says(target: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(0, name="v")

        def step(_: Any) -> Any:
            with tf.name_scope("v/"):
                placed = v.read_value()
            before, alias = v.value(), tf.identity(v)
            with tf.control_dependencies([v.assign_add(1)]):
                return placed, before, alias, v.value(), v[...]

        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).map(step))
        following = iterator.get_next()
        with begun(target, iterator) as session:
            assert session.run([following, v]) == [(0, 0, 0, 1, 1), 1]
            assert session.run(following) == (1, 1, 1, 2, 2)


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_has_gradients_with_respect_to_a_variable(target: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        data = tf.data.Dataset.range(2).map(lambda _: tf.gradients([v * v + 5.0 * v], v)[0])
        iterator, doubled = tf.data.make_initializable_iterator(data), v.assign(2 * v)
        following = iterator.get_next()
        with begun(target, iterator) as session:
            assert [session.run(following), session.run(doubled)] == [11, 6]
            assert session.run(following) == 17


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_computed_outside_is_of_the_initializer(target: str, counter: Any) -> None:
    twice = 2 * counter
    data = tf.data.Dataset.range(3).map(lambda i: (i + twice, tf.random_shuffle(twice + [0, 1])[0]))
    iterator, more = tf.data.make_initializable_iterator(data), counter.assign_add(10)
    following = iterator.get_next()
    with begun(target) as session:
        session.run(iterator.initializer)
        assert session.run(following)[0] == 0 and session.run(more) == 10
        assert session.run(following)[0] == 1
        session.run(iterator.initializer)
        assert session.run(following)[0] == 20


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_that_fails_or_ends_the_data_assigns(target: str, counter: Any) -> None:
    def failing(_: Any) -> Any:
        added = counter.assign_add(1)
        with tf.control_dependencies([added]):
            with tf.control_dependencies([tf.Assert(added < 3, ["more than 2"])]):
                return tf.identity(added)

    def none(_: Any) -> Any:
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.constant(False)

    data = tf.data.Dataset.range(5)
    cases = [
        (data.map(lambda _: counter.assign_add(1)).batch(3, drop_remainder=True), [[1, 2, 3]], 5),
        (data.filter(none), [], 5),
        (data.map(failing), [1, 2], 3),
    ]
    iterators = [tf.data.make_initializable_iterator(d) for d, _, _ in cases]
    nexts = [iterator.get_next() for iterator in iterators]
    whole = tf.data.experimental.get_single_element(data.filter(none))
    for iterator, following, (_, given, left) in zip(iterators, nexts, cases, strict=True):
        with begun(target, iterator) as session:
            assert [np.asarray(session.run(following)).tolist() for _ in given] == given
            with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)):
                session.run(following)
            assert session.run(counter) == left
    with begun(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty dataset"):
            session.run(whole)
        assert session.run(counter) == 5


# ---- datasets in elements ----


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_may_give_datasets(target: str) -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(4)
        single = data.map(lambda i: tf.data.Dataset.from_tensors(i)).flat_map(lambda x: x)
        assert elements(single, target) == [0, 1, 2, 3]
        counted = data.map(lambda i: {"n": i, "d": tf.data.Dataset.range(i).map(lambda j: j + i)})
        batches = counted.flat_map(lambda e: e["d"].batch(3).map(lambda b: (e["n"], b)))
        found = [(n, b.tolist()) for n, b in elements(batches, target)]
        assert found == [(1, [1]), (2, [2, 3]), (3, [3, 4, 5])]
        assert counted.output_classes == {"n": tf.Tensor, "d": tf.data.Dataset}
        windows = data.window(2).map(lambda w: (w, w.batch(2)), 2)
        pairs = windows.interleave(lambda w, b: tf.data.Dataset.zip((w, b.repeat())), 2)
        again = [(i, b.tolist()) for i, b in elements(pairs, target)]
        assert again == [(0, [0, 1]), (2, [2, 3]), (1, [0, 1]), (3, [2, 3])]


def test_a_dataset_in_an_element_has_a_place_in_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inner = tf.data.Dataset.range(3).map(lambda i: tf.data.Dataset.range(10 * i, 10 * i + 3))
        data = inner.shuffle(3, seed=1).flat_map(lambda d: d)
        iterator = tf.data.make_initializable_iterator(data)
        following = iterator.get_next()
        session.run(iterator.initializer)
        session.run(tf.Variable(1).initializer)
        saver = tf.train.Saver()
        session.run(following)
        path = saver.save(session, str(tmp_path / "c"))
        first = [int(session.run(following)) for _ in range(8)]
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [int(session.run(following)) for _ in range(8)] == first


def test_datasets_that_cannot_be_in_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphio.data.elements._MOST_HELD", 100)
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2)
        endless = data.map(lambda i: tf.data.Dataset.range(3).repeat())
        with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 100 elements"):
            elements(endless.flat_map(lambda d: d.take(1)))
        with pytest.raises(ValueError, match="must return a scalar boolean"):
            data.filter(lambda i: data)
        with pytest.raises(TypeError, match="a component is a dataset"):
            endless.padded_batch(2, [])


@pytest.mark.parametrize("target", TARGETS)
def test_a_source_holds_datasets(target: str) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pairs = D.range(3).map(lambda i: {"i": i, "w": tf.as_string(i)})
        one = D.from_tensors((pairs, np.int64(7))).flat_map(
            lambda d, n: d.map(lambda e: e["i"] * n)
        )
        assert elements(one, target) == [0, 7, 14]
        assert D.from_tensors(pairs).output_classes is D
        several = D.from_tensor_slices([D.range(2), D.range(3)])
        assert elements(several.flat_map(lambda d: d), target) == [0, 1, 0, 1, 2]
        apart = D.from_tensors([D.range(2), D.range(3)]).flat_map(D.from_tensor_slices)
        assert elements(apart.flat_map(lambda d: d.skip(1)), target) == [1, 1, 2]


@pytest.mark.parametrize("target", TARGETS)
def test_datasets_go_through_batches(target: str) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.range(5).map(lambda i: D.from_tensors(i).repeat(2)).batch(2).map(lambda d: d)
        assert made.unbatch().dataset_spec.inside.inside is not None
        found = elements(made.unbatch().flat_map(lambda d: d), target)
        assert found == [i for i in range(5) for _ in range(2)]


def test_a_program_sees_the_dataset_that_is_a_component() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default(), tf.Session() as session:
        window = D.range(4).window(3).make_one_shot_iterator().get_next()
        total = window.reduce(np.int64(10), lambda state, x: state + x)
        assert session.run([total, total]) == [13, 13]
        assert session.run(total) == 13
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(total)


def test_a_function_reduces_the_dataset_that_it_is_given(tmp_path: Path) -> None:
    D, zero = tf.data.Dataset, np.int64(0)
    with tf.Graph().as_default():
        sums = D.range(5).window(2).map(lambda w: w.reduce(zero, lambda s, x: s + x))
        assert elements(sums) == [1, 5, 4]

        def write(key: Any, group: Any) -> Any:
            name = tf.string_join([str(tmp_path / "shard"), tf.as_string(key)])
            write = tf.data.experimental.TFRecordWriter(name).write(group.map(tf.as_string))
            with tf.control_dependencies([write]):
                return D.from_tensors(tf.identity(key))

        made = D.range(5).apply(tf.data.experimental.group_by_window(lambda i: i % 2, write, 9))
        assert elements(made) == [0, 1]
        assert elements(tf.data.TFRecordDataset(str(tmp_path / "shard1"))) == [b"1", b"3"]


# ---- structures ----


class Pair:
    """An object that says how it is taken apart; its name is no component."""

    def __init__(self, name: str, x: Any, y: Any) -> None:
        self.name, self.x, self.y = name, x, y

    def __tf_flatten__(self) -> Any:
        return (self.name,), (self.x, self.y)

    @classmethod
    def __tf_unflatten__(cls, fixed: Any, parts: Any) -> Pair:
        return cls(*fixed, *parts)


def test_objects_are_elements() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.range(3).map(lambda i: Pair("p", i, (i, 1)))
        found = elements(made.map(lambda p: {"q": Pair(p.name + "!", p.y[0], p.x + 1)}).batch(2))
        assert [(e["q"].name, e["q"].x.tolist(), e["q"].y.tolist()) for e in found] == [
            ("p!", [0, 1], [1, 2]),
            ("p!", [2], [3]),
        ]
        assert tf.nest.map_structure(lambda v: v + 1, Pair("a", 1, [2])).y == [3]


def test_attrs_objects_are_elements_and_fetches() -> None:
    attr = pytest.importorskip("attr")

    @attr.s
    class Point:
        x = attr.ib()
        y = attr.ib()

    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensors(Point(1, 2.0)).map(lambda p: Point(p.y, p.x + 1))
        assert elements(data) == [Point(2.0, 2)]


def test_none_is_a_structure_without_components() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.from_tensors((5, None)).map(lambda x, nothing: {"x": x, "none": nothing})
        assert elements(made.repeat(2).batch(2).map(lambda e: e["x"]))[0].tolist() == [5, 5]
        assert made.output_types == {"x": tf.int32, "none": None}
        assert elements(D.range(1).map(lambda x: (x, None)).map(lambda x, y: (x, y is None)))[0][1]


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensor_array_is_a_component(target: str) -> None:
    D = tf.data.Dataset

    def counted(n: Any) -> Any:
        made = tf.TensorArray(tf.int64, tf.cast(n, tf.int32), element_shape=())
        return made.unstack(tf.range(n))

    with tf.Graph().as_default():
        arrays = D.range(4).map(counted)
        assert arrays.output_classes is tf.TensorArray and arrays.output_types == tf.int64
        assert elements(arrays.map(lambda a: tf.reduce_sum(a.stack())), target) == [0, 0, 1, 3]
        slices = arrays.flat_map(lambda a: D.from_tensor_slices(a.identity().stack()))
        assert elements(slices, target) == [0, 0, 1, 0, 1, 2]


def test_the_shape_of_a_sparse_value_is_known() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        assert D.from_tensors(WHOLE).output_shapes.as_list() == [3, 3]
        assert D.from_tensor_slices(WHOLE).output_shapes.as_list() == [3]
        assert D.from_tensors(WHOLE).batch(2).output_shapes.as_list() == [None, 3, 3]
        seen = []
        D.from_tensors((WHOLE, 1)).map(lambda s, i: seen.append(s.get_shape().as_list()) or i)
        assert seen == [[3, 3]]


# ---- errors, and what else a function does ----


def test_an_assert_in_a_function_runs_although_nothing_reads_it() -> None:
    D = tf.data.Dataset

    def checked(i: Any) -> Any:
        tf.assert_less(i, np.int64(2))
        return i

    with tf.Graph().as_default():
        data = D.range(4).map(checked)
        with pytest.raises(tf.errors.InvalidArgumentError):
            elements(data)
        assert elements(data.apply(tf.data.experimental.ignore_errors())) == [0, 1]


def test_a_function_sees_the_collections_around_it_and_adds_to_its_own() -> None:
    with tf.Graph().as_default() as graph:
        graph.add_to_collection("words", "outer")

        def look(i: Any) -> Any:
            assert tf.get_collection("words") == ["outer"]
            tf.add_to_collection("words", "inner")
            return i

        tf.data.Dataset.range(1).map(look)
        assert graph.get_collection("words") == ["outer"]


def nan_at(*places: int) -> Any:
    numbers = np.arange(8, dtype=np.float32)
    numbers[list(places)] = np.nan
    data = tf.data.Dataset.from_tensor_slices(numbers)
    return data.map(lambda x: tf.check_numerics(x, "no number"))


def test_a_window_fails_only_for_the_elements_that_it_has() -> None:
    with tf.Graph().as_default():
        spread = nan_at(1, 3).window(2, 2, 2).flat_map(lambda w: w.batch(2))
        assert [e.tolist() for e in elements(spread)] == [[0, 2], [2, 4], [4, 6], [6]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            elements(nan_at(2).window(2, 2, 2).flat_map(lambda w: w.batch(2)))


def test_map_and_batch_loses_the_batch_of_an_element_that_fails() -> None:
    def even(i: Any) -> Any:
        if i % 5 == 4:
            raise StopIteration
        return i

    with tf.Graph().as_default(), tf.Session() as session:
        both = tf.data.experimental.map_and_batch(lambda i: tf.py_func(even, [i], tf.int64), 3)
        step = tf.data.Dataset.range(9).apply(both).make_one_shot_iterator().get_next()
        assert session.run(step).tolist() == [0, 1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no element"):
            session.run(step)
        assert session.run(step).tolist() == [6, 7, 8]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)


def test_one_iterator_at_a_time_writes_a_cache(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(2).cache(str(tmp_path / "kept"))
        one, two = (data.make_one_shot_iterator().get_next() for _ in range(2))
        assert session.run(one) == 0
        with pytest.raises(tf.errors.AlreadyExistsError, match="another iterator"):
            session.run(two)
        assert session.run(one) == 1
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(one)
        assert session.run(two) == 0


def test_a_cache_is_written_where_the_file_system_has_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(file: Any, mode: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("graphio.data.caching.fcntl.flock", without_locks)
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2).cache(str(tmp_path / "kept"))
        assert elements(data) == elements(data) == [0, 1]


def test_caches_that_end_together_are_all_complete(tmp_path: Path) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        kept = [D.range(2).cache(str(tmp_path / name)) for name in "abc"]
        elements(D.zip(tuple(kept)))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_generator_ends_when_nothing_more_is_taken() -> None:
    ended = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.append(True)

    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.from_generator(endless, tf.int64).take(2).repeat(2)
        step = data.make_one_shot_iterator().get_next()
        assert [session.run(step) for _ in range(3)] == [1, 1, 1]
        assert ended == [True]
        session.run(step)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)
        assert ended == [True, True]


def test_a_reduction_without_an_end_stops_when_its_session_is_closed() -> None:
    reached = threading.Event()

    def note(n: Any) -> Any:
        reached.set()
        return n

    with tf.Graph().as_default():
        endless = tf.data.Dataset.range(1).repeat().map(lambda n: tf.py_func(note, [n], tf.int64))
        total = endless.reduce(np.int64(0), lambda state, n: state + n)
        session = tf.Session()
        threading.Thread(target=lambda: (reached.wait(), session.close()), daemon=True).start()
        with pytest.raises(tf.errors.CancelledError, match="the session was closed"):
            session.run(total)


def test_groups_that_are_not_full_come_by_their_keys() -> None:
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.from_tensor_slices(np.array([5, 3, 4, 3, 5, 4, 3]))
        made = numbers.group_by_window(lambda x: x, lambda _, group: group.batch(9), 3)
        assert [e.tolist() for e in elements(made)] == [[3, 3, 3], [4, 4], [5, 5]]


def test_a_scan_does_not_end_where_its_function_has_no_element() -> None:
    def stop(n: Any) -> Any:
        raise StopIteration

    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2).scan(0, lambda s, n: (s, tf.py_func(stop, [n], tf.int64)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no element"):
            elements(data)


def test_datasets_are_chosen_until_one_has_ended() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pair = [D.range(1), D.range(10, 14)]
        choices = D.from_tensor_slices(np.array([1, 0, 1, 0, 1]))
        assert elements(D.choose_from_datasets(pair, choices)) == [10, 0, 11]
        assert elements(D.choose_from_datasets(pair, choices, False)) == [10, 0, 11, 12]
        drawn = elements(D.sample_from_datasets(pair, seed=3, stop_on_empty_dataset=True))
        assert drawn.count(0) == 1 and len(drawn) <= 5
        with pytest.raises(ValueError, match="there are no datasets"):
            D.choose_from_datasets([], D.range(1))


def test_odds_may_be_a_tensor_or_change_with_every_draw() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pair = [D.range(3), D.range(10, 13)]
        fixed = D.sample_from_datasets(pair, tf.constant([0.0, 1.0]))
        assert elements(fixed) == [10, 11, 12]
        turns = D.from_tensor_slices([[1.0, 0.0], [0.0, 1.0]]).repeat(2)
        assert elements(D.sample_from_datasets(pair, turns)) == [0, 10, 1, 11]
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 weights for 2 datasets"):
            elements(D.sample_from_datasets(pair, tf.constant([1.0, 2.0, 3.0])))
        for whole in (tf.constant([1, 1]), [1, 1], np.array([1, 1])):
            with pytest.raises(TypeError, match=r"are int\d\d; they must be of `tf.float32`"):
                D.sample_from_datasets(pair, whole)


#: what is done with a dataset of another graph than the default one
ELSEWHERE: dict[str, Callable[[Any], Any]] = {
    "batch": lambda data: data.batch(2),
    "map": lambda data: data.map(tf.square),
    "beside one of this graph": lambda data: tf.data.Dataset.zip((data, tf.data.Dataset.range(3))),
    "one-shot": lambda data: data.make_one_shot_iterator(),
    "initializable": lambda data: data.make_initializable_iterator(),
    "re-initializable": lambda data: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(
        data
    ),
    "reduce": lambda data: data.reduce(np.int64(0), lambda a, b: a + b),
    "single element": tf.data.experimental.get_single_element,
    "cardinality": tf.data.experimental.cardinality,
    "written": lambda data: tf.data.experimental.TFRecordWriter("x").write(data),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_dataset_is_used_in_its_own_graph(name: str) -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(3)
        if name == "written":
            data = data.map(tf.as_string)
    with tf.Graph().as_default() as other, pytest.raises(ValueError, match="from the same graph"):
        ELSEWHERE[name](data)
    with data.graph.as_default():
        ELSEWHERE[name](data.take(1))
    assert not [op for op in other.get_operations() if op.type == "MakeIterator"]


def test_datasets_of_one_graph_are_joined_in_it_and_used_in_functions() -> None:
    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(2)
    with tf.Graph().as_default():
        twice = data.concatenate(data)
    with graph.as_default():
        assert elements(twice) == [0, 1, 0, 1]
        nested = data.flat_map(lambda x: data.map(lambda y: x * 10 + y))
        assert elements(nested) == [0, 1, 10, 11]


def test_unique_is_of_int32_int64_and_texts() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        for values in ([0.5], [True], np.array([1], np.int8)):
            with pytest.raises(TypeError, match="`tf.int32`, `tf.int64`, and `tf.string`"):
                D.from_tensor_slices(values).unique()
        assert elements(D.from_tensor_slices(["b", "a", "b"]).unique()) == [b"b", b"a"]


def test_a_function_that_draws_by_the_seed_around_it_says_so() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default() as graph:
        D.range(3).map(lambda x: tf.random_shuffle([x, x]))  # no seed, no warning
        graph.seed = 10
        with pytest.warns(UserWarning, match=r"Seed 10 from outer graph.*map \(test_tf_data"):
            D.range(3).map(lambda x: tf.random_shuffle([x, x]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            D.range(3).map(lambda x: tf.random_shuffle([x, x], seed=3)).shuffle(2)


def test_a_legacy_function_does_not_assign_the_variables_that_it_makes() -> None:
    def count(_: Any) -> Any:
        with tf.variable_scope("counted", reuse=tf.AUTO_REUSE):
            v = tf.get_variable("n", [], tf.int32, tf.zeros_initializer(), use_resource=True)
        return v.assign_add(1)

    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(2)
        with pytest.raises(AttributeError, match="variable 'counted/n' is made in a function"):
            data.map_with_legacy_function(count)
        assert not tf.global_variables()
        data.map(count)  # makes the variable
        assert data.map_with_legacy_function(count, 1).graph is graph


def test_a_tensor_array_from_outside_goes_through_no_branch_in_a_function() -> None:
    def grow(array: Any, x: Any, reset: Any) -> Any:
        grown = array.write(array.size(), x)
        return tf.cond(x > 1, lambda: reset, lambda: grown), grown.stack()

    with tf.Graph().as_default():
        empty = tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[])
        scan = tf.data.experimental.scan
        with pytest.raises(NotImplementedError, match="construct a new TensorArray inside"):
            tf.data.Dataset.range(4).apply(scan(empty, lambda a, x: grow(a, x, empty)))
        inside = lambda: tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[])  # noqa: E731
        rows = tf.data.Dataset.range(4).apply(scan(empty, lambda a, x: grow(a, x, inside())))
        assert [row.tolist() for row in elements(rows)] == [[0], [0, 1], [0, 1, 2], [3]]


def test_a_list_is_no_type() -> None:
    with tf.Graph().as_default():
        for types in ([tf.int32], (tf.int32, [tf.int32])):
            with pytest.raises(TypeError, match="DType"):
                tf.data.Dataset.from_generator(lambda: iter([]), types)
            with pytest.raises(TypeError, match="DType"):
                tf.data.Iterator.from_structure(types)


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


# ---- arguments ----


def test_messages_have_the_name_of_a_dataset() -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(1, 3, name="counted").map(lambda i: tf.fill([i], i))
        with pytest.raises(tf.errors.InvalidArgumentError, match="batch 'pairs'"):
            elements(data.batch(2, name="pairs"))


def test_a_range_has_the_type_that_is_asked_for() -> None:
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


def test_a_file_that_does_not_consist_of_records_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(b"aabbc")
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.FixedLengthRecordDataset(str(tmp_path / "records"), 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="1 bytes are left"):
            session.run(data.make_one_shot_iterator().get_next())


def test_a_sparse_value_is_a_state(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(3).map(
            lambda i: tf.SparseTensor([[0, 0]], tf.reshape(i, [1]), [1, 1])
        )
        start = {"s": tf.SparseTensorValue([[0, 0]], np.array([7]), [1, 1]), "n": np.int64(0)}
        last = data.reduce(start, lambda state, s: {"s": s, "n": state["n"] + 1}, name="last")
        found = session.run(last)
        assert (found["s"].values.tolist(), found["n"]) == ([2], 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no tensors"):
            data.reduce(0, lambda state, s: ())


# ---- places ----


def test_a_place_that_was_asked_for_is_kept_before_the_first_step_and_at_the_end(
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


def test_a_place_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.Dataset.range(3).make_initializable_iterator()
        saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            saver.save(session, str(tmp_path / "begin"))


# ---- iterators ----


def test_an_iterator_of_sparse_values_is_declared_by_its_class() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        made = tf.data.Dataset.from_tensors((WHOLE, 1))
        types, shapes = made.output_types, made.output_shapes
        assert (types, made.output_classes) == (
            (tf.int64, tf.int32),
            (tf.SparseTensor, tf.Tensor),
        )
        assert [s.ndims for s in shapes] == [2, 0]
        iterator = tf.data.Iterator.from_structure(types, shapes, None, made.output_classes)
        following = iterator.get_next()
        session.run(iterator.make_initializer(made))
        assert rows_of([session.run(following)[0]])[0][1] == [5, 7, 6]
        text = iterator.string_handle()
        assert iterator.string_handle() is text and text.graph is graph
        assert iterator.string_handle("mine").op.name == "mine"
        named = tf.data.Iterator.from_string_handle(text, types, shapes, made.output_classes)
        session.run(iterator.make_initializer(made))
        assert session.run(named.get_next())[1] == 1
        dense = tf.data.Iterator.from_string_handle(text, types, shapes)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(dense.get_next())


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


def test_elements_may_become_none() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        nothing = D.from_tensors(None)
        for made in (
            D.range(2).map(lambda x: None),
            D.range(2).flat_map(lambda x: nothing),
            D.range(2).interleave(lambda x: nothing),
        ):
            assert made.element_specs is None
            assert elements(made.enumerate().map(lambda i, none: i)) == [0, 1]
        iterator = tf.data.Iterator.from_structure(None, None)
        assert iterator.make_initializer(nothing) is not None


def test_numbers_that_a_type_does_not_hold_wrap_around() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        assert [int(n) for n in elements(D.range(-2, 2, output_type=tf.uint8))] == [254, 255, 0, 1]
        assert [int(n) for n in elements(D.range(126, 129, output_type=tf.int8))] == [
            126,
            127,
            -128,
        ]


def test_options_of_a_dataset_are_options() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"expected tf\.data\.Options"):
        tf.data.Dataset.range(1).with_options({})  # type: ignore[arg-type]
