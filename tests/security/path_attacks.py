"""Names that lead out of a folder, put into every kind of file that names another.

    python path_attacks.py FOLDER       loads each attack of each kind, and says what came of it

What lies outside is what the file should have named: an opened one would be taken.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from proofs import untrusted

import graphio as tf
import graphio.onnx
from graphio import cinfer
from graphio.cinfer._native import ffi, lib
from graphio.saved_model import loader
from graphio.schema import checkpoint, checkpoint_index
from graphio.support import errors
from graphio.train.checkpoints import checkpoint_text

#: the names; OUT stands for a folder next to the model's, which has a file `secret`
NAMES = (
    *("../out/secret", "OUT/secret", "/etc/passwd", "a/../../out/secret", "./../out/secret"),
    *("sub/../../out/secret", "..", ".", "", "/", "//etc/passwd", "/dev/zero", "/proc/self/mem"),
    *("link", "chain", "dangling", "linked/secret", "fifo", "device", "directory", "hard"),
    *("x" * 255, "x" * 4096, "a/" * 2048, "CON", "nul.safetensors", "secret.", "secret "),
    *("a\0b", "link\0", "../out/secret\0.safetensors", "\\\\server\\share\\secret", "C:\\secret"),
    *("C:secret", "..\\out\\secret", "file:///etc/passwd", "s3://bucket/secret", "~/secret"),
    *("$HOME/secret", "%2e%2e/out/secret", "..;/secret", "\x1b[2J", "a\nb", "-rf", "ü" * 200),
)
SECONDS = 20  # that one load may take: a FIFO would wait for ever


def planted(folder: Path, good: Path) -> None:
    """Lays traps into a folder that all lead to a good file elsewhere."""
    out = folder.parent / "out"
    out.mkdir()
    secret = out / "secret"
    shutil.copy(good, secret)
    (folder / "sub").mkdir()
    (folder / "directory").mkdir()
    (folder / "link").symlink_to(secret)
    (folder / "chain").symlink_to("link")
    (folder / "dangling").symlink_to(out / "nothing")
    (folder / "linked").symlink_to(out)
    for name in ("fifo", "fifo.index"):
        os.mkfifo(folder / name)
    (folder / "directory.index").mkdir()
    os.link(secret, folder / "hard")
    with contextlib.suppress(PermissionError):  # only root may
        os.mknod(folder / "device", 0o20666, os.makedev(1, 5))


# ---- kinds of files that name others: each puts a name in, and gives what loads it ----

Kind = Callable[[Path, str], Callable[[], object]]


def _checkpoint(folder: Path) -> Path:
    if not (folder / "m.index").exists():
        values = {"w": np.arange(4, dtype=np.float32)}
        checkpoint.write_checkpoint(folder / "m", values, meta=b"graph", save_id=1)
        (folder / "m.index").rename(folder / "kept")
    shutil.copy(folder / "kept", folder / "m.index")
    return folder / "m"


def shard(folder: Path, name: str) -> Callable[[], object]:
    """A data file in a checkpoint's index, read in Python."""
    prefix = _forged(folder, name, "shard")
    return lambda: checkpoint.read_checkpoint(prefix)


def shard_in_c(folder: Path, name: str) -> Callable[[], object]:
    """A data file in a checkpoint's index, read in C."""
    prefix = _forged(folder, name, "shard")
    state = cinfer.new_state()
    state.declare("w", 1, [4])
    return lambda: state.restore(prefix)


def graph_file(folder: Path, name: str) -> Callable[[], object]:
    """The graph file in a checkpoint's index."""
    prefix = _forged(folder, name, "meta")
    (folder / "m.meta").unlink(missing_ok=True)
    return lambda: checkpoint.read_checkpoint(prefix).meta()


def _forged(folder: Path, name: str, field: str) -> Path:
    prefix = _checkpoint(folder)

    def change(index: checkpoint_index.CheckpointIndex) -> None:
        if field == "shard":
            index.shard[0].file = name
        else:
            index.meta_file = name

    (folder / "m.index").write_bytes(untrusted.forge(prefix, change))
    return prefix


def state_file(folder: Path, name: str) -> Callable[[], object]:
    """The file `checkpoint`, read in Python."""
    _list(folder, name)

    def load() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tf.train.load_checkpoint(folder)

    return load


