"""tf.train.verify, list_checkpoint and diff_checkpoints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import stores
from graphio.train.checkpoints import comparing, inspecting

Array = np.ndarray[Any, Any]


def trained(folder: Path, steps: int = 1) -> list[str]:
    """Prefixes of checkpoints of a small training with all kinds of entries, in three files."""
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="w")
        tf.Variable([b"some", b"text"], name="words")
        noise = tf.random_uniform([2], seed=1, name="noise")
        number = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
        train = tf.train.AdamOptimizer(0.5).minimize(tf.reduce_sum(w * w))
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(shard_bytes=24)
        prefixes = []
        for step in range(1, steps + 1):
            session.run([train, noise, number])
            blobs = {"note": b"12345"}
            prefixes.append(saver.save(session, str(folder / "m"), step, blobs=blobs))
        return prefixes


# ---- verify ----


def test_a_report_counts_what_was_checked(tmp_path: Path) -> None:
    prefix, newest = trained(tmp_path, 2)
    files = [path for path in tmp_path.iterdir() if path.name.startswith("m-1")]
    report = tf.train.verify(prefix)
    index = read_checkpoint(prefix).index
    assert report.prefixes == (prefix,)
    assert report.files == len(files) == 2 + len(index.shard) > 3
    assert report.bytes == sum(path.stat().st_size for path in files)
    assert report.variables == len(index.variable) == 6 and report.resources == 3
    assert "1 checkpoint, " in str(report) and "6 variables, 3 resources" in str(report)
    assert tf.train.verify(tmp_path).prefixes == (newest,)
    both = tf.train.verify(tmp_path, all=True)
    assert both.prefixes == (prefix, newest) and both.variables == 12
    assert "2 checkpoints" in str(both)


def test_all_that_is_damaged_is_listed_at_once(tmp_path: Path) -> None:
    good, bad, worse, worst = trained(tmp_path, 4)
    shards = {
        prefix: sorted(tmp_path.glob(f"{Path(prefix).name}.data*")) for prefix in (bad, worse)
    }
    index = read_checkpoint(bad).index
    for shard in shards[bad]:  # one byte of every variable
        data = bytearray(shard.read_bytes())
        for row in index.variable:
            if index.shard[row.shard].file == shard.name:
                data[row.offset] ^= 64
        shard.write_bytes(data)
    meta = tmp_path / (Path(bad).name + ".meta")
    meta.write_bytes(meta.read_bytes()[:-1])
    shards[worse][0].unlink()
    shards[worse][1].write_bytes(shards[worse][1].read_bytes() + b"x")
    head = bytearray(shards[worse][2].read_bytes())
    head[9] ^= 1
    shards[worse][2].write_bytes(head)
    Path(worst + ".index").write_bytes(b"")
    with pytest.raises(tf.errors.DataLossError) as error:
        tf.train.verify(tmp_path, all=True)
    text = str(error.value)
    assert text.startswith("3 of 4 checkpoints damaged:")
    for row in index.variable:
        assert f"{bad}: the checksum of variable '{row.name}'" in text
    assert f"{bad}: the graph file {meta.name} is damaged" in text
    assert f"{worse}: " in text and f"no file '{shards[worse][0]}'" in text
    assert f"{worse}: {shards[worse][1].name} has " in text
    assert f"{worse}: the header of {shards[worse][2].name} is damaged" in text
    assert f"{worst}: {Path(worst).name}.index: the checkpoint's index is damaged" in text
    assert f"{good}:" not in text
    assert len(text.splitlines()) == 1 + len(index.variable) + 1 + 3 + 1


def test_no_flipped_bit_and_no_cut_is_missed(tmp_path: Path) -> None:
    values = {"a": np.float32([1, 2]), "b": np.array([True]), "c": np.array([b"x"], object)}
    write_checkpoint(tmp_path / "m", values, {"g": (1, 2), "n": b"n"}, meta=b"graph", shard_bytes=8)
    prefix = str(tmp_path / "m")
    assert tf.train.verify(prefix).files == len(list(tmp_path.iterdir())) == 5
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for at in range(len(whole)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
            with pytest.raises((tf.errors.DataLossError, tf.errors.UnimplementedError)):
                tf.train.verify(prefix)
        for data in (whole[:-1], whole + b"\0"):
            path.write_bytes(data)
            with pytest.raises(tf.errors.DataLossError):
                tf.train.verify(prefix)
        path.write_bytes(whole)
    tf.train.verify(prefix)


def test_a_save_that_comes_in_between_is_checked_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = str(tmp_path / "m")
    write_checkpoint(prefix, {"v": np.float32([1])})
    (old,) = tmp_path.glob("*.safetensors")
    read, calls = inspecting.read_index_of, []

    def overtaken(*given: Any) -> Any:
        index = read(*given)
        if not calls:
            write_checkpoint(prefix, {"v": np.float32([2]), "w": np.float32([3])})
            assert not old.exists()
        calls.append(1)
        return index

    monkeypatch.setattr(inspecting, "read_index_of", overtaken)
    assert tf.train.verify(prefix).variables == 2


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (prefix,) = trained(tmp_path)
    meta = tmp_path / "m-1.meta"
    meta.unlink()
    meta.symlink_to(tmp_path / "checkpoint")
    with pytest.raises(tf.errors.DataLossError, match="m-1.meta"):
        tf.train.verify(prefix)


def test_a_graph_file_that_is_gone_is_no_damage(tmp_path: Path) -> None:
    (prefix,) = trained(tmp_path)
    (tmp_path / "m-1.meta").unlink()
    tf.train.verify(prefix)


def test_checkpoints_that_a_run_deletes_meanwhile_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three, four = trained(tmp_path, 4)
    names, opened = stores.LocalStore.names, stores.LocalStore.open

    def deleted_after_the_listing(self: stores.LocalStore) -> list[str]:
        found = names(self)
        if Path(one + ".index").exists():
            tf.train.remove_checkpoint(one)
        return found

    def deleted_when_opened(self: stores.LocalStore, name: str) -> Any:
        if name.startswith(Path(three).name) and Path(three + ".index").exists():
            tf.train.remove_checkpoint(three)
        return opened(self, name)

    monkeypatch.setattr(stores.LocalStore, "names", deleted_after_the_listing)
    monkeypatch.setattr(stores.LocalStore, "open", deleted_when_opened)
    assert tf.train.verify(tmp_path, all=True).prefixes == (two, four)


def test_what_is_not_there_cannot_be_checked(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint"):
        tf.train.verify(tmp_path / "m")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.verify(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="there is no checkpoint in"):
        tf.train.verify(tmp_path, all=True)


def test_files_of_others_are_checked_as_far_as_they_can_be(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.float32([1, 2]), b=np.int64(3))
    report = tf.train.verify(tmp_path / "x.npz")
    assert (report.files, report.variables, report.bytes) == (1, 2, 16)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[data.index(np.float32([1, 2]).tobytes())] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="1 of 1 checkpoints damaged"):
        tf.train.verify(tmp_path / "x.npz")


# ---- listing ----


def test_a_listing_has_a_row_for_each_entry(tmp_path: Path) -> None:
    (prefix,) = trained(tmp_path)
    listing = tf.train.list_checkpoint(prefix)
    rows = {row.name: row for row in listing}
    assert listing.step == 1 and len(listing) == len(rows) == 9
    assert rows["w"][1:5] == ("variable", "float32", (2, 3), 24)
    assert rows["w/Adam"].kind == "slot" and rows["w/Adam"].of == "w"
    assert rows["words"][1:5] == ("variable", "string", (2,), 24)
    assert rows["beta1_power"].shape == ()
    kinds = {row.kind: row.name for row in listing if row.shape is None}
    assert kinds == {
        "generator": "noise/generator", "iterator": "OneShotIterator", "blob": "note",
    }  # fmt: skip
    assert rows["note"].bytes == 5 and rows["note"].shard is None
    assert len({row.shard for row in listing} - {None}) > 1
    lines = str(listing).splitlines()
    assert (
        lines[0]
        == f"checkpoint '{prefix}', step 1: 9 entries, {sum(r.bytes for r in rows.values())} bytes"
    )
    assert lines[1].split() == ["name", "kind", "dtype", "shape", "bytes", "shard"]
    (line,) = [line for line in lines if line.startswith("w/Adam_1 ")]
    assert "slot of w" in line and "float32  [2, 3]" in line
    assert [row.name for row in tf.train.list_checkpoint(tmp_path)] == [row.name for row in listing]


def test_a_listing_reads_no_values(tmp_path: Path) -> None:
    (prefix,) = trained(tmp_path)
    for shard in tmp_path.glob("*.safetensors"):
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1
        shard.write_bytes(data)
    assert len(tf.train.list_checkpoint(prefix)) == 9


def test_files_of_others_are_listed(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", b=np.zeros((2, 3), np.float16), a=np.array([True]))
    listing = tf.train.list_checkpoint(tmp_path / "x.npz")
    assert [tuple(row) for row in listing] == [
        ("a", "variable", "bool", (1,), 1, None, ""),
        ("b", "variable", "float16", (2, 3), 12, None, ""),
    ]
    assert "x.npz" in str(listing)


# ---- diff ----


def test_the_largest_difference_comes_first(tmp_path: Path) -> None:
    shared = {
        "same": np.float32([1, np.nan]),
        "kind": np.float32([1, 2]),
        "text": np.array([b"a"], object),
    }
    one = {
        **shared,
        "near": np.float32([1, 2]),
        "far": np.int64([-(1 << 62), 0]),
        "form": np.zeros((2, 1)),
        "left": np.zeros(3),
        "lost": np.float64([1, np.nan]),
    }
    other = {
        **shared,
        "near": np.float32([1, 2.5]),
        "far": np.int64([1 << 62, 0]),
        "form": np.zeros((1, 2)),
        "right": np.zeros(2),
        "lost": np.float64([1, 5]),
        "kind": np.float64([1, 2.25]),
        "text": np.array([b"b"], object),
    }
    write_checkpoint(tmp_path / "a", one, {"g": (1, 2), "h": (1, 2), "n": b"x"})
    write_checkpoint(tmp_path / "b", other, {"g": (1, 2), "h": (1, 3), "m": b"yy"})
    found = tf.train.diff_checkpoints(tmp_path / "a", tmp_path / "b")
    assert [(row.name, row.status, row.largest, row.relative, row.count) for row in found] == [
        ("form", "shape", None, None, 0),
        ("lost", "differs", math.inf, math.inf, 1),
        ("text", "differs", None, None, 1),
        ("far", "differs", float(1 << 63), 2.0, 1),
        ("near", "differs", 0.5, 0.2, 1),
        ("kind", "dtype", 0.25, 0.25 / 2.25, 1),
        ("h", "differs", None, None, 0),
        ("left", "only in a", None, None, 0),
        ("n", "only in a", None, None, 0),
        ("m", "only in b", None, None, 0),
        ("right", "only in b", None, None, 0),
        ("g", "same", None, None, 0),
        ("same", "same", 0.0, 0.0, 0),
    ]
    assert not found.equal
    lines = str(found).splitlines()
    assert lines[0].endswith("a'") and lines[1].endswith("b'")
    assert lines[2] == "2 of 13 have the same bits"
    assert lines[3].split() == ["name", "status", "is", "largest", "relative", "differing"]
    assert "float64 [2, 1] | float64 [1, 2]" in lines[4]
    (line,) = [line for line in lines if line.startswith("near ")]
    assert line.split()[-5:] == ["0.5", "0.2", "1", "of", "2"]
    assert not any(line.startswith("same ") for line in lines)


def test_a_checkpoint_equals_itself_and_what_was_exported(tmp_path: Path) -> None:
    prefix, later = trained(tmp_path, 2)
    assert tf.train.diff_checkpoints(prefix, prefix).equal
    assert str(tf.train.diff_checkpoints(tmp_path, later)).endswith("9 of 9 have the same bits")
    tf.train.export_variables(prefix, tmp_path / "x.npz")
    found = tf.train.diff_checkpoints(prefix, tmp_path / "x.npz")
    statuses = {row.name: row.status for row in found}
    assert statuses["w"] == statuses["w/Adam"] == "same"
    assert statuses["noise/generator"] == "only in a"
    assert {row.name: row.status for row in tf.train.diff_checkpoints(prefix, later)}[
        "w"
    ] == "differs"


def test_damage_is_no_difference(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a", {"v": np.float32([1])})
    write_checkpoint(tmp_path / "b", {"v": np.float32([1])})
    (shard,) = tmp_path.glob("b.data*")
    shard.write_bytes(shard.read_bytes()[:-1] + b"\1")
    with pytest.raises(tf.errors.DataLossError, match="variable 'v'"):
        tf.train.diff_checkpoints(tmp_path / "a", tmp_path / "b")


REALS = [0.0, -0.0, 1.0, -2.5, 1e30, 1e-30, math.inf, -math.inf, math.nan]
WHOLE = [0, 1, -1, 127, -128, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63)]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    kinds = st.sampled_from(["float16", "float32", "float64", "complex64", "int8", "int64", "bool"])
    size = draw(st.integers(0, 6))

    def array(kind: str) -> Array:
        pool: list[Any] = WHOLE if kind.startswith("int") else REALS
        if kind == "bool":
            pool = [True, False]
        if kind == "int8":
            pool = WHOLE[:5]
        if kind == "float16":
            pool = [x for x in REALS if not 1e5 < abs(x) < math.inf]
        found = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
        return np.array(found, kind)

    one = array(draw(kinds))
    other = array(one.dtype.name if draw(st.booleans()) else draw(kinds))
    return one, other


def gap(x: Any, y: Any) -> float:
    """The difference of two elements, by Python's own numbers."""
    x, y = x.item(), y.item()
    unknown = [isinstance(n, (float, complex)) and n != n for n in (x, y)]
    if any(unknown):
        return 0.0 if all(unknown) else math.inf
    return 0.0 if x == y else float(abs(x - y))


