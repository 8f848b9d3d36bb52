"""TensorFlow's models as model files of graphio, and straight into an engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from graphio.engine import calls
from graphio.execution import engines
from graphio.execution.session import Session
from graphio.framework.graph import Graph
from graphio.model.export import SignatureSpec, build_model
from graphio.model.rewrite import rewrite, with_packed_weights
from graphio.schema import container
from graphio.tensorflow_files.models import SERVING, import_model
from graphio.tensorflow_files.twins import default_signature

__all__ = ["convert", "load"]


def convert(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    tags: Iterable[str] = (SERVING,),
    optimize: str = "exact",
) -> bytes | None:
    """Turns a model of TensorFlow's into a model file with its signatures.

    Where they all compute the same, as Keras writes them, `signature()` gives "serving_default".

    Args:
        source: folder of a SavedModel; path of a frozen graph (.pb, .pbtxt), its bytes or its
            GraphDef message. A frozen graph's signature is "predict".
        path: of the file to write, atomically; None: the bytes are returned.
        tags: of the SavedModel's graph.
        optimize: as for tf.saved_model.save: "exact", "approximate" or "none".

    Raises:
        As import_model; ValueError: another optimize.
    """
    graph = Graph()
    with graph.as_default():
        found = import_model(source, tags=tags, trainable=False)
        specs = [
            SignatureSpec(name, list(s.inputs.items()), list(s.outputs.items()), [], s.method)
            for name, s in sorted(found.signatures.items())
        ]
        with Session(graph=graph) as session:
            session.run([variable.initializer for variable in found.variables.values()])
            made = build_model(graph, specs, state=session.state)
    default = default_signature(*made)
    if default is not None:
        made[0].metadata.add(key=calls.DEFAULT_SIGNATURE, value=default)
    model, arrays = rewrite(*made, optimize)
    packed_tiles = with_packed_weights(model, arrays)
    if path is None:
        return container.pack(model, arrays, packed_tiles)
    container.write(path, model, arrays, packed_tiles)
    return None


def load(
    source: Any, target: str = "", *, tags: Iterable[str] = (SERVING,), state: Any = None
) -> Any:
    """Opens a model of TensorFlow's in an engine.

    Args:
        source, tags: as convert.
        target: of the engine, as of a tf.Session.
        state: an engine's state to share; None: a separate one with the file's values.

    Returns:
        The engine's model.

    Raises:
        As convert; UnimplementedError also for operators that the engine lacks.
        ValueError: an unknown target.
    """
    engine = engines.choose(target)
    data = convert(source, tags=tags)
    assert data is not None
    return engine.load(data, state=state)
