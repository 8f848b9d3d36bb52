"""ONNX files as model files of graphio, and straight into an engine."""

from __future__ import annotations

import json
import os
from typing import Any

from graphio.execution import engines
from graphio.framework.graph import Graph
from graphio.model.export import SignatureSpec, build_model
from graphio.model.rewrite import rewrite, with_packed_weights
from graphio.onnx.importing import import_model
from graphio.schema import container
from graphio.support import api_guard

__all__ = ["SIGNATURE", "convert", "load"]

SIGNATURE = "predict"


@api_guard.guarded
def convert(
    source: Any, path: str | os.PathLike[str] | None = None, *, optimize: str = "exact"
) -> bytes | None:
    """Turns an ONNX model into a model file with one signature, "predict".

    Inputs and outputs of the signature have the names of the model's; weights are constants. The
    file's metadata have the model's, and for each output "y" that a ZipMap makes the labels of its
    columns: a JSON list under "y.columns".

    Args:
        source: path of an ONNX file, its bytes, or an onnx.ModelProto.
        path: of the file to write, atomically; None: the bytes are returned.
        optimize: as for tf.saved_model.save: "exact", "approximate" or "none".

    Raises:
        As import_model; ValueError: another optimize.
    """
    graph = Graph()
    with graph.as_default():
        found = import_model(source, trainable=False)
        spec = SignatureSpec(SIGNATURE, list(found.inputs.items()), list(found.outputs.items()))
        labels = {f"{name}.columns": json.dumps(of) for name, of in found.columns.items()}
        made = build_model(graph, [spec], metadata={**found.metadata, **labels})
    model, arrays = rewrite(*made, optimize)
    packed_tiles = with_packed_weights(model, arrays)
    if path is None:
        return container.pack(model, arrays, packed_tiles)
    container.write(path, model, arrays, packed_tiles)
    return None


@api_guard.guarded
def load(source: Any, target: str = "") -> Any:
    """Opens an ONNX model in an engine.

    Args:
        source: path of an ONNX file, its bytes, or an onnx.ModelProto.
        target: of the engine, as of a tf.Session.

    Returns:
        The engine's model with the signature "predict".

    Raises:
        As import_model; UnimplementedError also for operators that the engine lacks.
        ValueError: an unknown target.
    """
    engine = engines.choose(target)
    data = convert(source)
    assert data is not None
    return engine.load(data)
