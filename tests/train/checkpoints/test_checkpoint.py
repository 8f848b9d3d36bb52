"""Checkpoint files: what is written is read, damage is refused, no crash loses anything."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import second_reader
from crash_states import Contents, Operation, Recorder, Replica, states
from schema_samples import same, state

from graphio.schema import checkpoint, checkpoint_cleaner, restore
from graphio.schema.checkpoint import read_checkpoint, read_index, write_checkpoint
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.schema.model_pb2 import IteratorState
from graphio.storage import files, stores
from graphio.support import errors
from graphio.train.checkpoints.checkpoint_state import as_state, latest_checkpoint, write_state

REFUSED = (errors.DataLossError, errors.UnimplementedError, errors.NotFoundError)
FIXED = {"save_id": 0x0123456789ABCDEF, "time": 1_700_000_000}


def write(prefix: Path, step: int | None = 7, **options: Any) -> None:
    write_checkpoint(
        prefix,
        state(),
        {"rng": (1, 1 << 63), "it": IteratorState(epoch=2, offset=5), "note": b"hello"},
        step=step,
        meta=b"the graph",
        slots={"v": ("w", "momentum")},
        **{**FIXED, **options},
    )


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("shard_bytes", [None, 64, 600])
def test_what_is_written_is_read(tmp_path: Path, shard_bytes: int | None) -> None:
    write(tmp_path / "m-7", shard_bytes=shard_bytes)
    for lazy in (False, True):
        found = read_checkpoint(tmp_path / "m-7", lazy=lazy)
        assert sorted(found.variables) == sorted(state())
        assert all(same(found.variables[name], value) for name, value in state().items())
        assert found.step == 7 and found.meta() == b"the graph"
        assert found.generators == {"rng": (1, 1 << 63)}
        assert found.resources["it"].offset == 5 and found.resources["note"] == b"hello"
    row = next(v for v in found.index.variable if v.name == "v")
    assert (row.slot_of, row.slot) == ("w", "momentum")
    assert len(found.index.shard) == (1 if shard_bytes is None else len(names(tmp_path)) - 2)


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "m")
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert names(tmp_path / "a") == [
        "m.data-0123456789abcdef-00000-of-00001.safetensors", "m.index", "m.meta"
    ]  # fmt: skip


def test_other_tools_open_the_shards(tmp_path: Path) -> None:
    write(tmp_path / "m")
    (shard,) = tmp_path.glob("*.safetensors")
    found = safetensors.numpy.load_file(shard)
    for name, value in state().items():
        if name in ("wave", "names"):  # types that the format does not have
            assert found[name].dtype == np.uint8
        else:
            assert same(found[name], value)
    data = shard.read_bytes()
    assert (8 + int.from_bytes(data[:8], "little")) % 64 == 0
    for row in read_index(tmp_path / "m").variable:
        size = 1 if row.name in ("names",) else state()[row.name].itemsize
        assert row.offset % (64 if row.nbytes % 64 == 0 else size) == 0


def test_the_second_reader_agrees(tmp_path: Path) -> None:
    write(tmp_path / "m", shard_bytes=300)
    found = second_reader.read_checkpoint(str(tmp_path / "m"))
    assert sorted(found["variables"]) == sorted(state())
    assert all(same(found["variables"][name], value) for name, value in state().items())
    assert found["generators"] == {"rng": (1, 1 << 63)} and found["step"] == 7


def test_every_flipped_byte_truncation_and_trailing_byte_is_refused(tmp_path: Path) -> None:
    """Every bit of the index, one of each byte of the others (test_damage has all of them)."""
    write(tmp_path / "m", shard_bytes=900)
    for path in sorted(tmp_path.iterdir()):
        data = path.read_bytes()
        is_index = path.suffix == ".index"
        damaged = [data[:n] for n in range(0, len(data), 1 if is_index else 7)]
        damaged += [data + bytes(n) for n in (1, 8, 64)]
        for at in range(len(data)):
            for bit in range(8) if is_index else (at % 8,):
                damaged.append(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        for content in damaged:
            path.write_bytes(content)
            with pytest.raises(REFUSED):
                read_checkpoint(tmp_path / "m")
        path.write_bytes(data)
    read_checkpoint(tmp_path / "m")


def test_swapped_and_missing_shards_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "m", shard_bytes=64)
    one, two, *_ = sorted(tmp_path.glob("*.safetensors"))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    with pytest.raises(errors.DataLossError):
        read_checkpoint(tmp_path / "m")
    one.unlink()
    with pytest.raises(errors.DataLossError, match="missing"):
        read_checkpoint(tmp_path / "m")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "", ".hidden", "a\0b", "x" * 256])
def test_an_index_names_only_files_of_its_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "m")
    index = read_index(tmp_path / "m")
    index.shard[0].file = name
    payload = index.SerializeToString(deterministic=True)
    (tmp_path / "m.index").write_bytes(checkpoint.checkpoint_index.wrap(payload))
    with pytest.raises(errors.DataLossError, match="plain file name"):
        read_index(tmp_path / "m")


def test_a_shard_that_is_a_link_or_no_file_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "m")
    (shard,) = tmp_path.glob("*.safetensors")
    shard.rename(tmp_path / "elsewhere")
    shard.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        read_checkpoint(tmp_path / "m")
    shard.unlink()
    os.mkfifo(shard)
    with pytest.raises(OSError, match="not a regular file"):
        read_checkpoint(tmp_path / "m")


def test_names_that_cannot_be_stored_are_refused(tmp_path: Path) -> None:
    for name in (".m", "a\\b", 'a"b', "a\nb", "a\x7fb", "\udcff", "n" * 256, "é" * 128):
        with pytest.raises(errors.InvalidArgumentError, match="cannot be called"):
            write_checkpoint(tmp_path / name, {})
    with pytest.raises(errors.InvalidArgumentError, match="__metadata__"):
        write_checkpoint(tmp_path / "m", {"__metadata__": np.zeros(1)})
    assert names(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=f"cannot make the folder '{tmp_path}/file': File exists"):
        stores.of_folder(tmp_path / "file").make()
    with pytest.raises(OSError, match=f"cannot make the folder '{tmp_path}/no/such'"):
        stores.of_folder(tmp_path / "no" / "such").make()


def test_a_second_save_to_a_prefix_replaces_the_first(tmp_path: Path) -> None:
    write(tmp_path / "m")
    write_checkpoint(tmp_path / "m", {"w": np.zeros(2)}, step=8, meta=b"another graph", save_id=9)
    found = read_checkpoint(tmp_path / "m")
    assert found.step == 8 and found.meta() == b"another graph"
    assert names(tmp_path) == [
        "m.data-0000000000000009-00000-of-00001.safetensors", "m.index", "m.meta"
    ]  # fmt: skip
    checkpoint.delete(tmp_path / "m")
    assert names(tmp_path) == []


def test_garbage_of_earlier_crashes_goes_and_nothing_else(tmp_path: Path) -> None:
    old = tmp_path / "tmp-fedcba9876543210-m.index"
    for name in (
        old.name,
        "m.data-00000000000000ff-00000-of-00002.safetensors",
        "mine",
        "mm.index",
    ):
        (tmp_path / name).write_bytes(b"x")
    os.utime(old, (1, 1))
    young = tmp_path / "tmp-00000000000000aa-other.index"
    young.write_bytes(b"x")
    write(tmp_path / "m")
    assert set(names(tmp_path)) - {p.name for p in tmp_path.glob("m.*")} == {
        "mine", "mm.index", young.name
    }  # fmt: skip
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


def test_garbage_of_other_prefixes_goes_when_it_is_an_hour_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "whole")
    garbage = [
        f"{prefix}.{kind}"
        for prefix in ("whole", "deleted")
        for kind in ("data-00000000000000ff-00000-of-00002.safetensors", "meta-00000000000000ff")
    ]
    for name in (*garbage, "deleted.meta", "exported.meta"):
        (tmp_path / name).write_bytes(b"x")
    for name in garbage:  # their bytes are old, their names are not: a copy may be under way
        os.utime(tmp_path / name, (1, 1))
    write(tmp_path / "m")
    assert set(garbage) < set(names(tmp_path))
    monkeypatch.setattr(checkpoint_cleaner, "ABANDONED_AGE", -60.0)
    write(tmp_path / "m")
    assert not set(garbage) & set(names(tmp_path))
    assert {"whole.meta", "exported.meta"} < set(names(tmp_path))
    assert "deleted.meta" not in names(tmp_path)
    assert read_checkpoint(tmp_path / "whole").meta() == b"the graph"


def test_files_have_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "m")
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == {0o640}


# ---- fit ----


def check_fit(index: CheckpointIndex, expected: restore.Required, reshape: bool = False) -> None:
    rows = restore.rows_of(index)
    problems = restore.find_problems(rows, expected, reshape=reshape)
    if problems:
        raise problems.error(rows)


def test_all_that_does_not_fit_is_named_at_once(tmp_path: Path) -> None:
    write(tmp_path / "m")
    index = read_index(tmp_path / "m")
    check_fit(index, {"w": (1, (5, 7)), "v": (11, (None,)), "mask": (9, None)})
    with pytest.raises(errors.NotFoundError) as missing:
        check_fit(index, {"w_2": (1, (5, 7)), "layer/w2": (1, None), "v": (1, (3,))})
    text = str(missing.value)
    assert text.startswith("Restoring from checkpoint failed.")
    assert (
        "Key w_2 not found" in text
        and "Key layer/w2 not found in checkpoint (it has layer/w" in text
    )
    assert "v: the variable has dtype float32, the checkpoint float64" in text
    with pytest.raises(errors.InvalidArgumentError) as other:
        check_fit(index, {"w": (1, (7, 5)), "v": (11, (4,))})
    text = str(other.value)
    assert "w: Assign requires shapes of both tensors to match. lhs shape= [7,5] rhs" in text
    assert "v: Assign requires" in text
    check_fit(index, {"w": (1, (7, 5))}, reshape=True)


# ---- crashes and errors ----

Save = Callable[[Path, int, files.FileLayer], str]


def save_by_step(folder: Path, step: int, layer: files.FileLayer) -> str:
    """As Saver(max_to_keep=1) with a global step."""
    prefix = str(folder / f"m-{step}")
    stores.of(prefix, layer)[0].make()
    values = {"w": np.full(20, step, np.float32), "b": np.zeros(3)}
    write_checkpoint(prefix, values, step=step, meta=b"graph", shard_bytes=80, layer=layer)
    write_state(str(folder), as_state(prefix, None, None, None), layer=layer)
    if step:
        checkpoint.delete(folder / f"m-{step - 1}", layer)
    return prefix


def save_in_place(folder: Path, step: int, layer: files.FileLayer) -> str:
    """Again and again to one prefix, with a graph that grows at the second save."""
    prefix = str(folder / "m")
    stores.of(prefix, layer)[0].make()
    values = {"w": np.full(20, step, np.float32)}
    write_checkpoint(prefix, values, step=step, meta=b"graph" * (1 + (step > 1)), layer=layer)
    write_state(str(folder), as_state(prefix, None, None, None), layer=layer)
    return prefix


def newest(folder: Path) -> int:
    """The step of the newest checkpoint, every byte of it checked; -1: there is none."""
    prefix = latest_checkpoint(folder)
    if prefix is None:
        return -1
    found = read_checkpoint(prefix)
    assert found.step is not None
    assert found.meta().startswith(b"graph")
    assert found.variables["w"].tolist() == [found.step] * 20
    return found.step


def recorded(save: Save, folder: Path) -> list[Operation]:
    """The operations of three saves, the first of which makes the folder."""
    recorder = Recorder()
    for step in range(3):
        save(folder, step, recorder)
        recorder.acknowledge(step)
    return recorder.operations


@pytest.mark.parametrize("save", [save_by_step, save_in_place])
@pytest.mark.filterwarnings("ignore:the file 'checkpoint'")
def test_no_kill_or_power_cut_loses_an_acknowledged_checkpoint(save: Save, tmp_path: Path) -> None:
    contents = Contents()
    replica = Replica(tmp_path / "after", contents)
    kills, cuts = states(recorded(save, tmp_path / "real"), {}, contents)
    assert len(kills) > 50 and len(cuts) > 100 and frozenset() in cuts
    for content, acknowledged in [*kills.items(), *cuts.items()]:
        replica.become(content)
        assert newest(tmp_path / "after") >= acknowledged, sorted(content)


@pytest.mark.filterwarnings("ignore")
def test_a_writer_that_syncs_nothing_fails_this_check(tmp_path: Path) -> None:
    contents, lost = Contents(), 0
    replica = Replica(tmp_path / "after", contents)
    operations = recorded(save_in_place, tmp_path / "real")[:30]
    unsafe = [done for done in operations if done.kind not in ("sync", "fsync")]
    for content, acknowledged in states(unsafe, {}, contents)[1].items():
        replica.become(content)
        try:
            lost += newest(tmp_path / "after") < acknowledged
        except (AssertionError, *REFUSED):
            lost += 1
    assert lost > 0


class Failing(files.FileLayer):
    """Fails the n-th operation, and counts them."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.count = at, number, 0

    def _step(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise OSError(self.number, os.strerror(self.number))


def _failing(name: str) -> Callable[..., Any]:
    def method(self: Failing, *arguments: Any) -> Any:
        if name == "close":  # the file is closed even when close says that it failed
            getattr(files.FileLayer, name)(self, *arguments)
            return self._step()
        self._step()
        return getattr(files.FileLayer, name)(self, *arguments)

    return method


for _name in ("create", "write", "fsync", "close", "rename", "sync_folder", "remove"):
    setattr(Failing, _name, _failing(_name))


@pytest.mark.parametrize("save", [save_by_step, save_in_place])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_an_error_of_the_system_leaves_the_old_checkpoint(
    save: Save, number: int, step: int, tmp_path: Path
) -> None:
    raised = 0
    for at in range(1, 200):
        folder = tmp_path / str(at)
        folder.mkdir()
        save(folder, step - 1, files.SYSTEM)
        layer = Failing(at, number)
        try:
            save(folder, step, layer)
        except OSError as error:
            raised += 1
            assert str(folder) in str(error) and os.strerror(number) in str(error)
            full = number in (errno.ENOSPC, errno.EDQUOT)
            assert isinstance(error, files.DiskFullError if full else errors.UnavailableError)
            assert newest(folder) >= step - 1
        else:
            assert newest(folder) == step
        assert not list(folder.glob("tmp-*"))
        if layer.count < at:
            break
    else:
        pytest.fail("a save has more than 200 operations")
    assert raised >= 15


def test_a_full_disk_is_a_tensorflow_error_too() -> None:
    assert issubclass(files.DiskFullError, errors.ResourceExhaustedError)
    assert issubclass(files.DiskFullError, OSError)
