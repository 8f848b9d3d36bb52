"""The text file `checkpoint` of a folder: which checkpoints there are. A hint, never the truth."""

from __future__ import annotations

import dataclasses
import errno
import os
import time
import warnings
from collections.abc import Callable, Sequence

from graphio.schema import checkpoint_files
from graphio.storage import files, stores
from graphio.support import api_guard, errors
from graphio.train.checkpoints import checkpoint_text
from graphio.train.checkpoints.checkpoint_text import CheckpointState
from graphio.train.checkpoints.folder_indexes import indexes, newest_of

__all__ = [
    "CheckpointState",
    "as_state",
    "checkpoint_exists",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "read_state",
    "update_checkpoint_state",
    "write_state",
]

STATE_FILE = "checkpoint"


@api_guard.unguarded
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """A CheckpointState; relative paths are from save_dir if that is relative, too.

    `Saver` and `update_checkpoint_state` write all paths inside save_dir relative to it.

    Args:
        save_dir: the folder.
        model_checkpoint_path: of the newest checkpoint.
        all_model_checkpoint_paths: the kept ones, the newest last; a list without that gets it
            appended, as TensorFlow does.
        all_model_checkpoint_timestamps: seconds since 1970, one a path.
        last_preserved_timestamp: of the newest that is kept for ever.

    Raises:
        ValueError: there are not as many timestamps as paths.
    """

    def as_given(path: str) -> str:
        whole = os.path.isabs(path) or os.path.isabs(save_dir)
        return path if whole else _relative(path, save_dir)

    paths = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
    if isinstance(paths, list) and paths[-1:] != [model_checkpoint_path]:
        if all_model_checkpoint_timestamps and len(paths) == len(all_model_checkpoint_timestamps):
            all_model_checkpoint_timestamps = [*all_model_checkpoint_timestamps, time.time()]
        paths.append(model_checkpoint_path)
    state = as_state(
        model_checkpoint_path, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    return _with_paths(state, as_given)


def as_state(
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None,
    all_model_checkpoint_timestamps: Sequence[float] | None,
    last_preserved_timestamp: float | None,
) -> CheckpointState:
    """A CheckpointState with the paths as they are; see generate_checkpoint_state_proto."""
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError(f"{len(times)} timestamps were given for {len(paths)} paths")
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
        times += [time.time()] if times else []
    return CheckpointState(model_checkpoint_path, paths, times, last_preserved_timestamp or 0.0)


def _with_paths(state: CheckpointState, written: Callable[[str], str]) -> CheckpointState:
    """The state with its paths as a function writes them."""
    return dataclasses.replace(
        state,
        model_checkpoint_path=written(state.model_checkpoint_path),
        all_model_checkpoint_paths=[written(p) for p in state.all_model_checkpoint_paths],
        expired=[written(p) for p in state.expired],
    )


def _relative(path: str, folder: str) -> str:
    """The path from the folder if it is inside: a folder of checkpoints can then be moved.

    A relative path elsewhere becomes one from the folder, for it will be read as such.
    """
    path, folder = stores.plain(path), stores.plain(folder)
    if stores.is_remote(path) or stores.is_remote(folder):
        root = stores.join(folder, "")
        return path.removeprefix(root) if stores.is_remote(folder) else path
    inside = os.path.relpath(os.path.abspath(path), os.path.abspath(folder or "."))
    return path if inside.startswith(os.pardir) and os.path.isabs(path) else inside


@api_guard.unguarded
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the file in one step: afterwards it is on the disk, or in the store.

    Raises:
        OSError: it could not be written.
        RuntimeError: the path of the file is that of the checkpoint.
    """
    name = latest_filename or STATE_FILE
    if _absolute(stores.join(save_dir, name)) == _absolute(model_checkpoint_path):
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. "
            "Please use a different save path."
        )
    state = as_state(
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    write_state(save_dir, state, latest_filename)


def write_state(
    save_dir: str,
    state: CheckpointState,
    latest_filename: str | None = None,
    layer: files.FileLayer = files.SYSTEM,
) -> None:
    """Writes the state file of a folder with paths relative to it.

    If a crash prevents the deletion of `state.expired`, the next run on this file deletes them.
    """
    relative = _with_paths(state, lambda path: _relative(path, save_dir))
    store = stores.of_folder(save_dir, layer)
    stores.put_again(store, latest_filename or STATE_FILE, checkpoint_text.sealed(relative))
    store.barrier()


def _absolute(path: str) -> str:
    return path if stores.is_remote(path) else os.path.abspath(stores.plain(path))


@api_guard.unguarded
def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """The state file of a folder, parsed, with paths that can be opened from here.

    Returns:
        None if there is no file, or, with a warning, if it cannot be read.

    Raises:
        ValueError: it names no checkpoint, as an empty file. latest_checkpoint warns of that and
            searches the folder.
    """
    state, complaint = _listed(checkpoint_dir, latest_filename)
    if state is not None and not state.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {os.fspath(checkpoint_dir)}: {complaint}"
        )
    if complaint:
        warnings.warn(complaint, stacklevel=2)
    return state


def read_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """get_checkpoint_state, but a file that names no checkpoint is one that cannot be read."""
    state, complaint = _read_state(checkpoint_dir, latest_filename)
    if complaint:
        warnings.warn(complaint, stacklevel=2)
    return state


def _read_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None
) -> tuple[CheckpointState | None, str]:
    """read_state, and what is to be warned of."""
    state, complaint = _listed(checkpoint_dir, latest_filename)
    if state is not None and not state.model_checkpoint_path:
        return None, f"{complaint}. Checkpoint ignored."
    return state, complaint


def _listed(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None
) -> tuple[CheckpointState | None, str]:
    """The state file, without a path if it names no checkpoint; and the error in it."""
    store, name = stores.of_folder(checkpoint_dir), latest_filename or STATE_FILE
    try:
        state = checkpoint_text.parsed(store.read(name, follow=True))
    except errors.NotFoundError:
        return None, ""
    except errors.UnavailableError as error:
        if store.shared:  # a store that does not answer must not restart a run from nothing
            raise
        return None, f"{error}. Checkpoint ignored."
    except ValueError as error:
        text = errors.printable(str(error))
        return None, f"{store.path(name)}: {text}. Checkpoint ignored."
    if not state.model_checkpoint_path:
        return state, f"{store.path(name)} names no checkpoint"
    state.model_checkpoint_path = stores.join(checkpoint_dir, state.model_checkpoint_path)
    paths = [stores.join(checkpoint_dir, p) for p in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths = paths
    state.expired = [stores.join(checkpoint_dir, p) for p in state.expired]
    return state, ""


@api_guard.unguarded
def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint of that prefix: whether it was committed."""
    store, base = stores.of(checkpoint_prefix)
    return store.exists(base + ".index")


@api_guard.unguarded
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When the checkpoints were committed; those that do not exist are left out."""
    return [moment for _, moment in existing_with_times(checkpoint_prefixes)]


def existing_with_times(prefixes: Sequence[str]) -> list[tuple[str, float]]:
    """The checkpoints that are there, with the time of their commit; another process may delete."""
    found = []
    for prefix in prefixes:
        store, base = stores.of(prefix)
        try:
            if store.exists(base + ".index"):
                found.append((prefix, store.modified(base + ".index")))
        except errors.UnavailableError as error:
            if error.errno != errno.ENOENT:
                raise
        except errors.NotFoundError:
            pass
    return found


def older_than_state(prefix: str) -> bool:
    """Whether a checkpoint is there and came before the state file in its folder was written."""
    store, base = stores.of(prefix)
    try:
        return store.exists(base + ".index") and (
            store.arrived(base + ".index") <= store.modified(STATE_FILE)
        )
    except (errors.NotFoundError, errors.UnavailableError):
        return False


@api_guard.unguarded
def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The prefix of a folder's newest checkpoint, None if it has none.

    A file `checkpoint` that is missing, cannot be read, or names what is not there or has lost data
    files, does not count: then the newest valid checkpoint of the folder is found, with a warning;
    without one where the file is missing and the folder has one checkpoint only, as it is while the
    first one is being saved. The newest is the one of the highest step, then the latest time; one
    without a
    step comes before all that have one.

    Args:
        checkpoint_dir: the folder, or a URL of an object store.
        latest_filename: of the state file; None: "checkpoint". One of another name is of one run
            among several: where it is missing, that run has no checkpoints.

    Raises:
        UnavailableError: the folder or an index in it cannot be read now: do not
            go on from an older one, or from nothing.
        UnimplementedError: the file names no checkpoint, and a newer graphio wrote one of those in
            the folder: it may be the newest.
        DataLossError: there are checkpoints, and all are damaged.
    """
    folder, name = os.fspath(checkpoint_dir), latest_filename or STATE_FILE
    before: tuple[CheckpointState | None, str] | None = None
    while True:
        state, complaint = now = _read_state(folder, latest_filename)
        lost = ""
        if state is not None and checkpoint_exists(state.model_checkpoint_path):
            lost = checkpoint_files.lacking(*stores.of(state.model_checkpoint_path))
            if not lost:
                return state.model_checkpoint_path
        if complaint and now != before:
            warnings.warn(complaint, stacklevel=2)
        found, damaged = indexes(folder) if indexes_count(folder, latest_filename) else ([], {})
        # Another process may have saved and deleted in between: then the file says so by now.
        if now == before or (state is None and not found and not _is_there(folder, name)):
            break
        before = now
    there = state is not None or bool(complaint)
    newest = newest_of(folder, found, damaged)
    # A checkpoint alone, without the file: that is also what a first save looks like.
    if state is not None or (newest and (there or len(found) + len(damaged) > 1)):
        what = "names no checkpoint that exists" if there else "is missing"
        what = f"names a checkpoint that cannot be restored, {lost}" if lost else what
        then = f"going on from {newest!r}, the newest one found" if newest else "there is no other"
        warnings.warn(f"the file '{name}' of {folder!r} {what}; {then}", stacklevel=2)
    return newest


def indexes_count(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> bool:
    """Whether the indexes of a folder stand in for its state file, where that is of no use."""
    folder, name = os.fspath(checkpoint_dir), latest_filename or STATE_FILE
    return name == STATE_FILE or _is_there(folder, name)


def _is_there(folder: str, name: str) -> bool:
    """Whether there is a state file, be it a link to nothing."""
    if stores.is_remote(folder):
        return stores.of_folder(folder).exists(name)
    return files.exists(stores.join(folder, name), follow=False)


def listed_beside(prefix: str) -> str | None:
    """The checkpoint to go on from instead of a damaged one: of those that the file in its folder
    lists the one before it, or else the newest; None if there is no other."""
    folder, base = stores.split(prefix)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = read_state(folder)
        listed = state.all_model_checkpoint_paths if state is not None else []
        names = [stores.split(path)[1] for path in listed]
        position = names.index(base) if base in names else 0
        for path in [*reversed(listed[:position]), *reversed(listed[position:])]:
            if stores.split(path)[1] != base and checkpoint_exists(path):
                return path
    except errors.OpError:
        pass
    return None
