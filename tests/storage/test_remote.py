"""Checkpoints in an object store: the order of puts, crashes, lost answers, two writers."""

from __future__ import annotations

import errno
import gc
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import object_stores
import pytest
from object_stores import (
    SAVES,
    Watched,
    files_of,
    newest,
    polled_while_saving,
    referred,
    save_by_step,
    save_in_place,
    unavailable,
)
from proofs.remote import MODES
from schema_samples import same, state

from graphio.schema import checkpoint
from graphio.schema.checkpoint import read_checkpoint, read_index, write_checkpoint
from graphio.schema.model_pb2 import IteratorState
from graphio.storage import remote, stores
from graphio.support import errors
from graphio.train.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
)

folder, watched = object_stores.folder, object_stores.watched
Save = Callable[[str, int], None]
pytestmark = pytest.mark.filterwarnings("ignore:the file 'checkpoint'")


def write(folder: str, **options: Any) -> None:
    write_checkpoint(
        f"{folder}/m-7",
        state(),
        {"rng": (1, 1 << 63), "it": IteratorState(epoch=2, offset=5), "note": b"hello"},
        step=7,
        meta=b"the graph",
        slots={"v": ("w", "momentum")},
        **options,
    )


@pytest.mark.parametrize("shard_bytes", [None, 64, 600])
def test_what_is_written_is_read(folder: str, shard_bytes: int | None) -> None:
    write(folder, shard_bytes=shard_bytes)
    for lazy in (False, True):
        found = read_checkpoint(f"{folder}/m-7", lazy=lazy)
        assert found.prefix == f"{folder}/m-7"
        assert sorted(found.variables) == sorted(state())
        assert all(same(found.variables[name], value) for name, value in state().items())
        assert found.step == 7 and found.meta() == b"the graph"
        assert found.generators == {"rng": (1, 1 << 63)}
        assert found.resources["it"].offset == 5 and found.resources["note"] == b"hello"


def test_every_flipped_byte_and_truncation_is_refused(folder: str) -> None:
    write(folder)
    store = stores.of_folder(folder)
    kept = {name: data for name, data in files_of(folder).items() if name in
            {*referred(folder), "m-7.index"}}  # fmt: skip
    assert len(kept) == 3
    for name, data in kept.items():
        for at in range(0, len(data), 5):
            for damaged in (data[:at], data[:at] + bytes([data[at] ^ 8]) + data[at + 1 :]):
                store.put(name, [damaged])
                with pytest.raises((errors.DataLossError, errors.UnimplementedError)):
                    read_checkpoint(f"{folder}/m-7")
        store.put(name, [data + b"x"])
        with pytest.raises(errors.DataLossError):
            read_checkpoint(f"{folder}/m-7")
        store.put(name, [data])
    read_checkpoint(f"{folder}/m-7")


def test_index_comes_last_then_the_state_file_then_what_expired_goes_index_first(
    folder: str, watched: Watched
) -> None:
    save_by_step(folder, 0)
    watched.writes.clear()
    save_by_step(folder, 1)
    kinds = [(what, name.split(".")[-1].split("-")[0]) for what, name in watched.writes]
    assert kinds == [
        ("put", "safetensors"), ("put", "safetensors"), ("put", "meta"), ("put", "index"),
        ("put", "meta"), ("put", "checkpoint"),
        ("remove", "index"), ("remove", "meta"),
        ("remove", "safetensors"), ("remove", "safetensors"), ("remove", "meta"),
    ]  # fmt: skip
    assert {name for _, name in watched.writes[:6]} - {"checkpoint"} == set(files_of(folder)) - {
        "checkpoint"
    }


@SAVES
def test_nothing_that_an_index_refers_to_is_overwritten(
    save: Save, folder: str, watched: Watched
) -> None:
    def look(number: int, what: str, name: str) -> None:
        assert name not in referred(folder), (number, what, name)

    watched.before = look
    for step in range(4):
        save(folder, step)
    assert newest(folder) == 3
    assert len(files_of(folder)) == (6 if save is save_by_step else 5)


@SAVES
def test_a_kill_between_any_two_writes_loses_nothing(
    save: Save, folder: str, watched: Watched
) -> None:
    acknowledged, looked = -1, 0

    def look(number: int, what: str, name: str) -> None:
        nonlocal looked
        looked += 1
        assert newest(folder) >= acknowledged, (number, what, name)

    watched.after = look
    for step in range(4):
        save(folder, step)
        acknowledged = step
    assert looked > 20


