"""Graphs from the graph files of checkpoints, with the Savers that belong to them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Tensor
from graphio.model import registered
from graphio.protos import meta_graph
from graphio.protos.graph_def import functions_of, graph_def_of
from graphio.schema import model_pb2
from graphio.support import api_guard
from graphio.train.checkpoints.retention import FOR_EVER
from graphio.train.checkpoints.saver import Saver
from graphio.variables.variables import Variable

__all__ = ["import_meta_graph", "saver_of"]


@api_guard.makes_variables
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[str, Tensor] | None = None,
    return_elements: Sequence[str] | None = None,
    **unused: Any,
) -> Any:
    """Adds a complete graph to the default graph: nodes, variables and collections.

    Args:
        meta_graph_or_file: a MetaGraphDef, or the path of a file that a Saver or
            export_meta_graph wrote.
        clear_devices: True forgets what devices the nodes wish for.
        import_scope: prefix of the names, made unique.
        input_map: names of values in it to tensors that are read instead.
        return_elements: names of what to return besides.

    Returns:
        A Saver of its variables; None if it has none. With return_elements: it and the elements.

    Raises:
        OSError: there is no such file, or it is not a graph.
        ValueError, NotFoundError: as tf.import_graph_def.
    """
    if isinstance(meta_graph_or_file, (str, os.PathLike)):
        model = meta_graph.read_message(meta_graph_or_file)
    else:
        model = graph_def_of(meta_graph_or_file)
    with scopes.get_default_graph().unchanged_on_error():
        found, elements = meta_graph.import_message(
            model,
            clear_devices,
            import_scope,
            input_map,
            return_elements,
            functions_of(meta_graph_or_file),
        )
        saver = own_saver(model, found.variables, import_scope)
    return saver if return_elements is None else (saver, elements)


@registered.saver_of.register
def saver_of(message: model_pb2.Saver, variables: Mapping[str, Variable]) -> Saver | None:
    """The Saver of an imported message, which knows the names that its checkpoints have; None if
    it has no variables, or one that is not among those given."""
    if not message.variable or not all(name in variables for name in message.variable):
        return None
    names = dict(zip(message.key, message.variable, strict=True))
    return Saver(
        {key: variables[name] for key, name in names.items()},
        sharded=message.sharded,
        max_to_keep=message.max_to_keep,
        keep_checkpoint_every_n_hours=message.keep_every_hours or FOR_EVER,
        allow_empty=True,
    )


def own_saver(
    model: model_pb2.Model, variables: Mapping[str, Variable], import_scope: str | None
) -> Saver | None:
    """The Saver of an imported graph: that of the file, or, where there are variables in
    import_scope, one of all variables."""
    found: Saver | None = saver_of(model.saver, variables)
    graph = scopes.get_default_graph()
    if found is None and graph.get_collection(GraphKeys.GLOBAL_VARIABLES, import_scope):
        return Saver()
    return found
