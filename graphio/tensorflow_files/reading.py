"""Bytes, text and messages of TensorFlow's graphs and saved models."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from graphio.schema import foreign
from graphio.schema import tensorflow_pb2 as pb
from graphio.storage import stores
from graphio.train.interop.reading import damaged, is_file, map_bytes

__all__ = ["is_saved_model", "read_graph", "read_saved_model", "saved_model_file"]

M = TypeVar("M", bound=Message)
MAIN_FILES = ("saved_model.pb", "saved_model.pbtxt")


def read_graph(source: Any) -> tuple[pb.GraphDef, str]:
    """A GraphDef, and what messages call it.

    Args:
        source: path of a .pb or .pbtxt file, bytes, or a GraphDef message (TensorFlow's own, too).

    Raises:
        NotFoundError: there is no such file. DataLossError: it is not a GraphDef.
        TypeError: source is something else.
    """
    if isinstance(source, pb.GraphDef):
        return source, "the GraphDef"
    if isinstance(source, Message) and source.DESCRIPTOR.full_name == "tensorflow.GraphDef":
        return _binary(source.SerializeToString(), pb.GraphDef(), "the GraphDef"), "the GraphDef"
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _checked(_binary(bytes(source), pb.GraphDef(), "the GraphDef"), "the GraphDef")
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"source is {type(source).__name__}, expected a path, bytes or a GraphDef message"
        )
    path = stores.plain(source)
    return _checked(_file(path, pb.GraphDef()), path)


def read_saved_model(folder: str | os.PathLike[str]) -> pb.SavedModel:
    """The message of a SavedModel folder.

    Raises:
        NotFoundError: there is none. DataLossError: it is damaged.
    """
    path = saved_model_file(folder)
    if path is None:
        path = stores.join(folder, MAIN_FILES[0])
    found = _file(path, pb.SavedModel())
    if not found.meta_graphs:
        raise damaged(path, "it holds no graph; it is cut off or no SavedModel of TensorFlow")
    return found


def saved_model_file(folder: str | os.PathLike[str]) -> str | None:
    """The path of a folder's main file; None where there is none."""
    paths = (stores.join(folder, name) for name in MAIN_FILES)
    return next((path for path in paths if is_file(path)), None)


def is_saved_model(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a SavedModel of TensorFlow's, and none of ours."""
    path = saved_model_file(folder)
    if path is None:
        return False
    start = bytes(map_bytes(path)[:4096])
    if path.endswith(".pbtxt"):
        return b"meta_graphs" in start
    # Field 1 is a number in TensorFlow's message and a message in ours; 2 are its graphs.
    return start[:1] in (b"\x08", b"\x12")


def _file(path: str, into: M) -> M:
    data = bytes(map_bytes(path))
    return _text(data, into, path) if path.endswith(".pbtxt") else _binary(data, into, path)


def _binary(data: bytes, into: M, what: str) -> M:
    try:
        into.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        kind = foreign.kind_of(data)
        why = f", or is cut off ({error})" if kind is None else f", but {kind}"
        text = f"it is not a {into.DESCRIPTOR.name} of TensorFlow{why}"
        raise damaged(what, text) from None
    return into


def _text(data: bytes, into: M, what: str) -> M:
    try:
        text_format.Parse(data.decode(), into, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(
            what, f"it is not the text form of a {into.DESCRIPTOR.name}: {error}"
        ) from None
    return into


def _checked(graph: pb.GraphDef, what: str) -> tuple[pb.GraphDef, str]:
    if not graph.node:
        raise damaged(what, "it has no nodes; it is empty or no GraphDef of TensorFlow")
    return graph, what
