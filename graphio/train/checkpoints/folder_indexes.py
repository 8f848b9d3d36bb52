"""The checkpoints of a folder by their indexes, which count where no list names the newest."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from graphio.schema import checkpoint_files, checkpoint_index
from graphio.schema.checkpoint_index import is_safe_name, read_index_of
from graphio.storage import stores
from graphio.support import errors
from graphio.train.interop import formats

__all__ = ["indexes", "newest_of", "none_is_whole"]

_STEP = re.compile(r"-(\d{1,18})$")
_DATA = ".data-"  # in the name of every data file, of TensorFlow's checkpoints, too


def newest_of(
    folder: str | os.PathLike[str], found: Sequence[str], damaged: dict[str, str]
) -> str | None:
    """Of what `indexes` gave the newest prefix; None if there are no checkpoints.

    Raises:
        DataLossError: all are damaged.
    """
    if damaged and not found:
        raise none_is_whole(folder, damaged)
    return found[-1] if found else None


def none_is_whole(folder: str | os.PathLike[str], damaged: dict[str, str]) -> errors.DataLossError:
    """The error of a folder in which all checkpoints are damaged."""
    what = "; ".join(f"{prefix!r}: {error}" for prefix, error in damaged.items())
    return errors.DataLossError(
        message=f"no checkpoint of {os.fspath(folder)!r} can be restored: {what}. To start again, "
        "take another folder or move these away"
    )


class _Age(NamedTuple):
    """The sort key of checkpoints: the greatest is the newest."""

    step: int  # -1: none
    time: int  # seconds
    own: bool  # TensorFlow's comes before one of ours


def indexes(folder: str) -> tuple[list[str], dict[str, str]]:
    """The prefixes of a folder whose index is valid, oldest first; what is wrong with the others.

    A folder that is not there has none.

    Raises:
        UnavailableError: the folder or an index cannot be read now.
        UnimplementedError: a newer graphio wrote one.
    """
    store = stores.of_folder(folder)
    names = _names(store)
    found: list[tuple[_Age, str]] = []
    damaged: dict[str, str] = {}
    foreign_matters = any(_DATA in name for name in names)
    for base in _bases(names):
        try:
            index = read_index_of(store, base)
        except errors.NotFoundError:
            continue
        except errors.UnimplementedError as error:
            raise _may_be_newest(store.path(base), error) from None
        except errors.UnavailableError as error:
            # One that cannot be read now may be the newest; a path that is not a file is not.
            if store.shared or error.errno:
                raise
        except errors.DataLossError as error:
            if not _begins_as_ours(store, base):
                if not foreign_matters:
                    continue  # a foreign file of such a name
                if _is_tensorflow(store.path(base)):
                    found.append((_age_of_foreign(store, base), base))
                    continue
            damaged[store.path(base)] = error.message
        else:
            if lost := checkpoint_files.lacking(store, base):
                damaged[store.path(base)] = lost
                continue
            step = index.step if index.has_step else -1
            found.append((_Age(step, index.time, True), base))
    return [store.path(base) for base in _in_order(store, found)], damaged


def _names(store: stores.Store) -> list[str]:
    try:
        return store.names()
    except errors.UnavailableError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return []
        raise


def _bases(names: Iterable[str]) -> list[str]:
    split = map(os.path.splitext, filter(is_safe_name, names))
    return [base for base, extension in split if extension == ".index"]


def _may_be_newest(prefix: str, error: errors.OpError) -> errors.UnimplementedError:
    return errors.UnimplementedError(
        message=f"{error.message}. It may be the newest checkpoint, so none is chosen: name one "
        f"that this graphio can read, or move {prefix!r} away"
    )


def _begins_as_ours(store: stores.Store, base: str) -> bool:
    try:
        start = store.read(base + ".index", follow=True)[: len(checkpoint_index.MAGIC)]
    except errors.OpError:
        return True
    return start == checkpoint_index.MAGIC


def _is_tensorflow(prefix: str) -> bool:
    try:
        return formats.is_tensorflow(prefix)
    except (errors.OpError, ValueError):
        return False


def _age_of_foreign(store: stores.Store, base: str) -> _Age:
    """TensorFlow's index has no step: the name has it."""
    step = _STEP.search(base)
    return _Age(int(step[1]) if step else -1, int(store.modified(base + ".index")), False)


def _in_order(store: stores.Store, found: Iterable[tuple[_Age, str]]) -> list[str]:
    """The oldest first. The time of an index has seconds: among those of one second that of the
    file decides, and then the name, which gives each folder one order."""
    ages: dict[_Age, list[str]] = {}
    for age, base in found:
        ages.setdefault(age, []).append(base)
    return [
        base
        for age in sorted(ages)
        for base in (
            sorted(ages[age], key=lambda base: (_modified(store, base), base.encode()))
            if len(ages[age]) > 1
            else ages[age]
        )
    ]


def _modified(store: stores.Store, base: str) -> float:
    try:
        return store.modified(base + ".index")
    except (errors.NotFoundError, errors.UnavailableError):
        return 0.0  # deleted meanwhile
