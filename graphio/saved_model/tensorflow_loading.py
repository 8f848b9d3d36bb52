"""A SavedModel of TensorFlow's into a session, as tf.saved_model.load does it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphio.protos.meta_graph import MetaGraphDef
from graphio.saved_model.signature_def_utils import build_signature_def
from graphio.saved_model.utils import build_tensor_info
from graphio.tensorflow_files.models import import_model

__all__ = ["load_into"]


def load_into(
    sess: Any, tags: Iterable[str], folder: str, import_scope: str | None
) -> MetaGraphDef:
    """Adds what the signatures need to a session's graph, and gives its variables their values.

    Args:
        sess: the session.
        tags: those that the graph was saved with.
        folder: of the SavedModel.
        import_scope: prefix of the names, made unique; None: none.

    Returns:
        The signatures, with the names that their tensors have in the graph.

    Raises:
        As import_model.
    """
    requested = [tags] if isinstance(tags, str) else sorted(tags)
    with sess.graph.as_default(), sess.graph.unchanged_on_error():
        found = import_model(folder, tags=requested, prefix=import_scope)
        sess.run([variable.initializer for variable in found.variables.values()])
    made = MetaGraphDef()
    made.meta_info_def.tags.extend(requested)
    for name, signature in found.signatures.items():
        inputs, outputs = (
            {key: build_tensor_info(tensor) for key, tensor in ends.items()}
            for ends in (signature.inputs, signature.outputs)
        )
        made.signature_def[name].CopyFrom(build_signature_def(inputs, outputs, signature.method))
    return made
