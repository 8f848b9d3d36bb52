"""Copies of checkpoints that depend on nothing but themselves."""

from __future__ import annotations

import os

from graphio.schema import checkpoint
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.train.checkpoints.checkpoint_reader import resolved
from graphio.train.checkpoints.checkpoint_state import checkpoint_exists
from graphio.train.interop import formats

__all__ = ["copy_checkpoint"]

Where = str | os.PathLike[str]


@api_guard.guarded
def copy_checkpoint(source: Where, target: Where, *, overwrite: bool = False) -> str:
    """Copies a checkpoint: index, graph file and data files, under the target's names.

        best = tf.train.copy_checkpoint("run/model-1000", "export/best")

    Every byte is checked on the way, one variable at a time is in memory, and when this returns the
    copy is complete and on the disk; until then there is none. Either may be in an object store.
    The copy has step, time, metrics, random generators, iterators and blobs of the source. It is in
    no list: no Saver deletes it, and in a folder with a list it is not the latest checkpoint.

    Args:
        source: prefix of a checkpoint, or a folder, whose newest is copied.
        target: prefix of the copy. Its folder is made if it is not there, but not those above it.
        overwrite: True replaces a checkpoint of the target's name.

    Returns:
        The prefix of the copy.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: it is damaged; no copy was made.
        AlreadyExistsError: there is a checkpoint of the target's name, and overwrite is False.
        InvalidArgumentError: target is the source; the source is not a checkpoint of graphio's;
            target cannot be a checkpoint's name.
        DiskFullError, UnavailableError: as reported by the operating system or the store.
    """
    begin, end = stores.plain(resolved(source)), stores.plain(target)
    _check(begin, end, overwrite)
    stores.of(end)[0].make()
    checkpoint.copy(begin, end, as_files=True)
    return end


def _check(source: str, target: str, overwrite: bool) -> None:
    if not checkpoint_exists(source):
        raise errors.NotFoundError(message=f"there is no checkpoint {source!r} to copy")
    if not stores.is_remote(source) and formats.is_tensorflow(source):
        raise errors.InvalidArgumentError(
            message=f"{source!r} is a checkpoint of TensorFlow's: copy its files, or restore it "
            "and save it with a Saver"
        )
    if _identity(source) == _identity(target):
        raise errors.InvalidArgumentError(
            message=f"{target!r} is the checkpoint that is copied, expected another prefix"
        )
    if not stores.can_be_folder(stores.split(target)[0]):
        raise errors.NotFoundError(
            message=f"{target!r} cannot be written: there is no folder for the one that it is in"
        )
    if not overwrite and checkpoint_exists(target):
        raise errors.AlreadyExistsError(
            message=f"there is a checkpoint {target!r} already: overwrite=True replaces it"
        )


def _identity(prefix: str) -> tuple[str, str]:
    folder, base = stores.split(prefix)
    return stores.real(folder), base