@settings(max_examples=300, deadline=None)
@given(pairs())
def test_differences_are_those_of_the_elements(pair: tuple[Array, Array]) -> None:
    x, y = pair
    row = comparing._compared("v", ("", ""), x, y)
    gaps = [gap(p, q) for p, q in zip(x, y, strict=True)]
    assert row.largest == pytest.approx(max(gaps, default=0.0), rel=1e-6)
    if x.dtype == y.dtype:
        assert row.count == sum(p.tobytes() != q.tobytes() for p, q in zip(x, y, strict=True))
        assert row.status == ("differs" if row.count else "same")
    else:
        assert row.count == sum(g != 0 for g in gaps) and row.status == "dtype"
    parts = [
        math.inf if math.isinf(g) else g / max(abs(p.item()), abs(q.item()))
        for g, p, q in zip(gaps, x, y, strict=True)
        if g
    ]
    assert row.relative == pytest.approx(max(parts, default=0.0), rel=1e-6)


def test_large_variables_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1000.0)
    y = x.copy()
    y[[3, 999]] = -1, -2
    whole = comparing._compared("v", ("", ""), x, y)
    monkeypatch.setattr(comparing, "_PIECE", 7)
    assert comparing._compared("v", ("", ""), x, y) == whole
    assert (whole.count, whole.largest) == (2, 1001.0)
