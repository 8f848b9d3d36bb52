"""tf.data of Arrow tables and Parquet files."""

from __future__ import annotations

import builtins
import io
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_pipelines import drain, plain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ArrowDataset = tf.data.experimental.ArrowDataset
ParquetDataset = tf.data.experimental.ParquetDataset
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def people(first: int = 0, count: int = 10) -> Any:
    """A table of numbers, strings, categories and vectors."""
    rows = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "half": pa.array([i / 2 for i in rows], pa.float32()),
            "even": pa.array([i % 2 == 0 for i in rows]),
            "name": pa.array([f"n{i}é" for i in rows]),
            "kind": pa.array(["ab"[i % 2] for i in rows]).dictionary_encode(),
            "pair": pa.array([[i, -i] for i in rows], pa.list_(pa.int32(), 2)),
        }
    )


def expected(i: int) -> dict[str, Any]:
    kind = b"ab"[i % 2 : i % 2 + 1]
    return {
        "id": i, "half": i / 2, "even": i % 2 == 0, "name": f"n{i}é".encode(), "kind": kind,
        "pair": [i, -i],
    }  # fmt: skip


def files(tmp_path: Path) -> list[str]:
    """Three files with row groups of 4, one of them without a row."""
    paths = []
    for i, (first, count) in enumerate([(0, 10), (10, 0), (10, 7)]):
        paths.append(str(tmp_path / f"{i}.parquet"))
        parquet.write_table(people(first, count), paths[-1], row_group_size=4)
    return paths


def numbers(count: int = 17) -> list[int]:
    return list(range(count))


# ---- elements ----


@TARGETS
def test_rows_of_a_table_are_dicts_of_tensors(target: str) -> None:
    assert drain(lambda: ArrowDataset(people()), target) == [expected(i) for i in range(10)]
    with tf.Graph().as_default():
        data = ArrowDataset(people())
    types = {name: dtype.name for name, dtype in data.output_types.items()}
    assert types == {
        "id": "int64", "half": "float32", "even": "bool", "name": "string", "kind": "string",
        "pair": "int32",
    }  # fmt: skip
    assert data.output_shapes["pair"].as_list() == [2] and data.output_shapes["id"].ndims == 0


@TARGETS
def test_rows_of_parquet_files_follow_each_other(target: str, tmp_path: Path) -> None:
    paths = files(tmp_path)
    found = drain(lambda: ParquetDataset(paths), target)
    assert found == [expected(i) for i in range(17)]
    assert drain(lambda: ParquetDataset(Path(paths[2]), ["id"])) == [(i,) for i in range(10, 17)]


def test_columns_are_chosen_in_their_order(tmp_path: Path) -> None:
    want = [(f"n{i}é".encode(), i) for i in range(10)]
    assert drain(lambda: ArrowDataset(people(), ["name", "id"])) == want
    paths = files(tmp_path)
    assert drain(lambda: ParquetDataset(paths, ["name", "id"]))[:10] == want


@pytest.mark.parametrize("make", [lambda t: t.to_batches(3), lambda t: t.to_batches()[0],
                                  lambda t: t.to_reader(4), lambda t: t.slice(0)])  # fmt: skip
def test_record_batches_and_readers_are_tables(make: Any) -> None:
    assert drain(lambda: ArrowDataset(make(people()), ["id"])) == [(i,) for i in range(10)]


@TARGETS
@pytest.mark.parametrize("drop", [False, True])
def test_batches_go_on_over_groups_and_files(target: str, drop: bool, tmp_path: Path) -> None:
    paths = files(tmp_path)
    for make in (
        lambda: ParquetDataset(paths, ["id", "pair", "name"], None, 5, drop),
        lambda: ArrowDataset(people(0, 17).to_batches(4), ["id", "pair", "name"], None, 5, drop),
    ):
        found = drain(make, target)
        assert [len(ids) for ids, _, _ in found] == [5, 5, 5] + ([] if drop else [2])
        assert [i for ids, _, _ in found for i in ids] == numbers(15 if drop else 17)
        assert found[1][1] == [[i, -i] for i in range(5, 10)]
        assert found[1][2] == [f"n{i}é".encode() for i in range(5, 10)]
        with tf.Graph().as_default():
            shapes = make().output_shapes
        assert shapes[1].as_list() == [5 if drop else None, 2]