@SAVES
@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_failure_of_any_write_leaves_the_old_checkpoint(
    save: Save, arrives: bool, step: int, folder: str, watched: Watched
) -> None:
    """The n-th write fails, or it is done but its answer is lost, and the store stays away."""
    raised = 0
    for at in range(1, 40):
        inside = f"{folder}-{at}"
        for earlier in range(step):
            save(inside, earlier)
        watched.writes.clear()

        def fail(number: int, what: str, name: str, at: int = at) -> None:
            if number >= at:
                unavailable(number, what, name)

        setattr(watched, "after" if arrives else "before", fail)
        try:
            save(inside, step)
        except OSError as error:
            raised += 1
            what, name = watched.writes[at - 1]
            assert inside in str(error) and "no answer" in str(error)
            assert isinstance(error, errors.UnavailableError)
        finally:
            watched.before = watched.after = object_stores.nothing
        assert newest(inside) >= step - 1
        save(inside, step)  # and a new attempt goes through
        assert newest(inside) == step
        if len(watched.writes) < at:
            break
    else:
        pytest.fail("a save has more than 40 writes")
    assert raised >= (5 if save is save_by_step else 3)


@pytest.mark.parametrize("new", [False, True])
def test_a_lost_answer_to_the_index_is_no_failure(new: bool, folder: str, watched: Watched) -> None:
    if not new:
        save_in_place(folder, 0)

    def lose(number: int, what: str, name: str) -> None:
        if name == "m.index":
            unavailable(number, what, name)

    watched.after = lose
    save_in_place(folder, 1)
    assert newest(folder) == 1


@pytest.mark.parametrize("new", [False, True])
def test_an_index_that_arrives_late_finds_its_files(
    new: bool, folder: str, watched: Watched
) -> None:
    """Nothing is removed after a put of the index has failed: it may be under way."""
    if not new:
        save_in_place(folder, 0)
    late: dict[str, bytes] = {}
    pipe = watched.pipe_file

    def delay(path: str, data: bytes, **options: Any) -> None:
        if path.endswith(".index"):
            late[path] = data
            raise TimeoutError("no answer")
        pipe(path, data, **options)

    watched.pipe_file = delay  # type: ignore[method-assign]
    with pytest.raises(errors.UnavailableError, match=r"m\.index"):
        save_in_place(folder, 1)
    assert newest(folder) == (-1 if new else 0)
    for path, data in late.items():
        pipe(path, data)
    assert read_checkpoint(f"{folder}/m").step == 1


def test_a_failure_before_the_index_leaves_no_garbage(folder: str, watched: Watched) -> None:
    save_by_step(folder, 0)
    before = files_of(folder)

    def fail(number: int, what: str, name: str) -> None:
        if what == "put" and ".meta" in name:
            unavailable(number, what, name)

    watched.before = fail
    with pytest.raises(errors.UnavailableError, match=r"m-1\.meta"):
        save_by_step(folder, 1)
    assert files_of(folder) == before


def test_the_second_of_two_savers_of_a_new_prefix_is_refused(folder: str, watched: Watched) -> None:
    def meanwhile(number: int, what: str, name: str) -> None:
        if name == "m.index":
            watched.before = object_stores.nothing
            save_in_place(folder, 5)

    watched.before = meanwhile
    with pytest.raises(errors.AlreadyExistsError, match=r"another writer.*m\.index"):
        save_in_place(folder, 3)
    assert newest(folder) == 5
    assert {n for n in files_of(folder) if "-" in n} == referred(folder)


def test_the_last_of_two_savers_of_an_old_prefix_wins_whole(folder: str, watched: Watched) -> None:
    save_in_place(folder, 1)

    def meanwhile(number: int, what: str, name: str) -> None:
        if name == "m.index":
            watched.before = object_stores.nothing
            save_in_place(folder, 5)

    watched.before = meanwhile
    save_in_place(folder, 3)
    assert newest(folder) == 3