def state_file_in_c(folder: Path, name: str) -> Callable[[], object]:
    """The file `checkpoint`, read in C."""
    _list(folder, name)
    state = cinfer.new_state()
    state.declare("w", 1, [4])

    def load() -> None:
        error, found = ffi.new("ci_error *"), ffi.new("ci_restored *")
        code = lib.ci_restore_latest(state.handle, os.fsencode(folder), ffi.NULL, found, error)
        if code:
            raise errors.from_code(code, ffi.string(error.message).decode())
        if not ffi.string(found.name):
            raise errors.NotFoundError(message="there is no checkpoint")

    return load


def _list(folder: Path, name: str) -> None:
    (folder / "m.index").unlink(missing_ok=True)
    made = checkpoint_text.CheckpointState(name, [name], expired=[name])
    (folder / "checkpoint").write_bytes(checkpoint_text.sealed(made))


def hugging_face(folder: Path, name: str) -> Callable[[], object]:
    """The files of a Hugging Face model in its index."""
    index = {"weight_map": {"w": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return lambda: tf.train.load_checkpoint(folder)


def external_data(folder: Path, name: str) -> Callable[[], object]:
    """External data of an ONNX model."""
    weight = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=name)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", 1, [4])],
        [weight],
    )
    onnx.save(helper.make_model(graph), folder / "m.onnx")
    return lambda: graphio.onnx.convert(folder / "m.onnx")


def other_graphs(folder: Path, name: str) -> Callable[[], object]:
    """The further graphs of a saved model of ours."""
    if not (folder / "kept.pb").exists():
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [2], name="x")
            builder = tf.saved_model.Builder(str(folder / "saved"))
            builder.add_meta_graph_and_variables(session, ["a"], {})
            tf.identity(x)
            builder.add_meta_graph(["b"])
            builder.save(as_text=True)
        (folder / "saved" / "saved_model.pbtxt").rename(folder / "kept.pb")
        for path in (folder / "saved").iterdir():
            path.rename(folder / path.name)
    text = (folder / "kept.pb").read_text()
    (other,) = [p.name for p in folder.glob("saved_model*.pbtxt") if p.name != "saved_model.pbtxt"]
    (folder / "saved_model.pbtxt").write_text(text.replace(other, json.dumps(name)[1:-1]))
    return lambda: loader.meta_graphs(str(folder))


KINDS: dict[str, Kind] = {
    made.__name__: made
    for made in (
        shard, shard_in_c, graph_file, state_file, state_file_in_c, hugging_face, external_data,
        other_graphs,
    )
}  # fmt: skip


def good(kind: str, folder: Path) -> Path:
    """A file that would be taken if it were opened."""
    if kind in ("shard", "shard_in_c", "graph_file"):
        _checkpoint(folder)
        return next(folder.glob("*.meta" if kind == "graph_file" else "*.safetensors"))
    made = folder / "good"
    if kind == "hugging_face":
        tf.train.export_variables({"w": np.zeros(4, np.float32)}, made.with_suffix(".safetensors"))
        return made.with_suffix(".safetensors")
    made.write_bytes(bytes(16))
    if kind == "other_graphs":
        with tf.Graph().as_default():
            tf.train.export_meta_graph(str(made))
    return made


def attacked(kind: str, folder: Path, names: tuple[str, ...] = NAMES) -> Iterator[tuple[str, str]]:
    """Each name with the error's class, "" where the file was taken."""
    folder.mkdir()
    planted(folder, good(kind, folder))
    for name in names:
        name = name.replace("OUT", str(folder.parent / "out"))
        try:
            load = KINDS[kind](folder, name)
        except (ValueError, TypeError):
            continue  # no file of this kind can say so
        signal.alarm(SECONDS)
        try:
            load()
            yield name, ""
        except (errors.OpError, OSError, ValueError, RuntimeError) as error:
            yield name, type(error).__name__
        finally:
            signal.alarm(0)


if __name__ == "__main__":
    outcomes = {}
    for kind in KINDS:
        for again in "warm", "watched":  # modules that are imported late are loaded the second time
            case_folder = Path(sys.argv[1], kind, again)
            case_folder.mkdir(parents=True)
            os.close(os.open(case_folder, os.O_RDONLY))  # a mark in the record
            outcomes[kind] = list(attacked(kind, case_folder / "model"))
    print(json.dumps(outcomes))
