"""An answer of the Open Inference Protocol: JSON, and after it outputs as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.serving import array_json
from graphio.serving.array_json import quoted
from graphio.serving.failures import invalid
from graphio.serving.open_inference import datatypes
from graphio.serving.open_inference.requests import Request
from graphio.serving.servable import Servable

__all__ = ["write"]

Array = np.ndarray[Any, Any]


def write(request: Request, results: Mapping[str, Array], servable: Servable) -> tuple[bytes, int]:
    """The body of an answer, and how much of it is JSON.

    Raises:
        InvalidArgumentError: a string that is not UTF-8 cannot be in JSON.
        UnimplementedError: a type that has no form in JSON.
    """
    described, blobs = [], []
    for name, binary in request.outputs.items():
        array = results[name]
        head = (
            f'{{"name": {quoted(name)}, "datatype": {quoted(datatypes.name_of(array.dtype))}, '
            f'"shape": {list(array.shape)}, '
        )
        if binary:
            blobs.append(datatypes.to_bytes(array))
            described.append(f'{head}"parameters": {{"binary_data_size": {len(blobs[-1])}}}}}')
        else:
            described.append(f'{head}"data": [{",".join(_elements(array, name))}]}}')
    given = "" if request.id is None else f'"id": {quoted(request.id)}, '
    text = (
        f'{{"model_name": {quoted(servable.name)}, "model_version": "{servable.version}", '
        f'{given}"outputs": [{", ".join(described)}]}}'
    ).encode()
    return b"".join((text, *blobs)), len(text)


def _elements(array: Array, name: str) -> list[str]:
    if array.dtype == object:
        for value in array.reshape(-1).tolist():
            _check_text(value, name)
    return array_json.elements(array, f"output '{name}'")


def _check_text(value: bytes, name: str) -> None:
    try:
        value.decode()
    except UnicodeDecodeError:
        raise invalid(
            f"output '{name}' has a string that is not UTF-8: ask for it with the parameter "
            "binary_data"
        ) from None
