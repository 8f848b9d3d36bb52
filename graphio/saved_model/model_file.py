"""Models for serving: a graph with signatures and the values of its variables in one file.

tf.saved_model.save("digits.gio", session, {"predict": ({"x": x}, {"y": y})})
model = tf.saved_model.load("digits.gio")
model.signature("predict")(x=batch)["y"]
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from graphio.execution import engines
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.model.export import SignatureSpec, build_model, reach
from graphio.model.rewrite import rewrite, with_packed_weights
from graphio.saved_model import constants
from graphio.schema import container
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.tensorflow_files.reading import is_saved_model

__all__ = ["load", "save"]

PREDICT_METHOD = "tensorflow/serving/predict"


@api_guard.guarded
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
    with their position. A signature that assigns variables trains the model further.

    Args:
        path: of the file, "name.gio" by custom; or a URL of an object store,
            "s3://bucket/name.gio".
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
        TypeError: no session, or a signature of another form.
        InvalidArgumentError: a signature needs placeholders that are none of its inputs; all are
            named.
        FailedPreconditionError: variables that the signatures use have no value.
    """
    _check_arguments(session, signatures)
    graph = session.graph
    specs = [signature_spec(graph, name, entry) for name, entry in signatures.items()]
    _check_fed(specs)
    model, arrays = build_model(graph, specs, state=session.state, metadata=metadata)
    empty = [v.name for v in model.variable if not v.HasField("value")]
    if empty:
        raise errors.FailedPreconditionError(
            message=f"Attempting to use uninitialized value {', '.join(empty)}"
        )
    model, arrays = rewrite(model, arrays, optimize)
    container.write(path, model, arrays, with_packed_weights(model, arrays))


@api_guard.guarded
def load(
    path: str | os.PathLike[str], target: str = "", *, state: Any = None, lazy: bool = False
) -> Any:
    """Opens a model file in one of the engines; neither the builder nor a graph is needed to run.

    Args:
        path: of the file, or a folder that simple_save or a SavedModelBuilder wrote, TensorFlow's
            included; or a URL of either in an object store.
        target: of the engine, as of a tf.Session.
        state: an engine's state to share; None: a separate one with the file's values.
        lazy: True checks the bytes of big tensors when they are first used.

    Returns:
        The engine's model: `signatures`, `signature(name)`, `state`, `metadata`.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is damaged.
        UnimplementedError: operators that the engine lacks; all are named.
        ValueError: an unknown target.
    """
    engine = engines.choose(target)
    is_folder = stores.is_folder(path)
    if is_folder and is_saved_model(path):
        from graphio import tensorflow_files  # for folders of TensorFlow's only

        return tensorflow_files.load(path, target, state=state)
    where = stores.join(path, constants.MODEL_FILENAME) if is_folder else path
    return engine.load(where, state=state, lazy=lazy)


@api_guard.guarded
def signature_spec(graph: Graph, name: str, entry: Any) -> SignatureSpec:
    """A signature from what users give: (inputs, outputs) or (inputs, outputs, targets).

    Raises:
        TypeError: another form. ValueError: neither outputs nor targets.
    """
    if not isinstance(entry, Sequence) or not 2 <= len(entry) <= 3:
        raise _of_another_form(name, repr(entry))
    inputs, outputs, targets = (*entry, ()) if len(entry) == 2 else entry
    for what, given in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(given, Mapping):
            raise _of_another_form(name, f"{what} {given!r}")
    if not isinstance(targets, Collection) or isinstance(targets, str):
        raise _of_another_form(name, f"targets {targets!r}")
    if not outputs and not targets:
        raise ValueError(f"signature '{name}' has neither outputs nor targets")
    return SignatureSpec(
        name,
        [(key, _tensor(graph, value)) for key, value in inputs.items()],
        [(key, _tensor(graph, value)) for key, value in outputs.items()],
        [_operation(graph, value) for value in targets],
        PREDICT_METHOD if not targets else "",
    )


def _of_another_form(name: Any, found: str) -> TypeError:
    return TypeError(
        f"signature '{name}' must be (inputs, outputs) or (inputs, outputs, targets), dicts from "
        "keys to tensors and a list of operations, such as ({'x': x}, {'y': y}, [train]); "
        f"found {found}"
    )


def _check_arguments(session: Any, signatures: Any) -> None:
    """Refuses arguments that are not a session or signatures, and a session given as path."""
    if not isinstance(getattr(session, "graph", None), Graph) or not hasattr(session, "state"):
        raise TypeError(
            f"session is {session!r}, expected a tf.Session: save(path, session, signatures)"
        )
    if not signatures:
        raise ValueError(
            "a model needs at least one signature, such as {'predict': (inputs, outputs)}"
        )
    if not isinstance(signatures, Mapping):
        raise TypeError(
            f"signatures is {signatures!r}, expected a dict from names, such as "
            "{'predict': (inputs, outputs)}"
        )


def _check_fed(specs: Sequence[SignatureSpec]) -> None:
    """No run of a signature could go without the placeholders that are none of its inputs."""
    missing = []
    for spec in specs:
        fed = {tensor for _, tensor in spec.inputs}
        roots = [tensor.op for _, tensor in spec.outputs if tensor not in fed]
        needed, _ = reach([*roots, *spec.targets], fed)
        names = sorted(
            op.name for op in needed if op.op == "Placeholder" and op.outputs[0] not in fed
        )
        if names:
            missing.append(f"signature {spec.name!r} needs {', '.join(map(repr, names))}")
    if missing:
        raise errors.InvalidArgumentError(
            message=f"placeholders that are not inputs: {'; '.join(missing)}; make them inputs, or "
            "take outputs that do without"
        )


def _tensor(graph: Graph, value: Any) -> Tensor:
    found = graph.as_graph_element(value, allow_tensor=True, allow_operation=False)
    assert isinstance(found, Tensor)
    return found


def _operation(graph: Graph, value: Any) -> Operation:
    found = graph.as_graph_element(value, allow_tensor=True, allow_operation=True)
    return found.op if isinstance(found, Tensor) else found
