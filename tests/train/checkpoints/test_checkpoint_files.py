"""The files that an index needs: by their names or those of a copy, among other files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from graphio.schema import checkpoint_files
from graphio.schema.checkpoint import read_index, write_checkpoint
from graphio.storage import stores
from graphio.support import errors


def saved(prefix: Path, value: float = 1.0) -> str:
    """Writes a checkpoint with one data file and gives that file's name."""
    write_checkpoint(prefix, {"v": np.full(9, value, np.float32)}, meta=b"graph %f" % value)
    return str(read_index(prefix).shard[0].file)


def copied(folder: Path, source: str, target: str, *but: str) -> None:
    """Copies a checkpoint by its file names, except those with some endings."""
    for path in list(folder.glob(source + ".*")):
        ending = path.name[len(source) :]
        if not ending.startswith(but or "\0"):
            shutil.copy(path, folder / (target + ending))


def test_the_name_of_a_file_says_whose_it_is() -> None:
    of = checkpoint_files.save_file
    assert of("a.b-7.data-00ff00ff00ff00ff-00000-of-00002.safetensors") == (
        "a.b-7",
        "00ff00ff00ff00ff",
        ".data-00ff00ff00ff00ff-00000-of-00002.safetensors",
    )
    graph = of("m.meta-00ff00ff00ff00ff")
    assert graph is not None and graph.is_graph
    assert of("m.meta") is None
    assert of("m.data-00000-of-00001") is None


def test_a_file_is_needed_by_its_own_index_alone(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "m-1"), saved(tmp_path / "m-2")
    store = stores.of_folder(tmp_path)
    assert checkpoint_files.prefixes_needing(store, first) == ["m-1"]
    assert checkpoint_files.needed(store, [first, second, "other"]) == {first, second}
    (tmp_path / "m-1.index").unlink()
    assert checkpoint_files.needed(store, [first, second]) == {second}


def test_a_copied_index_needs_the_originals_data_until_it_has_its_own(tmp_path: Path) -> None:
    name = saved(tmp_path / "m-1")
    copied(tmp_path, "m-1", "best", ".data")
    store = stores.of_folder(tmp_path)
    assert checkpoint_files.prefixes_needing(store, name) == ["best", "m-1"]
    own = "best" + name[len("m-1") :]
    (tmp_path / own).write_bytes((tmp_path / name).read_bytes()[:-1])  # a copy under way
    assert checkpoint_files.needed(store, [name, own]) == {name, own}
    shutil.copy(tmp_path / name, tmp_path / own)
    assert checkpoint_files.prefixes_needing(store, name) == ["m-1"]
    assert checkpoint_files.prefixes_needing(store, own) == ["best"]


def test_an_index_that_cannot_be_read_now_may_need_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = saved(tmp_path / "m")

    def away(*_: object, **__: object) -> bytes:
        raise errors.UnavailableError(message="away")

    store = stores.of_folder(tmp_path)
    monkeypatch.setattr(store, "read", away)
    assert checkpoint_files.needed(store, [name, "x.data"]) == {name, "x.data"}


def test_a_damaged_index_needs_nothing(tmp_path: Path) -> None:
    name = saved(tmp_path / "m")
    index = tmp_path / "m.index"
    index.write_bytes(index.read_bytes()[:-1])
    (tmp_path / "folder.index").mkdir()
    assert checkpoint_files.needed(stores.of_folder(tmp_path), [name]) == set()


def test_what_a_checkpoint_lacks_is_named_with_what_to_do(tmp_path: Path) -> None:
    name = saved(tmp_path / "m")
    store, index = stores.of_folder(tmp_path), read_index(tmp_path / "m")
    assert checkpoint_files.missing(store, "m", index) == ""
    (tmp_path / name).unlink()
    assert name in checkpoint_files.missing(store, "m", index)
    with pytest.raises(errors.DataLossError, match="bring it back"):
        checkpoint_files.opened(store, "m", name)
