"""SqlDataset and LMDBDataset."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_elements import elements
from value_cases import TARGETS

import graphio as tf

E = tf.data.experimental
ROWS = [
    (1, "Ann", 2.5, b"n\0o", None),
    (-(2**63), "Bö", -1e300, b"", 7),
    (2**31 + 5, "12x", 9007199254740993.0, b"z", 0),
]


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = str(tmp_path / "a b?.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (i INTEGER, s TEXT, f REAL, b BLOB, n INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS)
    connection.close()
    return path


@pytest.mark.parametrize("target", TARGETS)
def test_the_rows_of_a_query_are_elements(base: str, target: str) -> None:
    with tf.Graph().as_default():
        types = (tf.int64, tf.string, tf.float64, tf.string, tf.bool)
        data = E.SqlDataset("sqlite", base, "SELECT i, s, f, b, n FROM t ORDER BY rowid", types)
        assert data.element_spec == tuple(tf.TensorSpec([], t) for t in types)
        expected = [(i, s.encode(), f, b, bool(n)) for i, s, f, b, n in ROWS]
        assert elements(data.repeat(2), target) == expected * 2


def test_values_are_cast_as_sqlite_casts_them(base: str) -> None:
    with tf.Graph().as_default():
        types = (tf.int32, tf.int8, tf.int64, tf.string, tf.string, tf.float64)
        query = "SELECT i, i, s, i, n, s FROM t ORDER BY rowid"
        found = elements(tf.contrib.data.SqlDataset("sqlite", base, query, types))
    with sqlite3.connect(base) as connection:
        cast = connection.execute(
            "SELECT CAST(s AS INTEGER), CAST(i AS TEXT), CAST(s AS REAL) FROM t ORDER BY rowid"
        ).fetchall()
    connection.close()
    wide = np.array([row[0] for row in ROWS])
    for row, wrapped, (number, text, real), given in zip(found, wide, cast, ROWS, strict=True):
        assert row[:2] == (wrapped.astype(np.int32), wrapped.astype(np.int8))
        empty = b"" if given[4] is None else str(given[4]).encode()
        assert row[2:] == (number, text.encode(), empty, real)


@pytest.mark.parametrize("target", TARGETS)
def test_the_query_is_a_tensor_that_is_read_when_the_data_begins(base: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        query = tf.placeholder(tf.string, [])
        iterator = E.SqlDataset("sqlite", base, query, (tf.int64,)).make_initializable_iterator()
        step = iterator.get_next()
        for text, first in (("SELECT i FROM t", 1), ("SELECT n FROM t WHERE n > 3", 7)):
            session.run(iterator.initializer, {query: text})
            assert session.run(step) == (first,)


def test_a_query_goes_on_at_its_saved_position(base: str, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        data = E.SqlDataset("sqlite", base, "SELECT s FROM t ORDER BY rowid", (tf.string,))
        step = data.make_one_shot_iterator().get_next()
        tf.Variable(0)
        saver = tf.train.Saver()  # of all variables, and so of positions
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            path = saver.save(session, str(tmp_path / "m"))
            session.run(step)
            saver.restore(session, path)
            assert session.run(step) == (ROWS[1][1].encode(),)


def test_what_sqlite_refuses_is_an_error_of_the_run(base: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    refusals: list[tuple[Any, str, str, Any, str]] = [
        (tf.errors.InvalidArgumentError, "mysql", base, (tf.int64,), "mysql, is not supported"),
        (tf.errors.InvalidArgumentError, "sqlite", base, (tf.float32,), "must be one of"),
        (tf.errors.InvalidArgumentError, "sqlite", base, (tf.int64,) * 2, "columns in query"),
        (tf.errors.UnknownError, "sqlite", missing, (tf.int64,), "unable to open"),
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        for kind, driver, path, types, message in refusals:
            data = E.SqlDataset(driver, path, "SELECT i FROM t", types)
            with pytest.raises(kind, match=message):
                session.run(data.make_one_shot_iterator().get_next())
        for query, kind, message in (
            ("SELEKT i", tf.errors.UnknownError, "syntax error"),
            ("DELETE FROM t", tf.errors.InvalidArgumentError, "columns in query"),
        ):
            data = E.SqlDataset("sqlite", base, query, (tf.int64,))
            with pytest.raises(kind, match=message):
                session.run(data.make_one_shot_iterator().get_next())
        data = E.SqlDataset("sqlite", base, "SELECT i FROM t", (tf.int64,))
        assert len(elements(data)) == 3  # nothing was deleted
    assert not Path(missing).exists()


# ---- LMDB ----


@pytest.fixture
def entries(tmp_path: Path) -> list[str]:
    """A file and a folder of entries, by the package itself."""
    lmdb = pytest.importorskip("lmdb")
    paths = [str(tmp_path / "one.mdb"), str(tmp_path / "two")]
    for path, keys in zip(paths, ("cab", "de"), strict=True):
        with lmdb.open(path, subdir=path.endswith("two")) as file, file.begin(write=True) as write:
            for key in keys:
                write.put(key.encode(), key.upper().encode() * 3)
    return paths


@pytest.mark.parametrize("target", TARGETS)
def test_the_entries_of_lmdb_files_come_by_key(entries: list[str], target: str) -> None:
    with tf.Graph().as_default():
        data = tf.contrib.data.LMDBDataset(entries)
        assert data.element_spec == (tf.TensorSpec([], tf.string),) * 2
        expected = [(k.encode(), k.upper().encode() * 3) for k in "abcde"]
        assert elements(data.repeat(2), target) == expected * 2
        assert elements(tf.contrib.data.LMDBDataset(entries[0]).skip(2), target) == expected[2:3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="No such file"):
            elements(tf.contrib.data.LMDBDataset(entries[0] + "x"), target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_reader_takes_lmdb_files_from_a_queue(entries: list[str], target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        queue = tf.FIFOQueue(9, tf.string)
        reader = tf.LMDBReader()
        key, value = reader.read(queue)
        session.run([queue.enqueue_many([entries]), queue.close()])
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(tuple(session.run([key, value])))
        assert found == [(k.encode(), k.upper().encode() * 3) for k in "abcde"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "lmdb", None)
    with tf.Graph().as_default():
        for make in (lambda: tf.contrib.data.LMDBDataset("x"), tf.LMDBReader):
            with pytest.raises(ImportError, match=r"needs lmdb: .*lmdb"):
                make()