def test_lists_of_different_lengths_are_vectors(tmp_path: Path) -> None:
    lists = [[1.0], [], [2.0, 3.0], [4.0, 5.0, 6.0], [7.0]]
    strings = [["a"], ["b", "c"], [], ["d"], ["e"]]
    table = pa.table({"x": pa.array(lists, pa.list_(pa.float32())), "t": pa.array(strings)})
    path = str(tmp_path / "lists.parquet")
    parquet.write_table(table, path, row_group_size=2)
    want = [
        {"x": x, "t": [text.encode() for text in t]} for x, t in zip(lists, strings, strict=True)
    ]
    assert drain(lambda: ArrowDataset(table)) == drain(lambda: ParquetDataset(path)) == want
    assert drain(lambda: ArrowDataset(table.slice(1, 3))) == want[1:4]
    padded = drain(lambda: ParquetDataset(path, ["x"]).padded_batch(3, ([None],)))
    assert padded[0][0] == [[1, 0], [0, 0], [2, 3]]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"\['x'\] differ.*padded_batch"):
        ParquetDataset(path, ["x"], batch_size=2)


def test_something_may_stand_for_what_is_missing(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1, None, 3], pa.int32()), "s": pa.array([None, "x", None])})
    path = str(tmp_path / "nulls.parquet")
    parquet.write_table(table, path)
    fill = {"a": -1, "s": "?"}
    want = [{"a": 1, "s": b"?"}, {"a": -1, "s": b"x"}, {"a": 3, "s": b"?"}]
    assert drain(lambda: ArrowDataset(table, missing=fill)) == want
    assert drain(lambda: ParquetDataset(path, missing=fill)) == want
    message = r"'a' has 1 missing values, the first at 1; .*missing=\{'a': \.\.\.\}"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        ArrowDataset(table)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"nulls.parquet, row group 0.*{message}"
    ):
        drain(lambda: ParquetDataset(path))


def test_strings_of_polars_are_taken() -> None:
    """Data frames of polars give views of strings, also as entries of a dictionary."""
    views = pa.array(["x", "yy"], pa.string_view())
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.uint32()), views)
    table = pa.table(
        {
            "view": pa.array(["a", "bb", "long enough for a separate buffer"], pa.string_view()),
            "bytes": pa.array([b"\xff", b"", b"1"], pa.binary_view()),
            "entry": coded,
            "list": pa.array([["a"], [], ["b", "c"]], pa.large_list(pa.string_view())),
            "pair": pa.array([["a", "b"]] * 3, pa.list_(pa.string_view(), 2)),
            "fixed": pa.array([b"ab", b"cd", b"ef"], pa.binary(2)),
            "runs": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([0.5, 1.5])),
        }
    )
    found = drain(lambda: ArrowDataset(table))
    assert [row["view"] for row in found] == [b"a", b"bb", b"long enough for a separate buffer"]
    assert [row["bytes"] for row in found] == [b"\xff", b"", b"1"]
    assert [row["entry"] for row in found] == [b"yy", b"x", b"yy"]
    assert [list(row["list"]) for row in found] == [[b"a"], [], [b"b", b"c"]]
    assert [list(row["pair"]) for row in found] == [[b"a", b"b"]] * 3
    assert [row["fixed"] for row in found] == [b"ab", b"cd", b"ef"]
    assert [row["runs"] for row in found] == [0.5, 0.5, 1.5]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.large_string()])
