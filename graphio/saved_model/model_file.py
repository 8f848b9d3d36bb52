"""Models for serving: a graph with signatures and the values of its variables in one file.

tf.saved_model.save("digits.gio", session, {"predict": ({"x": x}, {"y": y})})
model = tf.saved_model.load("digits.gio")
model.signature("predict")(x=batch)["y"]
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from graphio.export import SignatureSpec, build_model
from graphio.graph import Graph, Operation, Tensor
from graphio.rewrite import rewrite
from graphio.saved_model import constants
from graphio.schema import container, errors
from graphio.tensorflow_files.reading import is_saved_model

__all__ = ["load", "save"]

PREDICT_METHOD = "tensorflow/serving/predict"


def save(
    path: str | os.PathLike[str],
    session: Any,
    signatures: Mapping[str, Any],
    *,
    metadata: Mapping[str, str] | None = None,
    optimize: str = "exact",
) -> None:
    """Writes a model file, atomically and durably: both engines load it, and so do C programs.

    The file has what the signatures need: nodes, variables with their values, random generators
    with their place. A signature that assigns variables trains the model further.

    Args:
        path: of the file, "name.gio" by custom.
        session: whose graph and values are saved.
        signatures: name to (inputs, outputs) or (inputs, outputs, targets). Inputs and outputs
            are dicts from keys to tensors or variables; any tensor may be an input. Targets are
            operations that run for their effect.
        metadata: text by key, free for the user.
        optimize: "exact" rewrites the graph where every bit stays; "approximate" also where
            roundings change, as in folding a batch normalisation into the convolution before it.
            The file lists what was done. "none" writes the graph as it was built.

    Raises:
        ValueError: no signatures, or one without outputs and targets; another optimize.
        TypeError: a signature of another form.
        FailedPreconditionError: variables that the signatures use have no value.
    """
    if not signatures:
        raise ValueError(
            "a model needs at least one signature, such as {'predict': (inputs, outputs)}"
        )
    graph = session.graph
    specs = [signature_spec(graph, name, entry) for name, entry in signatures.items()]
    model, arrays = build_model(graph, specs, state=session.state, metadata=metadata)
    empty = [v.name for v in model.variable if not v.HasField("value")]
    if empty:
        raise errors.FailedPreconditionError(
            message=f"Attempting to use uninitialized value {', '.join(empty)}"
        )
    container.write(path, *rewrite(model, arrays, optimize))


def load(
    path: str | os.PathLike[str], target: str = "", *, state: Any = None, lazy: bool = False
) -> Any:
    """Opens a model file in one of the engines; neither the builder nor a graph is needed to run.

    Args:
        path: of the file, or a folder that simple_save or a SavedModelBuilder wrote, TensorFlow's
            included.
        target: "" for the Python runtime, "cinfer" for the C library.
        state: an engine's state to share; None: one of its own with the file's values.
        lazy: True checks the bytes of big tensors when they are first used.

    Returns:
        The engine's model: `signatures`, `signature(name)`, `state`, `metadata`.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is damaged.
        UnimplementedError: operators that the engine lacks; all are named.
        ValueError: an unknown target.
    """
    if target not in ("", "cinfer"):
        raise ValueError(f"target is {target!r}, expected '' or 'cinfer'")
    engine = importlib.import_module("graphio.cinfer" if target == "cinfer" else "graphio.runtime")
    is_folder = os.path.isdir(path)
    if is_folder and is_saved_model(path):
        from graphio import tensorflow_files

        return tensorflow_files.load(path, target, state=state)
    where = os.path.join(path, constants.MODEL_FILENAME) if is_folder else path
    return engine.load(where, state=state, lazy=lazy)


def signature_spec(graph: Graph, name: str, entry: Any) -> SignatureSpec:
    """A signature from what users give: (inputs, outputs) or (inputs, outputs, targets).

    Raises:
        TypeError: another form. ValueError: neither outputs nor targets.
    """
    if not isinstance(entry, Sequence) or not 2 <= len(entry) <= 3:
        raise TypeError(
            f"signature '{name}' must be (inputs, outputs) or (inputs, outputs, targets), "
            f"found {entry!r}"
        )
    inputs, outputs, targets = (*entry, ()) if len(entry) == 2 else entry
    if not outputs and not targets:
        raise ValueError(f"signature '{name}' has neither outputs nor targets")
    return SignatureSpec(
        name,
        [(key, _tensor(graph, value)) for key, value in inputs.items()],
        [(key, _tensor(graph, value)) for key, value in outputs.items()],
        [_operation(graph, value) for value in targets],
        PREDICT_METHOD if not targets else "",
    )


def _tensor(graph: Graph, value: Any) -> Tensor:
    found = graph.as_graph_element(value, allow_tensor=True, allow_operation=False)
    assert isinstance(found, Tensor)
    return found


def _operation(graph: Graph, value: Any) -> Operation:
    found = graph.as_graph_element(value, allow_tensor=True, allow_operation=True)
    return found.op if isinstance(found, Tensor) else found
