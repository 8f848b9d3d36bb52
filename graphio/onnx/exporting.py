"""From a graph of ours to an ONNX model: one signature, its weights, its training step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from graphio import saved_model
from graphio.engine import calls
from graphio.model.export import build_model
from graphio.onnx.emitting import OLDEST_OPSET, Emitter
from graphio.onnx.upgrade import TARGET
from graphio.schema import container, fused, model_pb2
from graphio.storage import stores
from graphio.support import api_guard, errors

__all__ = ["OPSETS", "export", "from_model"]

#: of ai.onnx, that a file may be written for
OPSETS = range(OLDEST_OPSET, TARGET + 1)
_SINGLE_FILE = 1 << 30  # bytes of weights; protobuf cannot hold more than 2 GiB


@api_guard.guarded
def export(
    path: str | os.PathLike[str] | None,
    session: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    targets: Sequence[Any] = (),
    *,
    opset: int | None = None,
) -> onnx.ModelProto:
    """Makes an ONNX model of part of a session's graph, with the values that variables have.

    Variables that it only reads are initializers. A variable that it assigns, as a training step
    does, is an input of its name, with the present value as default, and an output `<name>/new`:
    feed each step the outputs of the one before.

    Operators of ours are written as their bodies in ONNX's operators; element types that an ONNX
    operator lacks are computed in a wider one. Random numbers come from the reader's generator.
    tf.Assert and tf.print are left out: ONNX has no such operators.

    Args:
        path: of the file to write; weights of more than 1 GiB go to a file
            `<path>.data`. None: nothing is written.
        session: whose graph and values are exported.
        inputs: placeholders or other tensors to be fed, by name in the model.
        outputs: tensors by name in the model.
        targets: operations that run for their effect, such as an optimizer's step.
        opset: of ai.onnx, 18 to 28; None: the smallest from 22 on that has all operators.
            Readers may lack what came with 22, such as ONNX Runtime its random numbers.

    Returns:
        The model.

    Raises:
        FailedPreconditionError: a variable has no value.
        InvalidArgumentError: an input and an output have the same name, or the rank of one is
            unknown; or there is no such opset.
        UnimplementedError: ONNX cannot express some nodes; all are listed.
        TypeError: opset is not an int.
    """
    _check_opset(opset)
    spec = saved_model.signature_spec(session.graph, "export", (inputs, outputs, targets))
    message, arrays = build_model(session.graph, [spec], state=session.state, bodies=False)
    return _write(Emitter(message, arrays, message.signature[0], opset).model(), path)


@api_guard.guarded
def from_model(
    source: str | os.PathLike[str] | bytes,
    path: str | os.PathLike[str] | None = None,
    *,
    signature: str | None = None,
    opset: int | None = None,
) -> onnx.ModelProto:
    """Makes an ONNX model of a signature of a model file.

    Args:
        source: path or bytes of a model file.
        path: see export.
        signature: which; None: the only one.
        opset: see export.

    Raises:
        KeyError: there is no such signature, or there are several and none is named.
        InvalidArgumentError, UnimplementedError, TypeError: see export.
    """
    _check_opset(opset)
    opened = container.unpack(source) if isinstance(source, bytes) else container.read(source)
    message, arrays = fused.unfused(opened[0]), opened[1]
    found = _signature(message, signature)
    return _write(Emitter(message, arrays, found, opset).model(), path)


def _check_opset(opset: Any) -> None:
    text = f"opset is {opset!r}, expected an int from {OPSETS[0]} to {OPSETS[-1]}, or None"
    if opset is not None and not isinstance(opset, int):
        raise TypeError(text)
    if opset is not None and opset not in OPSETS:
        raise errors.InvalidArgumentError(message=text)


def _signature(message: model_pb2.Model, name: str | None) -> model_pb2.Signature:
    names = [s.name for s in message.signature]
    if name is None and len(names) == 1:
        return message.signature[0]
    if name is None:
        strings = {row.key: row.value for row in message.metadata}
        default = strings.get(calls.DEFAULT_SIGNATURE)
        name = default if default in names else None
    if name not in names:
        what = "name a signature" if name is None else f"there is no signature {name!r}"
        raise KeyError(f"{what}: the model has {', '.join(names) or 'none'}")
    return message.signature[names.index(name)]


def _write(model: onnx.ModelProto, path: str | os.PathLike[str] | None) -> onnx.ModelProto:
    if path is None:
        return model
    target = stores.plain(path)
    large = sum(len(t.raw_data) for t in model.graph.initializer) >= _SINGLE_FILE
    if large and stores.is_remote(target):
        raise errors.UnimplementedError(
            message=f"{target!r} is in an object store and the weights have more than 1 GiB, which "
            "ONNX keeps in a second file: write them to this machine and copy both"
        )
    if not large and (stores.is_remote(target) or target.endswith(".onnx")):
        stores.write(target, [model.SerializeToString()])
    else:
        _write_by_onnx(model, target, external=large)  # another ending may mean text
    return model


def _write_by_onnx(model: onnx.ModelProto, target: str, *, external: bool) -> None:
    """Writes a model as onnx.save_model does; a failure leaves what was there.

    Args:
        external: whether the weights are in a second file of its name, with ".data".
    """
    folder, name = os.path.split(target)
    data = name + ".data"
    with tempfile.TemporaryDirectory(dir=folder or os.curdir) as made:
        onnx.save_model(
            model,
            os.path.join(made, name),
            save_as_external_data=external,
            all_tensors_to_one_file=True,
            location=data if external else None,
            convert_attribute=False,
        )
        for file in sorted(os.listdir(made), key=lambda file: file != data):
            os.replace(os.path.join(made, file), os.path.join(folder, file))
