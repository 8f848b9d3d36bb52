"""Checkpoints read back: values of all sizes, into given arrays and new ones, and contents that are
invalid though the checksums are right (docs/security.md: S3, S17)."""

from __future__ import annotations

import contextlib
import errno
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphio.schema import checkpoint_index, tensors
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.storage import stores
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_state, checkpoint_text

Array = np.ndarray[Any, Any]
LARGE = 1 << 17  # such are read by themselves, smaller ones together
BOOL, UINT8 = 9, 2


def values() -> dict[str, Array]:
    random = np.random.RandomState(0)
    return {
        "a": np.float32([1, 2]),
        "b": random.randn(LARGE).astype(np.float32),
        "c": np.array([b"text" * LARGE, b"", b"x"], object),
        "d": random.randint(0, 2, LARGE).astype(bool),
        "e": np.array([b"small"], object),
        "f": random.randn(3, 5),
        "g": random.randint(0, 2, (2, LARGE)).astype(np.uint8),
    }


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / "m", values(), {}, step=1, meta=b"the graph")
    return tmp_path / "m"


def changed(prefix: Path, change: Callable[[CheckpointIndex], object]) -> None:
    """Writes the index with something else in it and a right checksum."""
    path = prefix.with_suffix(".index")
    index = CheckpointIndex.FromString(checkpoint_index.unwrap(path.read_bytes()))
    change(index)
    path.write_bytes(checkpoint_index.wrap(index.SerializeToString(deterministic=True)))


def row(index: CheckpointIndex, name: str) -> Any:
    (found,) = (v for v in index.variable if v.name == name)
    return found


@pytest.mark.parametrize("expected", ["", "b", "adf", "cg", "abcdefg"])
def test_some_values_are_read_and_all_are_checked(prefix: Path, expected: str) -> None:
    # Strings are only read into new arrays.
    into = {name: np.empty_like(values()[name]) for name in expected if name not in "ce"}
    found = read_checkpoint(prefix, lazy=True)
    found.read(into)
    for name, array in into.items():
        np.testing.assert_array_equal(array, values()[name])


def test_all_values_are_read(prefix: Path) -> None:
    for lazy in (False, True):
        found = read_checkpoint(prefix, lazy=lazy)
        for name, value in values().items():
            np.testing.assert_array_equal(found.variables[name], value)
        with pytest.raises(errors.NotFoundError, match="Key z not found in checkpoint"):
            found.variables["z"]
        with pytest.raises(errors.NotFoundError, match="Key z"):
            found.stored("z")


@pytest.mark.parametrize("name", ["d", "g"])
def test_large_truth_values_are_0_or_1(prefix: Path, name: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "n", {name: np.full(LARGE, 2, np.uint8)}, {}, step=1)
    changed(tmp_path / "n", lambda index: setattr(row(index, name), "dtype", BOOL))
    for into in (None, {}, {name: np.empty(LARGE, bool)}):
        with pytest.raises(errors.DataLossError):
            read_checkpoint(tmp_path / "n", lazy=True).read(into)


def test_a_graph_that_is_not_there(prefix: Path) -> None:
    changed(prefix, lambda index: index.ClearField("meta_file"))
    with pytest.raises(errors.NotFoundError, match="has no graph file"):
        read_checkpoint(prefix, lazy=True).meta()


def test_a_graph_that_is_damaged_or_another_one(prefix: Path) -> None:
    opened = read_checkpoint(prefix, lazy=True)
    (graph,) = prefix.parent.glob("*.meta*")
    graph.write_bytes(b"another")
    with pytest.raises(errors.DataLossError, match="is damaged"):
        opened.meta()
    changed(prefix, lambda index: setattr(index, "save_id", index.save_id + 1))
    with pytest.raises(
        errors.NotFoundError, match="another save to .* has replaced the graph file"
    ):
        opened.meta()
    prefix.with_suffix(".index").unlink()
    with pytest.raises(errors.NotFoundError, match="has replaced the graph file"):
        opened.meta()


IMPOSSIBLE: list[tuple[Callable[[CheckpointIndex], object], str]] = [
    (lambda index: setattr(index, "min_reader", 999), "needs a reader of version"),
    (lambda index: setattr(index, "meta_file", "../m.meta"), "not a plain file name"),
    (lambda index: index.shard_header.pop(), "its list of shards is inconsistent"),
    (lambda index: index.resource.add(name="r"), "resource 'r' has no state"),
    (lambda index: index.variable.append(index.variable[0]), "variables"),
    (lambda index: setattr(row(index, "a"), "nbytes", 9), "'a'"),
    (lambda index: setattr(row(index, "a"), "offset", 4), "shard|bytes|variable"),
    (lambda index: setattr(row(index, "g"), "shard", 1), "is in shard 1 of 1"),
    (lambda index: setattr(index.shard[0], "nbytes", index.shard[0].nbytes + 8), "variables end"),
]


@pytest.mark.parametrize(("change", "text"), IMPOSSIBLE)
def test_an_index_that_says_impossible_things_is_refused(
    prefix: Path, change: Callable[[CheckpointIndex], object], text: str
) -> None:
    changed(prefix, change)
    with pytest.raises((errors.DataLossError, errors.UnimplementedError), match=text):
        read_checkpoint(prefix)


def test_an_index_of_other_bytes_is_refused(prefix: Path) -> None:
    path = prefix.with_suffix(".index")
    good = path.read_bytes()
    path.write_bytes(checkpoint_index.wrap(b"\x08"))
    with pytest.raises(errors.DataLossError, match="holds no CheckpointIndex message"):
        read_checkpoint(prefix)
    path.write_bytes(good[:8] + b"\x09" + good[9:])
    with pytest.raises(errors.DataLossError, match="the header's checksum does not match"):
        read_checkpoint(prefix)


