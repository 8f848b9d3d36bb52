"""The bodies of `:classify` and `:regress`: examples of features, labels and scores.

A signature with one input of strings gets each example as a serialized tf.Example, which is how
TensorFlow Serving calls a model. Any other gets the features by the names of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.engine.interface import TensorSpec
from graphio.schema import dtypes, example_pb2
from graphio.serving import array_json, json_arrays
from graphio.serving.failures import invalid
from graphio.serving.json_arrays import shown
from graphio.serving.names import (
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from graphio.serving.servable import Entry

__all__ = ["METHODS", "check", "read", "write_classes", "write_values"]

Array = np.ndarray[Any, Any]
#: TensorFlow's name of each method
METHODS = {"classify": CLASSIFY_METHOD_NAME, "regress": REGRESS_METHOD_NAME}
_KINDS = {"classify": "classification", "regress": "regression"}
_INT64 = range(-(1 << 63), 1 << 63)


def check(entry: Entry, method: str) -> None:
    """Raises InvalidArgumentError: the signature is not one for this method."""
    if entry.message.method != METHODS[method]:
        raise invalid(
            f"Expected {_KINDS[method]} signature method_name to be {METHODS[method]}. Was: "
            f"{entry.message.method or 'none'}; signature '{entry.name}'"
        )


def read(request: Mapping[str, Any], entry: Entry) -> tuple[dict[str, Array], int]:
    """The inputs of a signature, and how many examples they are.

    Raises:
        InvalidArgumentError: no list of objects, a feature of mixed or other types, one that is
            missing or does not fit its input.
    """
    examples = _examples(request)
    context = request.get("context", {})
    for example in (context, *examples):
        if type(example) is not dict:
            raise invalid(f"Example must be JSON object but got JSON {shown(example)}")
    key = next(iter(entry.inputs), "")
    if len(entry.inputs) == 1 and _takes_records(entry.tensor(key)):
        # Messages merge when their bytes follow each other: features of the example win.
        before = _serialized(context)
        made = np.empty(len(examples), object)
        made[:] = [before + _serialized(example) for example in examples]
        return {key: made}, len(examples)
    merged = [{**context, **example} for example in examples]
    return {key: _feature(entry.tensor(key), merged) for key in entry.inputs}, len(examples)


def _examples(request: Mapping[str, Any]) -> list[Any]:
    if "examples" not in request:
        raise invalid(f"JSON Value: {shown(request)} key 'examples' is expected and was not found")
    examples = request["examples"]
    if type(examples) is not list:
        raise invalid(
            f"JSON Value: {shown(examples)} Expecting 'examples' value to be an list/array"
        )
    if not examples:
        raise invalid("'examples' value is an empty array")
    return examples


def _takes_records(spec: TensorSpec) -> bool:
    is_vector = spec.shape is None or len(spec.shape) == 1
    return dtypes.of_numpy(spec.dtype).number == dtypes.STRING and is_vector


def _feature(spec: TensorSpec, examples: Sequence[Mapping[str, Any]]) -> Array:
    """The input with a feature's name: a row of it for each example."""
    what = f"Feature: {spec.name}"
    rows = []
    for at, example in enumerate(examples):
        if spec.name not in example:
            raise invalid(f"{what} is required but could not be found in example {at}")
        value = example[spec.name]
        rows.append(value if type(value) is list else [value])
    (count, *more), values = json_arrays.leaves(rows, what)
    if len(more) != 1:
        raise invalid(f"{what} has nested lists, expected a value or a list of values")
    inner = _inner_shape(spec, more[0])
    return json_arrays.array((count, *inner), values, spec.dtype, what)


def _inner_shape(spec: TensorSpec, size: int) -> tuple[int, ...]:
    """The shape of a row of so many values; a check of a run refuses one that does not fit."""
    known = None if spec.shape is None else spec.shape[1:]
    if known is not None and None not in known and math.prod(known) == size:  # type: ignore[arg-type]
        return tuple(n for n in known if n is not None)
    return (size,)


