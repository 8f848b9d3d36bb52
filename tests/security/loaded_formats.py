"""A file of every format that is read, with a given string for its names, and its readers.

python loaded_formats.py FOLDER     reads all, under a watch that notes what else Python does
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import pickle
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from foreign_files import FOREIGN, torch_file
from fuzzing.interop import safetensors, tabled
from fuzzing.model_reader import flags_of, sealed
from fuzzing.onnx_importer import _loop as onnx_loop
from google.protobuf import text_format
from google.protobuf.message import Message
from onnx import helper

import graphio as tf
import graphio.onnx
from graphio import cinfer, runtime, tensorflow_files
from graphio.schema import checkpoint, checkpoint_index, container
from graphio.schema import tensorflow_pb2 as pb
from graphio.schema.model_pb2 import Model
from graphio.support import errors
from graphio.train.interop import table

NAME = "benign_name"  # the string that is replaced


def replaced(message: Message, name: str) -> None:
    """Replaces NAME by another string everywhere in a message."""
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in list(value):
                if hasattr(value[key], "ListFields"):
                    replaced(value[key], name)
                    if NAME in key:
                        value[key.replace(NAME, name)].CopyFrom(value[key])
                        del value[key]
        elif field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                replaced(item, name)
        elif field.type == field.TYPE_STRING and field.is_repeated:
            value[:] = [text.replace(NAME, name) for text in value]
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, value.replace(NAME, name))
        elif field.type == field.TYPE_BYTES and not field.is_repeated:
            setattr(message, field.name, value.replace(NAME.encode(), name.encode()))


# ---- files ----


def _built() -> tuple[tf.Graph, Any, Any]:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2], name=NAME)
        v = tf.Variable(np.ones(2, np.float32), name=f"{NAME}_variable")
        y = tf.identity(
            tf.while_loop(lambda i: i < 9.0, lambda i: i + 1.0, [x[0]]) + v, f"{NAME}_y"
        )
        tf.add_to_collection(NAME, y)
    return graph, x, y


def model_file(name: str) -> bytes:
    """A model with a loop, a variable and a collection."""
    graph, x, y = _built()
    with graph.as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(tf.global_variables_initializer())
        path = Path(folder, "m.gio")
        tf.saved_model.save(str(path), session, {NAME: ({"x": x}, {"y": y})})
        return resealed(path.read_bytes(), name)


def resealed(data: bytes, name: str) -> bytes:
    """A model file of ours with other names."""
    model, _ = container.unpack(data)
    replaced(model, name)
    start = int.from_bytes(data[24:32], "little")
    return sealed(model.SerializeToString(deterministic=True), data[start:], flags_of(model))


def graph_file(name: str) -> bytes:
    """The graph file of a checkpoint."""
    message = Model()
    graph, _, _ = _built()
    with graph.as_default():
        message.ParseFromString(tf.train.export_meta_graph().SerializeToString())
    replaced(message, name)
    return container.pack(message, [])


def index_file(folder: Path, name: str) -> None:
    """A checkpoint."""
    values = {NAME: np.arange(4, dtype=np.float32)}
    checkpoint.write_checkpoint(folder / "c", values, {f"{NAME}_blob": b"x"}, meta=b"", save_id=1)
    index = checkpoint_index.read_index(folder / "c")
    replaced(index, name)
    payload = index.SerializeToString(deterministic=True)
    (folder / "c.index").write_bytes(checkpoint_index.wrap(payload))
    text = f"model_checkpoint_path: {json.dumps(name)}\n"
    (folder / "checkpoint").write_text(text)


def onnx_file(name: str) -> bytes:
    """A model with a loop, in which everything has this name."""
    model = onnx_loop()
    model.graph.node.append(helper.make_node(NAME, ["x"], [NAME], NAME, domain=NAME, k=NAME))
    model.graph.output.append(helper.make_tensor_value_info(NAME, 1, [2]))
    model.metadata_props.add(key=NAME, value=NAME)
    model.doc_string = model.producer_name = NAME
    replaced(model, name)
    return model.SerializeToString()


def frozen_graph(name: str) -> bytes:
    """A GraphDef with a node of this operator, which calls a function of this name."""
    graph = pb.GraphDef()
    node = graph.node.add(name=NAME, op="Placeholder")
    node.attr["dtype"].type = 1
    graph.node.add(name=f"{NAME}_op", op=NAME, input=[NAME])
    call = graph.node.add(name=f"{NAME}_call", op="PartitionedCall", input=[NAME])
    call.attr["f"].func.name = NAME
    call.attr[NAME].s = NAME.encode()
    replaced(graph, name)
    return graph.SerializeToString()


def saved_model(name: str) -> str:
    """TensorFlow's SavedModel as text."""
    made = pb.SavedModel()
    meta = made.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.ParseFromString(frozen_graph(name))
    meta.signature_def[name].inputs[name].name = name
    meta.signature_def[name].outputs[name].name = f"{name}_op"
    return text_format.MessageToString(made)


def tensor_file(name: str) -> bytes:
    """A safetensors file."""
    row = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    strange = {"dtype": name, "shape": [1], "data_offsets": [4, 5]}
    return safetensors({"__metadata__": {name: name}, name: row, f"{name}2": strange}, bytes(5))


def numpy_archive(name: str) -> bytes:
    """An .npz file with an array of objects besides."""
    buffer, inner = io.BytesIO(), io.BytesIO()
    np.save(inner, np.array([Runs()]), allow_pickle=True)
    plain = io.BytesIO()
    np.save(plain, np.zeros(2))
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.npy", plain.getvalue())
        archive.writestr(f"{name}_objects.npy", inner.getvalue())
        archive.writestr(name, b"no array")
    return buffer.getvalue()