def test_a_save_over_damage_makes_it_whole(prefix: Path) -> None:
    prefix.with_suffix(".index").write_bytes(b"no index")
    write_checkpoint(prefix, {"a": np.float32([5])}, {}, step=2)
    assert read_checkpoint(prefix).variables["a"].tolist() == [5]


# ---- arrays and names ----


def test_strings_are_text_or_bytes() -> None:
    made = tensors.from_array(np.array(["a", b"b", "\u00e9"], object))
    assert tensors.to_array(made).tolist() == [b"a", b"b", b"\xc3\xa9"]
    with pytest.raises(errors.InvalidArgumentError, match="holds float, expected bytes or str"):
        tensors.from_array(np.array([1.5], object))


def test_names_in_folders_and_stores() -> None:
    assert stores.join("memory://box", "m") == "memory://box/m"
    assert stores.join("memory://box/", "m") == "memory://box/m"
    assert stores.join("box", "memory://other/m") == "memory://other/m"


def test_folders_are_made_with_those_around(tmp_path: Path) -> None:
    stores.make_folder(tmp_path / "a" / "b" / "c")
    stores.make_folder(tmp_path / "a" / "b" / "c")
    stores.make_folder("")
    stores.make_folder("memory://nothing")
    assert (tmp_path / "a" / "b" / "c").is_dir()


# ---- the list of a folder ----


def test_a_list_whose_seal_is_broken_is_refused() -> None:
    state = checkpoint_text.CheckpointState(model_checkpoint_path="m-1")
    sealed = checkpoint_text.sealed(state)
    assert checkpoint_text.parsed(sealed).model_checkpoint_path == "m-1"
    with pytest.raises(ValueError, match="its checksum does not match"):
        checkpoint_text.parsed(sealed.replace(b"m-1", b"m-2"))


def test_a_list_with_numbers_for_names_is_refused() -> None:
    with pytest.raises(ValueError, match="model_checkpoint_path is 5"):
        checkpoint_text.parsed(b"model_checkpoint_path: 5\n")
    with pytest.raises(ValueError, match="all_model_checkpoint_timestamps is 'm'"):
        checkpoint_text.parsed(b'all_model_checkpoint_timestamps: "m"\n')


def test_keys_of_the_future_are_skipped() -> None:
    found = checkpoint_text.parsed(b'model_checkpoint_path: "m"\nsomething_new: "x"\n')
    assert found == checkpoint_text.CheckpointState(model_checkpoint_path="m")


class Failing:
    """A store whose files cannot be looked at."""

    def __init__(self, error: errors.OpError) -> None:
        self.error = error

    def exists(self, name: str) -> bool:
        raise self.error


def failing(monkeypatch: pytest.MonkeyPatch, error: errors.OpError) -> None:
    """From now on every store is one of those."""
    monkeypatch.setattr(checkpoint_state.stores, "of", lambda path: (Failing(error), "m"))


def unavailable(number: int) -> errors.OpError:
    made = errors.UnavailableError(message="gone")
    made.errno = number
    return made


def test_what_another_process_deletes_is_not_there(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(prefix.parent / "missing")
    ((found, _),) = checkpoint_state.existing_with_times([str(prefix), missing])
    assert found == str(prefix)
    for error in (errors.NotFoundError(message="gone"), unavailable(errno.ENOENT)):
        failing(monkeypatch, error)
        assert checkpoint_state.existing_with_times([missing]) == []
        assert checkpoint_state.older_than_state(missing) is False


def test_what_cannot_be_looked_at_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, unavailable(errno.EIO))
    with pytest.raises(errors.UnavailableError):
        checkpoint_state.existing_with_times(["m"])
    assert checkpoint_state.older_than_state("m") is False


@pytest.mark.parametrize("store", ["a folder", "memory://bucket"])
def test_a_look_for_what_is_not_there_leaves_nothing_to_the_garbage_collector(
    store: str, tmp_path: Path
) -> None:
    """Every save looks for an index first: what it holds meanwhile may be as large as a model."""
    prefix = f"{tmp_path if store == 'a folder' else store}/m"

    def look() -> weakref.ref[Array]:
        held = np.zeros(3)
        with contextlib.suppress(errors.NotFoundError):
            read_checkpoint(prefix)
        return weakref.ref(held)

    look()  # modules that are imported late make garbage
    gc.disable()
    try:
        assert look()() is None
    finally:
        gc.enable()


ZERO_BYTES: dict[str, Callable[[CheckpointIndex], object]] = {
    "a variable's name": lambda i: setattr(i.variable[-1], "name", "z\0z"),
    "slot_of": lambda i: setattr(i.variable[0], "slot_of", "w\0abc"),
    "slot": lambda i: setattr(i.variable[0], "slot", "\0"),
    "a resource's name": lambda i: i.resource.add(name="g\0").generator.SetInParent(),
    "producer": lambda i: setattr(i, "producer", "someone\0"),
}


@pytest.mark.parametrize("where", ZERO_BYTES)
def test_strings_with_a_zero_byte_are_refused_by_both_readers(prefix: Path, where: str) -> None:
    changed(prefix, ZERO_BYTES[where])
    with pytest.raises(errors.DataLossError):
        read_checkpoint(prefix)
    cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    state = cinfer.State()
    with pytest.raises(errors.DataLossError):
        state.restore(str(prefix))