def test_a_null_among_strings_is_reported_by_its_column_or_filled(kind: Any) -> None:
    given = ["a", None] if kind != pa.binary_view() else [b"a", None]
    for column in (pa.array(given, kind), pa.chunked_array([pa.array(given, kind)] * 2)):
        table = pa.table({"s": column})
        message = "column 's' has . missing values, the first at 1"
        with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
            ArrowDataset(table)
        rows = [{"s": b"a"}, {"s": b"?"}] * (len(table) // 2)
        assert drain(lambda table=table: ArrowDataset(table, missing={"s": "?"})) == rows


def test_a_null_entry_of_a_dictionary_is_reported_by_its_column() -> None:
    table = pa.table({"c": pa.array(["x", None, "x"]).dictionary_encode()})
    with tf.Graph().as_default(), pytest.raises(ValueError, match="column 'c' has 1 missing"):
        ArrowDataset(table)
    assert [row["c"] for row in drain(lambda: ArrowDataset(table, missing={"c": "?"}))] == [
        b"x", b"?", b"x",
    ]  # fmt: skip


def test_a_data_frame_of_polars_is_a_table() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "s": ["a", "b"],
            "c": polars.Series(["x", "y"], dtype=polars.Categorical),
            "n": [1.5, 2.5],
        }
    )
    assert drain(lambda: ArrowDataset(frame)) == [
        {"s": b"a", "c": b"x", "n": 1.5},
        {"s": b"b", "c": b"y", "n": 2.5},
    ]


def test_a_table_shuffles_maps_and_batches_as_other_data_do(tmp_path: Path) -> None:
    paths = files(tmp_path)

    def pipeline(data: Any) -> Any:
        return data.map(lambda i, x: (i * 2, x)).shuffle(20, seed=3).repeat(2).batch(4)

    found = drain(lambda: pipeline(ParquetDataset(paths, ["id", "half"])))
    columns = np.arange(17), np.arange(17, dtype=np.float32) / 2
    want = drain(lambda: pipeline(tf.data.Dataset.from_tensor_slices(columns)))
    assert found == want and len(found) == 9


#: Arrow's type, and values of it
KINDS: dict[str, tuple[Any, Any]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "half": (pa.float16(), st.sampled_from([0.0, -1.5, 65504.0])),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.large_string(), st.text(max_size=3)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "entry": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b"])),
    "pair": (pa.list_(pa.int16(), 2), st.tuples(st.integers(-9, 9), st.integers(-9, 9))),
    "some": (pa.list_(pa.float64()), st.lists(st.sampled_from([0.5, 1.5]), max_size=3)),
    "many": (pa.large_list(pa.string()), st.lists(st.text(max_size=2), max_size=3)),
    "flags": (pa.list_(pa.bool_(), 1), st.tuples(st.booleans())),
}