class Runs:
    """Pickled, a call of os.system."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/graphio_was_here",)


def bundle(name: str) -> bytes:
    """The index of a TensorFlow checkpoint with a variable of this name."""
    rows = table.read_table((FOREIGN / "tf_sharded.index").read_bytes(), "golden")
    key = max(rows, key=len)
    rows[name.encode()] = rows.pop(key)
    return tabled(rows)


def written(folder: Path, name: str) -> None:
    """One file of every format in a folder."""
    folder.mkdir()
    (folder / "m.gio").write_bytes(model_file(name))
    (folder / "g.meta").write_bytes(graph_file(name))
    index_file(folder, name)
    (folder / "m.onnx").write_bytes(onnx_file(name))
    (folder / "f.pb").write_bytes(frozen_graph(name))
    (folder / "saved").mkdir()
    (folder / "saved" / "saved_model.pbtxt").write_text(saved_model(name))
    (folder / "t.safetensors").write_bytes(tensor_file(name))
    (folder / "a.npz").write_bytes(numpy_archive(name))
    np.save(folder / "o.npy", np.array([Runs()]), allow_pickle=True)
    torch_file(folder / "p.pt", pickle.dumps({name: 1.5}, 2))
    torch_file(folder / "q.pt", pickle.dumps({name: Runs()}, 2))
    module, _, function = name.rpartition(".")
    found = f"c{module}\n{function}\n(X\x01\x00\x00\x00xtR.".encode()
    torch_file(folder / "r.pt", b"\x80\x02" + found)
    (folder / "t.index").write_bytes(bundle(name))
    for path in FOREIGN.glob("tf_sharded.data*"):
        (folder / f"t{path.suffix}").write_bytes(path.read_bytes())
    (folder / "h.index.json").write_text(json.dumps({"weight_map": {name: name}}))
    (folder / "h.json.index.json").write_text(
        json.dumps({"weight_map": dict.fromkeys((name, f"{name}2"), "t.safetensors")})
    )


# ---- readers ----


def _run(engine: Any, path: Path) -> None:
    model = engine.load(path)
    for name in model.signatures:
        model.signature(name)(x=np.zeros(2, np.float32))


def _restored(folder: Path) -> None:
    state = cinfer.new_state()
    state.declare(checkpoint_index.read_index(folder / "c").variable[0].name, 1, [4])
    state.restore(folder / "c")


def _imported(path: Path) -> None:
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(path))


def _values(path: Path) -> None:
    reader = tf.train.load_checkpoint(path)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


READERS: dict[str, Callable[[Path], object]] = {
    "a model, in Python": lambda f: _run(runtime, f / "m.gio"),
    "a model, in C": lambda f: _run(cinfer, f / "m.gio"),
    "a model, into a graph": lambda f: _imported(f / "m.gio"),
    "a graph file": lambda f: _imported(f / "g.meta"),
    "a checkpoint, in Python": lambda f: _values(f / "c"),
    "a checkpoint, in C": _restored,
    "the list of checkpoints": tf.train.latest_checkpoint,
    "ONNX": lambda f: graphio.onnx.convert(f / "m.onnx"),
    "a GraphDef": lambda f: tensorflow_files.convert(f / "f.pb"),
    "a SavedModel": lambda f: tensorflow_files.convert(f / "saved"),
    "safetensors": lambda f: _values(f / "t.safetensors"),
    ".npz": lambda f: _values(f / "a.npz"),
    ".npy": lambda f: _values(f / "o.npy"),
    "torch.save, data": lambda f: _values(f / "p.pt"),
    "torch.save, a call": lambda f: _values(f / "q.pt"),
    "torch.save, a global": lambda f: _values(f / "r.pt"),
    "TensorFlow's checkpoint": lambda f: _values(f / "t"),
    "Hugging Face, a bad index": lambda f: _values(f / "h.index.json"),
    "Hugging Face": lambda f: _values(f / "h.json.index.json"),
}


def read(folder: Path) -> dict[str, str]:
    """The outcome of each reader: "" or the error's message."""
    found = {}
    for what, reader in READERS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader(folder)
            found[what] = ""
        except (errors.OpError, OSError, ValueError) as error:
            found[what] = f"{type(error).__name__}: {error}"
    return found


# ---- the watch ----

#: events that a reader may cause besides opening files for reading
QUIET = (
    *("object.", "mmap.", "os.listdir", "os.scandir", "sys._getframe", "gc.", "builtins.id"),
    "array.",
)
#: forbidden acts, done once to see that the watch notices
ACTS = (
    *("import colorsys", "import none", "compile('1', 'c', 'eval')", "open('x', 'w').close()"),
    "__import__('pickle').loads(b'cos\\nsystem\\n.')",
    "__import__('os').system('true')",
)
_SEEN: list[str] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _SEEN is None or event.startswith(QUIET):
        return
    if event != "open" or arguments[1] not in (None, "r", "rb"):
        _SEEN.append(f"{event} {arguments!r:.200}")


def watched(act: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The result of a call, and the events of Python other than reading files."""
    global _SEEN
    _SEEN = []
    outcome = act()
    events, _SEEN = _SEEN, None
    return outcome, events


def _forbidden() -> None:
    for act in ACTS:
        with contextlib.suppress(ImportError):
            exec(act)


def main() -> None:
    """Reads benign files to warm up, then those of the folder; prints outcomes and events."""
    folder = Path(sys.argv[1])
    for name in ("warm", "benign"):
        written(folder / name, NAME)
    sys.addaudithook(_audit)
    read(folder / "warm")
    entries = sorted(path for path in folder.iterdir() if path.name != "warm")
    found = {entry.name: watched(functools.partial(read, entry)) for entry in entries}
    print(json.dumps({**found, "forbidden": watched(_forbidden)}))


if __name__ == "__main__":
    main()
