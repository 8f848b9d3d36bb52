"""Making signatures of the usual kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.framework import dtypes
from graphio.protos.signature_def import SignatureDef, TensorInfo
from graphio.saved_model import signature_constants as names
from graphio.saved_model.utils import build_tensor_info
from graphio.support import api_guard

__all__ = [
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]


@api_guard.guarded
def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
) -> SignatureDef:
    """A signature of tensor descriptions.

    Args:
        inputs, outputs: what build_tensor_info gives, by key.
        method_name: what kind of signature it is.
    """
    return SignatureDef(inputs, outputs, method_name or "")


@api_guard.guarded
def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """A signature of the general kind: any tensors by key.

    Raises:
        ValueError: there are no inputs or no outputs.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return SignatureDef(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        names.PREDICT_METHOD_NAME,
    )


@api_guard.guarded
def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """A signature from a string tensor of examples to a float tensor.

    Raises:
        ValueError: one is missing or has another dtype.
    """
    _require("Regression", "examples", examples, dtypes.string)
    _require("Regression", "predictions", predictions, dtypes.float32)
    return SignatureDef(
        {names.REGRESS_INPUTS: build_tensor_info(examples)},
        {names.REGRESS_OUTPUTS: build_tensor_info(predictions)},
        names.REGRESS_METHOD_NAME,
    )


@api_guard.guarded
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """A signature from a string tensor of examples to classes (string), scores (float) or both.

    Raises:
        ValueError: examples or both outputs are missing, or one has another dtype.
    """
    _require("Classification", "examples", examples, dtypes.string)
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        _require("Classification", "classes", classes, dtypes.string)
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = build_tensor_info(classes)
    if scores is not None:
        _require("Classification", "scores", scores, dtypes.float32)
        outputs[names.CLASSIFY_OUTPUT_SCORES] = build_tensor_info(scores)
    return SignatureDef(
        {names.CLASSIFY_INPUTS: build_tensor_info(examples)},
        outputs,
        names.CLASSIFY_METHOD_NAME,
    )


def _require(kind: str, what: str, tensor: Any, dtype: dtypes.DType) -> None:
    if tensor is None:
        raise ValueError(f"{kind} {what} cannot be None.")
    if build_tensor_info(tensor).dtype != dtype.as_datatype_enum:
        raise ValueError(f"{kind} {what} must be of type {dtype.name}, found {tensor!r}")


@api_guard.guarded
def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether a signature is one of the usual kinds, with the tensors that its kind asks for."""
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    method = signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return True
    if method == names.REGRESS_METHOD_NAME:
        return _is_only(signature_def.inputs, names.REGRESS_INPUTS, dtypes.string) and _is_only(
            signature_def.outputs, names.REGRESS_OUTPUTS, dtypes.float32
        )
    if method == names.CLASSIFY_METHOD_NAME:
        requested = {
            names.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
            names.CLASSIFY_OUTPUT_SCORES: dtypes.float32,
        }
        return _is_only(signature_def.inputs, names.CLASSIFY_INPUTS, dtypes.string) and all(
            key in requested and info.dtype == requested[key].as_datatype_enum
            for key, info in signature_def.outputs.items()
        )
    return False


def _is_only(infos: Mapping[str, TensorInfo], key: str, dtype: dtypes.DType) -> bool:
    return list(infos) == [key] and infos[key].dtype == dtype.as_datatype_enum
