"""tf.io.write_graph: a GraphDef to a file."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format

from graphio.framework.graph import Graph
from graphio.protos.graph_def import GraphDef, graph_def_of
from graphio.protos.node_def import View, message_of
from graphio.storage import files
from graphio.support import api_guard

__all__ = ["write_graph"]


@api_guard.guarded
def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a graph's nodes to a file, in one step.

    Args:
        graph_or_graph_def: a Graph, a GraphDef, or another message, such as a SaverDef.
        logdir: folder, which is made if it is not there.
        name: of the file.
        as_text: True writes protocol buffer text; False the bytes that GraphDef.ParseFromString
            takes.

    Returns:
        The path of the file.

    Raises:
        TypeError: it is neither a Graph nor a message.
        UnavailableError, DiskFullError: as reported by the operating system.
    """
    given = graph_or_graph_def
    if isinstance(given, Graph):
        given = given.as_graph_def()
    is_other = isinstance(given, View) and not isinstance(given, GraphDef)
    model = message_of(given) if is_other else graph_def_of(given)
    folder = os.fspath(logdir)
    with files.naming("make the folder", folder):
        os.makedirs(folder or ".", exist_ok=True)
    path = os.path.join(folder, name)
    text = text_format.MessageToString(model).encode() if as_text else model.SerializeToString()
    files.replace(path, [text])
    return path