def _serialized(features: Mapping[str, Any]) -> bytes:
    example = example_pb2.Example()
    for name, value in features.items():
        json_arrays.encoded(name, "a feature's name")
        values = value if type(value) is list else [value]
        _fill(example.features.feature[name], values, name)
    return example.SerializeToString()


def _fill(feature: example_pb2.Feature, values: list[Any], name: str) -> None:
    kinds = {_kind(value, name) for value in values}
    if len(kinds) > 1:
        raise invalid(
            f"Unexpected element type in feature: {name} expecting one type, got "
            f"{' and '.join(sorted(kinds))}"
        )
    if kinds == {"bytes"}:
        feature.bytes_list.value.extend(_bytes(value, name) for value in values)
    elif kinds == {"float"}:
        feature.float_list.value.extend(values)
    elif kinds:
        feature.int64_list.value.extend(map(int, values))


def _kind(value: Any, name: str) -> str:
    if type(value) is str or json_arrays.is_binary(value):
        return "bytes"
    if type(value) is float:
        return "float"
    if type(value) in (int, bool):
        if value not in _INT64:
            raise invalid(f"Feature: {name} has {shown(value)}, expected an int64")
        return "int64"
    raise invalid(f"Feature: {name} has element with unexpected JSON type: {shown(value)}")


def _bytes(value: Any, name: str) -> bytes:
    what = f"Feature: {name}"
    if type(value) is str:
        return json_arrays.encoded(value, what)
    return json_arrays.decoded(value, what)


def write_classes(results: Mapping[str, Array], count: int) -> bytes:
    """{"results": a list of [label, score] for each example}.

    Args:
        results: has "classes", "scores", or both.
        count: of the examples.

    Raises:
        InvalidArgumentError: neither, or of another shape or type.
    """
    classes, scores = results.get(CLASSIFY_OUTPUT_CLASSES), results.get(CLASSIFY_OUTPUT_SCORES)
    if classes is None and scores is None:
        raise invalid(
            f'Expected classification signature outputs to contain at least one of "'
            f'{CLASSIFY_OUTPUT_CLASSES}" or "{CLASSIFY_OUTPUT_SCORES}". They are: '
            f"{', '.join(results) or 'none'}"
        )
    for key, array, dtype in (
        (CLASSIFY_OUTPUT_CLASSES, classes, object), (CLASSIFY_OUTPUT_SCORES, scores, np.float32)
    ):  # fmt: skip
        if array is not None and (array.dtype != dtype or array.ndim != 2 or len(array) != count):
            raise invalid(
                f"Expected Tensor '{key}' of {dtypes.of_numpy(dtype).name}, shape: [{count} "
                f"num_classes] but got {dtypes.of_numpy(array.dtype).name} {list(array.shape)}"
            )
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise invalid(
            "Tensors class and score should match in dim_size(1). Got "
            f"{classes.shape[1]} vs. {scores.shape[1]}"
        )
    shape = (classes if scores is None else scores).shape  # type: ignore[union-attr]
    total = shape[0] * shape[1]
    labels = ['""'] * total if classes is None else array_json.elements(classes, "classes")
    values = ["0.0"] * total if scores is None else array_json.elements(scores, "scores")
    pairs = [f"[{label}, {value}]" for label, value in zip(labels, values, strict=True)]
    return _results(array_json.nested(pairs, shape))


def write_values(results: Mapping[str, Array], count: int) -> bytes:
    """{"results": a number for each example}.

    Raises:
        InvalidArgumentError: there is no output "outputs", or it has another shape or type.
    """
    if REGRESS_OUTPUTS not in results or len(results) != 1:
        raise invalid(
            f"Expected one output Tensor, '{REGRESS_OUTPUTS}'; the signature has "
            f"{', '.join(results) or 'none'}"
        )
    array = results[REGRESS_OUTPUTS]
    if array.dtype != np.float32 or array.shape not in ((count,), (count, 1)):
        raise invalid(
            f"Expected output Tensor shape to be either [{count}] or [{count}, 1] of float32 but "
            f"got {dtypes.of_numpy(array.dtype).name} {list(array.shape)}"
        )
    return _results(array_json.text_of(array.reshape(count), "outputs"))


def _results(text: str) -> bytes:
    return f'{{"results": {text}}}'.encode()