def as_fetched(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_fetched(each) for each in value]
    return value.encode() if isinstance(value, str) else value


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_table_has_the_rows_that_pyarrow_says(data: Any) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, unique=True))
    count = data.draw(st.integers(0, 9))
    made = {
        name: pa.array(
            data.draw(st.lists(KINDS[name][1], min_size=count, max_size=count)), KINDS[name][0]
        )
        for name in names
    }
    table = pa.table(made)
    cut = data.draw(st.integers(0, count))
    table = pa.concat_tables([table.slice(cut), table.slice(0, cut)]).slice(
        data.draw(st.integers(0, 2))
    )
    want = [{name: as_fetched(row[name]) for name in names} for row in table.to_pylist()]
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, row_group_size=data.draw(st.integers(1, 4)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        path.write_bytes(buffer.getvalue())
        assert drain(lambda: ArrowDataset(table)) == want
        assert drain(lambda: ParquetDataset(path)) == want
        if not {"some", "many"} & set(names):
            size = data.draw(st.integers(1, 5))
            for make, source in ((ArrowDataset, table), (ParquetDataset, path)):
                batches = drain(partial(make, source, names, batch_size=size))
                rows = [
                    dict(zip(names, row, strict=True))
                    for b in batches
                    for row in zip(*b, strict=True)
                ]
                assert rows == want and all(len(b[0]) == size for b in batches[:-1])


# ---- positions ----


@pytest.mark.parametrize("steps", [1, 3, 4, 5, 9, 13])
@pytest.mark.parametrize("kind", ["rows", "batches", "lists", "shuffled"])
def test_an_iterator_goes_on_where_a_checkpoint_has_it(
    kind: str, steps: int, tmp_path: Path
) -> None:
    paths = files(tmp_path)
    table = pa.table({"x": pa.array([list(range(i)) for i in range(14)])})
    makes: dict[str, Any] = {
        "rows": lambda: ParquetDataset(paths),
        "batches": lambda: ParquetDataset(paths, ["id", "name"], batch_size=3).repeat(3),
        "lists": lambda: ArrowDataset(table.to_batches(3)),
        "shuffled": lambda: ParquetDataset(paths, ["id"]).shuffle(6, seed=1).repeat(2).batch(2),
    }

    def session_of(graph: Any) -> tuple[Any, Any, Any]:
        with graph.as_default():
            element = makes[kind]().make_one_shot_iterator().get_next()
            tf.train.get_or_create_global_step()
            return tf.Session(graph=graph), element, tf.train.Saver()

    session, element, saver = session_of(tf.Graph())
    with session, session.graph.as_default():
        session.run(tf.global_variables_initializer())
        before = rest(session, element, steps)
        saver.save(session, str(tmp_path / "saved"))
        want = rest(session, element)
    again, element, saver = session_of(tf.Graph())
    with again:
        saver.restore(again, str(tmp_path / "saved"))
        assert rest(again, element) == want
    assert len(before) == steps and want


def test_a_position_of_other_files_is_not_taken(tmp_path: Path) -> None:
    paths = files(tmp_path)
    prefix = str(tmp_path / "saved")

    def made(columns: list[str]) -> tuple[Any, Any, Any]:
        with tf.Graph().as_default() as graph:
            element = ParquetDataset(paths, columns).make_one_shot_iterator().get_next()
            tf.train.get_or_create_global_step()
            return tf.Session(graph=graph), element, tf.train.Saver()

    session, element, saver = made(["id"])
    with session, session.graph.as_default():
        session.run(tf.global_variables_initializer())
        rest(session, element, 5)
        saver.save(session, prefix)
    parquet.write_table(people(10, 8), paths[2])
    other, element, saver = made(["id"])
    with other, pytest.warns(UserWarning, match="iterator"):
        saver.restore(other, prefix)
        assert plain(other.run(element)) == (0,)


# ---- refusals ----


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    paths = files(tmp_path)
    message = r"no column 'nam'; there are \['id', 'half', .*did you mean 'name'\?"
    for make in (lambda c: ArrowDataset(people(), **c), lambda c: ParquetDataset(paths, **c)):
        for wrong in ({"columns": ["id", "nam"]}, {"missing": {"nam": 0}}):
            with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
                make(wrong)
        with tf.Graph().as_default(), pytest.raises(ValueError, match="one or more, each once"):
            make({"columns": ["id", "id"]})
        with tf.Graph().as_default(), pytest.raises(ValueError, match="batch_size is 0, expected"):
            make({"batch_size": 0})


@pytest.mark.parametrize(
    "kind",
    ["timestamp[us]", "decimal128(5, 2)", "struct<a: int64>", "list<item: list<item: int8>>"],
)
def test_a_type_that_no_tensor_has_is_refused(kind: str) -> None:
    types = {
        "timestamp[us]": pa.timestamp("us"),
        "decimal128(5, 2)": pa.decimal128(5, 2),
        "struct<a: int64>": pa.struct({"a": pa.int64()}),
        "list<item: list<item: int8>>": pa.list_(pa.list_(pa.int8())),
    }
    table = pa.table({"fine": pa.array([1]), "when": pa.array([None], types[kind])})
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="column 'when' is .*, which no tensor has"):
            ArrowDataset(table)
        assert ArrowDataset(table, ["fine"]).output_types == (tf.int64,)


