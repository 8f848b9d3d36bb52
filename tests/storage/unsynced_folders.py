"""Saves in a folder whose fsync fails, with one errno after the other, by both engines.

python unsynced_folders.py FOLDER: prints a JSON list of [errno, who, what came of it].
"""

from __future__ import annotations

import errno
import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from proofs import shim

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.storage import files, stores

NUMBERS = ("EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EIO", "ENOSPC", "EDQUOT", "EROFS")


def outcome(folder: Path, save: Callable[[str], object]) -> str:
    """The outcomes of a save to an existing prefix, and of one to a new prefix."""
    before = sorted(os.listdir(folder))
    reported = []
    for base in ("m", "new"):
        try:
            save(str(folder / base))
            reported.append("saved")
        except (OSError, tf.errors.OpError) as error:
            named = os.fspath(folder) in str(error)
            reported.append("reported" if named else f"an error that names no folder: {error}")
    if reported == ["reported", "reported"] and sorted(os.listdir(folder)) != before:
        reported.append(f"left {sorted(set(os.listdir(folder)) - set(before))}")
    read_checkpoint(folder / "m")
    return ", ".join(reported)


def savers() -> dict[str, Callable[[str], object]]:
    """By name, what writes a checkpoint of a prefix, or a file of that name."""
    found: dict[str, Callable[[str], object]] = {
        "file": lambda path: files.replace(f"{path}.gio", [b"x"]),
        "other file": lambda path: stores.write(f"{path}.txt", [b"x"]),
    }
    for engine in ("runtime", "cinfer"):
        with tf.Graph().as_default() as graph:
            tf.get_variable("v", initializer=np.zeros(9, np.float32))
            session = tf.Session(engine, graph=graph)
            session.run(tf.global_variables_initializer())
            found[f"Saver {engine}"] = functools.partial(tf.train.Saver().save, session)
    found["C"] = session.state.save
    return found


def main() -> None:
    shim.run_preloaded()
    reported = []
    for who, save in savers().items():
        for name in NUMBERS:
            store_folder = Path(sys.argv[1]) / f"{who}-{name}"
            store_folder.mkdir()
            write_checkpoint(store_folder / "m", {"v": np.zeros(9, np.float32)})
            save(str(store_folder / "m"))
            shim.refuse_sync(store_folder, getattr(errno, name))
            reported.append([name, who, outcome(store_folder, save)])
            shim.refuse_sync(store_folder, 0)
    print(json.dumps(reported))


if __name__ == "__main__":
    main()
