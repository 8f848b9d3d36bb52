"""States of versions and signatures, as protobuf writes TensorFlow Serving's messages in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.engine.interface import TensorSpec
from graphio.framework import dtypes
from graphio.schema import tensorflow_pb2
from graphio.serving.failures import not_found
from graphio.serving.servable import Entry, Servable
from graphio.serving.versions import Versions, VersionStatus
from graphio.support import errors

__all__ = ["metadata", "status"]

Json = dict[str, Any]
#: by number, as the messages name them
_CODES = {
    value: name
    for name, value in vars(errors).items()
    if isinstance(value, int) and name.isupper() and not name.startswith("_")
}


def status(model: Versions, version: int | None) -> Json:
    """GetModelStatusResponse, of one version or of all, the newest first.

    Raises:
        NotFoundError: there is no such version, or none at all.
    """
    known = dict(model.status)  # a thread changes it
    if version is not None and version not in known:
        raise not_found(f"Could not find version {version} of model {model.name}")
    if not known:
        raise not_found(f"Could not find any versions of model {model.name}")
    chosen = sorted(known, reverse=True) if version is None else [version]
    return {"model_version_status": [_version(number, known[number]) for number in chosen]}


def _version(number: int, found: VersionStatus) -> Json:
    return {
        "version": str(number),
        "state": found.state,
        "status": {"error_code": _CODES[found.code], "error_message": found.message},
    }


def metadata(servable: Servable) -> Json:
    """GetModelMetadataResponse with its signatures."""
    entries = servable.entries.items()
    return {
        "model_spec": {
            "name": servable.name,
            "signature_name": "",
            "version": str(servable.version),
        },
        "metadata": {
            "signature_def": {"signature_def": {name: _signature(entry) for name, entry in entries}}
        },
    }


def _signature(entry: Entry) -> Json:
    return {
        "inputs": _tensors(entry.inputs, entry.message.input),
        "outputs": _tensors(entry.outputs, entry.message.output),
        "method_name": entry.message.method,
        "defaults": {},
    }


def _tensors(specs: Mapping[str, TensorSpec], bindings: Any) -> Json:
    values = {binding.key: binding.value for binding in bindings}
    return {
        key: {
            "dtype": _dtype(spec),
            "tensor_shape": {
                "dim": [
                    {"size": str(-1 if d is None else d), "name": ""} for d in spec.shape or ()
                ],
                "unknown_rank": spec.shape is None,
            },
            "name": _indexed(values[key]),
        }
        for key, spec in specs.items()
    }


def _dtype(spec: TensorSpec) -> str:
    if spec.kinds:
        return "DT_VARIANT"
    try:
        number = dtypes.as_dtype(spec.dtype).as_datatype_enum
    except (TypeError, KeyError):  # ONNX's types that TensorFlow lacks
        return "DT_INVALID"
    return tensorflow_pb2.DataType.Name(number)


def _indexed(value: str) -> str:
    """The name that TensorFlow gives to a value: "x:0"."""
    return value if ":" in value else f"{value}:0"