def test_files_that_are_none_or_differ_are_refused(tmp_path: Path) -> None:
    paths = files(tmp_path)
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.NotFoundError, match="nowhere.parquet"):
            ParquetDataset(tmp_path / "nowhere.parquet")
        (tmp_path / "text").write_text("no Parquet at all")
        with pytest.raises(tf.errors.DataLossError, match="text cannot be read as Parquet"):
            ParquetDataset(tmp_path / "text")
        with pytest.raises(TypeError, match="expected a name or a list of names"):
            ParquetDataset(tf.constant("a.parquet"))
        with pytest.raises(TypeError, match="got int, expected a pyarrow.Table"):
            ArrowDataset(3)
    parquet.write_table(pa.table({"id": [1]}), paths[1])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"1.parquet has no columns \['half'\]"
    ):
        drain(lambda: ParquetDataset(paths, ["id", "half"]))
    parquet.write_table(pa.table({"id": ["a"]}), paths[1])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="'id' is string, where the first file"
    ):
        drain(lambda: ParquetDataset(paths, ["id"]))


def test_damage_inside_of_a_file_is_an_error_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    values = np.random.RandomState(0).randint(0, 1 << 60, 4000)
    parquet.write_table(pa.table({"a": values}), path, row_group_size=1000, use_dictionary=False)
    content = bytearray(path.read_bytes())
    start = parquet.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    with tf.Graph().as_default(), tf.Session() as session:
        element = ParquetDataset(path, ["a"], batch_size=1000).make_one_shot_iterator().get_next()
        assert session.run(element)[0].tolist() == values[:1000].tolist()
        session.run(element)
        with pytest.raises(tf.errors.DataLossError, match="damaged.parquet cannot be read"):
            session.run(element)


def test_who_ignores_errors_goes_on_behind_a_bad_row_group(tmp_path: Path) -> None:
    path = str(tmp_path / "nulls.parquet")
    values = [0, 1, 2, None, 4, 5, 6]
    parquet.write_table(pa.table({"a": pa.array(values, pa.int32())}), path, row_group_size=2)

    def lenient() -> Any:
        data = ParquetDataset(path, ["a"]).map(lambda a: a)
        return data.apply(tf.data.experimental.ignore_errors())

    assert drain(lenient) == [0, 1, 4, 5, 6]


def test_a_later_file_of_another_kind_is_an_error_of_the_run(tmp_path: Path) -> None:
    paths = files(tmp_path)
    parquet.write_table(pa.table({"id": pa.array([1], pa.timestamp("us"))}), paths[2])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="2.parquet, row group 0.*no tensor has"
    ):
        drain(lambda: ParquetDataset(paths, ["id"]))


@pytest.mark.parametrize("name, value", [("id", "x"), ("name", 3), ("pair", "x"), ("kind", 1.5)])
def test_what_stands_for_missing_values_must_be_of_the_columns_type(
    name: str, value: Any, tmp_path: Path
) -> None:
    paths = files(tmp_path)
    for make in (ArrowDataset, ParquetDataset):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=f"missing=.'{name}': .* no"):
            make(people() if make is ArrowDataset else paths, missing={name: value})


def test_without_pyarrow_what_to_install_is_reported(monkeypatch: Any) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] == "pyarrow":
            raise ImportError("no module")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with tf.Graph().as_default():
        for make in (lambda: ArrowDataset({}), lambda: ParquetDataset("a.parquet")):
            with pytest.raises(ImportError, match=r"pip install .*'\.\[tables\]'"):
                make()