def test_savers_that_race_leave_a_whole_checkpoint(folder: str) -> None:
    refused: list[Exception] = []

    def work(step: int) -> None:
        try:
            save_in_place(folder, step)
        except errors.AlreadyExistsError as error:
            refused.append(error)

    for _ in range(10):
        threads = [threading.Thread(target=work, args=(step,)) for step in (3, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert newest(folder) in (3, 5)
    assert len(refused) <= 1


@pytest.mark.parametrize("mode", [name for name in MODES if name.startswith("turns")])
def test_whatever_the_order_of_two_writers_calls_a_whole_checkpoint_is_found(
    mode: str, tmp_path: Path
) -> None:
    result = MODES[mode].run(7, 20, tmp_path)
    assert not result.lost
    assert result.counts["saves"] > 20


def test_data_files_of_one_name_would_be_lost_in_turns(tmp_path: Path) -> None:
    assert MODES["control: turns, one name"].run(7, 20, tmp_path).lost


def test_a_reader_polls_while_a_writer_saves_and_deletes(folder: str) -> None:
    polled_while_saving(folder, 39)


def test_garbage_goes_when_no_save_can_be_under_way(folder: str) -> None:
    store, memory = stores.of_folder(folder), fsspec.filesystem("memory")
    data = "data-00000000000000aa-00000-of-00001.safetensors"
    young = {f"m.{data}", f"m-5.{data}", "m-5.meta-00000000000000aa", "mine"}
    old = {f"m-6.{data}", f"m.{data.replace('aa', 'bb')}", "m-6.meta-00000000000000aa", "theirs"}
    for name in young | old:
        store.put(name, [b"x"])
    for key, file in memory.store.items():
        hours = 25 if key.rpartition("/")[2] in old else 23
        file.modified = datetime.fromtimestamp(time.time() - hours * 3600, timezone.utc)
    save_in_place(folder, 0)
    left = set(files_of(folder)) - referred(folder) - {"m.index", "m.meta", "checkpoint"}
    assert left == young | {"theirs"}


# ---- stores that do not answer, are not there, or cannot hold checkpoints ----


def test_a_store_that_does_not_answer_is_not_an_empty_one(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training must not start from scratch because of an outage."""
    save_by_step(folder, 3)
    memory = type(fsspec.filesystem("memory"))

    def away(*arguments: Any, **options: Any) -> Any:
        raise ConnectionResetError("no route")

    for name in ("info", "cat_file", "ls"):
        monkeypatch.setattr(memory, name, away)
    for ask in (
        lambda: latest_checkpoint(folder),
        lambda: get_checkpoint_state(folder),
        lambda: checkpoint_exists(f"{folder}/m-3"),
        lambda: get_checkpoint_mtimes([f"{folder}/m-3"]),
        lambda: read_index(f"{folder}/m-3"),
    ):
        with pytest.raises(errors.UnavailableError, match=f"{folder}.*no route"):
            ask()


@pytest.mark.parametrize("url", ["sftp://host/run/m", "simplecache::s3://b/run/m", "http://h/m"])
def test_only_stores_of_atomic_puts_hold_checkpoints(url: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="atomic, s3://"):
        write_checkpoint(url, {})
    with pytest.raises(errors.InvalidArgumentError, match="atomic, s3://"):
        latest_checkpoint(url)


@pytest.mark.parametrize(
    ("url", "packages"), [("gs://b/m", r"'\.\[remote\]' gcsfs"), ("az://c/m", "adlfs")]
)
def test_what_to_install_is_reported(
    url: str, packages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(remote.importlib, "import_module", without)
    with pytest.raises(
        ImportError, match=f"pip install .*{packages} in .*No module named 'fsspec'"
    ):
        read_checkpoint(url)


def test_names_stay_in_the_folder(folder: str) -> None:
    for name in ("a\\b", "..", 'a"b'):
        with pytest.raises(errors.InvalidArgumentError, match="cannot be called"):
            write_checkpoint(f"{folder}/{name}", {})
    assert not files_of(folder)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("s3://b/run/m-5", ("s3://b/run", "m-5")),
        ("s3://b/m", ("s3://b", "m")),
        ("memory://m", ("memory://", "m")),
        ("file:///tmp/run/m", ("/tmp/run", "m")),
        ("run/m", ("run", "m")),
        ("m", ("", "m")),
    ],
)
def test_a_path_is_a_folder_and_a_name(path: str, parts: tuple[str, str]) -> None:
    assert stores.split(path) == parts
    assert stores.join(*parts) == stores.plain(path)


def test_a_url_that_went_through_pathlib_is_refused() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="'s3:/b/run/m'.*pass text"):
        write_checkpoint(Path("s3://b/run/m"), {})


def test_big_files_are_read_in_ranges(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SINGLE", 1000)
    monkeypatch.setattr(remote, "BLOCK", 300)
    monkeypatch.setattr(remote, "REQUESTS", 2)
    store, data = stores.of_folder(folder), np.random.default_rng(0).bytes(5000)
    store.put("big", [data[:1234], data[1234:]])
    file, part = store.open("big"), memoryview(bytearray(1001))
    assert file.size == 5000
    file.read_into(3999, part)
    assert part == data[3999:]
    for offset, nbytes in [(0, 5000), (10, 20), (40, 100), (4990, 10), (5, 400), (5000, 0)]:
        assert file.part(offset, nbytes) == data[offset : offset + nbytes]
    with pytest.raises(errors.DataLossError, match="big.*5001"):
        file.read_into(4000, part)
    with pytest.raises(errors.DataLossError, match="big.*5001"):
        file.part(4000, 1001)


def test_one_variable_of_a_big_checkpoint_is_fetched_alone(
    folder: str, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {f"v{i}": np.full(1000, i, np.float32) for i in range(20)}
    write_checkpoint(f"{folder}/m", values)
    monkeypatch.setattr(remote, "SINGLE", 8000)
    monkeypatch.setattr(remote, "BLOCK", 5000)
    fetched: list[int] = []
    ranges = watched.cat_ranges

    def count(paths: list[str], starts: list[int], ends: list[int], **options: Any) -> Any:
        fetched.extend(end - start for start, end in zip(starts, ends, strict=True))
        return ranges(paths, starts, ends, **options)

    watched.cat_ranges = count  # type: ignore[attr-defined]
    found = read_checkpoint(f"{folder}/m", lazy=True)
    assert found.variables["v13"].tolist() == [13] * 1000
    assert sum(fetched) < 10_000
    assert all(same(found.variables[name], value) for name, value in values.items())
    assert all(same(read_checkpoint(f"{folder}/m").variables[n], v) for n, v in values.items())


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_graph_file_that_was_replaced_is_gone_and_not_damaged(
    where: str, folder: str, tmp_path: Path
) -> None:
    folder = folder if where == "memory" else str(tmp_path)
    save_in_place(folder, 1)
    found = read_checkpoint(f"{folder}/m", lazy=True)
    save_in_place(folder, 2)
    with pytest.raises(errors.NotFoundError, match="another save .* has replaced the graph file"):
        found.meta()


def test_a_checkpoint_that_was_deleted_is_replaced_too(folder: str) -> None:
    save_in_place(folder, 1)
    found = read_checkpoint(f"{folder}/m", lazy=True)
    assert not found.replaced()
    checkpoint.delete(f"{folder}/m")
    assert found.replaced()


def test_folders_are_no_files(folder: str) -> None:
    stores.of_folder(f"{folder}/inside.index").put("x", [b"1"])
    store = stores.of_folder(folder)
    store.put("y", [b"2"])
    assert store.names() == ["y"]
    assert store.exists("y") and not store.exists("inside.index")
    assert not checkpoint_exists(f"{folder}/inside")


@pytest.mark.parametrize(
    "refusal", [NotImplementedError("no"), TypeError("mode"), OSError(errno.ENOSYS, "no")]
)
def test_a_store_without_conditional_puts_is_put_to_all_the_same(
    refusal: Exception, folder: str, watched: Watched
) -> None:
    pipe = watched.pipe_file

    def without(path: str, data: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise refusal
        pipe(path, data)

    watched.pipe_file = without  # type: ignore[assignment,method-assign]
    save_in_place(folder, 1)
    assert newest(folder) == 1


class Upload:
    """An upload as Azure's: discard does nothing, a close commits what there is."""

    def __init__(self, committed: list[bool]) -> None:
        self.closed, self.committed = False, committed

    def write(self, data: Any) -> None:
        """Takes some bytes."""

    def discard(self) -> None:
        """Does nothing."""

    def commit(self) -> None:
        """Does nothing: close has."""

    def close(self) -> None:
        self.closed = True
        self.committed.append(True)

    def __del__(self) -> None:
        if not self.closed:
            self.close()


def test_an_upload_that_failed_is_never_closed(
    folder: str, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed: list[bool] = []
    monkeypatch.setattr(remote, "SINGLE", 10)
    monkeypatch.setitem(remote.KINDS, "memory", remote.Kind("", True))
    watched.open = lambda *_, **__: Upload(committed)  # type: ignore[attr-defined]
    store = stores.of_folder(folder)

    def parts() -> Iterator[bytes]:
        yield bytes(11)
        raise OSError("no more")

    with pytest.raises(errors.UnavailableError, match="no more"):
        store.put("big", parts())
    gc.collect()
    assert not committed
    store.put("big", [bytes(11)])
    assert committed == [True]
